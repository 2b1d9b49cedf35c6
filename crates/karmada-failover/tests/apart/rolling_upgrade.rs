//! A release is upgraded while much of the fleet is gone: as a Deployment does it, of each component a new replica starts,
//! and when it is ready the old one is asked to end.

use std::time::Duration;

use api_types::cluster::{Cluster, ClusterSyncMode};
use controller_kit::{Ended, Running};
use karmada_failover::story::example::{self, Pace};
use karmada_failover::story::scenario::mass_failure::{Crowd, members};
use karmada_failover::story::scenario::{Act, Action, Chapter, Check, Expectation, Scenario, Until};
use karmada_failover::story::{Line, Step};
use kube::Api;

use crate::COMPONENTS;
use crate::admission::Admission;
use crate::common::{World, simulate};
use crate::log::Log;
use crate::processes::{leave_to_its_agent, start, start_agent};
use crate::stage::{perform, world};

const WORKLOADS: usize = 30;
/// A refuge that its own agent works on: it keeps its copies, and gets some of those that leave the others.
const PULLED: &str = "member8";
/// When the upgrade begins: the first have left, and the queue holds the others back.
const BEGINS: Duration = Duration::from_secs(520);
/// The windows of a real fleet.
const PACE: Pace = Pace {
    probe_seconds: 10,
    threshold_seconds: 30,
    add_on_match_seconds: 300,
    remove_on_mismatch_seconds: 180,
    evictions_per_second: 0.5,
};

fn story() -> Scenario {
    let crowd = Crowd {
        homes: members(1, 4),
        empty: members(5, 7),
        refuges: members(8, 12),
        workloads: WORKLOADS,
        tolerate_seconds: 60,
    };
    let stop: Vec<Action> = crowd.failing().iter().map(|name| Action::stop(name)).collect();
    let acts = vec![
        crowd.create(),
        Act::new("seven of twelve stop", stop)
            .until(Until::Told(Step::ReplacementHealthy, WORKLOADS))
            .within(1800)
            .then_wait(60),
    ];
    let once = Expectation::new(Check::Evictions(WORKLOADS), "each leaves, and none twice");
    Scenario {
        name: "rolling upgrade",
        description: String::new(),
        members: crowd.all(),
        joining: Vec::new(),
        pace: PACE,
        reduced_evictions_per_second: 0.1,
        given: example::taint_policies(&PACE),
        chapters: vec![Chapter {
            heading: String::new(),
            acts,
            expectations: [vec![once], crowd.ran()].concat(),
        }],
    }
}

/// What is upgraded: the components with a Lease each, the agent of the member that is pulled, the webhook.
struct Release {
    components: Vec<Running>,
    agent: Running,
    admission: Admission,
}

impl Release {
    async fn old(world: &World, story: &Scenario) -> Self {
        let mut components = Vec::new();
        for (component, _) in COMPONENTS {
            components.push(start(world, story, component, "old", &Log::default(), &[]).await);
        }
        Self {
            components,
            agent: start_agent(world, PULLED, "old").await,
            admission: Admission::start(world.plane()),
        }
    }

    /// Of each in turn: a new one, and then the old one goes.
    async fn upgraded(mut self, world: &World, story: &Scenario) -> Self {
        let mut components = Vec::new();
        for ((component, _), old) in COMPONENTS.into_iter().zip(self.components) {
            components.push(start(world, story, component, "new", &Log::default(), &[]).await);
            handed_over(component, old).await;
        }
        let agent = start_agent(world, PULLED, "new").await;
        handed_over("agent", self.agent).await;
        self.admission.roll();
        Self {
            components,
            agent,
            ..self
        }
    }
}

async fn handed_over(component: &str, old: Running) {
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(old.stop().await, Ended::Stopped, "{component}");
}

/// How many replicas run on the member that is pulled.
fn replicas_on_pulled(world: &World) -> i64 {
    let deployments = world.member(PULLED).sandbox().list("apps/v1", "Deployment");
    let replicas = deployments
        .iter()
        .map(|deployment| deployment["spec"]["replicas"].as_i64());
    replicas.flatten().sum()
}

/// Rules 1 to 8 are watched all the while.
#[test]
fn a_rolling_upgrade_of_every_component_during_a_mass_failure_breaks_no_rule() {
    simulate(|| async {
        let story = story();
        let world = world(&story);
        leave_to_its_agent(&world, PULLED).await;
        let old = Release::old(&world, &story).await;
        let meanwhile = async {
            tokio::time::sleep(BEGINS).await;
            let before = replicas_on_pulled(&world);
            let new = old.upgraded(&world, &story).await;
            (new, before, replicas_on_pulled(&world))
        };
        let (told, (new, before, after)) = tokio::join!(perform(&world, &story, None), meanwhile);
        let all_that_came = replicas_on_pulled(&world);
        assert!(
            before < all_that_came && after < all_that_came,
            "{before}, {after}, {all_that_came}: some were moved there after the upgrade"
        );
        let evicted = |line: &&Line| line.at < BEGINS.as_secs_f64();
        assert!(
            told.of(Step::ClusterEvicted).any(|line| evicted(&line)),
            "it began amid the failure"
        );
        let pulled = Api::<Cluster>::all(world.client()).get(PULLED).await.unwrap();
        assert_eq!(pulled.spec.sync_mode, ClusterSyncMode::Pull);
        new.admission.end();
        let processes = new.components.into_iter().chain([new.agent]).collect();
        world.finish(processes).await;
    });
}
