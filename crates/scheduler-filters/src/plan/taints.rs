//! The taint policy controller on one cluster, look by look.

use std::collections::BTreeMap;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use failover_core::taint_policy::{
    Evaluation, FailoverGate, Input, ManagedTaints, Memory, TaintChange, TaintId, TaintState, details, evaluate,
};
use jiff::Timestamp;

use super::outcome::{HeldTaint, PlannedTaint, TaintedBy};

/// What the controller remembers of a cluster, and when it looks again.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    memory: Option<Memory>,
    pub(super) next_look: Option<Timestamp>,
}

/// What a look changed.
pub(super) struct Looked {
    /// The cluster with it; absent: nothing changed.
    pub(super) cluster: Option<Cluster>,
    pub(super) added: Vec<PlannedTaint>,
}

impl Watched {
    /// Looks at the cluster, and writes what it finds.
    pub(super) fn look(
        &mut self,
        cluster: &Cluster,
        policies: &[&ClusterTaintPolicy],
        gate: FailoverGate,
        now: Timestamp,
    ) -> Looked {
        let evaluation = evaluate(Input {
            policies,
            cluster,
            memory: self.memory.as_ref(),
            gate,
            now,
            wall: now,
        });
        self.next_look = evaluation.next_look;
        let mut memory = evaluation.memory.clone();
        if !evaluation.has_changes() {
            self.memory = Some(memory);
            return Looked {
                cluster: None,
                added: Vec::new(),
            };
        }
        let written = written(cluster, &evaluation);
        memory.written(&evaluation);
        self.memory = Some(memory);
        Looked {
            added: added(&written, &evaluation, now),
            cluster: Some(written),
        }
    }

    /// The taints that policies want on the cluster and do not add.
    pub(super) fn held(
        &self,
        cluster: &Cluster,
        policies: &[&ClusterTaintPolicy],
        gate: FailoverGate,
        now: Timestamp,
    ) -> Vec<HeldTaint> {
        let input = Input {
            policies,
            cluster,
            memory: self.memory.as_ref(),
            gate,
            now,
            wall: now,
        };
        let name = cluster.cluster_name();
        let is_held = |state: TaintState| {
            matches!(
                state,
                TaintState::HeldByGate | TaintState::Dismissed | TaintState::Foreign | TaintState::WouldStand(_)
            )
        };
        let details = details(input, &evaluate(input)).into_iter();
        details
            .flat_map(|detail| {
                detail
                    .taints
                    .into_iter()
                    .map(move |taint| (detail.policy.clone(), taint))
            })
            .filter(|(_, taint)| is_held(taint.state))
            .map(|(policy, taint)| HeldTaint {
                cluster: name.clone(),
                policy,
                id: taint.id,
                state: taint.state,
            })
            .collect()
    }
}

/// The cluster as the server has it after the write.
fn written(cluster: &Cluster, evaluation: &Evaluation) -> Cluster {
    let mut cluster = cluster.clone();
    let taints = &mut cluster.spec.taints;
    let mut removed = Vec::new();
    for change in &evaluation.taints {
        match change {
            TaintChange::Remove { index, .. } => removed.push(*index),
            TaintChange::SetValue { index, value, .. } => {
                if let Some(taint) = taints.get_mut(*index) {
                    taint.value = Some(value.clone());
                }
            }
            TaintChange::Stamp { index, time_added, .. } => {
                if let Some(taint) = taints.get_mut(*index) {
                    taint.time_added = Some(time_added.clone());
                }
            }
            TaintChange::Add { .. } => {}
        }
    }
    removed.sort_unstable();
    for index in removed
        .into_iter()
        .rev()
        .filter(|index| *index < taints.len())
        .collect::<Vec<_>>()
    {
        taints.remove(index);
    }
    taints.extend(evaluation.taints.iter().filter_map(|change| match change {
        TaintChange::Add { taint, .. } => Some(taint.clone()),
        _ => None,
    }));
    let annotations = cluster.metadata.annotations.get_or_insert_default();
    for change in &evaluation.annotations {
        match &change.value {
            Some(text) => annotations.insert(change.name.to_owned(), text.clone()),
            None => annotations.remove(change.name),
        };
    }
    cluster
}

fn added(written: &Cluster, evaluation: &Evaluation, now: Timestamp) -> Vec<PlannedTaint> {
    let managed = ManagedTaints::read(written.metadata.annotations.as_ref()).unwrap_or_default();
    let behind = |id: &TaintId| -> Vec<String> {
        let entry = managed.taints.get(id);
        entry
            .map(|entry| entry.policies.keys().cloned().collect())
            .unwrap_or_default()
    };
    let cluster = written.cluster_name();
    let added = evaluation.taints.iter().filter_map(|change| match change {
        TaintChange::Add { taint, why } => Some((taint, why)),
        _ => None,
    });
    added
        .map(|(taint, why)| {
            let id = TaintId::of(taint);
            PlannedTaint {
                cluster: cluster.clone(),
                value: taint.value.clone().unwrap_or_default(),
                at: taint.time_added.as_ref().map_or(now, |time| time.0),
                by: TaintedBy::Policies {
                    names: behind(&id),
                    why: why.clone(),
                },
                id,
            }
        })
        .collect()
}

/// The clusters with what is remembered of them.
pub(super) type AllWatched = BTreeMap<ClusterName, Watched>;
