//! Which taints of a Cluster are about to go: every policy behind them has stopped matching and the removal window runs.
//!
//! What rests on such a taint is held back: after an outage of the control plane's own network the windows of clusters
//! end at different moments, and the last ones must not be evicted then.

use std::collections::BTreeMap;
use std::fmt;

use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use jiff::Timestamp;

use super::form::Form;
use super::ownership::find;
use super::records::{ManagedTaints, TaintId, Windows};

/// A taint that is about to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovering {
    /// Since when none of its policies matches.
    pub since: Timestamp,
    /// Names of its policies.
    pub policies: Vec<String>,
}

impl fmt::Display for Recovering {
    /// Why the taint holds an eviction back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policies = self.policies.join(", ");
        write!(
            f,
            "since {} the conditions of {policies} no longer match: the taint goes when its removal window ends",
            self.since
        )
    }
}

/// The taints of `cluster` that are about to go.
///
/// A taint counts when it is ours as it stands, and each policy recorded for it exists, is not suspended (those remove
/// nothing) and does not match; stock's form matches while it is latched. Records that cannot be read, or that speak of
/// another Cluster of this name, hold nothing back.
#[must_use]
pub fn recovering(cluster: &Cluster, policies: &[&ClusterTaintPolicy]) -> BTreeMap<TaintId, Recovering> {
    let annotations = cluster.metadata.annotations.as_ref();
    let uid = cluster.metadata.uid.as_deref().unwrap_or_default();
    let (Ok(managed), Ok(windows)) = (ManagedTaints::read(annotations), Windows::read(annotations)) else {
        return BTreeMap::new();
    };
    if managed.cluster != uid || windows.cluster != uid {
        return BTreeMap::new();
    }
    let stopped_at = |policy_uid: &String| {
        let form = policies
            .iter()
            .map(|policy| Form::read(policy))
            .find(|form| form.uid == policy_uid)?;
        let window = windows.windows.get(policy_uid)?;
        (!form.is_frozen() && !window.matching).then_some(window.since)
    };
    managed
        .taints
        .into_iter()
        .filter(|(id, entry)| find(cluster, id).is_some_and(|taint| entry.is(taint)))
        .filter_map(|(id, entry)| {
            let stopped: Option<Vec<Timestamp>> = entry.policies.values().map(stopped_at).collect();
            let since = stopped?.into_iter().max()?;
            let policies = entry.policies.into_keys().collect();
            Some((id, Recovering { since, policies }))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn policy(uid: &str, suspended: bool) -> ClusterTaintPolicy {
        serde_json::from_value(json!({
            "metadata": {"name": uid, "uid": uid},
            "spec": {
                "suspended": suspended,
                "matchConditions": [{"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}],
                "taintsToAdd": [{"key": "k", "effect": "NoExecute", "addOnMatchSeconds": 5, "removeOnMismatchSeconds": 60}],
            },
        }))
        .unwrap()
    }

    fn cluster(value: &str, windows: &serde_json::Value, of: &str) -> Cluster {
        let managed = json!({"cluster": of, "taints": {"k:NoExecute": {"policies": {"p1": "p1", "p2": "p2"}}}});
        serde_json::from_value(json!({
            "metadata": {"name": "m1", "uid": "u1", "annotations": {
                "failover.karmada.io/managed-taints": managed.to_string(),
                "failover.karmada.io/taint-windows": json!({"cluster": of, "windows": windows}).to_string(),
            }},
            "spec": {"syncMode": "Push", "taints": [{"key": "k", "effect": "NoExecute", "value": value}]},
        }))
        .unwrap()
    }

    fn window(matching: bool, since: &str) -> serde_json::Value {
        json!({"policy": "p", "matching": matching, "since": since})
    }

    #[rstest]
    #[case::both_have_stopped("", false, false, "u1", false, true)]
    #[case::one_still_matches("", true, false, "u1", false, false)]
    #[case::one_is_suspended("", false, true, "u1", false, false)]
    #[case::somebody_put_their_own_in_place("theirs", false, false, "u1", false, false)]
    #[case::another_cluster_of_this_name("", false, false, "u0", false, false)]
    #[case::one_was_deleted("", false, false, "u1", true, false)]
    fn the_last_policy_decides(
        #[case] value: &str,
        #[case] first_matches: bool,
        #[case] second_suspended: bool,
        #[case] of: &str,
        #[case] second_deleted: bool,
        #[case] expected: bool,
    ) {
        let windows = json!({
            "p1": window(first_matches, "2026-01-01T00:00:00Z"), "p2": window(false, "2026-01-01T00:00:09Z"),
        });
        let policies = [policy("p1", false), policy("p2", second_suspended)];
        let known: Vec<_> = policies.iter().take(if second_deleted { 1 } else { 2 }).collect();
        let found = recovering(&cluster(value, &windows, of), &known);
        let expected = expected.then(|| Recovering {
            since: "2026-01-01T00:00:09Z".parse().unwrap(),
            policies: vec!["p1".to_owned(), "p2".to_owned()],
        });
        assert_eq!(found.into_values().next(), expected);
    }

    #[test]
    fn it_says_since_when_and_by_which_policies() {
        let recovering = Recovering {
            since: "2026-01-01T00:00:09Z".parse().unwrap(),
            policies: vec!["p1".to_owned(), "p2".to_owned()],
        };
        assert_eq!(
            recovering.to_string(),
            "since 2026-01-01T00:00:09Z the conditions of p1, p2 no longer match: the taint goes when its removal window ends"
        );
    }

    #[test]
    fn without_records_nothing_is_held() {
        let bare: Cluster =
            serde_json::from_value(json!({"metadata": {"name": "m1"}, "spec": {"syncMode": "Push"}})).unwrap();
        assert!(recovering(&bare, &[]).is_empty());
    }
}
