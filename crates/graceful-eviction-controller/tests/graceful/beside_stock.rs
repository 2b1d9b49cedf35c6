//! Beside a stock Karmada (`--beside-stock`): its scheduler empties results, its binding controller waits for ever.

use controller_kit::Mode;
use graceful_eviction_controller::Flags;
use serde_json::{Value, json};
use test_bench::paused;

use crate::bench::{Bench, shown, task};
use crate::{copy, leaving, scheduled, start_with, waits_for};

fn flags() -> Flags {
    Flags {
        mode: Mode::Beside.into(),
        ..Flags::default()
    }
}

/// member1 failed and stock's scheduler emptied the result.
async fn emptied(bench: &Bench, placement: Value) {
    bench.fail_cluster("member1");
    let mut left = task("member1", 3, bench.clock.now());
    left["clustersBeforeFailover"] = json!(["member1"]);
    bench.put_deployment(&json!({"placement": placement, "clusters": [], "gracefulEvictionTasks": [left]}));
    scheduled(bench, "False").await;
    bench
        .patch_status(json!({"aggregatedStatus": [copy("member1", "Healthy", 3)]}))
        .await;
}

#[test]
fn a_copy_comes_back_where_the_scheduler_leaves_it() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let _graceful = start_with(&bench, "g", flags()).await;
        emptied(&bench, json!({"clusterAffinity": {"clusterNames": ["member1"]}})).await;
        bench.until(60).await;
        bench.put_cluster("member1", "True", &json!([]));
        bench.until(61).await;
        let binding = bench.binding().await;
        assert_eq!((shown(&binding).as_str(), leaving(&binding)), ("member1:3", vec![]));
    });
}

// The policy does not name member1 any more: put back, it would be emptied again at once, and the copy deleted. It stays as
// a task, runs on, and the condition says why; when the placement names it again it comes back.
#[test]
fn a_copy_that_the_scheduler_would_take_away_stays_as_a_task() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let _graceful = start_with(&bench, "g", flags()).await;
        emptied(&bench, json!({"clusterAffinity": {"clusterNames": ["member3"]}})).await;
        bench.put_cluster("member1", "True", &json!([]));
        bench.until(3_600).await;
        let binding = bench.binding().await;
        assert_eq!((shown(&binding).as_str(), leaving(&binding)), ("", vec!["member1"]));
        let why = "restore: the scheduler would take the copy away again (member1: ";
        assert!(waits_for(&binding).contains(why), "{}", waits_for(&binding));
        let writes = bench.writes(crate::COMPONENT).len();
        bench.until(7_200).await;
        assert_eq!(bench.writes(crate::COMPONENT).len(), writes, "at rest");
        bench
            .patch(json!({"spec": {"placement": {"clusterAffinity": {"clusterNames": ["member1"]}}}}))
            .await;
        scheduled(&bench, "False").await;
        bench.until(7_201).await;
        let binding = bench.binding().await;
        assert_eq!((shown(&binding).as_str(), leaving(&binding)), ("member1:3", vec![]));
    });
}

// Without the flag the scheduler is ours, which takes no copy away that runs.
#[test]
fn our_own_scheduler_is_not_asked() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let _graceful = crate::start(&bench).await;
        emptied(&bench, json!({"clusterAffinity": {"clusterNames": ["member3"]}})).await;
        bench.put_cluster("member1", "True", &json!([]));
        bench.until(1).await;
        assert_eq!(bench.placed().await, "member1:3");
    });
}

/// A CRD of a stock Karmada: what is ours in bindings is pruned from all that is written.
fn without_our_fields(bench: &Bench) {
    let crds = api_types::crds().into_iter();
    for crd in crds.filter(|crd| crd.spec.names.kind == "ResourceBinding") {
        let mut crd = serde_json::to_value(crd).unwrap();
        let spec = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let history = spec["properties"]
            .as_object_mut()
            .unwrap()
            .remove("activeEvictionHistory");
        let task = &mut spec["properties"]["gracefulEvictionTasks"]["items"]["properties"];
        let mark = task.as_object_mut().unwrap().remove("blockInHistory");
        assert!(history.is_some() && mark.is_some());
        bench.plane.apply_crd(crd).unwrap();
    }
}

/// What the evictor writes for a failure of now.
fn failed_application(bench: &Bench, block_predecessor_seconds: i64) -> Value {
    let mut left = task("member1", 3, bench.clock.now());
    left["reason"] = json!("ApplicationFailure");
    left["message"] = json!("the application is unhealthy since 2026-01-01T00:00:00Z, tolerated for 10 s");
    left["blockInHistory"] = json!(true);
    json!({
        "placement": {"clusterAffinity": {"clusterNames": ["member1"]}}, "clusters": [],
        "failover": {"application": {
            "decisionConditions": {"tolerationSeconds": 10}, "blockPredecessorSeconds": block_predecessor_seconds,
        }},
        "gracefulEvictionTasks": [left],
        "activeEvictionHistory": [{"clusterName": "member1", "creationTimestamp": bench.clock.now()}],
    })
}

