//! The scenario of the demo, as a value, with the windows of a real fleet.

use std::time::Duration;

use karmada_failover::story::Step;
use karmada_failover::story::scenario::worked_example::scenario;
use tokio::task::JoinSet;

use crate::chapters::PACE;
use crate::common::simulate;
use crate::stage::{play, play_in, world};

#[test]
fn the_story_of_the_demo() {
    simulate(|| async {
        let told = play(&scenario(PACE)).await;
        assert_eq!(told.of(Step::ClusterEvicted).count(), 1);
        assert_eq!(told.lines[0].step, Step::FleetReady);
    });
}

/// A member that answers its first probes late: the story waits for it, or the scheduler would choose without it.
#[test]
fn nothing_is_created_before_the_fleet_is_ready() {
    for late in ["member1", "member2"] {
        simulate(|| async {
            let scenario = scenario(PACE);
            let world = world(&scenario);
            let member = world.fleet.member(late).expect("a member");
            member.stop();
            let mut later = JoinSet::new();
            later.spawn(async move {
                tokio::time::sleep(Duration::from_secs(95)).await;
                member.resume();
            });
            let told = play_in(world, &scenario).await;
            let at = |step| told.of(step).map(|line| line.at).next().expect("the step was told");
            assert!(at(Step::FleetReady) > 95.0, "{late} was not ready before");
            assert!(at(Step::WorkloadRunning) > at(Step::FleetReady));
        });
    }
}
