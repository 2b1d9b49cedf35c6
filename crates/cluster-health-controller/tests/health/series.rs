//! Metrics of a member go with it.

use api_types::cluster::Cluster;
use kube::api::{Api, DeleteParams};

use crate::bench::Bench;
use test_bench::paused;

// C70; karmada#5839, karmada#5866: nothing in a scrape names a Cluster that is gone, and one that joins anew begins at
// nothing.
#[test]
fn no_series_outlives_its_cluster() {
    paused(async {
        let bench = Bench::new(&["m1", "m2", "m3"]);
        let process = bench.start("health-0").await;
        bench.until(65).await;
        let about_m1 = || {
            let text = process.metrics().render();
            assert_eq!(controller_kit::metrics::complaints(&text), [""; 0], "{text}");
            let lines = text.lines().filter(|line| line.contains("\"m1\"")).map(str::to_owned);
            lines.collect::<Vec<_>>()
        };
        let looks = || {
            let count = about_m1()
                .into_iter()
                .find(|line| line.starts_with("cluster_sync_status_duration_seconds_count"))
                .unwrap();
            count.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
        };
        for name in [
            "cluster_ready_state",
            "cluster_node_number",
            "cluster_ready_node_number",
            "cluster_memory_allocatable_bytes",
            "cluster_cpu_allocatable_number",
            "cluster_pod_allocatable_number",
            "cluster_sync_status_duration_seconds_bucket",
            "failover_informer_objects",
        ] {
            let lines = about_m1();
            assert!(lines.iter().any(|line| line.starts_with(name)), "{name} in {lines:?}");
        }
        assert!(looks() >= 7.0);
        let clusters = Api::<Cluster>::all(bench.plane().observer());
        clusters.delete("m1", &DeleteParams::default()).await.unwrap();
        bench.until(70).await;
        assert!(clusters.get_opt("m1").await.unwrap().is_none());
        assert_eq!(about_m1(), [""; 0]);
        bench.put_cluster("m1");
        bench.until(72).await;
        assert!(looks() <= 2.0, "{}", looks());
    });
}
