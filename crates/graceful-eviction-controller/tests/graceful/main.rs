//! Graceful eviction on a simulated control plane, with the scheduler beside it where the story needs one.
//!
//! Most stories run twice, with the mode as a parameter: where everything is ours, and beside a stock Karmada
//! ([`test_bench::stock::Company`]). Standalone alone are those of plugins, gates and flags, of what is refused by our own
//! schemas, of rest and crowds, where every write is counted (a condition of ours that stock's scheduler drops is written
//! again), and random walks. What is otherwise there is in `beside_stock`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod bad_input;
#[path = "../../../scheduler/tests/scheduler/bench.rs"]
mod bench;
mod beside_stock;
mod cases;
mod fates;
mod promptness;
mod records;
mod recovery;
mod restarts;
mod walk;

use bench::{Bench, one_to_two, shown, task};
use controller_kit::{KitFlags, Mode, Process, Running};
use graceful_eviction_controller::{Flags, controllers};
use kube_sandbox::{Effect, Match};
use rstest::rstest;
use serde_json::{Value, json};
use test_bench::paused;
use test_bench::stock::Excepted;

const COMPONENT: &str = "graceful-eviction-controller";

/// In the mode of the bench, whatever the flags say, where that is beside a stock Karmada.
async fn start_with(bench: &Bench, identity: &str, mut flags: Flags) -> Running {
    if bench.company.mode().is_beside() {
        flags.mode = bench.company.mode().into();
    }
    bench
        .start(COMPONENT, identity, "Failover=true", controllers(flags))
        .await
}

async fn start(bench: &Bench) -> Running {
    start_with(bench, "g", Flags::default()).await
}

fn copy(cluster: &str, health: &str, available: i64) -> Value {
    json!({"clusterName": cluster, "applied": true, "health": health, "status": {"availableReplicas": available}})
}

/// A scheduler that has looked at what is stored now, in a test that has none.
async fn scheduled(bench: &Bench, status: &str) {
    let binding = bench.binding().await;
    bench
        .patch_status(json!({
            "schedulerObservedGeneration": binding.metadata.generation,
            "conditions": [{"type": "Scheduled", "status": status, "reason": "R", "message": "", "lastTransitionTime": bench.clock.now()}],
        }))
        .await;
}

fn leaving(binding: &api_types::work::Binding) -> Vec<&str> {
    binding
        .spec
        .graceful_eviction_tasks
        .iter()
        .map(|task| task.from_cluster.as_str())
        .collect()
}

/// What the condition says; `None` where stock's scheduler has dropped it a moment ago.
fn said(bench: &Bench, binding: &api_types::work::Binding) -> Option<String> {
    let said = waits_for(binding);
    let is_dropped = said.is_empty() && !bench.company.expects(Excepted::ConditionAtEveryMoment);
    (!is_dropped).then_some(said)
}

/// The condition says this, too.
fn assert_says(bench: &Bench, binding: &api_types::work::Binding, expected: &str) {
    if let Some(said) = said(bench, binding) {
        assert!(said.contains(expected), "{said}");
    }
}

fn waits_for(binding: &api_types::work::Binding) -> String {
    binding
        .condition("GracefulEviction")
        .map(|c| format!("{} {}: {}", c.status, c.reason, c.message))
        .unwrap_or_default()
}

// The worked example: weights 1:2, member1 leaves, member2 gets 3, the task goes only when member2 shows 3 available,
// and nothing moves back. Stock (G6) lets the old copy go on member2's health of before.
#[rstest]
fn the_worked_example(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2", "member3"]);
        let _scheduler = bench.start_scheduler("s").await;
        let log =
            controller_kit::telemetry::Recording::start("off,graceful_eviction_controller::writer=info", &bench.clock)
                .unwrap();
        let graceful = start(&bench).await;
        bench.put_deployment(&json!({"placement": one_to_two()}));
        bench.until(1).await;
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member1", "Healthy", 1), copy("member2", "Healthy", 2)]}))
            .await;
        bench.until(10).await;
        bench.fail_cluster("member1");
        bench.until(11).await;
        bench
            .patch(json!({"spec": {
                "clusters": [{"name": "member2", "replicas": 2}], "gracefulEvictionTasks": [task("member1", 1, bench.clock.now())],
            }}))
            .await;
        bench.until(20).await;
        let binding = bench.binding().await;
        assert_eq!(
            (shown(&binding).as_str(), leaving(&binding)),
            ("member2:3", vec!["member1"])
        );
        if let Some(said) = said(&bench, &binding) {
            assert_eq!(
                said,
                "True Waiting: member1: ResourceHealth: member2 shows 2 of 3 replicas; ClusterInSchedulingResult: member1 is \
                 not in the scheduling result"
            );
        }
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member1", "Healthy", 1), copy("member2", "Unhealthy", 2)]}))
            .await;
        bench.until(21).await;
        assert_eq!(leaving(&bench.binding().await), ["member1"]);
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member1", "Healthy", 1), copy("member2", "Healthy", 3)]}))
            .await;
        bench.until(22).await;
        let binding = bench.binding().await;
        assert_eq!((shown(&binding).as_str(), leaving(&binding)), ("member2:3", vec![]));
        if let Some(said) = said(&bench, &binding) {
            assert_eq!(said, "False NoTask: no copy is on its way out");
        }
        let said = "Evict from cluster member1 succeed. ResourceHealth: the workload is healthy on member2";
        for (kind, name) in [("ResourceBinding", "nginx-deployment"), ("Deployment", "nginx")] {
            assert!(
                bench
                    .events(kind, name)
                    .contains(&("EvictWorkloadFromClusterSucceed".to_owned(), said.to_owned()))
            );
        }

        // A person takes the taint away.
        bench.put_cluster("member1", "True", &json!([]));
        bench.until(3600).await;
        let lines = log.lines();
        assert_eq!(lines.len(), 1, "one line for the decision, none at rest: {lines:#?}");
        for part in [
            said,
            "binding=default/nginx-deployment",
            "cluster=\"member1\"",
            "outcome=\"replaced\"",
        ] {
            assert!(lines[0].contains(part), "{part}: {lines:#?}");
        }
        assert_eq!(
            controller_kit::metrics::complaints(&graceful.metrics().render()),
            [""; 0]
        );
        let signed = "resource-binding-graceful-eviction-controller".to_owned();
        assert!(bench.event_sources().contains(&signed), "{:?}", bench.event_sources());
        assert_eq!(bench.placed().await, "member2:3");
        let writes = bench
            .writes(COMPONENT)
            .into_iter()
            .filter(|write| write.starts_with("resourcebindings spec"))
            .count();
        assert_eq!(
            writes,
            1,
            "one write of the spec for one task: {:?}",
            bench.writes(COMPONENT)
        );
    });
}

