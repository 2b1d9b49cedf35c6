//! FailoverRecords: closed when their move ends, whoever ended it, and pruned.

use controller_kit::Mode;
use graceful_eviction_controller::Flags;
use kube_sandbox::Match;
use rstest::rstest;
use serde_json::{Value, json};

use crate::bench::{Bench, one_to_two, task};
use crate::{COMPONENT, copy, leaving, scheduled, start, start_with};
use test_bench::paused;

/// The record that the evictor writes beside a task of now.
async fn put_record(bench: &Bench) -> String {
    let uid = bench.binding().await.metadata.uid.unwrap();
    let name = api_types::names::failover_record_name(&uid, &"member1".into(), bench.clock.now());
    bench.put(json!({
        "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverRecord", "metadata": {"namespace": "default", "name": name},
        "spec": {
            "binding": {"namespace": "default", "name": "nginx-deployment", "uid": uid},
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "nginx"},
            "from": "member1", "cause": {"type": "Taint", "verdict": "v"}, "requestedBy": "t", "evictedAt": bench.clock.now(),
        },
    }));
    name
}

fn record_of(bench: &Bench, name: &str) -> Option<Value> {
    bench
        .plane
        .get("failover.karmada.io/v1alpha1", "FailoverRecord", Some("default"), name)
}

/// member1 left and member2 holds all; the record of the move is there.
async fn leave_member1(bench: &Bench) -> String {
    bench.fail_cluster("member1");
    bench.put_deployment(&json!({
        "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}],
        "gracefulEvictionTasks": [task("member1", 1, bench.clock.now())],
    }));
    let record = put_record(bench).await;
    scheduled(bench, "True").await;
    record
}

#[rstest]
fn a_record_tells_how_its_move_ended_and_goes_when_its_time_is_over(
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        let flags = Flags {
            record_retention: std::time::Duration::from_secs(7200),
            ..Flags::default()
        };
        let _graceful = start_with(&bench, "g", flags).await;
        let record = leave_member1(&bench).await;
        bench.until(10).await;
        assert_eq!(
            record_of(&bench, &record).unwrap()["status"]["outcome"],
            Value::Null,
            "it goes on"
        );
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member2", "Healthy", 3)]}))
            .await;
        bench.until(11).await;
        let status = record_of(&bench, &record).unwrap()["status"].clone();
        assert_eq!(status["outcome"], "Completed");
        assert_eq!(status["reason"], "ResourceHealth: the workload is healthy on member2");
        assert_eq!(status["to"], json!([{"name": "member2", "replicas": 3}]));
        bench.until(7200).await;
        assert!(record_of(&bench, &record).is_some());
        bench.until(7212).await;
        assert!(record_of(&bench, &record).is_none());
    });
}

#[rstest]
fn a_record_tells_that_a_person_removed_the_task_or_the_binding(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    for (by_hand, expected) in [(true, "RemovedByHand"), (false, "BindingGone")] {
        paused(async {
            let bench = Bench::in_mode(mode, &["member1", "member2"]);
            let _graceful = start(&bench).await;
            let record = leave_member1(&bench).await;
            bench.until(10).await;
            if by_hand {
                bench.patch(json!({"spec": {"gracefulEvictionTasks": null}})).await;
            } else {
                bench.delete().await;
            }
            bench.until(11).await;
            assert_eq!(record_of(&bench, &record).unwrap()["status"]["outcome"], expected);
        });
    }
}

// The process dies after the task went and before the record was closed: the next one reads off how it ended.
#[test]
fn a_record_left_open_by_a_crash_is_closed_by_the_next_process() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let records = Match::writes().resource("failoverrecords").client(COMPONENT);
        bench.plane.faults().freeze_after_write(records, 0);
        let first = start(&bench).await;
        let record = leave_member1(&bench).await;
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member2", "Healthy", 3)]}))
            .await;
        bench.until(70).await;
        assert_eq!(leaving(&bench.binding().await), [""; 0]);
        first.crash();
        bench.plane.faults().thaw();
        bench.plane.faults().clear();
        scheduled(&bench, "True").await;
        let _second = start_with(&bench, "h", Flags::default()).await;
        bench.until(120).await;
        assert_eq!(record_of(&bench, &record).unwrap()["status"]["outcome"], "Completed");
    });
}

