//! Make before break: no schedule takes the last running copy off a cluster that the placement names.
//!
//! Replicas by fixed weights are divided anew each time, a spread constraint chooses among the clusters that fit, and a
//! person may ask for an earlier group: each may leave out a cluster of the present result, and what leaves the result
//! so is not replaced first, as what leaves by the evictor is. Stock lets it go. Here a copy that may be the last one
//! that runs stays in the result, with the replicas it has, beside what was chosen; once another copy works, the result
//! is what was chosen and nothing else.
//!
//! Rules: another copy counts when it [`works`] and stays, that is, it is in the present result and in the new one, or
//! in a task that waits for another copy. Of several that work and would go one stays: that with the most replicas, then
//! the first by name. Where none is known to work, each that may run may be the last, and all of them stay. A cluster
//! that is being deleted keeps the last copy as any other does.
//!
//! The result alone does not say which copies are kept: the scheduler notes them on the binding, and the next look chooses as
//! if they were not there ([`note`]). Else they would count as replicas like any other, and what was chosen be undone for them.
//!
//! Not held by this, because a person said so: a cluster that does not exist or that the placement does not name any
//! more (by its affinity, or that of any of its groups), and a workload of no replicas.
//!
//! Nor, as in stock, a Job that is divided, and that is nobody's word: its completions are shared out by the clusters of
//! the result and cannot be changed later, so a copy that stayed beside the new shares would run its part twice. This is
//! a known breach of rule 4 of the correctness rules (`crates/kube-sandbox/src/rules/checker/last_copy.rs`), which has
//! the other exceptions alone.

use std::cmp::Reverse;
use std::fmt;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::names::annotation;
use api_types::placement::{ClusterAffinity, Placement, ReplicaSchedulingType};
use api_types::work::{Binding, GracefulEvictionTask, TargetCluster, condition};
use failover_core::affinity;
use failover_core::graceful::copies::{NotWorking, may_run, waits_for_another, works};
use jiff::Timestamp;

use crate::fleet::Fleet;
use crate::schedule::Scheduling;

/// Reason of the condition `Scheduled`, which is True, while a copy is kept beside what was chosen.
pub const KEPT: &str = "LastCopyKept";

/// Whether the last schedule kept a copy until another one works: then the statuses of the copies concern the scheduler.
/// Its own condition says so, which it wrote on the very version of the statuses that it judged by.
#[must_use]
pub fn keeps_a_copy(binding: &Binding) -> bool {
    binding
        .condition(condition::SCHEDULED)
        .is_some_and(|says| says.status == "True" && says.reason == KEPT)
}

/// The copies that stay although the schedule has no place for them: one that works, or all that may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Their clusters, as they are in the present result, by name.
    pub targets: Vec<TargetCluster>,
    /// The clusters that were chosen, and why the copy there does not count yet.
    pub instead: Vec<(String, NotWorking)>,
}

impl fmt::Display for Kept {
    /// What people are told of it for as long as it lasts; how the others get on ([`Kept::waits_for`]) is not in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.targets.iter().map(|target| target.name.as_str()).collect();
        let (stay, what) = match names.as_slice() {
            [_] => ("stays", "its copy"),
            _ => ("stay", "any of these copies"),
        };
        write!(
            f,
            "{} {stay} in the result until another copy is healthy: {what} may be the last that runs.",
            names.join(", ")
        )
    }
}

impl Kept {
    /// When a copy that was chosen counts although nothing changed.
    #[must_use]
    pub fn look_again_at(&self) -> Option<Timestamp> {
        self.instead.iter().filter_map(|(_, why)| why.look_again_at()).min()
    }

    /// What it waits for, in words.
    #[must_use]
    pub fn waits_for(&self) -> String {
        let parts: Vec<String> = self.instead.iter().map(|(name, why)| format!("{name} {why}")).collect();
        parts.join(", ")
    }
}

/// The annotation [`annotation::KEPT_COPIES`] of a binding on which these copies are kept; absent for none.
#[must_use]
pub fn note(kept: Option<&Kept>) -> Option<String> {
    let targets = kept?.targets.iter();
    let each = targets.map(|target| format!("{}:{}", target.name, target.replicas));
    Some(each.collect::<Vec<_>>().join(","))
}

/// The annotation as it is stored.
#[must_use]
pub fn stored_note(binding: &Binding) -> Option<&str> {
    let annotations = binding.metadata.annotations.as_ref()?;
    annotations.get(annotation::KEPT_COPIES).map(String::as_str)
}

/// Whether an earlier look kept this target of the present result. Who has changed its replicas since took it for a target
/// like any other.
fn is_noted(note: &str, target: &TargetCluster) -> bool {
    let mut noted = note.split(',').filter_map(|copy| copy.rsplit_once(':'));
    noted.any(|(name, replicas)| name == target.name && replicas.parse() == Ok(target.replicas))
}