// The document's table: scheduling found nothing and the cluster recovered → the state before the failure.
#[rstest]
fn a_recovered_cluster_is_restored_when_nothing_replaced_it(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        let _scheduler = bench.start_scheduler("s").await;
        let _graceful = start(&bench).await;
        bench.put_deployment(&json!({"placement": {"clusterAffinity": {"clusterNames": ["member1"]}}}));
        bench.until(1).await;
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member1", "Healthy", 3)]}))
            .await;
        bench.fail_cluster("member1");
        bench
            .patch(
                json!({"spec": {"clusters": null, "gracefulEvictionTasks": [task("member1", 3, bench.clock.now())]}}),
            )
            .await;
        bench.until(3600).await;
        let binding = bench.binding().await;
        assert_eq!(
            (shown(&binding).as_str(), leaving(&binding)),
            ("", vec!["member1"]),
            "the last copy stays"
        );
        assert_says(&bench, &binding, "ResourceHealth: the scheduler found no place");

        bench.put_cluster("member1", "True", &json!([]));
        bench.until(3601).await;
        let binding = bench.binding().await;
        assert_eq!((shown(&binding).as_str(), leaving(&binding)), ("member1:3", vec![]));
        assert_eq!(binding.condition("Scheduled").unwrap().status, "True");
        assert!(
            !bench.reasons().contains(&"EvictWorkloadFromClusterSucceed".to_owned()),
            "nothing was evicted"
        );
    });
}

// C13, karmada PR#7129: what m3 still shows from an earlier stay is not the new copy's health.
#[rstest]
fn c13_the_new_copy_must_report_after_the_eviction(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2", "member3"]);
        let _graceful = start(&bench).await;
        bench.put_deployment(&json!({"placement": {}, "clusters": [{"name": "member1", "replicas": 3}]}));
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member1", "Healthy", 3), copy("member3", "Healthy", 3)]}))
            .await;
        bench.until(1).await;
        bench.fail_cluster("member1");
        bench
            .patch(json!({"spec": {
                "clusters": [{"name": "member3", "replicas": 3}], "gracefulEvictionTasks": [task("member1", 3, bench.clock.now())],
            }}))
            .await;
        scheduled(&bench, "True").await;
        bench.until(300).await;
        assert_eq!(leaving(&bench.binding().await), ["member1"]);
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member1", "Healthy", 3)]}))
            .await;
        bench.until(301).await;
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member1", "Healthy", 3), copy("member3", "Healthy", 4)]}))
            .await;
        bench.until(302).await;
        assert_eq!(leaving(&bench.binding().await), [""; 0]);
    });
}

#[rstest]
fn a_cluster_in_both_lists_leaves_the_result_again_and_its_task_stays(
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        bench.fail_cluster("member1");
        let _graceful = start(&bench).await;
        bench.put_deployment(&json!({
            "placement": one_to_two(), "clusters": [{"name": "member1", "replicas": 1}, {"name": "member2", "replicas": 2}],
            "gracefulEvictionTasks": [task("member1", 1, bench.started)],
        }));
        scheduled(&bench, "True").await;
        bench.until(1).await;
        let binding = bench.binding().await;
        assert_eq!(
            (shown(&binding).as_str(), leaving(&binding)),
            ("member2:2", vec!["member1"])
        );
        assert_eq!(bench.reasons(), ["ClusterStoodInBothLists"]);
    });
}