// Rule 5: the evictor died between the task and its record. Whether the move goes on for long or is done at once, there
// is a record of it.
#[test]
fn a_record_that_the_evictor_owes_is_made_up() {
    for done_at_once in [true, false] {
        paused(async {
            let bench = Bench::new(&["member1", "member2"]);
            let _graceful = start(&bench).await;
            bench.fail_cluster("member1");
            bench.put_deployment(&json!({"placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}]}));
            bench.until(1).await;
            let evicted_at = bench.clock.now();
            bench
                .patch(json!({"spec": {"gracefulEvictionTasks": [task("member1", 1, evicted_at)]}}))
                .await;
            scheduled(&bench, "True").await;
            let uid = bench.binding().await.metadata.uid.unwrap();
            let name = api_types::names::failover_record_name(&uid, &"member1".into(), evicted_at);
            bench.until(if done_at_once { 2 } else { 12 }).await;
            assert_eq!(
                record_of(&bench, &name).is_some(),
                !done_at_once,
                "in time it is the evictor's to write"
            );
            bench
                .patch_status(json!({"aggregatedStatus": [copy("member2", "Healthy", 3)]}))
                .await;
            bench.until(14).await;
            let record = record_of(&bench, &name).unwrap();
            assert_eq!(record["status"]["outcome"], "Completed");
            assert_eq!(record["spec"]["requestedBy"], "taintManager");
            assert!(leaving(&bench.binding().await).is_empty());
        });
    }
}

fn times(record: &Value) -> Vec<(&'static str, String)> {
    let spec =
        ["affectedAt", "dueAt", "queuedAt", "releasedAt", "evictedAt"].map(|field| (field, &record["spec"][field]));
    let status = ["scheduledAt", "healthyAt", "cleanedAt"].map(|field| (field, &record["status"][field]));
    let all = spec.into_iter().chain(status);
    all.map(|(field, value)| (field, value.as_str().unwrap_or_default().to_owned()))
        .collect()
}

// Every phase has its time, and they are in order; the five before the task are the evictor's.
#[test]
fn a_closed_record_has_all_its_times() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let _scheduler = bench.start_scheduler("s").await;
        let _graceful = start(&bench).await;
        bench.put_deployment(&json!({"placement": one_to_two()}));
        bench.until(1).await;
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member1", "Healthy", 1), copy("member2", "Healthy", 2)]}))
            .await;
        bench.until(10).await;
        bench.fail_cluster("member1");
        bench.until(60).await;
        bench
            .patch(json!({"spec": {
                "clusters": [{"name": "member2", "replicas": 2}], "gracefulEvictionTasks": [task("member1", 1, bench.clock.now())],
            }}))
            .await;
        let name = put_record(&bench).await;
        bench.until(70).await;
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member1", "Healthy", 1), copy("member2", "Healthy", 3)]}))
            .await;
        bench.until(80).await;
        let record = record_of(&bench, &name).unwrap();
        let times = times(&record);
        let of = |field: &str| times.iter().find(|(name, _)| *name == field).unwrap().1.clone();
        for field in ["evictedAt", "scheduledAt", "healthyAt", "cleanedAt"] {
            assert!(!of(field).is_empty(), "{field}: {record}");
        }
        let at = |field: &str| of(field).parse::<jiff::Timestamp>().unwrap().as_second();
        assert!(
            at("evictedAt") <= at("scheduledAt") && at("scheduledAt") <= at("healthyAt"),
            "{times:?}"
        );
        assert!(at("healthyAt") <= at("cleanedAt"), "{times:?}");
    });
}

#[test]
fn a_restored_move_is_told_with_the_copy_that_came_back() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let _graceful = start(&bench).await;
        bench.fail_cluster("member1");
        bench.put_deployment(&json!({
            "placement": one_to_two(), "clusters": [], "gracefulEvictionTasks": [task("member1", 3, bench.clock.now())],
        }));
        let name = put_record(&bench).await;
        scheduled(&bench, "False").await;
        bench.until(10).await;
        bench.put_cluster("member1", "True", &json!([]));
        bench.until(11).await;
        let status = record_of(&bench, &name).unwrap()["status"].clone();
        assert_eq!(status["outcome"], "Restored");
        assert_eq!(status["to"], json!([{"name": "member1", "replicas": 3}]));
        assert!(
            status["healthyAt"].is_null() && status["scheduledAt"].is_null(),
            "{status}"
        );
    });
}

// Known gap of before: the evictor wrote none, and graceful eviction made up for it.
#[test]
fn with_records_switched_off_none_is_written_closed_or_deleted() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let wiring = graceful_eviction_controller::Wiring {
            records: graceful_eviction_controller::RecordKeeping::Off,
            ..Default::default()
        };
        let controllers = graceful_eviction_controller::controllers_with(&Flags::default(), wiring);
        let _graceful = bench.start(COMPONENT, "g", "Failover=true", controllers).await;
        let there = leave_member1(&bench).await;
        bench.until(3_600).await;
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member2", "Healthy", 3)]}))
            .await;
        bench.until(3_601).await;
        assert!(leaving(&bench.binding().await).is_empty(), "tasks end all the same");
        let all = bench.plane.list("failover.karmada.io/v1alpha1", "FailoverRecord");
        assert_eq!(all.len(), 1);
        assert_eq!(record_of(&bench, &there).unwrap()["status"]["outcome"], Value::Null);
        assert!(
            bench
                .writes(COMPONENT)
                .iter()
                .all(|write| write.starts_with("resourcebindings "))
        );
    });
}

// At most 10,000 are kept: of those that are closed the oldest go, and an open one stays whatever its age.
#[test]
fn the_oldest_closed_records_go_when_there_are_too_many() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let open = leave_member1(&bench).await;
        let closed = |number: usize| {
            let at = bench.started - std::time::Duration::from_secs(u64::try_from(20_000 - number).unwrap());
            json!({
                "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverRecord",
                "metadata": {"namespace": "default", "name": format!("old-{number}")},
                "spec": {
                    "binding": {"namespace": "default", "name": "gone", "uid": "u"},
                    "resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "gone"},
                    "from": "member1", "cause": {"type": "Taint", "verdict": "v"}, "requestedBy": "t", "evictedAt": at,
                },
                "status": {"outcome": "Completed", "cleanedAt": at},
            })
        };
        for number in 0..10_004 {
            bench.put(closed(number));
        }
        let _graceful = start(&bench).await;
        bench.until(60).await;
        let all = bench.plane.list("failover.karmada.io/v1alpha1", "FailoverRecord");
        assert_eq!(all.len(), 10_000);
        assert!(record_of(&bench, &open).is_some());
        assert!(record_of(&bench, "old-4").is_none() && record_of(&bench, "old-5").is_some());
    });
}
