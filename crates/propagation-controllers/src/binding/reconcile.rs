//! Which Works a binding has, as a pure function of what is known.
//!
//! Works stay for the clusters of the scheduling result, of the bindings that need this one, and of tasks that are not
//! Directly; the others go. A task's Work is not rendered anew. While a copy that has to go first (Directly) is still
//! there, no other Work is made or changed. A Work that is new is given the labels that were preserved of the copy
//! before it, and keeps them for as long as it is there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use api_types::names::cluster_of_execution_namespace;
use api_types::policy::PurgeMode;
use api_types::work::{Binding, TargetCluster, Work};
use failover_core::graceful::placed::{NotPlaced, placed};
use failover_core::graceful::preserved::labels_for;
use serde_json::Value;

use super::render;
use crate::interpreter::{InterpretError, Interpreter};
use crate::members::Presence;

/// Everything that counts for the Works of one binding.
pub struct Situation<'a> {
    /// The binding.
    pub binding: &'a Binding,
    /// Its template; absent when there is none, or its kind is not carried to members.
    pub template: Option<&'a Value>,
    /// The Works that name the binding.
    pub works: &'a [Arc<Work>],
    /// Whether each cluster is there and answers.
    pub presence: &'a (dyn Fn(&ClusterName) -> Presence + Sync),
    /// For how long an old copy's cluster has been away while others waited for that copy to go; elapsed time, which
    /// no clock that is set moves.
    pub away_for: &'a BTreeMap<ClusterName, Duration>,
    /// How long they wait for it.
    pub unreachable_wait: Duration,
}

/// What is to be done.
#[derive(Default, Debug)]
pub struct Plan {
    /// Works to delete.
    pub delete: Vec<Arc<Work>>,
    /// Works to create.
    pub create: Vec<Work>,
    /// Works to change: as they are, as they should be.
    pub update: Vec<(Arc<Work>, Work)>,
    /// The finalizer may go: no Work is left.
    pub release: bool,
    /// Clusters whose copy is waited for although they do not answer.
    pub away: BTreeSet<ClusterName>,
    /// Clusters whose copy was not confirmed gone, and is no longer waited for.
    pub unconfirmed: BTreeSet<ClusterName>,
    /// Clusters that keep a binding which is being deleted.
    pub blocking: BTreeSet<ClusterName>,
    /// How soon to look again, if nothing changes before.
    pub look_again: Option<Duration>,
    /// Clusters for which no Work could be made, and why.
    pub failures: Vec<(ClusterName, InterpretError)>,
}

/// The plan for one binding.
pub fn plan(situation: &Situation<'_>, interpreter: &dyn Interpreter) -> Plan {
    let mut plan = Plan::default();
    let works = by_cluster(situation.works);
    if situation.binding.is_being_deleted() {
        plan_deletion(situation, &works, &mut plan);
        return plan;
    }
    let targets = targets(situation.binding);
    let kept = kept_by_tasks(situation.binding);
    let leaving = leaving_directly(situation.binding);
    let placed = placed(situation.binding);

    let mut held = Held::Nothing;
    for (cluster, work) in &works {
        if targets.contains_key(cluster) || kept.contains(cluster) {
            continue;
        }
        let is_going = work.metadata.deletion_timestamp.is_some();
        let directly = leaving.contains(cluster);
        if (!directly || placed.is_ok()) && !is_going {
            plan.delete.push(work.clone());
        }
        if directly {
            held = held.max(match &placed {
                _ if is_going => waits_for_its_end(situation, cluster, &mut plan),
                _ if (situation.presence)(cluster) == Presence::Gone => Held::Nothing,
                Ok(()) | Err(NotPlaced::NotObserved) => Held::Everything,
                Err(NotPlaced::NotScheduled | NotPlaced::Empty | NotPlaced::Replicas { .. }) => Held::NewCopies,
            });
        }
    }
    let Some(template) = situation.template.filter(|_| held != Held::Everything) else {
        return plan;
    };
    for (cluster, target) in &targets {
        if (situation.presence)(cluster) == Presence::Gone {
            continue;
        }
        let existing = works.get(cluster);
        if existing.is_some_and(|work| work.metadata.deletion_timestamp.is_some()) {
            // Its end brings us back here; only then can there be another of that name.
            continue;
        }
        let preserved = match existing {
            Some(work) => render::preserved(work, template),
            None => Ok(labels_for(situation.binding, cluster)),
        };
        let wanted =
            preserved.and_then(|labels| render::work(situation.binding, template, target, &labels, interpreter));
        match (wanted, existing) {
            (Err(error), _) => plan.failures.push((cluster.clone(), error)),
            (Ok(_), None) if held == Held::NewCopies => {}
            (Ok(wanted), None) => plan.create.push(wanted),
            (Ok(wanted), Some(present)) if differs(present, &wanted) => plan.update.push((present.clone(), wanted)),
            (Ok(_), Some(_)) => {}
        }
    }
    plan
}

