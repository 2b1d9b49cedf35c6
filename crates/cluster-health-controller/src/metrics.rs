//! Metrics of member clusters, by Karmada's names; each series goes with its Cluster.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::Cluster;
use controller_kit::metrics::{Buckets, Family};
use controller_kit::{Context, Store};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use parking_lot::Mutex;

use crate::cluster_status::Subject;

/// How long looks at members took.
#[derive(Debug, Default)]
pub(crate) struct Timings {
    by_cluster: Mutex<BTreeMap<String, Buckets>>,
}

impl Timings {
    pub fn record(&self, cluster: &str, took: Duration) {
        let mut all = self.by_cluster.lock();
        all.entry(cluster.to_owned()).or_default().record(took.as_secs_f64());
    }

    pub fn forget(&self, cluster: &str) {
        self.by_cluster.lock().remove(cluster);
    }
}

/// Computes the series from the Clusters that are reported on, at every scrape.
pub(crate) fn publish(ctx: &Context, clusters: &Store<Cluster>, subject: &Subject) -> Arc<Timings> {
    let timings = Arc::new(Timings::default());
    let (known, store, subject) = (Arc::clone(&timings), clusters.clone(), subject.clone());
    ctx.metrics.collector("clusterStatus", move || {
        let clusters: Vec<Arc<Cluster>> = store
            .list()
            .into_iter()
            .filter(|cluster| subject.includes(cluster))
            .collect();
        families(&clusters, &known)
    });
    timings
}

/// One family: name, help, and its value for a Cluster.
type Gauge = (&'static str, &'static str, fn(&Cluster) -> Option<f64>);

const GAUGES: [Gauge; 9] = [
    (
        "cluster_ready_state",
        "State of the cluster (1 if ready, 0 otherwise).",
        |c| Some(f64::from(u8::from(c.is_ready()))),
    ),
    ("cluster_node_number", "Number of nodes in the cluster.", |c| {
        Some(f64::from(c.status.as_ref()?.node_summary.as_ref()?.total_num))
    }),
    (
        "cluster_ready_node_number",
        "Number of ready nodes in the cluster.",
        |c| Some(f64::from(c.status.as_ref()?.node_summary.as_ref()?.ready_num)),
    ),
    (
        "cluster_memory_allocatable_bytes",
        "Allocatable memory of the cluster in bytes.",
        |c| allocatable(c, "memory"),
    ),
    (
        "cluster_cpu_allocatable_number",
        "Allocatable CPU cores of the cluster.",
        |c| allocatable(c, "cpu"),
    ),
    (
        "cluster_pod_allocatable_number",
        "Allocatable pods of the cluster.",
        |c| allocatable(c, "pods"),
    ),
    (
        "cluster_memory_allocated_bytes",
        "Memory requested in the cluster, in bytes.",
        |c| allocated(c, "memory"),
    ),
    (
        "cluster_cpu_allocated_number",
        "CPU cores requested in the cluster.",
        |c| allocated(c, "cpu"),
    ),
    (
        "cluster_pod_allocated_number",
        "Pods in the cluster that have a node and have not ended.",
        |c| allocated(c, "pods"),
    ),
];

fn allocatable(cluster: &Cluster, resource: &str) -> Option<f64> {
    number(
        &cluster.status.as_ref()?.resource_summary.as_ref()?.allocatable,
        resource,
    )
}

fn allocated(cluster: &Cluster, resource: &str) -> Option<f64> {
    number(&cluster.status.as_ref()?.resource_summary.as_ref()?.allocated, resource)
}

fn number(quantities: &BTreeMap<String, Quantity>, resource: &str) -> Option<f64> {
    crate::cluster_status::quantity_as_number(quantities.get(resource)?)
}

fn families(clusters: &[Arc<Cluster>], timings: &Timings) -> Vec<Family> {
    let mut families: Vec<Family> = GAUGES
        .iter()
        .map(|(name, help, value)| {
            clusters
                .iter()
                .fold(Family::gauge(name, help), |family, cluster| match value(cluster) {
                    Some(value) => family.with(&[("member_cluster", cluster.cluster_name().as_str())], value),
                    None => family,
                })
        })
        .collect();
    let timings = timings.by_cluster.lock();
    let looks = clusters.iter().map(|cluster| cluster.cluster_name()).fold(
        Family::histogram(
            "cluster_sync_status_duration_seconds",
            "Time that looks at the cluster took.",
        ),
        |family, name| match timings.get(name.as_str()) {
            Some(took) => family.with_buckets(&[("member_cluster", name.as_str())], took),
            None => family,
        },
    );
    families.push(looks);
    families
}
