//! What an API server without our schemas lets in, and what people do to our annotations.

use api_types::names::annotation;
use tokio::time::sleep;

use super::*;

#[test]
fn conditions_without_reason_or_time_are_acted_on() {
    paused(async {
        let bench = Bench::new(&["m1", "m2"]);
        bench.serve_clusters_like_stock();
        bench.put_not_ready_policy();
        let bare = json!([{"type": "Other"}, {"type": "Ready", "status": "False"}]);
        bench.set_conditions("m1", bare).await;
        let null = json!([{"type": "Ready", "status": "Unknown", "reason": null, "lastTransitionTime": null}]);
        bench.set_conditions("m2", null).await;
        let taints = bench.start_taints("taints-0").await;
        bench.until(100).await;
        taints.crash();
        let _taints = bench.start_taints("taints-1").await;
        bench.until(302).await;
        for name in ["m1", "m2"] {
            assert_eq!(bench.taints(name).await, [TAINT], "{name}");
        }
    });
}

/// A list far beyond our own bound. Two thousand of the taints have no time.
#[test]
fn ten_thousand_taints_are_borne() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.serve_clusters_like_stock();
        bench.put_not_ready_policy();
        let taint = |n: usize| match n % 5 {
            0 => json!({"key": format!("k{n}"), "effect": "NoExecute"}),
            _ => json!({"key": format!("k{n}"), "effect": "NoExecute", "timeAdded": "2025-01-01T00:00:00Z"}),
        };
        let many: Vec<_> = (0..10_000).map(taint).collect();
        bench.edit_cluster("m1", json!({"spec": {"taints": many}})).await;
        bench.set_ready("m1", "False").await;
        let _taints = bench.start_taints("taints-0").await;
        bench.until(299).await;
        let stamped = bench.cluster("m1").await.spec.taints;
        assert!(stamped.len() == 10_000 && stamped.iter().all(|taint| taint.time_added.is_some()));
        bench.until(301).await;
        let taints = bench.taints("m1").await;
        assert_eq!((taints.len(), taints.last().unwrap().as_str()), (10_001, TAINT));
        bench.set_ready("m1", "True").await;
        bench.until(490).await;
        assert_eq!(bench.taints("m1").await.len(), 10_000);
        let writes = bench.writes("taints");
        let on_clusters = writes.iter().filter(|write| write.contains(" clusters ")).count();
        assert_eq!(
            on_clusters, 5,
            "stamped, with the window; stamped; fired; Ready crossed; removed"
        );
        let events = bench.events("m1").await;
        let counted = "the missing timeAdded of 1000 taints";
        assert!(events.iter().any(|(_, note)| note.contains(counted)), "{events:?}");
    });
}

#[test]
fn an_edited_record_is_told_once_and_replaced() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put_not_ready_policy();
        bench.set_ready("m1", "False").await;
        let taints = bench.start_taints("taints-0").await;
        bench.until(100).await;
        let nonsense = json!({annotation::TAINT_WINDOWS: "{}", annotation::FLAP_SCORE: "high"});
        bench
            .edit_cluster("m1", json!({"metadata": {"annotations": nonsense}}))
            .await;
        bench.until(302).await;
        assert_eq!(bench.taints("m1").await, [TAINT], "this process knows since when");
        for edited in [json!("mine"), json!(null)] {
            let edited = json!({annotation::MANAGED_TAINTS: edited});
            bench
                .edit_cluster("m1", json!({"metadata": {"annotations": edited}}))
                .await;
            sleep(Duration::from_secs(50)).await;
        }
        let warnings = bench.events("m1").await;
        let warnings: Vec<_> = warnings
            .iter()
            .filter(|(reason, _)| reason == "TaintRecordUnreadable" || reason == "TaintRecordLost")
            .collect();
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        let lost = warnings.iter().filter(|(reason, _)| reason == "TaintRecordLost");
        assert_eq!(lost.count(), 1, "the one that was removed: {warnings:?}");
        let events = bench.events("m1").await;
        let second: Vec<_> = events.iter().filter(|(reason, _)| reason == "SecondOwner").collect();
        assert_eq!(second.len(), 1, "{events:?}");
        assert!(second[0].1.contains("--feature-gates=Failover=false"), "{second:?}");
        let duty = [("duty", "clusterTaintPolicy")];
        assert_eq!(taints.metrics().value("failover_second_owner", &duty), Some(1.0));
        let before = bench.all_writes("taints").len();
        bench.set_ready("m1", "True").await;
        sleep(Duration::from_secs(179)).await;
        assert_eq!(bench.taints("m1").await, [TAINT]);
        bench.until(2000).await;
        assert!(
            bench.taints("m1").await.is_empty(),
            "this process remembers whose it is"
        );
        assert!(bench.all_writes("taints").len() < before + 10);
    });
}

/// Nobody is left who knows whose the taint is: it stays, and the policy says where.
#[test]
fn a_record_that_is_lost_while_nobody_runs_makes_the_taint_somebody_elses() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put_not_ready_policy();
        bench.set_ready("m1", "False").await;
        let taints = bench.start_taints("taints-0").await;
        bench.until(310).await;
        taints.stop().await;
        let removed = json!({annotation::MANAGED_TAINTS: null});
        bench
            .edit_cluster("m1", json!({"metadata": {"annotations": removed}}))
            .await;
        let _taints = bench.start_taints("taints-1").await;
        bench.until(330).await;
        let (status, reason, message) = bench.policy_condition("not-ready", "Ready").await;
        assert_eq!(
            (status.as_str(), reason.as_str()),
            ("True", "ForeignTaint"),
            "{message}"
        );
        assert!(message.contains(TAINT) && message.contains("m1"), "{message}");
        bench.set_ready("m1", "True").await;
        bench.until(2000).await;
        assert_eq!(bench.taints("m1").await, [TAINT]);
    });
}

#[test]
fn a_policy_whose_selector_makes_no_sense_says_so_and_does_nothing() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let mut spec = not_ready_spec();
        spec["targetCluster"] =
            json!({"labelSelector": {"matchExpressions": [{"key": "a b", "operator": "In", "values": ["x"]}]}});
        bench.put_policy("bad", &spec);
        bench.set_ready("m1", "False").await;
        let _taints = bench.start_taints("taints-0").await;
        bench.until(1000).await;
        assert!(bench.taints("m1").await.is_empty());
        let (status, reason, message) = bench.policy_condition("bad", "Ready").await;
        assert_eq!((status.as_str(), reason.as_str()), ("False", "Invalid"));
        assert!(message.contains("labelSelector: \"a b\" is no label key"), "{message}");
    });
}
