//! What follows an eviction, with every controller of the project, over a member that is gone: a StatefulSet's status in a
//! member becomes labels of the new copy, by JSONPath, and the labels stay; the record of the move has all its times; and
//! one flag switches records off for everybody who writes them. Most of it where everything is ours, and beside a stock
//! Karmada.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

mod common;

use std::time::Duration;

use common::{World, simulate};
use controller_kit::Mode;
use karmada_failover::story::example::{self, Pace};
use kube_sandbox::rules::Settings;
use rstest::rstest;
use serde_json::{Value, json};

const MEMBERS: [&str; 2] = ["member1", "member2"];
const PACE: Pace = Pace {
    probe_seconds: 10,
    threshold_seconds: 30,
    add_on_match_seconds: 60,
    remove_on_mismatch_seconds: 60,
    evictions_per_second: 10.0,
};
const BINDING: &str = "shop/db-statefulset";

fn stateful_set() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"namespace": "shop", "name": "db"},
        "spec": {
            "replicas": 2, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": "db"}]}},
        },
    })
}

/// On one member, whichever; what is kept of the old copy are the replicas that were ready, and, by a rule that finds
/// nothing, one thing that is not.
fn policy(purge_mode: &str) -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"namespace": "shop", "name": "db"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "StatefulSet"}],
            "placement": {
                "clusterAffinity": {"clusterNames": MEMBERS},
                "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
            },
            "failover": {"cluster": {"purgeMode": purge_mode, "statePreservation": {"rules": [
                {"aliasLabelName": "example.com/ready-replicas", "jsonPath": "{.readyReplicas}"},
                {"aliasLabelName": "example.com/leader", "jsonPath": "{.leader}"},
            ]}}},
        },
    })
}

/// Both members, a namespace and the policies for clusters that fail.
fn world(mode: Mode) -> World {
    let world = World::in_mode(mode, &MEMBERS, Settings::exact(PACE.evictions_per_second));
    world.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}));
    example::taint_policies(&PACE)
        .into_iter()
        .for_each(|policy| world.create(policy));
    world
}

