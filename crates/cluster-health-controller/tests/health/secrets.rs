//! Of the control plane's Secrets only those are read that Clusters name.

use api_types::cluster::Cluster;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use test_bench::paused;

use crate::bench::Bench;
use crate::said;

async fn name_secret(bench: &Bench, cluster: &str, reference: Value) {
    let patch = Patch::Merge(json!({"spec": {"secretRef": reference}}));
    let clusters = Api::<Cluster>::all(bench.client());
    clusters.patch(cluster, &PatchParams::default(), &patch).await.unwrap();
}

// Whoever edits Clusters must not make the process read and hold namespaces of Secrets, one after the other.
#[test]
fn a_secret_is_followed_by_name_while_a_cluster_names_it() {
    paused(async {
        let bench = Bench::new(&["m1", "m2"]);
        for namespace in ["tenant-a", "tenant-b"] {
            bench.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
        }
        let process = bench.start("health-0").await;
        let followed = || {
            let metrics = process.metrics();
            metrics.value("failover_informer_single_objects", &[("kind", "secrets")])
        };
        let tasks = || {
            let tasks = process.tasks().into_iter();
            tasks.filter(|task| task.contains("secrets")).collect::<Vec<_>>()
        };
        bench.until(15).await;
        assert_eq!(followed(), Some(2.0));
        for (number, namespace) in ["tenant-a", "tenant-b"].into_iter().enumerate() {
            name_secret(&bench, "m2", json!({"namespace": namespace, "name": "credentials"})).await;
            bench.until(30 + 15 * u64::try_from(number).unwrap()).await;
            assert_eq!(followed(), Some(2.0), "that of before is let go: {:?}", tasks());
        }
        assert_eq!(
            tasks(),
            [
                "informer secrets karmada-cluster metadata.name=m1 ",
                "informer secrets tenant-b metadata.name=credentials ",
            ]
        );
        // Both by the same, and the last one keeps it.
        name_secret(&bench, "m2", json!({"namespace": "karmada-cluster", "name": "m1"})).await;
        bench.until(60).await;
        assert_eq!(bench.ready("m2").await, said("True", "ClusterReady"));
        assert_eq!(followed(), Some(1.0));
        let clusters = Api::<Cluster>::all(bench.client());
        clusters.delete("m1", &DeleteParams::default()).await.unwrap();
        bench.until(75).await;
        assert_eq!(followed(), Some(1.0));
        clusters.delete("m2", &DeleteParams::default()).await.unwrap();
        bench.until(90).await;
        assert_eq!((followed(), tasks()), (None, Vec::<String>::new()));
    });
}
