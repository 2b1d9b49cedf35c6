//! The task by which a workload leaves a cluster: the one place that says what is in it.

use api_types::ClusterName;
use api_types::policy::PurgeMode;
use api_types::work::{Binding, GracefulEvictionTask, task as words};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::eviction::cause::to_the_second;
use crate::eviction::preservation::State;
use crate::eviction::{Affected, CauseKind};
use crate::text::shorten;

/// The task by which `binding` leaves `cluster`, with what is kept of its state.
#[must_use]
pub fn of_eviction(
    binding: &Binding,
    cluster: &ClusterName,
    affected: &Affected,
    state: &State,
    now: Timestamp,
) -> GracefulEvictionTask {
    let spec = &binding.spec;
    let message = match state.in_words() {
        Some(lost) => format!("{}; {lost}", affected.reason()),
        None => affected.reason(),
    };
    let (reason, producer) = match affected.cause.kind() {
        CauseKind::Taint | CauseKind::Deletion => (words::TAINT_UNTOLERATED, words::TAINT_MANAGER),
        CauseKind::Application if binding.metadata.namespace.is_some() => {
            (words::APPLICATION_FAILURE, words::APPLICATION_FAILOVER)
        }
        CauseKind::Application => (words::APPLICATION_FAILURE, words::CLUSTER_APPLICATION_FAILOVER),
    };
    // As stock writes it, whose graceful eviction knows no purge mode.
    let is_kept = reason == words::APPLICATION_FAILURE && affected.purge_mode == PurgeMode::Never;
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

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::BTreeMap;

    use api_types::BindingKey;
    use api_types::cluster::Cluster;
    use api_types::work::ResourceBindingSpec;
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    use crate::eviction::preservation::Lost;
    use crate::eviction::verdict::DueBy;
    use crate::eviction::{Cause, Switches, Verdict, Why, verdict};

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
        let now = "2026-01-01T00:10:00.5Z".parse().unwrap();
        Some(of_eviction(&binding, &"m1".into(), &affected, state, now))
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
        let binding = Binding::new(&key, spec(json!({})));
        let affected = Affected {
            cause: Cause::Application {
                since: ADDED.parse().unwrap(),
            },
            due_at: ADDED.parse().unwrap(),
            purge_mode: serde_json::from_value(json!(mode)).unwrap(),
            grace_period_seconds: None,
            why: Why::Unhealthy(DueBy::Toleration { seconds: 0 }),
        };
        let now = "2026-01-01T00:10:00Z".parse().unwrap();
        let task = of_eviction(&binding, &"m1".into(), &affected, &State::default(), now);
        assert_eq!(
            (task.reason.as_str(), task.producer.as_str()),
            ("ApplicationFailure", producer)
        );
        assert_eq!(task.suppress_deletion, suppress_deletion);
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
