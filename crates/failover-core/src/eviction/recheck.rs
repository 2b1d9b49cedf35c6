//! Whether an eviction that the queue releases still has to be: the verdict anew, on what was read live.

use std::collections::BTreeMap;

use api_types::cluster::Cluster;
use api_types::work::Binding;
use jiff::{SignedDuration, Timestamp};

use super::queue::{Completion, EntryKey, OutcomeKind};
use super::{Affected, CauseKind, Switches, Verdict, stay, verdict};
use crate::application::{self, ApplicationVerdict};
use crate::taint_policy::{Recovering, TaintId};

/// While a taint is about to go, the producer holds the entry; an evictor that sees it first looks again so much later.
pub const RECOVERING_AGAIN: SignedDuration = SignedDuration::from_secs(10);

/// What was read for one released entry.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a> {
    /// Which entry.
    pub key: &'a EntryKey,
    /// The binding; absent: there is none.
    pub binding: Option<&'a Binding>,
    /// The Cluster; absent: there is none.
    pub cluster: Option<&'a Cluster>,
    /// Taints of the Cluster that are about to go.
    pub recovering: &'a BTreeMap<TaintId, Recovering>,
    /// What the administrator allows.
    pub switches: &'a Switches,
    /// The time.
    pub now: Timestamp,
}

/// An eviction that has to be.
#[derive(Clone, Debug)]
pub struct Standing<'a> {
    /// The binding that leaves.
    pub binding: &'a Binding,
    /// The cluster that it leaves.
    pub cluster: &'a Cluster,
    /// Why, and how.
    pub affected: Affected,
}

/// Judges the eviction again. It stands only for the objects and the cause that the entry names.
///
/// # Errors
/// How the lease ends without a write: not needed, to be waited for, or not for this evictor.
pub fn recheck<'a>(live: &Live<'a>) -> Result<Standing<'a>, Completion> {
    let Live { key, now, .. } = *live;
    let not_needed = |reason: &str, message: String| Completion {
        outcome: not_needed(live),
        reason: reason.to_owned(),
        message,
    };
    let wait = |until: Timestamp, reason: &str, message: String| Completion {
        outcome: OutcomeKind::Wait { until },
        reason: reason.to_owned(),
        message,
    };
    let Some(cluster) = live.cluster else {
        return Err(not_needed("ClusterGone", format!("Cluster {} is gone", key.cluster)));
    };
    if cluster.metadata.uid.as_deref() != Some(&key.cluster_uid) {
        let message = format!("Cluster {} is another one of this name", key.cluster);
        return Err(not_needed("ClusterReplaced", message));
    }
    let Some(binding) = live.binding else {
        return Err(not_needed("BindingGone", format!("binding {} is gone", key.binding)));
    };
    if !key.binding_uid.is(binding.metadata.uid.as_deref()) {
        let message = format!("binding {} is another one of this name", key.binding);
        return Err(not_needed("BindingReplaced", message));
    }
    let affected = verdict_of_kind(live, binding, cluster).map_err(|(word, message)| not_needed(word, message))?;
    if affected.cause != *key.cause {
        let message = format!("the cause is another one now: {}", affected.reason());
        return Err(not_needed("OtherCause", message));
    }
    if let Some(message) = stay::stays(binding, &key.cluster, &affected.cause).reason() {
        return Err(not_needed("Stay", message));
    }
    if affected.due_at > now {
        let message = format!("it is due at {} now", affected.due_at);
        return Err(wait(affected.due_at, "NotDue", message));
    }
    if let Some(recovering) = affected.cause.taint().and_then(|id| live.recovering.get(&id)) {
        let until = now.saturating_add(RECOVERING_AGAIN).unwrap_or(Timestamp::MAX);
        return Err(wait(until, "Recovering", recovering.to_string()));
    }
    Ok(Standing {
        binding,
        cluster,
        affected,
    })
}

