//! What is left on a cluster that is drained, and whether it is worth waiting for. Pure.

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::policy::PurgeMode;
use api_types::work::Binding;
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
    let reason = entry.hold.as_ref().map(|hold| hold.reason);
    entry.state == State::Held
        && reason.is_some_and(|reason| {
            matches!(
                reason,
                HoldReason::Stay | HoldReason::Dropped | HoldReason::NoTarget | HoldReason::Paused
            )
        })
}

/// What the bindings show of the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OnBindings {
    /// Have to leave it by the taint manager's verdict.
    pub(super) owing: usize,
    /// Have left it, and their old copy is still there until the new one is healthy.
    pub(super) old_copies: usize,
    /// Have left it, and their old copy stays until a person removes it (purge mode Never).
    pub(super) kept_by_purge_mode: usize,
    /// Stay on it: they tolerate the drain.
    pub(super) staying: usize,
}

/// Counts the bindings that are on the cluster or leave it.
pub(super) fn on_bindings(bindings: &[Binding], cluster: &Cluster) -> OnBindings {
    let name: ClusterName = cluster.cluster_name();
    let switches = Switches::all_on(PurgeMode::Gracefully);
    let mut counted = OnBindings::default();
    for binding in bindings.iter().filter(|binding| !binding.is_being_deleted()) {
        if let Some(task) = binding.spec.task(&name) {
            if task.effective_purge_mode() == PurgeMode::Never {
                counted.kept_by_purge_mode += 1;
            } else {
                counted.old_copies += 1;
            }
            continue;
        }
        match verdict(binding, cluster, &switches) {
            Verdict::Affected(_) => counted.owing += 1,
            Verdict::NotAffected(_) => counted.staying += 1,
        }
    }
    counted
}

impl OnBindings {
    /// Whether nothing more happens.
    pub(super) fn is_over(self) -> bool {
        self.owing == 0 && self.old_copies == 0
    }

    /// What is waited for when the queue has nothing.
    pub(super) fn in_words(self) -> String {
        let mut parts = Vec::new();
        if self.owing > 0 {
            parts.push(format!("{} have to leave and are not in the queue yet", self.owing));
        }
        if self.old_copies > 0 {
            let (copies, wait) = if self.old_copies == 1 {
                ("copy", "waits")
            } else {
                ("copies", "wait")
            };
            parts.push(format!(
                "{} old {copies} {wait} until the new ones are healthy",
                self.old_copies
            ));
        }
        parts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn drained() -> Cluster {
        serde_json::from_value(json!({
            "metadata": {"name": "m1"},
            "spec": {"syncMode": "Push", "taints": [
                {"key": "cluster.karmada.io/drain", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
            ]},
        }))
        .unwrap()
    }

    fn binding(spec: &Value) -> Binding {
        let mut binding = json!({
            "metadata": {"namespace": "n", "name": "web"},
            "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "n", "name": "web"}},
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

    #[rstest]
    #[case::has_to_leave(json!({"clusters": [{"name": "m1"}]}), OnBindings { owing: 1, ..OnBindings::default() })]
    #[case::tolerates_it(
        json!({"clusters": [{"name": "m1"}], "placement": {"clusterTolerations": [{"operator": "Exists"}]}}),
        OnBindings { staying: 1, ..OnBindings::default() }
    )]
    #[case::leaves(task("Gracefully"), OnBindings { old_copies: 1, ..OnBindings::default() })]
    #[case::leaves_by_the_old_spelling(task("Graciously"), OnBindings { old_copies: 1, ..OnBindings::default() })]
    #[case::kept_for_a_person(task("Never"), OnBindings { kept_by_purge_mode: 1, ..OnBindings::default() })]
    fn each_is_counted_once(#[case] spec: Value, #[case] expected: OnBindings) {
        let counted = on_bindings(&[binding(&spec)], &drained());
        assert_eq!(counted, expected);
        assert_eq!(counted.is_over(), expected.owing + expected.old_copies == 0);
    }
}
