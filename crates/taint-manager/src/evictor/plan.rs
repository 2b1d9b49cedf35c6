//! What an eviction writes: the edit of the binding, and the record of the move. Pure.

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::failover::FailoverRecord;
use api_types::names::annotation::HEALTH_CLOCK;
use api_types::names::failover_record_name;
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::{Binding, GracefulEvictionTask};
use binding_writer::BindingEdit;
use failover_core::application::HealthClock;
use failover_core::graceful::cause::past_blocks;
use failover_core::graceful::record::{Move, of_move};

use super::lease::Lease;

/// The one write of an eviction: the task, for an application the history of where it failed (without what blocks nothing
/// any more), and no clock any more of the copy that leaves. An annotation that is no clock is left to who mends it.
pub(crate) fn edit<'a>(binding: &'a Binding, task: &GracefulEvictionTask) -> BindingEdit<'a> {
    let mut edit = BindingEdit::of(binding);
    let cluster = ClusterName::from(task.from_cluster.as_str());
    if !edit.evict(task) {
        return edit;
    }
    if let Some(now) = &task.creation_timestamp {
        // What is remembered of this cluster is new.
        let over = past_blocks(binding, now.0).into_iter().filter(|left| *left != cluster);
        over.for_each(|left| {
            edit.forget(&left);
        });
    }
    if let Ok(clock) = HealthClock::of(binding)
        && clock.copy(&cluster).is_some()
    {
        edit.annotate(HEALTH_CLOCK, clock.without(&cluster).annotation().as_deref());
    }
    edit
}

/// The record of a move. Records of bindings of cluster scope live in `system_namespace`.
pub(crate) fn record(
    binding: &Binding,
    cluster: &Cluster,
    lease: &Lease,
    task: &GracefulEvictionTask,
    policies: &[&ClusterTaintPolicy],
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
        known_policies: policies,
        requested_by: &lease.producer,
        due_at: Some(lease.entry.due_at),
        queued_at: Some(lease.queued_at),
        released_at: Some(lease.released_at),
        evicted_at,
        traceparent: lease.entry.traceparent.as_deref(),
    };
    let name = failover_record_name(&key.binding_uid.to_string(), &key.cluster, evicted_at);
    let mut record = FailoverRecord::new(&name, of_move(binding, task, &about));
    let namespace = key.binding.namespace.clone();
    record.metadata.namespace = Some(namespace.unwrap_or_else(|| system_namespace.to_owned()));
    record
}

#[cfg(test)]
mod tests {
    use api_types::BindingKey;
    use api_types::work::ResourceBindingSpec;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    const ADDED: &str = "2026-01-01T00:00:00Z";

    #[expect(clippy::needless_pass_by_value, reason = "JSON literals read best as they are")]
    fn spec(value: Value) -> ResourceBindingSpec {
        let mut spec = json!({
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "n", "name": "web"},
            "clusters": [{"name": "m2", "replicas": 1}, {"name": "m1", "replicas": 2}],
        });
        for (field, value) in value.as_object().unwrap() {
            spec[field] = value.clone();
        }
        serde_json::from_value(spec).unwrap()
    }

    #[test]
    fn the_clock_of_the_copy_that_leaves_is_over_and_that_of_another_goes_on() {
        let key: BindingKey = "n/web".parse().unwrap();
        let mut binding = Binding::new(&key, spec(json!({})));
        let clock = |copies: Value| [(HEALTH_CLOCK.to_owned(), copies.to_string())].into();
        let other = json!({"unhealthySince": ADDED});
        binding.metadata.annotations = Some(clock(json!({"m1": {"unhealthySince": ADDED}, "m2": other})));
        let task = GracefulEvictionTask {
            from_cluster: "m1".to_owned(),
            reason: "ApplicationFailure".to_owned(),
            creation_timestamp: serde_json::from_value(json!("2026-01-01T00:10:00Z")).unwrap(),
            ..GracefulEvictionTask::default()
        };
        let patch = edit(&binding, &task).patch().unwrap().to_string();
        let rest = serde_json::to_string(&json!({"m2": other}).to_string()).unwrap();
        assert!(patch.contains(&rest), "{patch}");
        binding.metadata.annotations = Some(clock(json!("m1")));
        let patch = edit(&binding, &task).patch().unwrap().to_string();
        assert!(
            !patch.contains("health-clock"),
            "what is no clock is left as it is: {patch}"
        );
    }

    // A longer block is no block of what came before it.
    #[rstest]
    #[case::one_is_over(600, &["remove /1", "add /-", "remove /0"])]
    #[case::none_is(3_600, &["remove /1", "add /-"])]
    #[case::none_ever_is(0, &["remove /1", "add /-"])]
    fn the_write_forgets_what_blocks_nothing_any_more(#[case] seconds: i32, #[case] expected: &[&str]) {
        let failed = |cluster: &str, time: &str| json!({"clusterName": cluster, "creationTimestamp": time});
        let history = json!([
            failed("m9", ADDED),
            failed("m1", ADDED),
            failed("m8", "2026-01-01T00:05:00Z"),
        ]);
        let failover = json!({"application": {"decisionConditions": {}, "blockPredecessorSeconds": seconds}});
        let key: BindingKey = "n/web".parse().unwrap();
        let spec = spec(json!({"failover": failover, "activeEvictionHistory": history}));
        let binding = Binding::new(&key, spec);
        let task = GracefulEvictionTask {
            from_cluster: "m1".to_owned(),
            reason: "ApplicationFailure".to_owned(),
            creation_timestamp: serde_json::from_value(json!("2026-01-01T00:10:00Z")).unwrap(),
            ..GracefulEvictionTask::default()
        };
        let patch = edit(&binding, &task).patch().unwrap();
        let operations = patch.as_array().unwrap().iter();
        let of_history = operations.filter_map(|operation| {
            let path = operation["path"]
                .as_str()?
                .strip_prefix("/spec/activeEvictionHistory")?;
            Some(format!("{} {path}", operation["op"].as_str()?))
        });
        assert_eq!(of_history.collect::<Vec<_>>(), expected);
    }
}
