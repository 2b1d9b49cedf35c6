//! What a Cluster still lacks, or what its deletion waits for. Pure.

use api_types::cluster::{Cluster, condition};
use api_types::names::finalizer;
use failover_core::cluster_health::deletion::{Ended, Patience};

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
    /// Say which bindings its deletion waits for.
    SayBlocked,
    /// Delete its execution namespace.
    DeleteNamespace {
        /// Why although bindings name the cluster, if they do.
        ended: Option<Ended>,
    },
    /// Wait until the namespace is gone, and say what keeps it; its end wakes us.
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
pub(super) fn of_deleted(cluster: &Cluster, namespace: NamespaceState, bindings: usize, patience: Patience) -> Step {
    let ended = match patience {
        Patience::Over(ended) => Some(ended),
        Patience::For(_) => None,
    };
    if !has_finalizer(cluster) {
        return Step::Nothing;
    }
    if bindings > 0 && ended.is_none() {
        return Step::SayBlocked;
    }
    match namespace {
        NamespaceState::Labelled | NamespaceState::Unlabelled => Step::DeleteNamespace {
            ended: ended.filter(|_| bindings > 0),
        },
        NamespaceState::Terminating if ended.is_none() => Step::AwaitNamespace,
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

#[cfg(test)]
mod tests {
    use super::*;
    use NamespaceState::{Absent, Labelled, Terminating, Unlabelled};
    use rstest::rstest;
    use serde_json::json;

    fn cluster(ready: bool, finalizer: bool) -> Cluster {
        let conditions = if ready {
            json!([{"type": "Ready", "status": "True", "reason": "", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}])
        } else {
            json!([])
        };
        serde_json::from_value(json!({
            "metadata": {
                "name": "m1",
                "finalizers": if finalizer { json!(["other", "karmada.io/cluster-controller"]) } else { json!([]) }
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
        assert_eq!(of_living(&cluster(ready, finalizer), namespace), expected);
    }

    const WAITS: Patience = Patience::For(None);
    const FORCED: Patience = Patience::Over(Ended::ByForce);
    const TIMED_OUT: Patience = Patience::Over(Ended::ByTimeout);

    #[rstest]
    #[case::not_ours(false, WAITS, Labelled, 3, Step::Nothing)]
    #[case::blocked(true, WAITS, Labelled, 3, Step::SayBlocked)]
    #[case::forced(true, FORCED, Labelled, 3, Step::DeleteNamespace { ended: Some(Ended::ByForce) })]
    #[case::timed_out(true, TIMED_OUT, Labelled, 3, Step::DeleteNamespace { ended: Some(Ended::ByTimeout) })]
    #[case::forced_does_not_wait(true, FORCED, Terminating, 3, Step::RemoveFinalizer)]
    #[case::timed_out_does_not_wait(true, TIMED_OUT, Terminating, 0, Step::RemoveFinalizer)]
    #[case::namespace_first(true, WAITS, Labelled, 0, Step::DeleteNamespace { ended: None })]
    #[case::waits(true, WAITS, Terminating, 0, Step::AwaitNamespace)]
    #[case::lets_go(true, WAITS, Absent, 0, Step::RemoveFinalizer)]
    fn deleted(
        #[case] finalizer: bool,
        #[case] patience: Patience,
        #[case] namespace: NamespaceState,
        #[case] bindings: usize,
        #[case] expected: Step,
    ) {
        let cluster = cluster(true, finalizer);
        assert_eq!(of_deleted(&cluster, namespace, bindings, patience), expected);
    }
}
