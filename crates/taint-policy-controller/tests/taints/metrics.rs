//! Series of clusters and policies, which go with their objects.

use kube::api::DeleteParams;

use super::*;

#[test]
fn each_cluster_under_each_policy_has_its_series_and_they_go_with_them() {
    paused(async {
        let bench = Bench::new(&["m1", "m2"]);
        bench.put_not_ready_policy();
        bench.set_ready("m1", "True").await;
        bench.set_ready("m2", "True").await;
        let taints = bench.start_taints("taints-0").await;
        bench.until(10).await;
        let metrics = taints.metrics();
        let value = |name: &str, cluster: &str| {
            let labels = [("member_cluster", cluster), ("policy", "not-ready")];
            metrics.value(&format!("cluster_taint_policy_{name}"), &labels)
        };
        let flaps = |cluster: &str| metrics.value("cluster_flap_score", &[("member_cluster", cluster)]);
        assert_eq!(
            (value("matching", "m1"), value("seconds_until_change", "m1")),
            (Some(0.0), None)
        );
        bench.set_ready("m1", "False").await;
        bench.until(20).await;
        assert_eq!(
            (value("matching", "m1"), value("matching", "m2")),
            (Some(1.0), Some(0.0))
        );
        let left = value("seconds_until_change", "m1").unwrap();
        assert!((289.0..=291.0).contains(&left), "{left}");
        assert_eq!(value("transitions_total", "m1"), Some(1.0));
        let score = flaps("m1").unwrap();
        assert!(score > 0.98 && score < 1.0, "{score}");
        bench.until(400).await;
        assert_eq!(
            (value("seconds_until_change", "m1"), value("dismissed", "m1")),
            (None, Some(0.0))
        );
        bench.edit_cluster("m1", json!({"spec": {"taints": null}})).await;
        bench.until(401).await;
        assert_eq!(value("dismissed", "m1"), Some(1.0));

        let policies = kube::Api::<api_types::taint_policy::ClusterTaintPolicy>::all(bench.plane().observer());
        policies.delete("not-ready", &DeleteParams::default()).await.unwrap();
        let clusters = kube::Api::<api_types::cluster::Cluster>::all(bench.plane().observer());
        clusters.delete("m2", &DeleteParams::default()).await.unwrap();
        bench.until(402).await;
        assert_eq!(
            (value("matching", "m1"), value("dismissed", "m1"), flaps("m2")),
            (None, None, None)
        );
        assert!(flaps("m1").is_some());
    });
}
