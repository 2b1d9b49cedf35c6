//! What an eviction writes: the task on the binding, and the record of the move. Pure.

use api_types::cluster::Cluster;
use api_types::failover::{CauseType, FailoverRecord, FailoverRecordSpec, RecordedBinding, RecordedCause};
use api_types::names::failover_record_name;
use api_types::work::{Binding, GracefulEvictionTask, task};
use failover_core::eviction::cause::to_the_second;
use failover_core::eviction::{Affected, Cause};
use failover_core::taint_policy::{ManagedTaints, TaintId};
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
    let evicted_at = task.creation_timestamp.clone().unwrap_or(Time(lease.released_at));
    let spec = FailoverRecordSpec {
        binding: RecordedBinding {
            namespace: key.binding.namespace.clone(),
            name: key.binding.name.clone(),
            uid: key.binding_uid.clone(),
        },
        resource: binding.spec.resource.clone(),
        from: key.cluster.to_string(),
        replicas: task.replicas,
        cause: RecordedCause {
            type_: match &key.cause {
                Cause::Taint { .. } => CauseType::Taint,
                Cause::Deletion { .. } => CauseType::Deletion,
                Cause::Application { .. } => CauseType::ApplicationFailure,
            },
            verdict: key.cause.identity(),
            policies: policies(cluster, &key.cause),
            message: task.message.clone().unwrap_or_default(),
        },
        requested_by: lease.producer.clone(),
        affected_at: Some(Time(key.cause.began_at())),
        due_at: Some(Time(lease.entry.due_at)),
        queued_at: Some(Time(lease.queued_at)),
        released_at: Some(Time(lease.released_at)),
        evicted_at: evicted_at.clone(),
    };
    let mut record = FailoverRecord::new(
        &failover_record_name(&key.binding_uid, &key.cluster, evicted_at.0),
        spec,
    );
    record.metadata.namespace = Some(
        key.binding
            .namespace
            .clone()
            .unwrap_or_else(|| system_namespace.to_owned()),
    );
    record
}

/// Names of the policies behind the taint.
fn policies(cluster: &Cluster, cause: &Cause) -> Vec<String> {
    let Cause::Taint { key, effect, .. } = cause else {
        return Vec::new();
    };
    let id = TaintId {
        key: key.clone(),
        effect: effect.clone(),
    };
    let managed = ManagedTaints::read(cluster.metadata.annotations.as_ref()).unwrap_or_default();
    managed
        .taints
        .get(&id)
        .map(|entry| entry.policies.keys().cloned().collect())
        .unwrap_or_default()
}