// A history that the API server drops is no block that a person lifted: the copy would come back at once, fail, leave and
// come back again. The task is the block then.
#[test]
fn a_block_outlives_a_history_that_nobody_keeps() {
    for (seconds, last) in [(1_800, 1_799), (0, 100_000)] {
        paused(async {
            let bench = Bench::new(&["member1", "member2"]);
            without_our_fields(&bench);
            let _graceful = start_with(&bench, "g", flags()).await;
            bench.put_deployment(&failed_application(&bench, seconds));
            scheduled(&bench, "False").await;
            bench
                .patch_status(json!({"aggregatedStatus": [copy("member1", "Unhealthy", 0)]}))
                .await;
            bench.until(120).await;
            let binding = bench.binding().await;
            assert!(binding.spec.active_eviction_history.is_empty(), "pruned");
            let writes = bench.writes(crate::COMPONENT).len();
            bench.until(last).await;
            let binding = bench.binding().await;
            assert_eq!((shown(&binding).as_str(), leaving(&binding)), ("", vec!["member1"]));
            assert_eq!(bench.writes(crate::COMPONENT).len(), writes, "no loop");
            if seconds > 0 {
                bench.until(1_801).await;
            } else {
                // A person's word: it may be there again.
                let back = json!({"clusters": [{"name": "member1", "replicas": 3}], "gracefulEvictionTasks": null});
                bench.patch(json!({"spec": back})).await;
                bench.until(last + 10).await;
            }
            let binding = bench.binding().await;
            assert_eq!((shown(&binding).as_str(), leaving(&binding)), ("member1:3", vec![]));
        });
    }
}

// Where all is kept the item is the block, and the word of who removes it counts at once.
#[test]
fn a_block_is_lifted_by_removing_its_item() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let _graceful = crate::start(&bench).await;
        bench.put_deployment(&failed_application(&bench, 0));
        scheduled(&bench, "False").await;
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member1", "Unhealthy", 0)]}))
            .await;
        bench.until(3_600).await;
        assert_eq!(leaving(&bench.binding().await), ["member1"]);
        bench.patch(json!({"spec": {"activeEvictionHistory": null}})).await;
        scheduled(&bench, "False").await;
        bench.until(3_601).await;
        let binding = bench.binding().await;
        assert_eq!((shown(&binding).as_str(), leaving(&binding)), ("member1:3", vec![]));
    });
}

#[test]
fn a_directly_task_of_a_silent_cluster_goes_on_gracefully_after_the_wait() {
    for of in [Mode::Beside, Mode::Standalone] {
        paused(async {
            let bench = Bench::new(&["member1", "member2"]);
            let flags = Flags {
                mode: of.into(),
                ..Flags::default()
            };
            let _graceful = start_with(&bench, "g", flags).await;
            bench.fail_cluster("member1");
            let mut left = task("member1", 3, bench.clock.now());
            left["purgeMode"] = json!("Directly");
            left["preservedLabelState"] = json!({"a": "b"});
            bench.put_deployment(&json!({
                "placement": {}, "clusters": [{"name": "member2", "replicas": 3}], "gracefulEvictionTasks": [left],
            }));
            scheduled(&bench, "True").await;
            let mode = async || {
                let tasks = bench.binding().await.spec.graceful_eviction_tasks;
                tasks[0].effective_purge_mode().to_string()
            };
            bench.until(29).await;
            assert_eq!(mode().await, "Directly");
            bench.until(30).await;
            assert_eq!(mode().await, if of.is_beside() { "Gracefully" } else { "Directly" });
            let warned = bench.reasons().contains(&"OldCopyNotConfirmedGone".to_owned());
            assert_eq!(warned, of.is_beside());
            // Stock creates the new copy now; the task ends as any other.
            bench.until(31).await;
            scheduled(&bench, "True").await;
            bench
                .patch_status(json!({"aggregatedStatus": [copy("member2", "Healthy", 3)]}))
                .await;
            bench.until(32).await;
            assert_eq!(leaving(&bench.binding().await), [""; 0]);
        });
    }
}

// A scheduler that writes the whole list of conditions without ours, every ten seconds: ours comes back once a minute.
#[test]
fn a_condition_that_is_dropped_comes_back_once_a_minute() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let _graceful = start_with(&bench, "g", flags()).await;
        bench.fail_cluster("member1");
        let mut odd = task("member1", 3, bench.clock.now());
        odd["reason"] = json!("Boredom");
        bench.put_deployment(&json!({
            "placement": {}, "clusters": [{"name": "member2", "replicas": 3}], "gracefulEvictionTasks": [odd],
        }));
        bench.until(1).await;
        let before = bench.writes(crate::COMPONENT).len();
        for second in 1..=60 {
            scheduled(&bench, "True").await;
            bench.until(1 + second * 10).await;
        }
        let written = bench.writes(crate::COMPONENT).len() - before;
        assert!((9..=12).contains(&written), "{written} in ten minutes");
        bench.until(700).await;
        assert!(waits_for(&bench.binding().await).starts_with("True Waiting"));
        let odd = bench
            .reasons()
            .into_iter()
            .filter(|reason| reason == "TaskNotUnderstood");
        assert_eq!(odd.count(), 1, "that is told once");
    });
}