/// The verdict for a cause of the entry's kind: of a cluster's failure and of an application's each has its own.
fn verdict_of_kind(live: &Live<'_>, binding: &Binding, cluster: &Cluster) -> Result<Affected, (&'static str, String)> {
    match live.key.cause.kind() {
        CauseKind::Taint | CauseKind::Deletion => match verdict(binding, cluster, live.switches) {
            Verdict::Affected(affected) => Ok(affected),
            Verdict::NotAffected(reason) => Err((reason.word(), reason.to_string())),
        },
        CauseKind::Application => match application::verdict(binding, cluster) {
            ApplicationVerdict::Affected(affected) => Ok(affected),
            ApplicationVerdict::NotAffected(reason) => Err((reason.word(), reason.to_string())),
        },
    }
}

/// Not needed, by these versions.
fn not_needed(live: &Live<'_>) -> OutcomeKind {
    let version = |version: Option<&String>| version.cloned().unwrap_or_default();
    OutcomeKind::NotNeeded {
        binding_version: version(live.binding.and_then(|b| b.metadata.resource_version.as_ref())),
        cluster_version: version(live.cluster.and_then(|c| c.metadata.resource_version.as_ref())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eviction::Cause;
    use crate::eviction::desired_entry::{Wanted, wanted};
    use api_types::policy::PurgeMode;
    use rstest::rstest;
    use serde_json::{Value, json};

    const NOW: &str = "2026-01-01T00:10:00Z";

    fn cluster(uid: &str, taints: &Value) -> Cluster {
        serde_json::from_value(json!({
            "metadata": {"name": "m1", "uid": uid, "resourceVersion": "20"},
            "spec": {"syncMode": "Push", "taints": taints},
        }))
        .unwrap()
    }

    fn tainted_at(time: &str) -> Cluster {
        cluster("c1", &json!([{"key": "k", "effect": "NoExecute", "timeAdded": time}]))
    }

    fn tainted() -> Cluster {
        tainted_at("2026-01-01T00:00:00Z")
    }

    fn binding(change: impl FnOnce(&mut Value)) -> Binding {
        let mut binding = json!({
            "metadata": {"namespace": "n", "name": "web", "uid": "b1", "resourceVersion": "10", "generation": 1},
            "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "n", "name": "web"},
                "clusters": [{"name": "m1", "replicas": 2}], "replicas": 2, "placement": {"clusterAffinity": {}},
            },
        });
        change(&mut binding);
        serde_json::from_value(binding).unwrap()
    }

    fn with_stay(text: &str) -> Binding {
        binding(|b| b["metadata"]["annotations"] = json!({"failover.karmada.io/stay": text}))
    }

    /// The entry that was published for the plain binding on the tainted cluster.
    fn key() -> EntryKey {
        let switches = Switches::all_on(PurgeMode::Gracefully);
        match wanted(Some(&binding(|_| ())), Some(&tainted()), &BTreeMap::new(), &switches) {
            Wanted::Entry(entry) => EntryKey::clone(&entry.key),
            Wanted::Nothing(nothing) => panic!("{nothing:?}"),
        }
    }

    fn about_to_go() -> BTreeMap<TaintId, Recovering> {
        let found = Recovering {
            since: NOW.parse().unwrap(),
            policies: vec!["p".into()],
        };
        BTreeMap::from([(key().cause.taint().unwrap(), found)])
    }

    fn judged(
        key: &EntryKey,
        binding: Option<&Binding>,
        cluster: Option<&Cluster>,
        recovering: &BTreeMap<TaintId, Recovering>,
    ) -> Result<Affected, Completion> {
        let live = Live {
            key,
            binding,
            cluster,
            recovering,
            switches: &Switches::all_on(PurgeMode::Gracefully),
            now: NOW.parse().unwrap(),
        };
        recheck(&live).map(|standing| standing.affected)
    }

    fn ends(binding: Option<&Binding>, cluster: Option<&Cluster>) -> Completion {
        judged(&key(), binding, cluster, &BTreeMap::new()).unwrap_err()
    }

    #[test]
    fn what_still_holds_stands() {
        let affected = judged(&key(), Some(&binding(|_| ())), Some(&tainted()), &BTreeMap::new()).unwrap();
        assert_eq!(affected.cause, *key().cause);
    }

    #[rstest]
    #[case::gone(None, "BindingGone", "binding n/web is gone")]
    #[case::another_one(
        Some(binding(|b| b["metadata"]["uid"] = json!("b2"))), "BindingReplaced", "binding n/web is another one of this name"
    )]
    #[case::left(
        Some(binding(|b| b["spec"]["clusters"] = json!([]))), "NotOnCluster", "the cluster is not in spec.clusters"
    )]
    #[case::leaving(
        Some(binding(|b| b["spec"]["gracefulEvictionTasks"] = json!([{"fromCluster": "m1", "reason": "R", "producer": "p"}]))),
        "AlreadyLeaving", "the cluster is in spec.gracefulEvictionTasks already"
    )]
    #[case::tolerates(
        Some(binding(|b| b["spec"]["placement"]["clusterTolerations"] = json!([{"operator": "Exists"}]))),
        "Tolerated", "every NoExecute taint is tolerated without a time limit"
    )]
    #[case::stays(
        Some(with_stay(r#"[{"cluster": "m1"}]"#)),
        "Stay",
        "the annotation failover.karmada.io/stay keeps the workload on the cluster"
    )]
    #[case::stays_by_what_nobody_can_read(
        Some(with_stay("m1")),
        "Stay",
        "the annotation failover.karmada.io/stay cannot be read, so the workload stays: expected value at line 1 column 1"
    )]
    fn a_binding_that_need_not_leave(#[case] binding: Option<Binding>, #[case] reason: &str, #[case] message: &str) {
        let end = ends(binding.as_ref(), Some(&tainted()));
        assert_eq!(
            (end.outcome.as_str(), end.reason.as_str(), end.message.as_str()),
            ("NotNeeded", reason, message)
        );
    }

    #[rstest]
    #[case::gone(None, "ClusterGone")]
    #[case::another_one(Some(cluster("c2", &json!([{"key": "k", "effect": "NoExecute", "timeAdded": NOW}]))), "ClusterReplaced")]
    #[case::recovered(Some(cluster("c1", &json!([]))), "NoCause")]
    #[case::tainted_anew(Some(tainted_at("2026-01-01T00:05:00Z")), "OtherCause")]
    fn a_cluster_that_need_not_be_left(#[case] cluster: Option<Cluster>, #[case] reason: &str) {
        let end = ends(Some(&binding(|_| ())), cluster.as_ref());
        assert_eq!((end.outcome.as_str(), end.reason.as_str()), ("NotNeeded", reason));
    }

    #[test]
    fn not_needed_names_the_versions_that_were_read() {
        let healthy = cluster("c1", &json!([]));
        let outcome = |binding_version: &str, cluster_version: &str| OutcomeKind::NotNeeded {
            binding_version: binding_version.to_owned(),
            cluster_version: cluster_version.to_owned(),
        };
        assert_eq!(
            ends(Some(&binding(|_| ())), Some(&healthy)).outcome,
            outcome("10", "20")
        );
        assert_eq!(ends(None, None).outcome, outcome("", ""), "what is gone has none");
    }

    #[test]
    fn what_is_due_later_now_waits_until_then() {
        let tolerations = json!([{"operator": "Exists", "tolerationSeconds": 3600}]);
        let binding = binding(|b| b["spec"]["placement"]["clusterTolerations"] = tolerations);
        let end = ends(Some(&binding), Some(&tainted()));
        let until = "2026-01-01T01:00:00Z".parse().unwrap();
        assert_eq!(
            (end.outcome, end.reason.as_str()),
            (OutcomeKind::Wait { until }, "NotDue")
        );
    }

    #[test]
    fn a_taint_that_is_about_to_go_is_waited_for() {
        let end = judged(&key(), Some(&binding(|_| ())), Some(&tainted()), &about_to_go()).unwrap_err();
        let until = "2026-01-01T00:10:10Z".parse().unwrap();
        assert_eq!(
            (end.outcome, end.reason.as_str()),
            (OutcomeKind::Wait { until }, "Recovering")
        );
    }

    #[test]
    fn a_person_s_word_goes_before_a_taint_that_is_about_to_go() {
        let stays = with_stay(r#"[{"cluster": "m1"}]"#);
        let end = judged(&key(), Some(&stays), Some(&tainted()), &about_to_go()).unwrap_err();
        assert_eq!(end.reason, "Stay");
    }

    /// Unhealthy since 00:00, with tolerationSeconds 60; changed.
    fn failing(change: impl FnOnce(&mut Value)) -> Binding {
        binding(|b| {
            b["metadata"]["annotations"] =
                json!({"failover.karmada.io/health-clock": r#"{"m1": {"unhealthySince": "2026-01-01T00:00:00Z"}}"#});
            b["spec"]["failover"] = json!({"application": {"decisionConditions": {"tolerationSeconds": 60}}});
            b["status"] = json!({"aggregatedStatus": [{"clusterName": "m1", "applied": true, "health": "Unhealthy"}]});
            change(b);
        })
    }

    fn ready(status: &str, taints: &Value) -> Cluster {
        let mut cluster = cluster("c1", taints);
        cluster.status = serde_json::from_value(json!({"conditions": [{
            "type": "Ready", "status": status, "reason": "R", "message": "", "lastTransitionTime": "2025-01-01T00:00:00Z",
        }]}))
        .unwrap();
        cluster
    }

    fn application_key() -> EntryKey {
        EntryKey {
            cause: "application@2026-01-01T00:00:00Z".parse::<Cause>().unwrap().into(),
            ..key()
        }
    }

    #[rstest]
    #[case::still_fails(failing(|_| ()), "True", Ok("application@2026-01-01T00:00:00Z"))]
    #[case::not_known_at_the_moment(
        failing(|b| b["status"]["aggregatedStatus"][0]["health"] = json!("Unknown")), "True", Err(("NotNeeded", "HealthUnknown"))
    )]
    #[case::healthy_again(
        failing(|b| b["status"]["aggregatedStatus"][0]["health"] = json!("Healthy")), "True", Err(("NotNeeded", "Healthy"))
    )]
    #[case::fails_anew(
        failing(|b| b["metadata"]["annotations"] = json!({"failover.karmada.io/health-clock": r#"{"m1": {"unhealthySince": "2026-01-01T00:05:00Z"}}"#})),
        "True", Err(("NotNeeded", "OtherCause"))
    )]
    #[case::not_counted(failing(|b| b["metadata"]["annotations"] = json!({})), "True", Err(("NotNeeded", "NotCounted")))]
    #[case::the_cluster_fails(failing(|_| ()), "False", Err(("NotNeeded", "ClusterNotReady")))]
    #[case::tolerated_for_longer(
        failing(|b| b["spec"]["failover"]["application"]["decisionConditions"]["tolerationSeconds"] = json!(900)),
        "True", Err(("Wait", "NotDue"))
    )]
    #[case::stays(
        failing(|b| b["metadata"]["annotations"]["failover.karmada.io/stay"] = json!(r#"[{"cluster": "m1", "verdict": "application@2026-01-01T00:00:00Z"}]"#)),
        "True", Err(("NotNeeded", "Stay"))
    )]
    #[case::leaves_for_a_taint_already(
        failing(|b| b["spec"]["gracefulEvictionTasks"] = json!([{"fromCluster": "m1", "reason": "R", "producer": "p"}])),
        "True", Err(("NotNeeded", "AlreadyLeaving"))
    )]
    #[case::another_one(failing(|b| b["metadata"]["uid"] = json!("b2")), "True", Err(("NotNeeded", "BindingReplaced")))]
    fn an_application_that_failed(
        #[case] binding: Binding,
        #[case] status: &str,
        #[case] expected: Result<&str, (&str, &str)>,
    ) {
        // What stands on the cluster beside it says nothing about the application.
        for taints in [
            json!([]),
            json!([{"key": "k", "effect": "NoExecute", "timeAdded": NOW}]),
        ] {
            let cluster = ready(status, &taints);
            let judged = judged(&application_key(), Some(&binding), Some(&cluster), &BTreeMap::new());
            let judged = judged
                .map(|affected| affected.cause.identity())
                .map_err(|end| (end.outcome.as_str().to_owned(), end.reason));
            let expected = expected
                .map(str::to_owned)
                .map_err(|(outcome, reason)| (outcome.to_owned(), reason.to_owned()));
            assert_eq!(judged, expected);
        }
    }
}
