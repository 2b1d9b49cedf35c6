//! What is left on a cluster that is drained, and whether it is worth waiting for. Pure.

use std::collections::BTreeMap;

use api_types::cluster::Cluster;
use api_types::policy::PurgeMode;
use api_types::work::{Binding, BindingSnapshot};
use api_types::{BindingKey, ClusterName};
use failover_core::eviction::{Switches, Verdict, verdict};

use crate::entry::{EntryView, HoldReason, State};

/// What the queue has of the cluster.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum InQueue {
    /// Nothing.
    Nothing,
    /// Only what is held until a person or a cluster changes something.
    OnlyHeld,
    /// Something that goes, or may go.
    Something,
}

/// Judges the entries of the cluster.
pub(super) fn in_queue(entries: &[EntryView]) -> InQueue {
    if entries.is_empty() {
        InQueue::Nothing
    } else if entries.iter().all(is_stuck) {
        InQueue::OnlyHeld
    } else {
        InQueue::Something
    }
}

/// Whether it is held for a reason that does not end by itself within moments.
pub(super) fn is_stuck(entry: &EntryView) -> bool {
    let reason = entry.hold.as_ref().and_then(|hold| hold.reason);
    entry.state == State::Held
        && reason.is_some_and(|reason| {
            matches!(
                reason,
                HoldReason::Stay
                    | HoldReason::Dropped
                    | HoldReason::NoTarget
                    | HoldReason::SecondOwner
                    | HoldReason::Paused
            )
        })
}

/// What the bindings and the Works show of the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OnCluster {
    /// Have to leave it by the taint manager's verdict.
    pub(super) owing: usize,
    /// Have left it, and their old copy is still there until the new one is healthy.
    pub(super) old_copies: usize,
    /// Have left it, and their old copy stays until a person removes it (purge mode Never).
    pub(super) kept_by_purge_mode: usize,
    /// Are wanted there by no binding any more, and nobody has seen yet that they are gone.
    pub(super) going: usize,
    /// The same on a cluster that is not Ready, where nobody can see it.
    pub(super) unconfirmed: usize,
    /// Stay on it: they tolerate the drain.
    pub(super) staying: usize,
}

/// Counts the copies that are on the cluster or leave it: by the bindings about it, and by the binding of each Work for it.
pub(super) fn on_cluster(bindings: &[Binding], works: &[BindingKey], cluster: &Cluster) -> OnCluster {
    let name: ClusterName = cluster.cluster_name();
    let switches = Switches::all_on(PurgeMode::Gracefully);
    let alive = || bindings.iter().filter(|binding| !binding.is_being_deleted());
    let mut counted = OnCluster::default();
    for binding in alive() {
        if let Some(task) = binding.spec.task(&name) {
            if task.effective_purge_mode() == PurgeMode::Never {
                counted.kept_by_purge_mode += 1;
            } else {
                counted.old_copies += 1;
            }
        } else if binding.spec.target(&name).is_some() {
            match verdict(binding, cluster, &switches) {
                Verdict::Affected(_) => counted.owing += 1,
                Verdict::NotAffected(_) => counted.staying += 1,
            }
        }
    }
    let by_key: BTreeMap<BindingKey, &Binding> = alive().map(|binding| (binding.key(), binding)).collect();
    let unwanted = works.iter().filter(|key| !is_counted(key, &by_key, &name)).count();
    if cluster.is_ready() {
        counted.going = unwanted;
    } else {
        counted.unconfirmed = unwanted;
    }
    counted
}

/// Whether the binding itself, or one that needs it, is on the cluster or has a task by which it leaves.
fn is_counted(key: &BindingKey, bindings: &BTreeMap<BindingKey, &Binding>, cluster: &ClusterName) -> bool {
    let Some(binding) = bindings.get(key) else { return false };
    let is_there = |binding: &Binding| binding.spec.target(cluster).is_some();
    // What it says of the result of another may be of before that one left.
    let needed = |by: &BindingSnapshot| {
        let owner = match by.namespace.as_deref().filter(|namespace| !namespace.is_empty()) {
            Some(namespace) => BindingKey::namespaced(namespace, &by.name),
            None => BindingKey::cluster(&by.name),
        };
        by.clusters.iter().any(|target| target.name == cluster.as_str())
            && bindings.get(&owner).is_some_and(|owner| is_there(owner))
    };
    is_there(binding) || binding.spec.task(cluster).is_some() || binding.spec.required_by.iter().any(needed)
}

impl OnCluster {
    /// Whether nothing more happens.
    pub(super) fn is_over(self) -> bool {
        self.owing + self.old_copies + self.going + self.unconfirmed == 0
    }

    /// Old copies that are there, or may be.
    pub(super) fn copies(self) -> usize {
        self.old_copies + self.kept_by_purge_mode + self.going + self.unconfirmed
    }

