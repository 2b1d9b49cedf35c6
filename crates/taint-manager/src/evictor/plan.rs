//! What an eviction writes: the task on the binding, and the record of the move. Pure.

use api_types::cluster::Cluster;
use api_types::failover::FailoverRecord;
use api_types::names::failover_record_name;
use api_types::work::{Binding, GracefulEvictionTask, task};
use failover_core::eviction::Affected;
use failover_core::eviction::cause::to_the_second;
use failover_core::graceful::record::{Move, of_move};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::lease::Lease;
use crate::text::shorten;

/// The task by which a binding leaves the cluster of the lease.
pub(crate) fn task(binding: &Binding, lease: &Lease, affected: &Affected, now: Timestamp) -> GracefulEvictionTask {
    let spec = &binding.spec;
    let cluster = &lease.entry.key.cluster;
    GracefulEvictionTask {
        from_cluster: cluster.to_string(),
        purge_mode: Some(affected.purge_mode.clone()),
        replicas: spec
            .target(cluster)
            .map(|target| target.replicas)
            .filter(|replicas| *replicas > 0),
        reason: task::TAINT_UNTOLERATED.to_owned(),
        message: Some(shorten(affected.reason())),
        producer: task::TAINT_MANAGER.to_owned(),
        grace_period_seconds: affected.grace_period_seconds,
        creation_timestamp: Some(Time(to_the_second(now))),
        clusters_before_failover: spec.clusters.iter().map(|target| target.name.clone()).collect(),
        ..GracefulEvictionTask::default()
    }
}

/// The record of a move. Records of bindings of cluster scope live in `system_namespace`.
pub(crate) fn record(
    binding: &Binding,
    cluster: &Cluster,
    lease: &Lease,
    task: &GracefulEvictionTask,
    system_namespace: &str,
) -> FailoverRecord {
    let key = &lease.entry.key;
    let evicted_at = task
        .creation_timestamp
        .as_ref()
        .map_or(lease.released_at, |time| time.0);
    let about = Move {
        cause: Some(&key.cause),
        cluster: Some(cluster),
        requested_by: &lease.producer,
        due_at: Some(lease.entry.due_at),
        queued_at: Some(lease.queued_at),
        released_at: Some(lease.released_at),
        evicted_at,
    };
    let name = failover_record_name(&key.binding_uid, &key.cluster, evicted_at);
    let mut record = FailoverRecord::new(&name, of_move(binding, task, &about));
    let namespace = key.binding.namespace.clone();
    record.metadata.namespace = Some(namespace.unwrap_or_else(|| system_namespace.to_owned()));
    record
}
