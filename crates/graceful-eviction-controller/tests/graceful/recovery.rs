//! The document's table of recovery outcomes, through the controllers: a cluster fails, its copy becomes a task, the
//! scheduler finds a place or none, the new instance runs or does not, and the cluster recovers.

use controller_kit::Mode;
use kube_sandbox::WriteRecord;
use rstest::rstest;
use serde_json::{Value, json};
use test_bench::paused;

use crate::bench::{Bench, shown, task};
use crate::{copy, leaving, start};

/// Where the workload may go beside member1.
#[derive(Clone, Copy, PartialEq)]
enum Elsewhere {
    Somewhere,
    Nowhere,
}

fn placement(elsewhere: Elsewhere) -> Value {
    let names = match elsewhere {
        Elsewhere::Somewhere => json!(["member1", "member2"]),
        Elsewhere::Nowhere => json!(["member1"]),
    };
    json!({
        "clusterAffinity": {"clusterNames": names},
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
    })
}

// Rows of the table: scheduled and running; scheduled and not running (not deployed, failed to start); complete and empty,
// which with our scheduler is also "failure". `before` and `after` the recovery of member1: where the workload is placed,
// and what leaves.
#[rstest]
#[case::success_running(Elsewhere::Somewhere, Some("Healthy"), ("member2:3", ""), ("member2:3", ""))]
#[case::success_to_be_deployed(Elsewhere::Somewhere, None, ("member2:3", "member1"), ("member2:3", "member1"))]
#[case::success_failed_to_start(Elsewhere::Somewhere, Some("Unhealthy"), ("member2:3", "member1"), ("member2:3", "member1"))]
#[case::empty(Elsewhere::Nowhere, None, ("", "member1"), ("member1:3", ""))]
fn outcomes(
    #[case] elsewhere: Elsewhere,
    #[case] new_copy: Option<&str>,
    #[case] before: (&str, &str),
    #[case] after: (&str, &str),
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        let _scheduler = bench.start_scheduler("s").await;
        let _graceful = start(&bench).await;
        bench.put_deployment(
            &json!({"placement": placement(elsewhere), "clusters": [{"name": "member1", "replicas": 3}]}),
        );
        bench.until(1).await;
        bench
            .patch_status(json!({"aggregatedStatus": [copy("member1", "Healthy", 3)]}))
            .await;
        bench.until(10).await;
        bench.fail_cluster("member1");
        let mut left = task("member1", 3, bench.clock.now());
        left["clustersBeforeFailover"] = json!(["member1"]);
        bench
            .patch(json!({"spec": {"clusters": null, "gracefulEvictionTasks": [left]}}))
            .await;
        bench.until(20).await;
        if let Some(health) = new_copy {
            let available = if health == "Healthy" { 3 } else { 0 };
            bench
                .patch_status(
                    json!({"aggregatedStatus": [copy("member1", "Healthy", 3), copy("member2", health, available)]}),
                )
                .await;
        }
        bench.until(3_600).await;
        let seen = |binding: &api_types::work::Binding| (shown(binding), leaving(binding).join(" "));
        let as_text = |(clusters, tasks): (&str, &str)| (clusters.to_owned(), tasks.to_owned());
        assert_eq!(seen(&bench.binding().await), as_text(before), "while it lasts");

        bench.put_cluster("member1", "True", &json!([]));
        bench.until(7_200).await;
        let binding = bench.binding().await;
        assert_eq!(seen(&binding), as_text(after), "after the recovery");
        assert_eq!(binding.condition("Scheduled").unwrap().status, "True");
        if after.1 == "member1" {
            // The migration is completed after all.
            bench
                .patch_status(
                    json!({"aggregatedStatus": [copy("member1", "Healthy", 3), copy("member2", "Healthy", 3)]}),
                )
                .await;
            bench.until(7_201).await;
            assert_eq!(seen(&bench.binding().await), as_text(("member2:3", "")));
        }
    });
}

// A scheduling that failed beside copies that run: replicas of before stay, and those of member1 come back to them.
#[rstest]
fn replicas_that_found_no_place_come_back_to_the_others(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let bench = Bench::in_mode(mode, &["member1", "member2"]);
        let _graceful = start(&bench).await;
        bench.fail_cluster("member1");
        bench.put_deployment(&json!({
            "placement": crate::bench::one_to_two(), "clusters": [{"name": "member2", "replicas": 2}],
            "gracefulEvictionTasks": [task("member1", 1, bench.clock.now())],
            "activeEvictionHistory": [{"clusterName": "member1", "creationTimestamp": bench.clock.now()},
                {"clusterName": "member9", "creationTimestamp": bench.clock.now()}],
        }));
        crate::scheduled(&bench, "False").await;
        bench.until(10).await;
        assert_eq!(bench.placed().await, "member2:2");
        bench.put_cluster("member1", "True", &json!([]));
        bench.until(11).await;
        let binding = bench.binding().await;
        assert_eq!(
            (shown(&binding).as_str(), leaving(&binding)),
            ("member2:2 member1:1", vec![])
        );
        let history = &binding.spec.active_eviction_history;
        assert_eq!(history.len(), 1, "member1 is forgotten: {history:?}");
        assert!(bench.reasons().contains(&"RestoreWorkloadToClusterSucceed".to_owned()));
        let plane = bench.plane.faults();
        let writes = plane
            .writes()
            .into_iter()
            .filter(|write| write.client == crate::COMPONENT);
        // A trial, by which the home of the history is found, changes nothing.
        let of_spec = |write: &WriteRecord| write.resource == "resourcebindings" && write.subresource.is_none();
        let stored: Vec<WriteRecord> = writes.filter(|write| of_spec(write) && write.changed).collect();
        assert_eq!(stored.len(), 1, "one write: {stored:?}");
    });
}