    /// What is waited for when the queue has nothing.
    pub(super) fn in_words(self) -> String {
        let copies = |count: usize| if count == 1 { "copy" } else { "copies" };
        let mut parts = Vec::new();
        if self.owing > 0 {
            parts.push(format!("{} have to leave and are not in the queue yet", self.owing));
        }
        if self.old_copies > 0 {
            let wait = if self.old_copies == 1 { "waits" } else { "wait" };
            parts.push(format!(
                "{} old {} {wait} until the new ones are healthy",
                self.old_copies,
                copies(self.old_copies)
            ));
        }
        if self.going > 0 {
            let are = if self.going == 1 { "is" } else { "are" };
            parts.push(format!("{} old {} {are} being removed", self.going, copies(self.going)));
        }
        if self.unconfirmed > 0 {
            parts.push(unconfirmed_in_words(self.unconfirmed));
        }
        parts.join("; ")
    }
}

/// That nobody can see whether copies are gone.
pub(super) fn unconfirmed_in_words(count: usize) -> String {
    let copies = if count == 1 { "copy" } else { "copies" };
    format!("{count} {copies} cannot be confirmed gone: cluster not Ready")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn drained(ready: &str) -> Cluster {
        serde_json::from_value(json!({
            "metadata": {"name": "m1"},
            "spec": {"syncMode": "Push", "taints": [
                {"key": "cluster.karmada.io/drain", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
            ]},
            "status": {"conditions": [{
                "type": "Ready", "status": ready, "reason": "", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]},
        }))
        .unwrap()
    }

    fn named(name: &str, spec: &Value) -> Binding {
        let mut binding = json!({
            "metadata": {"namespace": "n", "name": name},
            "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "n", "name": name}},
        });
        for (field, value) in spec.as_object().unwrap() {
            binding["spec"][field] = value.clone();
        }
        serde_json::from_value(binding).unwrap()
    }

    fn task(purge_mode: &str) -> Value {
        json!({"gracefulEvictionTasks": [{
            "fromCluster": "m1", "purgeMode": purge_mode, "reason": "TaintUntolerated", "producer": "TaintManager",
        }]})
    }

    fn key(name: &str) -> BindingKey {
        BindingKey::namespaced("n", name)
    }

    #[rstest]
    #[case::has_to_leave(json!({"clusters": [{"name": "m1"}]}), OnCluster { owing: 1, ..OnCluster::default() }, false)]
    #[case::tolerates_it(
        json!({"clusters": [{"name": "m1"}], "placement": {"clusterTolerations": [{"operator": "Exists"}]}}),
        OnCluster { staying: 1, ..OnCluster::default() },
        true
    )]
    #[case::leaves(task("Gracefully"), OnCluster { old_copies: 1, ..OnCluster::default() }, false)]
    #[case::leaves_by_the_old_spelling(task("Graciously"), OnCluster { old_copies: 1, ..OnCluster::default() }, false)]
    #[case::kept_for_a_person(task("Never"), OnCluster { kept_by_purge_mode: 1, ..OnCluster::default() }, true)]
    #[case::has_left_and_its_work_is_there(
        json!({"clusters": [{"name": "m2"}]}),
        OnCluster { going: 1, ..OnCluster::default() },
        false
    )]
    fn each_is_counted_once(#[case] spec: Value, #[case] expected: OnCluster, #[case] is_over: bool) {
        let counted = on_cluster(&[named("web", &spec)], &[key("web")], &drained("True"));
        assert_eq!(counted, expected);
        assert_eq!(counted.is_over(), is_over);
    }

    #[test]
    fn a_work_without_its_binding_is_a_copy_still() {
        let counted = on_cluster(&[], &[key("web")], &drained("True"));
        assert_eq!((counted.going, counted.is_over()), (1, false));
        assert_eq!(counted.in_words(), "1 old copy is being removed");
    }

    #[test]
    fn on_a_cluster_that_is_not_ready_nobody_sees_it() {
        let counted = on_cluster(&[], &[key("web"), key("db")], &drained("Unknown"));
        assert_eq!((counted.unconfirmed, counted.is_over()), (2, false));
        assert_eq!(
            counted.in_words(),
            "2 copies cannot be confirmed gone: cluster not Ready"
        );
        assert!(on_cluster(&[], &[], &drained("Unknown")).is_over());
    }

    #[rstest]
    #[case::of_one_that_stays("m1", 0)]
    #[case::of_one_that_has_left("m2", 1)]
    fn what_another_needs_is_wanted_while_that_one_is_there(#[case] owner_is_on: &str, #[case] going: usize) {
        let tolerant = json!({"clusterTolerations": [{"operator": "Exists"}]});
        let owner = named(
            "web",
            &json!({"clusters": [{"name": owner_is_on}], "placement": tolerant}),
        );
        let needed = json!({"requiredBy": [{"namespace": "n", "name": "web", "clusters": [{"name": "m1"}]}]});
        let counted = on_cluster(&[owner, named("config", &needed)], &[key("config")], &drained("True"));
        assert_eq!(counted.going, going);
    }
}
