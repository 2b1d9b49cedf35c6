//! What ends a task, and what does not, through the controller.

use controller_kit::Mode;
use failover_core::graceful::{Assessment, EvictPlugin, EvictPlugins, View};
use graceful_eviction_controller::{Flags, Wiring, controllers_with};
use rstest::rstest;
use serde_json::{Value, json};
use test_bench::paused;

use crate::bench::{Bench, one_to_two, task};
use crate::{COMPONENT, assert_says, copy, leaving, said, scheduled, start, start_with};

/// member1 failed at the start and leaves by `tasks`; member2 holds all.
async fn leaving_by(bench: &Bench, tasks: Value) {
    bench.fail_cluster("member1");
    bench.put_deployment(&json!({
        "placement": one_to_two(), "clusters": [{"name": "member2", "replicas": 3}], "gracefulEvictionTasks": tasks,
    }));
    scheduled(bench, "True").await;
}

fn with(mut task: Value, more: &Value) -> Value {
    for (field, value) in more.as_object().unwrap() {
        task[field] = value.clone();
    }
    task
}

#[rstest]
fn a_target_that_dies_meanwhile_proves_nothing(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        let _graceful = start(&bench).await;
        let left = task("member1", 1, bench.started);
        leaving_by(&bench, json!([left])).await;
        bench.until(5).await;
        // It reports the new copy in its last second.
        bench.put_cluster("member2", "False", &json!([]));
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member2", "Healthy", 3)]}))
            .await;
        bench.until(3_600).await;
        assert_eq!(leaving(&bench.binding().await), ["member1"]);
        assert_says(&bench, &bench.binding().await, "ResourceHealth: member2 is not Ready");
        bench.put_cluster("member2", "True", &json!([]));
        bench.until(3_601).await;
        assert_eq!(leaving(&bench.binding().await), [""; 0]);
    });
}

// Each copy counts: one of two healthy is not all, and one of two placed is not placed.
#[rstest]
fn every_target_counts_with_all_its_replicas(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2", "member3"]);
        let _graceful = start(&bench).await;
        bench.fail_cluster("member1");
        bench.put_deployment(&json!({
            "placement": one_to_two(),
            "clusters": [{"name": "member2", "replicas": 2}, {"name": "member3", "replicas": 1}],
            "gracefulEvictionTasks": [task("member1", 1, bench.clock.now())],
        }));
        scheduled(&bench, "True").await;
        for (second, member2, member3, why) in [
            (
                1,
                copy("member2", "Healthy", 2),
                Value::Null,
                "member3 has not reported the copy yet",
            ),
            (
                2,
                copy("member2", "Healthy", 1),
                copy("member3", "Healthy", 1),
                "member2 shows 1 of 2 replicas",
            ),
            (
                3,
                copy("member2", "Healthy", 2),
                copy("member3", "Unknown", 1),
                "member3 reports the copy as Unknown",
            ),
        ] {
            let items: Vec<Value> = [member2, member3].into_iter().filter(|item| !item.is_null()).collect();
            bench.patch_status(json!({"aggregatedStatus": items})).await;
            bench.until(second).await;
            assert_says(&bench, &bench.binding().await, why);
        }
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member2", "Healthy", 2), copy("member3", "Healthy", 1)]}))
            .await;
        bench.until(4).await;
        assert_eq!(leaving(&bench.binding().await), [""; 0]);
    });
}

#[rstest]
fn several_tasks_go_each_at_its_own_time(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2", "member3", "member4", "member5"]);
        for down in ["member3", "member4", "member5"] {
            bench.fail_cluster(down);
        }
        let _graceful = start(&bench).await;
        let at = bench.started;
        leaving_by(
            &bench,
            json!([
                with(task("member1", 1, at), &json!({"gracePeriodSeconds": 30})),
                with(task("member3", 1, at), &json!({"gracePeriodSeconds": 10})),
                task("member4", 1, at),
                with(task("member5", 1, at), &json!({"purgeMode": "Never"})),
            ]),
        )
        .await;
        let now = async |second| {
            bench.until(second).await;
            leaving(&bench.binding().await).join(" ")
        };
        assert_eq!(now(9).await, "member1 member3 member4 member5");
        assert_eq!(now(10).await, "member1 member4 member5");
        assert_eq!(now(29).await, "member1 member4 member5");
        assert_eq!(now(30).await, "member4 member5");
        assert_eq!(now(7_200).await, "member4 member5", "no time-out by default");
        scheduled(&bench, "True").await;
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member2", "Healthy", 3)]}))
            .await;
        assert_eq!(now(7_201).await, "member5");
        if let Some(said) = said(&bench, &bench.binding().await) {
            assert_eq!(
                said,
                "True Waiting: member5: purgeMode: Never: the copy stays until a person removes the task"
            );
        }
        bench.patch(json!({"spec": {"gracefulEvictionTasks": null}})).await;
        assert_eq!(now(7_202).await, "");
    });
}

