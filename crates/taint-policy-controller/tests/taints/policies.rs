//! What policies say about themselves.

use super::*;

#[test]
fn with_the_gate_off_the_policy_says_why_it_does_nothing() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let mut spec = not_ready_spec();
        spec["taintsToAdd"][0]["effect"] = json!("PreferNoExecute");
        bench.put_policy("not-ready", &spec);
        bench.set_ready("m1", "False").await;
        let controllers = taint_policy_controller::controllers(taint_policy_controller::Flags::default());
        let _taints = bench
            .start_with_gates("taints", "taints-0", controllers, "Failover=false")
            .await;
        bench.until(1000).await;
        assert!(bench.taints("m1").await.is_empty());
        let (status, reason, message) = bench.policy_condition("not-ready", "Ready").await;
        assert_eq!((status.as_str(), reason.as_str()), ("False", "FailoverGateOff"));
        assert!(
            message.contains("1 clusters would have one now") && message.contains("--feature-gates=Failover=true"),
            "{message}"
        );
    });
}

// S07 (karmada f8fdd02): a label that makes a cluster a target is acted on as it comes, not with the next change of a condition. The
// window begins then: nobody was watched before.
#[test]
fn a_label_makes_a_cluster_a_target_at_once() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let mut spec = not_ready_spec();
        spec["targetCluster"] = json!({"labelSelector": {"matchLabels": {"tier": "prod"}}});
        bench.put_policy("not-ready", &spec);
        bench.set_ready("m1", "False").await;
        let _taints = bench.start_taints("taints-0").await;
        bench.until(1000).await;
        assert!(bench.taints("m1").await.is_empty(), "it is no target");
        bench
            .edit_cluster("m1", json!({"metadata": {"labels": {"tier": "prod"}}}))
            .await;
        bench.until(1295).await;
        assert!(bench.taints("m1").await.is_empty(), "the window runs");
        bench.until(1305).await;
        assert_eq!(bench.taints("m1").await, [TAINT]);
        bench
            .edit_cluster("m1", json!({"metadata": {"labels": {"tier": null}}}))
            .await;
        bench.until(1310).await;
        assert!(bench.taints("m1").await.is_empty(), "it is none any more");
    });
}

#[test]
fn suspended_conflicting_and_stock_policies_say_so() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.set_ready("m1", "False").await;
        let mut suspended = not_ready_spec();
        suspended["suspended"] = json!(true);
        suspended["taintsToAdd"][0]["key"] = json!("tried-out");
        bench.put_policy("suspended", &suspended);
        for (name, value) in [("a", "1"), ("b", "2")] {
            let mut spec = not_ready_spec();
            spec["taintsToAdd"][0]["value"] = json!(value);
            bench.put_policy(name, &spec);
        }
        bench.put_policy("stock", &stock_spec());
        let _taints = bench.start_taints("taints-0").await;
        bench.until(2).await;
        assert_eq!(
            bench.taints("m1").await,
            ["stock:NoSchedule"],
            "no window in stock's form"
        );
        bench.until(302).await;
        assert_eq!(bench.taints("m1").await, ["stock:NoSchedule", TAINT]);
        assert_eq!(bench.cluster("m1").await.spec.taints[1].value.as_deref(), Some("1"));
        assert_eq!(bench.policy_condition("suspended", "Suspended").await.0, "True");
        for name in ["a", "b"] {
            let (status, _, message) = bench.policy_condition(name, "Conflicting").await;
            assert!(
                status == "True" && message.contains("a is the oldest and wins"),
                "{message}"
            );
        }
        assert_eq!(bench.policy_condition("stock", "Conflicting").await.0, "False");
        let policies = kube::Api::<api_types::taint_policy::ClusterTaintPolicy>::all(bench.plane().observer());
        policies.delete("a", &kube::api::DeleteParams::default()).await.unwrap();
        bench.until(304).await;
        assert_eq!(bench.cluster("m1").await.spec.taints[1].value.as_deref(), Some("2"));
        policies.delete("b", &kube::api::DeleteParams::default()).await.unwrap();
        bench.until(306).await;
        assert_eq!(
            bench.taints("m1").await,
            ["stock:NoSchedule"],
            "nobody names it any more"
        );
    });
}

#[test]
fn a_taint_taken_back_by_hand_stays_away_and_is_told() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put_not_ready_policy();
        bench.set_ready("m1", "False").await;
        let taints = bench.start_taints("taints-0").await;
        bench.until(400).await;
        assert_eq!(bench.taints("m1").await, [TAINT]);
        bench.edit_cluster("m1", json!({"spec": {"taints": null}})).await;
        bench.until(410).await;
        taints.stop().await;
        let _taints = bench.start_taints("taints-1").await;
        bench.until(5000).await;
        assert!(bench.taints("m1").await.is_empty());
        assert!(
            bench
                .events("m1")
                .await
                .iter()
                .any(|(reason, _)| reason == "TaintDismissed")
        );
        assert_eq!(
            bench.policy("not-ready").await.status.unwrap().clusters[0]
                .state
                .as_str(),
            "Dismissed"
        );
    });
}

#[test]
fn a_status_follows_its_spec_and_says_of_which_generation_it_speaks() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put_not_ready_policy();
        bench.set_ready("m1", "False").await;
        let _taints = bench.start_taints("taints-0").await;
        bench.until(10).await;
        let status = bench.policy("not-ready").await.status.unwrap();
        assert_eq!((status.observed_generation, status.pending), (Some(1), 1));
        let told = |status: &api_types::taint_policy::ClusterTaintPolicyStatus| {
            let next = status.next_change_at.clone().unwrap().0;
            next.duration_since(bench.started).as_secs()
        };
        assert_eq!(told(&status), 300);
        assert_eq!(status.clusters[0].fires_at, status.next_change_at);
        let mut spec = not_ready_spec();
        spec["taintsToAdd"][0]["addOnMatchSeconds"] = json!(60);
        let policies = kube::Api::<api_types::taint_policy::ClusterTaintPolicy>::all(bench.plane().observer());
        let patch = kube::api::Patch::Merge(json!({"spec": spec}));
        policies
            .patch("not-ready", &kube::api::PatchParams::default(), &patch)
            .await
            .unwrap();
        bench.until(12).await;
        let status = bench.policy("not-ready").await.status.unwrap();
        assert_eq!(
            (status.observed_generation, told(&status)),
            (Some(2), 60),
            "a shorter window counts from the same moment"
        );
        bench.until(62).await;
        let status = bench.policy("not-ready").await.status.unwrap();
        assert_eq!((status.pending, status.tainted, status.next_change_at), (0, 1, None));
    });
}

#[test]
fn policies_without_a_status_are_followed_all_the_same() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.serve_policies_like_stock();
        bench.put_policy("stock", &stock_spec());
        bench.set_ready("m1", "False").await;
        let _taints = bench.start_taints("taints-0").await;
        bench.until(10).await;
        assert_eq!(bench.taints("m1").await, ["stock:NoSchedule"]);
        let before = bench.all_writes("taints").len();
        bench.until(4000).await;
        assert_eq!(
            bench.all_writes("taints")[before..],
            [""; 0],
            "tried once, not again and again"
        );
        bench.set_ready("m1", "True").await;
        bench.until(4001).await;
        assert!(bench.taints("m1").await.is_empty());
    });
}
