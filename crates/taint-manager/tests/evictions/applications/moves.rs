//! One move: what is written, for whom, how fast; together with the failure of the cluster.

use std::time::Duration;

use controller_kit::Mode;
use kube_sandbox::{Effect, EventEffect, Match, Verb};
use rstest::rstest;
use serde_json::json;

use super::super::scene::{CLIENT, NOT_READY};
use super::{Stage, asks, report, tolerates};
use test_bench::paused;
use test_bench::stock::Excepted;

#[rstest]
fn a_failover_is_one_write_with_everything_in_it(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let stage = Stage::in_mode(mode, &["m1", "m2"], 0.5).await;
        let scene = &stage.scene;
        scene.binding("web", &["m1"], tolerates(60));
        stage.report("default/web", &[("m1", "Healthy")]).await;
        scene.until(40).await;
        assert_eq!(scene.spec_writes(), [], "nothing happens while nothing is wrong");

        stage.report("default/web", &[("m1", "Unhealthy")]).await;
        scene.until(60).await;
        let entries = scene.entries().await;
        let entry = entries[0].published.clone().unwrap();
        let cause = entry.key.unwrap().cause;
        let since: jiff::Timestamp = cause.strip_prefix("application@").unwrap().parse().unwrap();
        let waited = since.as_second() - scene.started.as_second();
        assert!((40..=42).contains(&waited), "{cause}");
        assert!(scene.task("default/web", "m1").await.is_none());
        scene.until(110).await;
        let binding = scene.get("default/web").await;
        let (due, at) = (since + std::time::Duration::from_secs(60), "2026-01-01T00:01");
        let message = format!("the application is unhealthy since {since}, tolerated for 60 s, until {due}");
        let task = &binding.spec.graceful_eviction_tasks[0];
        let written = task.creation_timestamp.clone().unwrap();
        assert!(
            written.0 >= due && written.0 <= due + std::time::Duration::from_secs(2),
            "{written:?}"
        );
        assert!(written.0.to_string().starts_with(at));
        let mut expected = json!({
            "fromCluster": "m1", "purgeMode": "Gracefully", "replicas": 2, "reason": "ApplicationFailure",
            "message": message, "producer": "resource-binding-application-failover-controller",
            "gracePeriodSeconds": 600, "creationTimestamp": written, "clustersBeforeFailover": ["m1"],
        });
        if scene.company.expects(Excepted::FieldWithoutSecondHome) {
            expected["blockInHistory"] = json!(true);
        }
        assert_eq!(serde_json::to_value(task).unwrap(), expected);
        scene.assert_result(&binding, &[]);
        assert_eq!(
            serde_json::to_value(&binding.spec.active_eviction_history).unwrap(),
            json!([{"clusterName": "m1", "creationTimestamp": written}])
        );
        let annotations = binding.metadata.annotations.clone().unwrap_or_default();
        assert_eq!(
            annotations.get("failover.karmada.io/health-clock"),
            None,
            "the copy leaves"
        );
        assert_eq!(scene.spec_writes().len(), 1);
        let records = scene.plane.list("failover.karmada.io/v1alpha1", "FailoverRecord");
        assert_eq!(records.len(), 1);
        assert_eq!(
            records[0]["spec"]["cause"],
            json!({"type": "ApplicationFailure", "verdict": cause, "message": message})
        );
        assert_eq!(records[0]["spec"]["requestedBy"], "applicationFailover");
        assert_eq!(records[0]["spec"]["dueAt"], due.to_string());
        let told = [format!("Deployment/web: leaves m1: {message}")];
        assert_eq!(scene.events("Evicted").await, told);
        assert!(scene.entries().await.is_empty());
    });
}