// The grace period of an owner is the owner's word, where a result is there. Without one the last copy stays, unless the
// administrator says otherwise.
#[rstest]
#[case::kept(false, "member1")]
#[case::may_go(true, "")]
fn the_last_copy(
    #[case] allow_last_copy_eviction: bool,
    #[case] expected: &str,
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1"]);
        let flags = Flags {
            allow_last_copy_eviction,
            ..Flags::default()
        };
        let _graceful = start_with(&bench, "g", flags).await;
        bench.fail_cluster("member1");
        let left = with(task("member1", 3, bench.started), &json!({"gracePeriodSeconds": 60}));
        bench.put_deployment(&json!({"placement": {}, "clusters": [], "gracefulEvictionTasks": [left]}));
        scheduled(&bench, "False").await;
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member1", "Healthy", 3)]}))
            .await;
        bench.until(59).await;
        assert_eq!(leaving(&bench.binding().await), ["member1"]);
        bench.until(60).await;
        assert_eq!(leaving(&bench.binding().await).join(" "), expected);
        if !allow_last_copy_eviction {
            assert_says(
                &bench,
                &bench.binding().await,
                "kept because nothing replaces this copy (--allow-last-copy-eviction)",
            );
        }
    });
}

// The retired flag is a grace period for tasks that have none, and no word about the last copy.
#[rstest]
fn the_old_timeout_wants_a_copy_that_runs(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        let flags = Flags {
            graceful_eviction_timeout: Some(std::time::Duration::from_secs(600)),
            ..Flags::default()
        };
        let _graceful = start_with(&bench, "g", flags).await;
        let left = task("member1", 1, bench.started);
        leaving_by(&bench, json!([left])).await;
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member2", "Unhealthy", 0)]}))
            .await;
        bench.until(3_600).await;
        assert_eq!(leaving(&bench.binding().await), ["member1"]);
        // Placed for more than runs: not healthy in the sense of ResourceHealth, but a copy runs.
        bench.patch(json!({"spec": {"replicas": 9}})).await;
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member2", "Healthy", 3)]}))
            .await;
        bench.until(3_601).await;
        assert_eq!(leaving(&bench.binding().await), [""; 0]);
    });
}

/// Says that a copy may go one minute after it was left.
struct AfterAMinute;

impl EvictPlugin for AfterAMinute {
    fn name(&self) -> &'static str {
        "AfterAMinute"
    }

    fn assess(&self, view: &View<'_>, task: &api_types::work::GracefulEvictionTask) -> Assessment {
        let written = task.creation_timestamp.as_ref().map_or(view.now, |time| time.0);
        let left = 60 - view.now.duration_since(written).as_secs();
        if left <= 0 {
            return Assessment::Passes {
                why: "a minute has passed".to_owned(),
            };
        }
        Assessment::Waits {
            why: "a minute has not passed".to_owned(),
            look_again_in: Some(std::time::Duration::from_secs(left.unsigned_abs())),
        }
    }
}

// One plugin that passes suffices, whoever wrote it, where another copy works: ResourceHealth waits here, for the scheduler
// has not looked at the present state. --evict-plugins knows the new one's name; it is asked again when it wants to be.
#[rstest]
#[case::all(&["*"], 60)]
#[case::named(&["AfterAMinute"], 60)]
#[case::switched_off(&["*", "-AfterAMinute"], 3_600)]
fn a_plugin_of_one_s_own(#[case] evict_plugins: &[&str], #[case] stays_for: u64) {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let flags = Flags {
            evict_plugins: evict_plugins.iter().map(|&name| name.to_owned()).collect(),
            ..Flags::default()
        };
        let wiring = Wiring::default().with_plugins(EvictPlugins::all().with(AfterAMinute));
        let _graceful = bench
            .start(COMPONENT, "g", "Failover=true", controllers_with(&flags, wiring))
            .await;
        let left = task("member1", 1, bench.started);
        leaving_by(&bench, json!([left])).await;
        let works = json!({"schedulerObservedGeneration": 0, "aggregatedStatus": [copy("member2", "Healthy", 3)]});
        bench.patch_status(works).await;
        bench.until(stays_for.min(3_600) - 1).await;
        assert_eq!(leaving(&bench.binding().await), ["member1"]);
        bench.until(stays_for).await;
        let expected: &[&str] = if stays_for == 60 { &[] } else { &["member1"] };
        assert_eq!(leaving(&bench.binding().await), expected);
    });
}
