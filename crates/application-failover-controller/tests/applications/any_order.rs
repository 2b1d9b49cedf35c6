//! Whatever happens in whatever order, with restarts of controller and queue in between: at rest the clock says what it would
//! say now, and what the queue holds is what follows from what is stored.

use std::collections::BTreeSet;
use std::sync::Arc;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use controller_kit::Running;
use failover_core::application::{HealthClock, wanted};
use failover_core::eviction::desired_entry::Wanted;
use kube::Api;
use proptest::prelude::*;
use serde_json::json;

use super::scene::{Scene, after};
use test_bench::paused;

const CLUSTERS: [&str; 2] = ["m1", "m2"];
const BINDINGS: [&str; 3] = ["default/a", "default/b", "default/c"];
const HEALTHS: [&str; 3] = ["Healthy", "Unhealthy", "Unknown"];

#[derive(Clone, Debug)]
enum Act {
    /// Copies on both clusters report how they are.
    Report(usize, usize, usize),
    /// A cluster becomes Ready, or not.
    Ready(usize, bool),
    /// The policy asks for failover after so long, or not at all.
    Ask(usize, Option<i64>),
    /// The binding is on one cluster, or on both.
    Place(usize, usize),
    /// It is deleted and made again.
    Recreate(usize),
    /// Somebody spoils or removes the annotation.
    Spoil(usize, Option<&'static str>),
    RestartController,
    RestartQueue,
    Wait(u64),
}

fn act() -> impl Strategy<Value = Act> {
    let binding = 0..BINDINGS.len();
    prop_oneof![
        6 => (binding.clone(), 0..3_usize, 0..3_usize).prop_map(|(b, one, other)| Act::Report(b, one, other)),
        2 => (0..2_usize, any::<bool>()).prop_map(|(cluster, is)| Act::Ready(cluster, is)),
        2 => (binding.clone(), proptest::option::weighted(0.8, 10..200_i64)).prop_map(|(b, after)| Act::Ask(b, after)),
        1 => (binding.clone(), 0..3_usize).prop_map(|(b, on)| Act::Place(b, on)),
        1 => binding.clone().prop_map(Act::Recreate),
        1 => (binding, prop_oneof![Just(None), Just(Some("nonsense"))]).prop_map(|(b, text)| Act::Spoil(b, text)),
        1 => Just(Act::RestartController),
        1 => Just(Act::RestartQueue),
        4 => prop_oneof![Just(0), 1..30_u64].prop_map(Act::Wait),
    ]
}

struct Processes {
    controller: Running,
    queue: Running,
    starts: usize,
}

async fn perform(scene: &Scene, processes: &mut Processes, act: &Act) {
    match act {
        Act::Report(b, one, other) => {
            let copies = [(CLUSTERS[0], HEALTHS[*one]), (CLUSTERS[1], HEALTHS[*other])];
            scene.health(BINDINGS[*b], &copies).await;
        }
        Act::Ready(cluster, is) => {
            let status = if *is { "True" } else { "False" };
            scene.ready(CLUSTERS[*cluster], status).await;
        }
        Act::Ask(b, seconds) => {
            let failover = seconds.map_or(json!({"application": null}), after);
            scene.patch(BINDINGS[*b], json!({"spec": {"failover": failover}})).await;
        }
        Act::Place(b, on) => {
            let on: Vec<_> = match on {
                2 => CLUSTERS.to_vec(),
                one => vec![CLUSTERS[*one]],
            };
            let targets: Vec<_> = on.iter().map(|name| json!({"name": name, "replicas": 2})).collect();
            scene.patch(BINDINGS[*b], json!({"spec": {"clusters": targets}})).await;
        }
        Act::Recreate(b) => {
            scene.delete(BINDINGS[*b]).await;
            create(scene, BINDINGS[*b]);
        }
        Act::Spoil(b, text) => {
            let annotations = json!({"failover.karmada.io/health-clock": text});
            scene
                .patch(BINDINGS[*b], json!({"metadata": {"annotations": annotations}}))
                .await;
        }
        Act::RestartController => {
            processes.starts += 1;
            processes.controller.crash();
            processes.controller.ended().await;
            processes.controller = scene.controller(&format!("controller-{}", processes.starts)).await;
        }
        Act::RestartQueue => {
            processes.starts += 1;
            processes.queue.crash();
            processes.queue.ended().await;
            processes.queue = scene.queue(&format!("queue-{}", processes.starts), 1.0).await;
        }
        Act::Wait(seconds) => tokio::time::sleep(std::time::Duration::from_secs(*seconds)).await,
    }
}

fn create(scene: &Scene, key: &str) {
    scene.binding(
        key.trim_start_matches("default/"),
        &CLUSTERS,
        json!({"failover": after(60)}),
    );
}

/// What is stored asks for these entries, as `binding cluster cause due-time`; and every clock is as it should be.
async fn asked_for(scene: &Scene) -> BTreeSet<String> {
    let clusters: Api<Cluster> = Api::all(scene.plane.observer());
    let (m1, m2) = (clusters.get("m1").await.unwrap(), clusters.get("m2").await.unwrap());
    let cluster = |name: &ClusterName| Some(Arc::new(if name.as_str() == "m1" { m1.clone() } else { m2.clone() }));
    let mut asked = BTreeSet::new();
    for key in BINDINGS {
        let binding = scene.get(key).await;
        let clock = HealthClock::of(&binding).unwrap_or_else(|problem| panic!("{key}: {problem}"));
        assert_eq!(
            clock.next(&binding, &cluster, scene.clock.now()),
            clock,
            "the clock of {key}"
        );
        for cluster in [&m1, &m2] {
            if let Wanted::Entry(entry) = wanted(Some(&binding), Some(cluster)) {
                let name = cluster.cluster_name();
                asked.insert(format!("{key} {name} {} {}", entry.key.cause, entry.due_at.as_second()));
            }
        }
    }
    asked
}

async fn held(scene: &Scene) -> BTreeSet<String> {
    let shown = |entry: eviction_queue_api::v1::Entry| {
        let published = entry.published.unwrap();
        let (key, due) = (published.key.unwrap(), published.due_at.unwrap().seconds);
        format!("{}/{} {} {} {due}", key.namespace, key.name, key.cluster, key.cause)
    };
    scene.entries().await.into_iter().map(shown).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn at_rest_all_follows_from_what_is_stored(acts in proptest::collection::vec(act(), 1..40)) {
        paused(async {
            let scene = Scene::new(&CLUSTERS);
            for key in BINDINGS {
                create(&scene, key);
            }
            let mut processes = Processes {
                controller: scene.controller("controller-0").await,
                queue: scene.queue("queue-0", 1.0).await,
                starts: 0,
            };
            for act in &acts {
                perform(&scene, &mut processes, act).await;
            }
            // A Lease has to lapse after a crash, and a queue that is new to find.
            tokio::time::sleep(std::time::Duration::from_secs(90)).await;
            assert_eq!(held(&scene).await, asked_for(&scene).await);
            let before = scene.own_writes().len();
            tokio::time::sleep(std::time::Duration::from_secs(600)).await;
            assert_eq!(scene.own_writes().len(), before, "nothing is written at rest");
            assert_eq!(held(&scene).await, asked_for(&scene).await);
        });
    }
}
