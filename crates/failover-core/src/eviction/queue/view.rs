//! What the queue sees of clusters and pauses.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use api_types::ClusterName;
use api_types::cluster::{Cluster, effect};
use api_types::failover::{FailoverPause, PauseScope};
use jiff::Timestamp;

use super::entry::EntryKey;
use crate::eviction::cause::to_the_second;
use crate::eviction::regime::{Fault, fault};
use crate::eviction::{Cause, CauseKind};
use crate::place::Traits;

/// A cluster as the queue needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterView {
    /// Name.
    pub name: ClusterName,
    /// UID.
    pub uid: String,
    /// Causes that stand: stamped NoExecute and PreferNoExecute taints, deletion.
    pub causes: BTreeSet<Cause>,
    /// What makes it faulty.
    pub fault: Option<Fault>,
    /// Whether it is being deleted.
    pub is_being_deleted: bool,
    /// Changes when the cluster may have become, or ceased to be, a place for a workload.
    pub as_a_place: u64,
    /// Changes with the cluster's resource figures.
    pub resources: u64,
}

impl ClusterView {
    /// Reads a Cluster.
    #[must_use]
    pub fn of(cluster: &Cluster, non_failure_taint_keys: &BTreeSet<String>) -> Self {
        let mut causes: BTreeSet<Cause> = cluster
            .spec
            .taints
            .iter()
            .filter(|taint| matches!(taint.effect.as_str(), effect::NO_EXECUTE | effect::PREFER_NO_EXECUTE))
            .filter_map(|taint| {
                Some(Cause::Taint {
                    key: taint.key.clone(),
                    effect: taint.effect.clone(),
                    added_at: to_the_second(taint.time_added.as_ref()?.0),
                })
            })
            .collect();
        let deleted_at = cluster.metadata.deletion_timestamp.as_ref();
        causes.extend(deleted_at.map(|time| Cause::Deletion {
            at: to_the_second(time.0),
        }));
        Self {
            name: cluster.cluster_name(),
            uid: cluster.metadata.uid.clone().unwrap_or_default(),
            causes,
            fault: fault(cluster, non_failure_taint_keys),
            is_being_deleted: deleted_at.is_some(),
            as_a_place: as_a_place(cluster),
            resources: resources(cluster),
        }
    }

    /// Whether the cause of an entry stands on this cluster. An application's failure stands as long as the cluster.
    #[must_use]
    pub fn shows(&self, key: &EntryKey) -> bool {
        *self.uid == *key.cluster_uid
            && (key.cause.kind() == CauseKind::Application || self.causes.contains(&key.cause))
    }
}

/// Its traits, taints, deletion and readiness, as one number.
fn as_a_place(cluster: &Cluster) -> u64 {
    let mut hasher = DefaultHasher::new();
    for taint in &cluster.spec.taints {
        (&taint.key, &taint.effect, &taint.value).hash(&mut hasher);
    }
    Traits::of(cluster).hash(&mut hasher);
    (cluster.is_being_deleted(), cluster.is_ready()).hash(&mut hasher);
    hasher.finish()
}

/// What the cluster says of its resources, as one number.
fn resources(cluster: &Cluster) -> u64 {
    let mut hasher = DefaultHasher::new();
    let summary = cluster
        .status
        .as_ref()
        .and_then(|status| status.resource_summary.as_ref());
    serde_json::to_string(&summary).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

/// A FailoverPause as the queue needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseView {
    /// Name.
    pub name: String,
    /// What it covers.
    pub scope: PauseScopeView,
    /// Why.
    pub reason: String,
    /// When it ends by itself.
    pub until: Option<Timestamp>,
}

/// What a pause covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PauseScopeView {
    /// Everything.
    All,
    /// These clusters.
    Clusters(BTreeSet<String>),
    /// Bindings in these namespaces; `-` stands for bindings of cluster scope.
    Namespaces(BTreeSet<String>),
}

impl PauseView {
    /// Reads a pause. A scope that this version does not know pauses everything: somebody wanted a stop.
    #[must_use]
    pub fn of(pause: &FailoverPause) -> Self {
        let scope = match pause.spec.scope {
            PauseScope::Clusters => PauseScopeView::Clusters(pause.spec.clusters.iter().cloned().collect()),
            PauseScope::Namespaces => PauseScopeView::Namespaces(pause.spec.namespaces.iter().cloned().collect()),
            PauseScope::All | PauseScope::Other(_) => PauseScopeView::All,
        };
        Self {
            name: pause.metadata.name.clone().unwrap_or_default(),
            scope,
            reason: pause.spec.reason.clone(),
            until: pause.spec.until.as_ref().map(|time| time.0),
        }
    }