fn on(world: &World, member: &str) -> Option<Value> {
    world
        .member(member)
        .sandbox()
        .get("apps/v1", "StatefulSet", Some("shop"), "db")
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[rstest]
#[case::gracefully("Gracefully")]
#[case::directly("Directly")]
fn what_the_status_said_is_a_label_of_the_new_copy_and_stays(
    #[case] purge_mode: &str,
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
) {
    simulate(|| async {
        let world = world(mode);
        world.create(policy(purge_mode));
        let process = world.run("all-in-one", &[]).await;
        pass(60).await;
        world.create(stateful_set());
        pass(120).await;
        let (home, other) = if on(&world, "member1").is_some() {
            ("member1", "member2")
        } else {
            ("member2", "member1")
        };
        let before = on(&world, home).unwrap();
        assert_eq!(before["status"]["readyReplicas"], 2, "{before}");
        assert!(before["metadata"]["labels"]["example.com/ready-replicas"].is_null());

        world.member(home).stop();
        pass(900).await;
        let label =
            |world: &World| on(world, other).unwrap()["metadata"]["labels"]["example.com/ready-replicas"].clone();
        assert_eq!(label(&world), "2");
        assert!(on(&world, other).unwrap()["metadata"]["labels"]["example.com/leader"].is_null());
        let binding = world.binding(BINDING).await.unwrap();
        assert!(
            binding.spec.graceful_eviction_tasks.is_empty(),
            "the move is done: {binding:?}"
        );
        let lost = world.events("ResourceBinding", "db-statefulset");
        assert!(lost.iter().any(|(reason, _)| reason == "StateNotPreserved"), "{lost:?}");
        let warned = lost.iter().any(|(reason, _)| reason == "OldCopyNotConfirmedGone");
        assert_eq!(warned, purge_mode == "Directly", "{lost:?}");

        // The record of the move has every phase, in order.
        let records = world.plane().list("failover.karmada.io/v1alpha1", "FailoverRecord");
        let record = &records[0];
        assert_eq!(
            (records.len(), &record["status"]["outcome"]),
            (1, &json!("Completed")),
            "{records:?}"
        );
        let spec = ["affectedAt", "dueAt", "queuedAt", "releasedAt", "evictedAt"].map(|at| &record["spec"][at]);
        let status = ["scheduledAt", "healthyAt", "cleanedAt"].map(|at| &record["status"][at]);
        let times: Vec<i64> = spec
            .into_iter()
            .chain(status)
            .map(|at| {
                at.as_str()
                    .unwrap_or_else(|| panic!("{record}"))
                    .parse::<jiff::Timestamp>()
                    .unwrap()
                    .as_second()
            })
            .collect();
        assert!(times.is_sorted(), "{record}");

        // The task is gone, the old member is back and clean, an hour passes: the label is still there.
        world.member(home).resume();
        pass(3_600).await;
        assert!(on(&world, home).is_none(), "the old copy went");
        assert_eq!(label(&world), "2");
        world.finish(vec![process]).await;
    });
}

// The evictor writes none, and graceful eviction does not make up for it: one flag for both.
#[rstest]
fn without_records_a_move_leaves_none(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    simulate(|| async {
        let world = world(mode);
        world.create(policy("Gracefully"));
        let process = world.run("all-in-one", &["--failover-records=false"]).await;
        pass(60).await;
        world.create(stateful_set());
        pass(120).await;
        let home = if on(&world, "member1").is_some() {
            "member1"
        } else {
            "member2"
        };
        world.member(home).stop();
        pass(900).await;
        for (kind, name, reason) in [
            ("StatefulSet", "db", "Evicted"),
            ("StatefulSet", "db", "EvictWorkloadFromClusterSucceed"),
            ("ResourceBinding", "db-statefulset", "EvictWorkloadFromClusterSucceed"),
        ] {
            let told = world.events(kind, name);
            assert!(told.iter().any(|(told, _)| told == reason), "{kind} {reason}: {told:?}");
        }
        assert!(
            world
                .plane()
                .list("failover.karmada.io/v1alpha1", "FailoverRecord")
                .is_empty()
        );
        world.finish(vec![process]).await;
    });
}

// Never: the member comes back with the old copy, and both run, until a person removes the task. Standalone alone: the
// detector here is ours and writes Never into the binding's field, where stock's CRD does not take it.
#[test]
fn never_keeps_the_old_copy_until_a_person_removes_the_task() {
    simulate(|| async {
        let world = world(Mode::Standalone);
        world.create(policy("Never"));
        let process = world.run("all-in-one", &[]).await;
        pass(60).await;
        world.create(stateful_set());
        pass(120).await;
        let (home, other) = if on(&world, "member1").is_some() {
            ("member1", "member2")
        } else {
            ("member2", "member1")
        };
        world.member(home).stop();
        pass(900).await;
        world.member(home).resume();
        pass(3_600).await;
        let binding = world.binding(BINDING).await.unwrap();
        let runs = [home, other].map(|member| on(&world, member).is_some());
        assert_eq!(runs, [true, true], "{:?}", binding.spec);
        assert_eq!(binding.spec.graceful_eviction_tasks[0].from_cluster, home);
        let said = &binding.condition("GracefulEviction").unwrap().message;
        assert!(
            said.contains("purgeMode: Never: the copy stays until a person removes the task"),
            "{said}"
        );

        let mut edited = world
            .plane()
            .get(
                "work.karmada.io/v1alpha2",
                "ResourceBinding",
                Some("shop"),
                "db-statefulset",
            )
            .unwrap();
        edited["spec"]["gracefulEvictionTasks"] = json!([]);
        world.put(edited);
        pass(60).await;
        assert!(on(&world, home).is_none() && on(&world, other).is_some());
        let records = world.plane().list("failover.karmada.io/v1alpha1", "FailoverRecord");
        let outcome = &records[0]["status"]["outcome"];
        assert_eq!(*outcome, "Completed", "the workload was healthy elsewhere: {records:?}");
        world.finish(vec![process]).await;
    });
}