/// Where the history goes is found out before anything is judged: the cluster that fails while the server thinks about that
/// is seen. (By delayed news, so that neither the queue nor the producer tells of it.)
#[rstest]
fn the_trial_of_the_history_does_not_come_between_reads_and_write(
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
) {
    paused(async {
        let mut stage = Stage::in_mode(mode, &["m1", "m2"], 1.0).await;
        stage.scene.binding("web", &["m1"], tolerates(10));
        stage.report("default/web", &[("m1", "Healthy")]).await;
        stage.scene.until(40).await;
        stage.report("default/web", &[("m1", "Unhealthy")]).await;
        stage.scene.until(50).await;
        stage.producer = None;
        let scene = &stage.scene;
        let the_trial = Match::default()
            .verb(Verb::Patch)
            .resource("resourcebindings")
            .subresource("")
            .client(CLIENT);
        let slow = Effect::Latency(Duration::from_secs(3));
        scene.plane.faults().inject_times(the_trial, 0, 1, slow);
        let late = EventEffect::Delay(Duration::from_secs(30));
        let clusters = Match::any().resource("clusters");
        scene.plane.faults().disturb_events(clusters, 0, u64::MAX, late);
        // It is due between 51 and 52.
        scene.until(53).await;
        let unready = json!({"type": "Ready", "status": "False", "reason": "R", "message": "", "lastTransitionTime": scene.now_text()});
        scene
            .patch_cluster_status("m1", &json!({"status": {"conditions": [unready]}}))
            .await;
        scene.until(60).await;
        assert!(scene.task("default/web", "m1").await.is_none());
        let looked = [("outcome", "NotNeeded"), ("reason", "ClusterNotReady")];
        assert_eq!(
            stage.manager.metrics().value("evictor_leases_total", &looked),
            Some(1.0)
        );
    });
}

/// By the same code, and without propagation of dependencies, too. (C96, karmada#7458, karmada#3738)
#[rstest]
fn c96_bindings_of_both_scopes_get_equal_tasks(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let stage = Stage::in_mode(mode, &["m1", "m2"], 1.0).await;
        let scene = &stage.scene;
        let mut spec = asks(json!({"decisionConditions": {"tolerationSeconds": 5}, "purgeMode": "Never"}));
        spec["replicas"] = json!(null);
        spec["propagateDeps"] = json!(false);
        scene.binding("web", &["m1"], spec.clone());
        scene
            .patch("default/web", json!({"spec": {"clusters": [{"name": "m1"}]}}))
            .await;
        scene.cluster_binding("reader", &["m1"], spec);
        for key in ["default/web", "reader"] {
            stage.report(key, &[("m1", "Unhealthy")]).await;
        }
        scene.until(40).await;
        let mut task = scene.task("default/web", "m1").await.unwrap();
        let mut other = scene.task("reader", "m1").await.unwrap();
        assert_eq!(task.suppress_deletion, Some(true), "as stock writes Never");
        assert_eq!(task.grace_period_seconds, None);
        assert_eq!(
            other.producer,
            "cluster-resource-binding-application-failover-controller"
        );
        for task in [&mut task, &mut other] {
            task.creation_timestamp = None;
            task.producer.clear();
        }
        assert_eq!(task, other);
    });
}

/// The nodes of a cluster die while its API lives: its workloads leave as fast as the rate allows, and not all at once.
#[rstest]
fn many_failures_at_once_are_no_stampede(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let stage = Stage::in_mode(mode, &["m1", "m2"], 0.5).await;
        let scene = &stage.scene;
        for n in 0..60 {
            scene.binding(&format!("web-{n:02}"), &["m1"], tolerates(5));
            report(scene, &format!("default/web-{n:02}"), &[("m1", "Unhealthy")]).await;
        }
        scene.until(30).await;
        let first = scene.evicted();
        scene.until(50).await;
        assert_eq!(scene.evicted() - first, 10, "0.5 a second");
        scene.until(150).await;
        assert_eq!(scene.evicted(), 60);
    });
}