    /// Whether it is in effect.
    #[must_use]
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    /// Whether it covers an entry.
    #[must_use]
    pub fn covers(&self, key: &EntryKey) -> bool {
        match &self.scope {
            PauseScopeView::All => true,
            PauseScopeView::Clusters(clusters) => clusters.contains(key.cluster.as_str()),
            PauseScopeView::Namespaces(namespaces) => {
                namespaces.contains(key.binding.namespace.as_deref().unwrap_or("-"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn cluster(change: impl FnOnce(&mut Value)) -> Cluster {
        let mut object = json!({
            "metadata": {"name": "m1", "uid": "u", "resourceVersion": "1", "labels": {"a": "b"}},
            "spec": {"syncMode": "Push", "taints": [{"key": "k", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]},
            "status": {"apiEnablements": [{"groupVersion": "v1", "resources": [{"name": "pods", "kind": "Pod"}]}]},
        });
        change(&mut object);
        serde_json::from_value(object).unwrap()
    }

    fn place(change: impl FnOnce(&mut Value)) -> u64 {
        ClusterView::of(&cluster(change), &BTreeSet::new()).as_a_place
    }

    #[rstest]
    #[case::taints(|c: &mut Value| c["spec"]["taints"] = json!([]))]
    #[case::labels(|c: &mut Value| c["metadata"]["labels"]["a"] = json!("c"))]
    #[case::ready(|c: &mut Value| c["status"]["conditions"] = json!([{"type": "Ready", "status": "True", "reason": "", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]))]
    #[case::deletion(|c: &mut Value| c["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"))]
    #[case::apis(|c: &mut Value| c["status"]["apiEnablements"][0]["resources"][0]["kind"] = json!("X"))]
    #[case::region(|c: &mut Value| c["spec"]["region"] = json!("r"))]
    fn another_place(#[case] change: fn(&mut Value)) {
        assert_ne!(place(change), place(|_| {}));
    }

    // A heartbeat must not send every entry without a target through the evictor again.
    #[rstest]
    #[case::version(|c: &mut Value| c["metadata"]["resourceVersion"] = json!("2"))]
    #[case::resources(|c: &mut Value| c["status"]["resourceSummary"] = json!({"allocated": {"cpu": "3"}}))]
    #[case::time_added(|c: &mut Value| c["spec"]["taints"][0]["timeAdded"] = json!("2026-01-02T00:00:00Z"))]
    fn the_same_place(#[case] change: fn(&mut Value)) {
        assert_eq!(place(change), place(|_| {}));
    }

    // Free resources count for whom the capacity check is on, and then a heartbeat with the same figures must not.
    #[rstest]
    #[case::allocated(json!({"allocated": {"cpu": "3"}}), json!({"allocated": {"cpu": "4"}}), false)]
    #[case::allocatable(json!({"allocatable": {"cpu": "3"}}), json!({"allocatable": {"cpu": "4"}}), false)]
    #[case::allocating(json!({}), json!({"allocating": {"pods": "1"}}), false)]
    #[case::the_same(json!({"allocated": {"cpu": "3"}}), json!({"allocated": {"cpu": "3"}}), true)]
    fn resources(#[case] before: Value, #[case] after: Value, #[case] same: bool) {
        let resources = |summary: Value| {
            let change = |c: &mut Value| c["status"]["resourceSummary"] = summary;
            ClusterView::of(&cluster(change), &BTreeSet::new()).resources
        };
        assert_eq!(resources(before) == resources(after), same);
    }

    #[test]
    fn causes_are_stamped_taints_and_deletion() {
        let view = ClusterView::of(
            &cluster(|c| {
                c["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:09Z");
                c["spec"]["taints"] = json!([
                    {"key": "k", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
                    {"key": "p", "effect": "PreferNoExecute", "timeAdded": "2026-01-01T00:00:01Z"},
                    {"key": "unstamped", "effect": "NoExecute"},
                    {"key": "s", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"},
                ]);
            }),
            &BTreeSet::new(),
        );
        let causes: Vec<_> = view.causes.iter().map(ToString::to_string).collect();
        assert_eq!(
            causes,
            [
                "k:NoExecute@2026-01-01T00:00:00Z",
                "p:PreferNoExecute@2026-01-01T00:00:01Z",
                "deletion@2026-01-01T00:00:09Z"
            ]
        );
    }
}
