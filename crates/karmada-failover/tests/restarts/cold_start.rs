//! What a component must not think when it starts, and what it must catch up with.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use karmada_failover::story::expect::BINDING;
use kube::Api;
use kube_sandbox::{Effect, Match, Verb};

use super::common::{World, simulate};
use super::components::{Component, System};
use super::end_state::{differences, look};
use super::outages::{Cue, Outage, Way};
use super::play::played;
use super::steps::must_change_nothing_but_time;
use super::story::{Moment, PACE, Story};

const A_WHILE: Duration = Duration::from_secs(30);

/// C73, kueue#13094: restarts during an outage do not start a window anew, however many there are.
#[test]
fn c73_many_restarts_do_not_push_a_window_back() {
    let story = Story::worked_example();
    let reference = played(&story, None);
    for (component, way) in [
        (Component::TaintPolicy, Way::Stop),
        (Component::TaintManager, Way::Stop),
    ] {
        let times = (70..106).step_by(6).map(Duration::from_secs).collect();
        let outage = Outage {
            component,
            cue: Cue::AtTimes(times),
            way,
            down: Duration::ZERO,
        };
        must_change_nothing_but_time(&story, &reference, [outage.clone()]);
        let run = played(&story, Some(&outage));
        for moment in [Moment::NoExecuteAdded, Moment::Evicted] {
            let (expected, at) = (reference.times[&moment], run.times[&moment]);
            assert!(
                (at - expected).abs() < 1.0,
                "{component:?}: {moment:?} at {at:.1} s, not at {expected:.1} s"
            );
        }
    }
}

/// C109, karmada#708: a template that was deleted while nobody propagated leaves nothing behind.
#[test]
fn c109_a_template_deleted_meanwhile() {
    simulate(|| async {
        let world = World::new(&["member1", "member2"]);
        let flags = Story::flags();
        let mut system = System::start(&world, &flags).await;
        tokio::time::sleep(A_WHILE).await;
        world.create_example(&PACE);
        tokio::time::sleep(A_WHILE).await;
        assert!(
            world
                .fleet
                .member("member2")
                .unwrap()
                .sandbox()
                .get("apps/v1", "Deployment", Some("default"), "nginx")
                .is_some()
        );

        system.stop_one(Component::Propagation).await;
        let templates: Api<Deployment> = Api::namespaced(world.client(), "default");
        templates.delete("nginx", &Default::default()).await.unwrap();
        tokio::time::sleep(A_WHILE).await;
        system.start_one(Component::Propagation).await;
        tokio::time::sleep(A_WHILE).await;

        assert!(world.binding(BINDING).await.is_none(), "the binding is gone");
        for member in ["member1", "member2"] {
            assert!(world.works(member).await.is_empty(), "the Works for {member} are gone");
            let copy =
                world
                    .fleet
                    .member(member)
                    .unwrap()
                    .sandbox()
                    .get("apps/v1", "Deployment", Some("default"), "nginx");
            assert!(copy.is_none(), "the copy on {member} is gone");
        }
        assert_eq!(system.deserters(), Vec::<String>::new());
        assert_eq!(system.stop().await, Vec::<String>::new());
    });
}

/// C111, karmada#6433: a list that is late is not an empty one. Every component starts while one kind after the other is
/// listed slowly; nothing is deleted, nothing moves.
#[test]
fn c111_a_list_that_is_late_is_not_empty() {
    simulate(|| async {
        let world = World::new(&["member1", "member2"]);
        let flags = Story::flags();
        let mut system = System::start(&world, &flags).await;
        tokio::time::sleep(A_WHILE).await;
        world.create_example(&PACE);
        tokio::time::sleep(A_WHILE).await;
        let before = look(&world.fleet);
        let faults = world.fleet.control_plane().faults();
        for late in [
            "clusters",
            "resourcebindings",
            "works",
            "deployments",
            "propagationpolicies",
            "namespaces",
            "clustertaintpolicies",
        ] {
            assert_eq!(system.stop().await, Vec::<String>::new());
            faults.reset_counts();
            let fault = faults.inject(
                Match::any().verb(Verb::List).resource(late),
                Effect::Latency(Duration::from_secs(5)),
            );
            system = System::restart(&world, &flags, late).await;
            tokio::time::sleep(A_WHILE).await;
            faults.remove(fault);
            let deletions: Vec<_> = faults
                .writes()
                .into_iter()
                .filter(|write| write.verb == Verb::Delete)
                .collect();
            assert!(deletions.is_empty(), "{late} listed late: {deletions:#?}");
            let changes = differences(&before, &look(&world.fleet));
            assert!(changes.is_empty(), "{late} listed late: {changes:#?}");
        }
        assert_eq!(system.stop().await, Vec::<String>::new());
        let broken = world.broken_rules();
        assert!(broken.is_empty(), "{broken:#?}");
    });
}