fn by_cluster(works: &[Arc<Work>]) -> BTreeMap<ClusterName, Arc<Work>> {
    let entry = |work: &Arc<Work>| Some((cluster_of(work)?, work.clone()));
    works.iter().filter_map(entry).collect()
}

/// The cluster that a Work is for.
pub fn cluster_of(work: &Work) -> Option<ClusterName> {
    cluster_of_execution_namespace(work.metadata.namespace.as_deref()?)
}

/// The scheduling result, and what bindings that need this one ask for besides.
pub fn targets(binding: &Binding) -> BTreeMap<ClusterName, TargetCluster> {
    let mut targets = BTreeMap::new();
    let own = binding.spec.clusters.iter();
    let needed = binding.spec.required_by.iter().flat_map(|snapshot| &snapshot.clusters);
    for target in own.chain(needed) {
        targets
            .entry(ClusterName::from(target.name.as_str()))
            .or_insert_with(|| target.clone());
    }
    targets
}

/// Clusters that are left, and where the copy stays until the task goes.
pub fn kept_by_tasks(binding: &Binding) -> BTreeSet<ClusterName> {
    let tasks = binding.spec.graceful_eviction_tasks.iter();
    tasks
        .filter(|task| task.effective_purge_mode() != PurgeMode::Directly)
        .map(|task| ClusterName::from(task.from_cluster.as_str()))
        .collect()
}

fn leaving_directly(binding: &Binding) -> BTreeSet<ClusterName> {
    let tasks = binding.spec.graceful_eviction_tasks.iter();
    tasks
        .filter(|task| task.effective_purge_mode() == PurgeMode::Directly)
        .map(|task| ClusterName::from(task.from_cluster.as_str()))
        .collect()
}

/// What has to wait because a copy goes first (Directly).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    /// Nothing.
    Nothing,
    /// Works that are not there yet. Those that are there follow their template: the scheduler has found no place, and
    /// nobody knows how long that lasts.
    NewCopies,
    /// Every change too: it may carry replicas of the copy that goes first.
    Everything,
}

/// A copy that is being deleted is waited for while its cluster answers, and for a while after it stopped to.
fn waits_for_its_end(situation: &Situation<'_>, cluster: &ClusterName, plan: &mut Plan) -> Held {
    match (situation.presence)(cluster) {
        Presence::Gone => Held::Nothing,
        Presence::Ready => Held::Everything,
        Presence::NotReady => {
            let away_for = situation.away_for.get(cluster).copied().unwrap_or_default();
            plan.away.insert(cluster.clone());
            let Some(left) = situation
                .unreachable_wait
                .checked_sub(away_for)
                .filter(|left| !left.is_zero())
            else {
                plan.unconfirmed.insert(cluster.clone());
                return Held::Nothing;
            };
            plan.look_again = Some(plan.look_again.map_or(left, |earlier| earlier.min(left)));
            Held::Everything
        }
    }
}

fn plan_deletion(situation: &Situation<'_>, works: &BTreeMap<ClusterName, Arc<Work>>, plan: &mut Plan) {
    plan.release = works.is_empty();
    for (cluster, work) in works {
        if work.metadata.deletion_timestamp.is_none() {
            plan.delete.push(work.clone());
        }
        if (situation.presence)(cluster) == Presence::NotReady {
            plan.blocking.insert(cluster.clone());
        }
    }
}

/// Whether the parts that we write are not as wanted.
#[must_use]
pub fn differs(present: &Work, wanted: &Work) -> bool {
    let lacks = |present: &Option<BTreeMap<String, String>>, wanted: &Option<BTreeMap<String, String>>| {
        let has = |(key, value): (&String, &String)| present.as_ref().and_then(|map| map.get(key)) == Some(value);
        !wanted.iter().flatten().all(has)
    };
    let finalizers = |work: &Work| work.metadata.finalizers.clone().unwrap_or_default();
    present.spec != wanted.spec
        || lacks(&present.metadata.labels, &wanted.metadata.labels)
        || lacks(&present.metadata.annotations, &wanted.metadata.annotations)
        || finalizers(wanted)
            .iter()
            .any(|needed| !finalizers(present).contains(needed))
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "literals are given by value")]
mod tests;