/// What recovers before its turn stays.
#[rstest]
fn a_recovered_application_stays(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let stage = Stage::in_mode(mode, &["m1", "m2"], 0.1).await;
        let scene = &stage.scene;
        for n in 0..3 {
            scene.binding(&format!("web-{n}"), &["m1"], tolerates(5));
            report(scene, &format!("default/web-{n}"), &[("m1", "Unhealthy")]).await;
        }
        scene.until(30).await;
        assert_eq!(scene.evicted(), 1);
        for n in 0..3 {
            report(scene, &format!("default/web-{n}"), &[("m1", "Healthy")]).await;
        }
        scene.until(80).await;
        assert_eq!(scene.evicted(), 1);
        assert!(scene.entries().await.is_empty());
        let abandoned = scene.events("EvictionAbandoned").await;
        assert_eq!(abandoned.len(), 2);
        assert!(
            abandoned[0].ends_with("stays on m1 (ApplicationRecovered): the application does not fail any more"),
            "{abandoned:?}"
        );
    });
}

/// At whatever moment of its eviction an application recovers: once that is stored it does not leave any more.
#[test]
fn what_has_recovered_does_not_leave_afterwards() {
    let mut left = 0;
    // It is due between second 25 and 27; odd steps, so that the moments fall before, into and after what happens.
    let moments: Vec<u64> = (24_903..27_900).step_by(197).collect();
    for at_millis in &moments {
        let at_millis = *at_millis;
        left += paused(async move {
            let stage = Stage::new(&["m1", "m2"], 1.0).await;
            let scene = &stage.scene;
            scene.binding("web", &["m1"], tolerates(5));
            stage.report("default/web", &[("m1", "Unhealthy")]).await;
            scene.until_millis(at_millis).await;
            stage.report("default/web", &[("m1", "Healthy")]).await;
            let has_left = scene.task("default/web", "m1").await;
            scene.until(60).await;
            assert_eq!(scene.task("default/web", "m1").await, has_left, "{at_millis} ms");
            assert!(scene.entries().await.is_empty(), "{at_millis} ms");
            usize::from(has_left.is_some())
        });
    }
    assert!(
        (1..moments.len()).contains(&left),
        "some moments are before it and some after: {left}"
    );
}

/// The application fails, and then its cluster: one task, one record, whoever comes first.
#[rstest]
fn together_with_the_failure_of_the_cluster_there_is_one_task(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    for (first, toleration) in [("TaintUntolerated", 60), ("ApplicationFailure", 5)] {
        paused(async move {
            let stage = Stage::in_mode(mode, &["m1", "m2"], 1.0).await;
            let scene = &stage.scene;
            let mut spec = tolerates(toleration);
            let seconds = if first == "TaintUntolerated" { 5 } else { 60 };
            spec["placement"] = json!({"clusterTolerations": [{"operator": "Exists", "tolerationSeconds": seconds}]});
            scene.binding("web", &["m1"], spec);
            stage.report("default/web", &[("m1", "Unhealthy")]).await;
            scene.taint("m1", &json!([scene.no_execute("drained")])).await;
            scene.until(24).await;
            assert_eq!(scene.entries().await.len(), 2, "both are in the queue");
            scene.until(120).await;
            let binding = scene.get("default/web").await;
            let reasons: Vec<&str> = binding
                .spec
                .graceful_eviction_tasks
                .iter()
                .map(|task| task.reason.as_str())
                .collect();
            assert_eq!(reasons, [first]);
            let records = scene.plane.list("failover.karmada.io/v1alpha1", "FailoverRecord");
            assert_eq!(records.len(), 1);
            assert!(scene.entries().await.is_empty());
            let history = binding.spec.active_eviction_history.len();
            assert_eq!(history, usize::from(first == "ApplicationFailure"));
        });
    }
}

