//! Restarts and crashes: what stands there at the start is taken up, and the end is the same.

use controller_kit::Mode;
use graceful_eviction_controller::Flags;
use kube_sandbox::Match;
use rstest::rstest;
use serde_json::json;
use test_bench::paused;

use crate::bench::{Bench, one_to_two, shown, task};
use crate::{COMPONENT, assert_says, copy, leaving, scheduled, start, start_with, waits_for};

// C06, karmada#3467: tasks that stand there at the start are taken up without any new event.
#[rstest]
fn c06_tasks_found_at_the_start_end_in_time(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        bench.fail_cluster("member1");
        let mut old = task("member1", 1, bench.started);
        old["gracePeriodSeconds"] = json!(600);
        bench.put_deployment(&json!({
            "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}], "gracefulEvictionTasks": [old],
        }));
        scheduled(&bench, "True").await;
        bench.until(540).await;
        let _graceful = start(&bench).await;
        bench.until(599).await;
        assert_eq!(leaving(&bench.binding().await), ["member1"]);
        bench.until(600).await;
        assert_eq!(leaving(&bench.binding().await), [""; 0]);
    });
}

// Rule 5: a restart after the new copy was healthy comes to the same end.
#[rstest]
fn a_restart_does_not_wait_for_a_change_that_happened_before_it(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member3"]);
        bench.fail_cluster("member1");
        bench.put_deployment(&json!({
            "placement": {}, "clusters": [{"name": "member3", "replicas": 3}],
            "gracefulEvictionTasks": [task("member1", 3, bench.started)],
        }));
        scheduled(&bench, "True").await;
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member3", "Healthy", 3)]}))
            .await;
        bench.until(100).await;
        let _graceful = start(&bench).await;
        bench.until(159).await;
        let binding = bench.binding().await;
        assert_eq!(leaving(&binding), ["member1"]);
        assert_says(&bench, &binding, "the status of member3 is from before the eviction");
        bench.until(161).await;
        assert_eq!(leaving(&bench.binding().await), [""; 0]);
    });
}

#[rstest]
fn a_crash_after_any_write_comes_to_the_same_end(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    for writes in 0..5 {
        paused(async {
            let bench = Bench::in_mode(mode, &["member1", "member2"]);
            let _scheduler = bench.start_scheduler("s").await;
            let bindings = Match::writes().resource("resourcebindings").client(COMPONENT);
            bench.plane.faults().freeze_after_write(bindings, writes);
            let first = start(&bench).await;
            let mut stocks = task("member1", 1, bench.started);
            stocks.as_object_mut().unwrap().remove("creationTimestamp");
            bench.fail_cluster("member1");
            bench.put_deployment(&json!({
                "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 2}], "gracefulEvictionTasks": [stocks],
            }));
            bench
                .patch_status(json!({"aggregatedStatus": [copy("member2", "Healthy", 2)]}))
                .await;
            bench.until(10).await;
            bench
                .patch_status(json!({"aggregatedStatus": [copy("member2", "Healthy", 3)]}))
                .await;
            bench.until(20).await;
            first.crash();
            bench.plane.faults().thaw();
            bench.plane.faults().clear();
            let _second = start_with(&bench, "h", Flags::default()).await;
            bench.until(120).await;
            let binding = bench.binding().await;
            assert_eq!(
                (shown(&binding).as_str(), leaving(&binding)),
                ("member2:3", vec![]),
                "after {writes} writes"
            );
            assert!(
                !waits_for(&binding).starts_with("True"),
                "after {writes} writes: {}",
                waits_for(&binding)
            );
        });
    }
}