/// The binding without the copies that an earlier look kept; nothing where there are none.
pub(crate) fn without_noted(binding: &Binding) -> Option<Binding> {
    let note = stored_note(binding)?;
    let is_kept = |target: &TargetCluster| is_noted(note, target);
    binding.spec.clusters.iter().any(is_kept).then(|| {
        let mut without = binding.clone();
        without.spec.clusters.retain(|target| !is_kept(target));
        without
    })
}

/// The copies that have to stay beside `chosen`, what the schedule has places for.
pub(crate) fn kept(scheduling: &Scheduling<'_>, placement: &Placement, chosen: &[TargetCluster]) -> Option<Kept> {
    let Scheduling {
        binding, fleet, now, ..
    } = *scheduling;
    if binding.spec.is_workload() && binding.replicas() <= 0 || has_shared_completions(binding, placement) {
        return None;
    }
    let is_chosen = |target: &TargetCluster| chosen.iter().any(|other| other.name == target.name);
    let (staying, going): (Vec<_>, Vec<_>) = binding.spec.clusters.iter().partition(|target| is_chosen(target));
    if going.is_empty() || another_works(binding, &staying, fleet, now) {
        return None;
    }
    let may_be_last = |target: &&TargetCluster| {
        let name = ClusterName::from(target.name.as_str());
        let cluster = fleet.get(&target.name);
        binding.spec.task(&name).is_none()
            && may_run(binding, target)
            && cluster.is_some_and(|cluster| is_named(placement, cluster))
    };
    let last: Vec<&TargetCluster> = going.into_iter().filter(may_be_last).collect();
    let is_healthy = |target: &&&TargetCluster| works(binding, target, fleet.get(&target.name), now).is_ok();
    let healthy = last.iter().filter(is_healthy);
    let mut targets: Vec<TargetCluster> = match healthy.max_by_key(|target| (target.replicas, Reverse(&target.name))) {
        Some(one) => vec![(*one).clone()],
        None => last.into_iter().cloned().collect(),
    };
    targets.sort_by(|a, b| a.name.cmp(&b.name));
    (!targets.is_empty()).then(|| Kept {
        targets,
        instead: not_counting(binding, chosen, &staying, fleet, now),
    })
}

/// Why the copies do not count on the clusters that were chosen. Where a copy is new, a status is from before it came.
fn not_counting(
    binding: &Binding,
    chosen: &[TargetCluster],
    staying: &[&TargetCluster],
    fleet: &Fleet,
    now: Timestamp,
) -> Vec<(String, NotWorking)> {
    let why = |target: &TargetCluster| match staying.iter().find(|present| present.name == target.name) {
        Some(present) => works(binding, present, fleet.get(&present.name), now).err(),
        None => Some(NotWorking::NoStatus),
    };
    let chosen = chosen.iter();
    chosen
        .filter_map(|target| Some((target.name.clone(), why(target)?)))
        .collect()
}

fn has_shared_completions(binding: &Binding, placement: &Placement) -> bool {
    let resource = &binding.spec.resource;
    (resource.api_version.as_str(), resource.kind.as_str()) == ("batch/v1", "Job")
        && placement.scheduling_type() != ReplicaSchedulingType::Duplicated
}

/// Whether the placement names the cluster, in any of its groups. Nothing else that keeps a cluster from being chosen (its
/// deletion, a field that a spread constraint groups by and that it does not say) is a word of the owner.
fn is_named(placement: &Placement, cluster: &Cluster) -> bool {
    let named_by = |affinity: &ClusterAffinity| affinity::matches(affinity, cluster);
    let groups = &placement.cluster_affinities;
    if groups.is_empty() {
        placement.cluster_affinity.as_ref().is_none_or(named_by)
    } else {
        groups.iter().any(|group| named_by(&group.cluster_affinity))
    }
}

fn another_works(binding: &Binding, staying: &[&TargetCluster], fleet: &Fleet, now: Timestamp) -> bool {
    let runs_something = |target: &TargetCluster| !binding.spec.is_workload() || target.replicas > 0;
    let works =
        |target: &TargetCluster| runs_something(target) && works(binding, target, fleet.get(&target.name), now).is_ok();
    let tasks = binding.spec.graceful_eviction_tasks.iter();
    staying.iter().any(|target| works(target))
        || tasks
            .filter(|task| waits_for_another(task))
            .any(|task| works(&of_task(task)))
}

/// What the cluster of a task was assigned; one that does not say runs something, or there would be no task.
fn of_task(task: &GracefulEvictionTask) -> TargetCluster {
    TargetCluster {
        name: task.from_cluster.clone(),
        replicas: task.replicas.unwrap_or(1),
        ..TargetCluster::default()
    }
}

#[cfg(test)]
mod tests;
