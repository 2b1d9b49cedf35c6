//! What an eviction writes: the task on the binding, and the record of the move. Pure.

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::failover::FailoverRecord;
use api_types::names::annotation::HEALTH_CLOCK;
use api_types::names::failover_record_name;
use api_types::policy::PurgeMode;
use api_types::work::{Binding, GracefulEvictionTask, task};
use binding_writer::BindingEdit;
use failover_core::application::HealthClock;
use failover_core::eviction::CauseKind;
use failover_core::eviction::cause::to_the_second;
use failover_core::graceful::cause::past_blocks;
use failover_core::graceful::record::{Move, of_move};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::judge::Eviction;
use super::lease::Lease;
use crate::text::shorten;

/// The task by which a binding leaves the cluster of the lease.
pub(crate) fn task(
    binding: &Binding,
    cluster: &ClusterName,
    eviction: &Eviction,
    now: Timestamp,
) -> GracefulEvictionTask {
    let spec = &binding.spec;
    let Eviction { affected, state } = eviction;
    let message = match state.in_words() {
        Some(lost) => format!("{}; {lost}", affected.reason()),
        None => affected.reason(),
    };
    let (reason, producer) = match affected.cause.kind() {
        CauseKind::Taint | CauseKind::Deletion => (task::TAINT_UNTOLERATED, task::TAINT_MANAGER),
        CauseKind::Application if binding.metadata.namespace.is_some() => {
            (task::APPLICATION_FAILURE, task::APPLICATION_FAILOVER)
        }
        CauseKind::Application => (task::APPLICATION_FAILURE, task::CLUSTER_APPLICATION_FAILOVER),
    };
    // As stock writes it, whose graceful eviction knows no purge mode.
    let is_kept = reason == task::APPLICATION_FAILURE && affected.purge_mode == PurgeMode::Never;
    GracefulEvictionTask {
        from_cluster: cluster.to_string(),
        purge_mode: Some(affected.purge_mode.clone()),
        replicas: spec
            .target(cluster)
            .map(|target| target.replicas)
            .filter(|replicas| *replicas > 0),
        reason: reason.to_owned(),
        message: Some(shorten(message)),
        producer: producer.to_owned(),
        grace_period_seconds: affected.grace_period_seconds,
        suppress_deletion: is_kept.then_some(true),
        preserved_label_state: state.labels.clone(),
        creation_timestamp: Some(Time(to_the_second(now))),
        clusters_before_failover: spec.clusters.iter().map(|target| target.name.clone()).collect(),
        // The write knows whether there is a history to tell of.
        block_in_history: None,
    }
}

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
    use std::collections::BTreeMap;

    use api_types::BindingKey;
    use api_types::policy::PurgeMode;
    use api_types::work::ResourceBindingSpec;
    use failover_core::eviction::preservation::{Lost, State};
    use failover_core::eviction::verdict::DueBy;
    use failover_core::eviction::{Affected, Cause, Switches, Verdict, Why, verdict};
    use proptest::prelude::*;
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

    /// The task for m1, on which a taint stands that nobody tolerates and one for those that opted in.
    fn written(
        key: &str,
        spec: ResourceBindingSpec,
        switches: &Switches,
        state: &State,
    ) -> Option<GracefulEvictionTask> {
        let key: BindingKey = key.parse().unwrap();
        let binding = Binding::new(&key, spec);
        let cluster: Cluster = serde_json::from_value(json!({
            "metadata": {"name": "m1"}, "spec": {"syncMode": "Push", "taints": [
                {"key": "k", "effect": "NoExecute", "timeAdded": ADDED}, {"key": "p", "effect": "PreferNoExecute", "timeAdded": ADDED},
            ]},
        }))
        .unwrap();
        let Verdict::Affected(affected) = verdict(&binding, &cluster, switches) else {
            return None;
        };
        let eviction = Eviction {
            affected,
            state: state.clone(),
        };
        let now = "2026-01-01T00:10:00.5Z".parse().unwrap();
        Some(task(&binding, &"m1".into(), &eviction, now))
    }

    #[test]
    fn a_task_says_all_that_is_known() {
        let owner_s = json!({"failover": {"cluster": {"purgeMode": "Gracefully", "gracePeriodSeconds": 30}}});
        let state = State {
            labels: [("job".to_owned(), "J1".to_owned())].into(),
            lost: vec![Lost {
                label: "step".to_owned(),
                json_path: "{.step}".to_owned(),
                why: "step is not found".to_owned(),
            }],
        };
        let switches = Switches::all_on(PurgeMode::Directly);
        let task = written("n/web", spec(owner_s), &switches, &state).unwrap();
        assert_eq!(
            serde_json::to_value(task).unwrap(),
            json!({
                "fromCluster": "m1", "purgeMode": "Gracefully", "replicas": 2, "reason": "TaintUntolerated",
                "message": "taint k:NoExecute, added at 2026-01-01T00:00:00Z, is not tolerated; \
                    not all of the copy's state is kept: step ({.step}): step is not found",
                "producer": "TaintManager", "gracePeriodSeconds": 30, "preservedLabelState": {"job": "J1"},
                "creationTimestamp": "2026-01-01T00:10:00Z", "clustersBeforeFailover": ["m2", "m1"],
            })
        );
    }

    #[rstest]
    #[case::of_a_namespace("n/web", "Gracefully", "resource-binding-application-failover-controller", None)]
    #[case::of_cluster_scope("web", "Directly", "cluster-resource-binding-application-failover-controller", None)]
    #[case::never("n/web", "Never", "resource-binding-application-failover-controller", Some(true))]
    fn the_failure_of_an_application_is_written_as_stock_does(
        #[case] key: &str,
        #[case] mode: &str,
        #[case] producer: &str,
        #[case] suppress_deletion: Option<bool>,
    ) {
        let key: BindingKey = key.parse().unwrap();
        let mut binding = Binding::new(&key, spec(json!({})));
        let clock = |copies: Value| [(HEALTH_CLOCK.to_owned(), copies.to_string())].into();
        let other = json!({"unhealthySince": ADDED});
        binding.metadata.annotations = Some(clock(json!({"m1": {"unhealthySince": ADDED}, "m2": other})));
        let affected = Affected {
            cause: Cause::Application {
                since: ADDED.parse().unwrap(),
            },
            due_at: ADDED.parse().unwrap(),
            purge_mode: serde_json::from_value(json!(mode)).unwrap(),
            grace_period_seconds: None,
            why: Why::Unhealthy(DueBy::Toleration { seconds: 0 }),
        };
        let eviction = Eviction {
            affected,
            state: State::default(),
        };
        let task = task(
            &binding,
            &"m1".into(),
            &eviction,
            "2026-01-01T00:10:00Z".parse().unwrap(),
        );
        assert_eq!(
            (task.reason.as_str(), task.producer.as_str()),
            ("ApplicationFailure", producer)
        );
        assert_eq!(task.suppress_deletion, suppress_deletion);
        // The clock of the copy that leaves is over; that of another one goes on.
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

    fn failovers() -> impl Strategy<Value = Value> {
        let mode = prop::sample::select(vec!["Gracefully", "Directly", "Never", "Immediately", "Graciously"]);
        let behavior = (prop::option::of(mode), prop::option::of(1..900)).prop_map(|(mode, grace)| {
            let mut behavior = json!({});
            if let Some(mode) = mode {
                behavior["purgeMode"] = json!(mode);
            }
            if let Some(grace) = grace {
                behavior["gracePeriodSeconds"] = json!(grace);
            }
            json!({"cluster": behavior})
        });
        prop_oneof![Just(json!({})), behavior]
    }

    proptest! {
        // The purge mode of namespaced bindings only was honoured (karmada PR#6491, C22): the two kinds share every
        // line, and what is written is the same.
        #[test]
        fn c22_both_kinds_of_binding_are_given_the_same_task(
            failover in failovers(), replicas in 0..9, tolerated in any::<bool>(),
            default in prop::sample::select(vec![PurgeMode::Gracefully, PurgeMode::Directly, PurgeMode::Never]),
            labels in prop::collection::btree_map("[a-z]{1,4}", "[a-z]{0,4}", 0..3),
        ) {
            let tolerations = if tolerated { json!([{"key": "k", "operator": "Exists"}]) } else { json!([]) };
            let spec = spec(json!({
                "failover": failover, "placement": {"clusterTolerations": tolerations},
                "clusters": [{"name": "m1", "replicas": replicas}],
            }));
            let state = State { labels: labels.into_iter().collect::<BTreeMap<_, _>>(), lost: vec![] };
            let switches = Switches::all_on(default.clone());
            let namespaced = written("n/web", spec.clone(), &switches, &state);
            prop_assert_eq!(&namespaced, &written("web", spec.clone(), &switches, &state));
            if let Some(task) = namespaced {
                let wanted = spec.failover.as_ref().and_then(|failover| failover.cluster.as_ref()?.purge_mode.clone());
                prop_assert_eq!(task.purge_mode, Some(wanted.map_or(default, |mode| mode.effective())));
                prop_assert_eq!(task.replicas, Some(replicas).filter(|replicas| *replicas > 0));
            }
        }
    }
}