/// A cluster that is not Ready is the taint manager's business: what is stored of the health of its applications is old.
#[rstest]
fn stale_health_moves_nobody(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let stage = Stage::in_mode(mode, &["m1", "m2"], 1.0).await;
        let scene = &stage.scene;
        let ready = |status: &str| {
            let condition = json!({"type": "Ready", "status": status, "reason": "R", "message": "",
                "lastTransitionTime": scene.now_text()});
            json!({"status": {"conditions": [condition]}})
        };
        scene.binding("web", &["m1"], tolerates(30));
        stage.report("default/web", &[("m1", "Unhealthy")]).await;
        scene.until(30).await;
        scene.patch_cluster_status("m1", &ready("Unknown")).await;
        scene.until(300).await;
        assert!(scene.task("default/web", "m1").await.is_none());
        assert!(scene.entries().await.is_empty());
        let abandoned = scene.events("EvictionAbandoned").await;
        assert_eq!(abandoned.len(), 1);
        assert!(abandoned[0].contains("stays on m1 (ClusterNotReady)"), "{abandoned:?}");
        // Back, and its health is what it was until somebody says otherwise: for that there is a minute.
        scene.patch_cluster_status("m1", &ready("True")).await;
        scene.until(359).await;
        assert!(scene.task("default/web", "m1").await.is_none());
        scene.until(363).await;
        assert!(scene.task("default/web", "m1").await.is_some());
    });
}

/// Many failed just before the outage of their cluster and recovered in it. On its return their health of before is there
/// at once, and the health of now a little later: nobody leaves, whatever the clock of the cluster's agent says.
#[rstest]
fn what_recovered_in_an_outage_does_not_leave_on_the_return(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    for agents_clock in ["2026-01-01T00:05:00Z", "2025-12-31T22:05:00Z", "2026-01-01T02:05:00Z"] {
        paused(async {
            let stage = Stage::in_mode(mode, &["m1", "m2"], 10.0).await;
            let scene = &stage.scene;
            let ready = |status: &str, since: &str| {
                let condition = json!({"type": "Ready", "status": status, "reason": "R", "message": "",
                    "lastTransitionTime": since});
                json!({"status": {"conditions": [condition]}})
            };
            let names: Vec<String> = (0..20).map(|n| format!("default/web-{n:02}")).collect();
            for name in &names {
                // The default.
                scene.binding(
                    name.trim_start_matches("default/"),
                    &["m1"],
                    asks(json!({"decisionConditions": {}})),
                );
                stage.report(name, &[("m1", "Unhealthy")]).await;
            }
            scene.until(22).await;
            scene
                .patch_cluster_status("m1", &ready("Unknown", &scene.now_text()))
                .await;
            for name in &names {
                stage.report(name, &[("m1", "Unknown")]).await;
            }
            scene.until(300).await;
            scene.patch_cluster_status("m1", &ready("True", agents_clock)).await;
            for name in &names {
                stage.report(name, &[("m1", "Unhealthy")]).await;
            }
            scene.until(345).await;
            assert_eq!(scene.evicted(), 0, "{agents_clock}");
            for name in &names {
                stage.report(name, &[("m1", "Healthy")]).await;
            }
            scene.until(600).await;
            assert_eq!(scene.evicted(), 0, "{agents_clock}");
        });
    }
}

/// A Duplicated workload and another taint beside it: a taint says nothing of the application.
#[rstest]
fn a_taint_that_is_tolerated_does_not_keep_a_failed_application(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let stage = Stage::in_mode(mode, &["m1", "m2"], 1.0).await;
        let scene = &stage.scene;
        let mut spec = tolerates(5);
        spec["placement"] = json!({"clusterTolerations": [{"operator": "Exists"}]});
        scene.binding("web", &["m1"], spec);
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        stage.report("default/web", &[("m1", "Unhealthy")]).await;
        scene.until(30).await;
        let task = scene.task("default/web", "m1").await.unwrap();
        assert_eq!(task.reason, "ApplicationFailure");
    });
}