// C17, karmada PR#3437: true keeps for ever, turning it to false removes at once.
#[rstest]
fn c17_suppress_deletion(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        bench.fail_cluster("member1");
        let _graceful = start(&bench).await;
        let mut kept = task("member1", 1, bench.started);
        kept["suppressDeletion"] = json!(true);
        bench.put_deployment(&json!({
            "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}], "gracefulEvictionTasks": [kept.clone()],
        }));
        scheduled(&bench, "True").await;
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member2", "Healthy", 3)]}))
            .await;
        bench.until(7200).await;
        assert_eq!(leaving(&bench.binding().await), ["member1"]);
        kept["suppressDeletion"] = json!(false);
        bench.patch(json!({"spec": {"gracefulEvictionTasks": [kept]}})).await;
        bench.until(7201).await;
        assert_eq!(leaving(&bench.binding().await), [""; 0]);
    });
}

// C10, karmada#3456: whatever else is written, one task for one cluster; and a missing time is filled in.
#[rstest]
fn a_missing_time_is_filled_in_and_starts_the_grace_period(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        bench.fail_cluster("member1");
        let _graceful = start(&bench).await;
        let mut stocks = task("member1", 1, bench.started);
        stocks.as_object_mut().unwrap().remove("creationTimestamp");
        stocks["gracePeriodSeconds"] = json!(30);
        bench.put_deployment(&json!({
            "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}], "gracefulEvictionTasks": [stocks],
        }));
        bench.until(10).await;
        let tasks = bench.binding().await.spec.graceful_eviction_tasks;
        assert!(tasks.len() == 1 && tasks[0].creation_timestamp.is_some(), "{tasks:?}");
        bench.until(31).await;
        assert_eq!(leaving(&bench.binding().await), [""; 0]);
    });
}

#[rstest]
fn tasks_written_meanwhile_stay(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2", "member3"]);
        for down in ["member1", "member3"] {
            bench.fail_cluster(down);
        }
        // The first write of the controller meets a newer binding.
        let writes = Match::writes().resource("resourcebindings").client(COMPONENT);
        bench.plane.faults().inject_times(writes, 0, 1, Effect::Conflict);
        let _graceful = start(&bench).await;
        let mut over = task("member1", 1, bench.started);
        over["gracePeriodSeconds"] = json!(1);
        bench.put_deployment(&json!({
            "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}],
            "gracefulEvictionTasks": [over, task("member3", 1, bench.started)],
        }));
        bench.until(5).await;
        assert_eq!(leaving(&bench.binding().await), ["member3"]);
    });
}

#[rstest]
fn tasks_of_a_cluster_that_does_not_exist_go(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        bench.fail_cluster("member1");
        let _graceful = start(&bench).await;
        let mut never = task("member1", 1, bench.started);
        never["purgeMode"] = json!("Never");
        bench.put_deployment(&json!({
            "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 2}], "gracefulEvictionTasks": [never],
        }));
        scheduled(&bench, "True").await;
        bench.until(1).await;
        assert_eq!(leaving(&bench.binding().await), ["member1"]);
        let clusters = kube::Api::<api_types::cluster::Cluster>::all(bench.plane.observer());
        clusters
            .delete("member1", &kube::api::DeleteParams::default())
            .await
            .unwrap();
        bench.until(2).await;
        assert_eq!(leaving(&bench.binding().await), [""; 0]);
    });
}

#[test]
fn at_rest_nothing_is_written_and_a_task_by_hand_removed_is_noted() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        bench.fail_cluster("member1");
        let _graceful = start(&bench).await;
        bench.put_deployment(&json!({
            "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}],
            "gracefulEvictionTasks": [task("member1", 1, bench.started)],
        }));
        scheduled(&bench, "True").await;
        bench.until(60).await;
        let writes = bench.writes(COMPONENT);
        bench.until(7200).await;
        assert_eq!(bench.writes(COMPONENT), writes);
        bench.patch(json!({"spec": {"gracefulEvictionTasks": null}})).await;
        bench.until(7201).await;
        assert!(waits_for(&bench.binding().await).starts_with("False NoTask"));
    });
}

#[test]
fn flags_say_what_is_wrong_and_what_is_old() {
    paused(async {
        let bench = Bench::new(&[]);
        let flags = Flags {
            evict_plugins: vec!["Health".to_owned()],
            ..Flags::default()
        };
        let started = Process::builder(COMPONENT, bench.plane.client())
            .clock(bench.clock.clone())
            .flags(KitFlags::default())
            .controllers(controllers(flags))
            .start()
            .await;
        let error = started.err().unwrap().to_string();
        assert!(
            error.contains("--evict-plugins: unknown: Health; known are ClusterInSchedulingResult, ResourceHealth"),
            "{error}"
        );
    });
    assert!(Flags::default().warnings().is_empty());
    let old = Flags {
        graceful_eviction_timeout: Some(std::time::Duration::from_secs(600)),
        ..Flags::default()
    };
    assert!(
        old.warnings()[0].starts_with("--graceful-eviction-timeout=10m is deprecated"),
        "{:?}",
        old.warnings()
    );
}
