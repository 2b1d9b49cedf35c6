//! What a Cluster still lacks, or what its deletion waits for. Pure.

use api_types::cluster::{Cluster, condition};
use api_types::names::{annotation, finalizer};

use super::index::NamespaceState;

/// What to do next for a Cluster, one step at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It has everything.
    Nothing,
    /// Its first Ready condition: Unknown.
    SayNeverObserved,
    /// Our finalizer.
    AddFinalizer,
    /// Its execution namespace.
    CreateNamespace,
    /// Our label on its execution namespace.
    LabelNamespace,
    /// Say what its deletion waits for.
    SayBlocked {
        /// How many bindings name it.
        bindings: usize,
    },
    /// Delete its execution namespace.
    DeleteNamespace,
    /// Wait until the namespace is gone; its end wakes us.
    AwaitNamespace,
    /// Let it go.
    RemoveFinalizer,
}

/// A Cluster that stays. The condition comes first: it is what others decide by.
pub(super) fn of_living(cluster: &Cluster, namespace: NamespaceState) -> Step {
    if cluster.condition(condition::READY).is_none() {
        Step::SayNeverObserved
    } else if !has_finalizer(cluster) {
        Step::AddFinalizer
    } else {
        match namespace {
            NamespaceState::Absent => Step::CreateNamespace,
            NamespaceState::Unlabelled => Step::LabelNamespace,
            // One that is being deleted under a living Cluster is made again when it is gone.
            NamespaceState::Labelled | NamespaceState::Terminating => Step::Nothing,
        }
    }
}

/// A Cluster that goes. `bindings` of them name it.
pub(super) fn of_deleted(cluster: &Cluster, namespace: NamespaceState, bindings: usize) -> Step {
    let forced = is_forced(cluster);
    if !has_finalizer(cluster) {
        return Step::Nothing;
    }
    if bindings > 0 && !forced {
        return Step::SayBlocked { bindings };
    }
    match namespace {
        NamespaceState::Labelled | NamespaceState::Unlabelled => Step::DeleteNamespace,
        NamespaceState::Terminating if !forced => Step::AwaitNamespace,
        NamespaceState::Terminating | NamespaceState::Absent => Step::RemoveFinalizer,
    }
}

/// Whether the Cluster carries our finalizer.
pub(super) fn has_finalizer(cluster: &Cluster) -> bool {
    cluster
        .metadata
        .finalizers
        .iter()
        .flatten()
        .any(|name| name == finalizer::CLUSTER)
}

fn is_forced(cluster: &Cluster) -> bool {
    let annotations = cluster.metadata.annotations.as_ref();
    annotations
        .and_then(|all| all.get(annotation::FORCE_DELETE))
        .is_some_and(|value| value == "true")
}

/// Message of the condition `DeletionBlocked`.
pub(super) fn blocked_message(bindings: usize) -> String {
    let (names, leave) = if bindings == 1 {
        ("binding names", "it leaves")
    } else {
        ("bindings name", "they leave")
    };
    format!(
        "{bindings} {names} this cluster in spec.clusters or in a graceful eviction task; it is deleted when {leave}; to \
         end this at once, annotate the Cluster with {}=true",
        annotation::FORCE_DELETE
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use NamespaceState::{Absent, Labelled, Terminating, Unlabelled};
    use rstest::rstest;
    use serde_json::json;

    fn cluster(ready: bool, finalizer: bool, forced: bool) -> Cluster {
        let conditions = if ready {
            json!([{"type": "Ready", "status": "True", "reason": "", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}])
        } else {
            json!([])
        };
        serde_json::from_value(json!({
            "metadata": {
                "name": "m1",
                "finalizers": if finalizer { json!(["other", "karmada.io/cluster-controller"]) } else { json!([]) },
                "annotations": if forced { json!({"failover.karmada.io/force-delete": "true"}) } else { json!({}) }
            },
            "spec": {"syncMode": "Push"},
            "status": {"conditions": conditions}
        }))
        .unwrap()
    }

    #[rstest]
    #[case(false, false, Absent, Step::SayNeverObserved)]
    #[case(true, false, Absent, Step::AddFinalizer)]
    #[case(true, true, Absent, Step::CreateNamespace)]
    #[case(true, true, Unlabelled, Step::LabelNamespace)]
    #[case(true, true, Labelled, Step::Nothing)]
    fn living(#[case] ready: bool, #[case] finalizer: bool, #[case] namespace: NamespaceState, #[case] expected: Step) {
        assert_eq!(of_living(&cluster(ready, finalizer, false), namespace), expected);
    }

    #[rstest]
    #[case::not_ours(false, false, Labelled, 3, Step::Nothing)]
    #[case::blocked(true, false, Labelled, 3, Step::SayBlocked { bindings: 3 })]
    #[case::forced(true, true, Labelled, 3, Step::DeleteNamespace)]
    #[case::forced_does_not_wait(true, true, Terminating, 3, Step::RemoveFinalizer)]
    #[case::namespace_first(true, false, Labelled, 0, Step::DeleteNamespace)]
    #[case::waits(true, false, Terminating, 0, Step::AwaitNamespace)]
    #[case::lets_go(true, false, Absent, 0, Step::RemoveFinalizer)]
    fn deleted(
        #[case] finalizer: bool,
        #[case] forced: bool,
        #[case] namespace: NamespaceState,
        #[case] bindings: usize,
        #[case] expected: Step,
    ) {
        assert_eq!(
            of_deleted(&cluster(true, finalizer, forced), namespace, bindings),
            expected
        );
    }
}
