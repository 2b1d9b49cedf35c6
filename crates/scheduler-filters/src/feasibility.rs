//! The dry run of the scheduler before an eviction: would the workload find a place?
//!
//! It runs filter, select and divide on the binding as it would be after the eviction of one cluster. Only clusters
//! with Ready=True that are not being deleted count as a place, those in the result included.
//!
//! Rules: a Duplicated workload (and what has no replicas) must gain a cluster that is not in its result now, one for
//! each copy that is on its way out and not replaced yet, and keep the `minGroups` of its spread constraint without the
//! faulty cluster; so of several failed clusters as many are left as there are candidates. The replicas of a workload that
//! is Divided by fixed weights must all find a place, on new clusters or on those that remain; of one that is divided by
//! room those that would leave, together with those that have no place yet: the scheduler places all that is missing or
//! nothing, so that a workload which waits for room to scale up cannot fail over before it has that, too.
//!
//! Where the room of clusters decides how replicas are divided (Aggregated, `dynamicWeight`) it counts whatever is
//! checked: the scheduler would place nothing, and the replicas of the old copy would be missing once it goes.
//!
//! Where capacity is checked too, a place counts only with room for what would come there by the result: all replicas of a
//! new copy, the additional ones of a Divided workload ([`crate::estimate`]). What has no replicas needs none.

mod capacity;

use api_types::cluster::{Cluster, effect};
use api_types::work::{Binding, GracefulEvictionTask, TargetCluster};
use api_types::{ClusterName, names};
use failover_core::eviction::Cause;
use failover_core::eviction::queue::NoTargetRestsOn;
use failover_core::graceful::copies::works;
use failover_core::graceful::mirrors::is_mirror;
use failover_core::graceful::placed::placed;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;

use crate::fleet::Fleet;
use crate::plugin::Plugins;
use crate::request::{Refusal, Refusals, Rules};
use crate::schedule::{Decision, Failure, Scheduling, StartFrom, schedule};
use crate::spread;
use crate::strategy::{self, Strategy, Unsupported};
use capacity::{Short, in_words};

/// The name that refusals of the dry run itself carry.
pub const NAME: &str = "Feasibility";

/// How much is checked before an eviction (`--pre-eviction-check`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PreEvictionCheck {
    /// Whether a cluster may take the workload; whether it has room is not judged.
    #[default]
    Affinity,
    /// The same, and whether the free resources that clusters report cover the replicas that would come.
    Capacity,
    /// Nothing: every eviction goes through.
    Off,
}

/// Whether a Duplicated workload may leave a cluster although nothing replaces the copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FewerCopies {
    /// It may not.
    #[default]
    Refused,
    /// It may when a healthy copy runs elsewhere: the cluster is being deleted, or its drain taint says
    /// `accept-fewer-copies`.
    AcceptedIfOneIsHealthy,
}

/// Value of the drain taint by which a person accepts that fewer copies run.
pub const ACCEPT_FEWER_COPIES: &str = "accept-fewer-copies";

impl FewerCopies {
    /// What a move off `cluster` for `cause` may do: deleting a cluster is a person's act, and so is a drain that says
    /// that fewer copies will do. No failure is.
    #[must_use]
    pub fn accepted_by(cause: &Cause, cluster: &Cluster) -> Self {
        let accepted = match cause {
            Cause::Deletion { .. } => true,
            Cause::Application { .. } => false,
            Cause::Taint {
                key, effect: of_cause, ..
            } => {
                let is_cause = |taint: &&Taint| taint.key == *key && taint.effect == *of_cause;
                key == names::taint::DRAIN
                    && of_cause == effect::NO_EXECUTE
                    && cluster
                        .spec
                        .taints
                        .iter()
                        .filter(is_cause)
                        .any(|taint| taint.value.as_deref() == Some(ACCEPT_FEWER_COPIES))
            }
        };
        if accepted {
            Self::AcceptedIfOneIsHealthy
        } else {
            Self::Refused
        }
    }
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The binding, as it is stored now.
    pub binding: &'a Binding,
    /// The cluster that it would leave.
    pub leaving: &'a ClusterName,
    /// All clusters.
    pub fleet: &'a Fleet,
    /// The plugins of the scheduler that the binding names.
    pub plugins: &'a Plugins,
    /// Settings of that scheduler.
    pub rules: Rules,
    /// How much is checked.
    pub check: PreEvictionCheck,
    /// Whether fewer copies will do.
    pub fewer_copies: FewerCopies,
    /// The time of the decision.
    pub now: Timestamp,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feasibility {
    /// Whether the workload would find a place.
    pub outcome: Outcome,
    /// Every cluster that would not take it, with the reason.
    pub refusals: Refusals,
    /// When it is worth asking again although nothing changed: the end of the first block or toleration that refuses a
    /// cluster, or when what was reported of a copy that would do counts again. Only with [`Outcome::NoTarget`].
    pub recheck_at: Option<Timestamp>,
    /// What the answer rests on: whose change is another chance. Only with [`Outcome::NoTarget`].
    pub rests_on: NoTargetRestsOn,
}

/// Whether the workload would find a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It would.
    Fits {
        /// The result that the scheduler would write, by cluster name; empty where nothing was checked.
        result: Vec<TargetCluster>,
        /// Clusters of it that are not in the result now.
        gained: Vec<ClusterName>,
        /// Why this is enough, in words.
        why: String,
    },
    /// It would not: the eviction has to wait.
    NoTarget {
        /// Why, in words.
        why: String,
    },
}

impl Feasibility {
    /// Whether the eviction may go on.
    #[must_use]
    pub fn fits(&self) -> bool {
        matches!(self.outcome, Outcome::Fits { .. })
    }

    /// The reason, whichever way it went.
    #[must_use]
    pub fn why(&self) -> &str {
        match &self.outcome {
            Outcome::Fits { why, .. } | Outcome::NoTarget { why } => why,
        }
    }

    fn fit(result: Vec<TargetCluster>, gained: Vec<ClusterName>, refusals: Refusals, why: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Fits {
                result,
                gained,
                why: why.into(),
            },
            refusals,
            recheck_at: None,
            rests_on: NoTargetRestsOn::Places,
        }
    }

    fn no_target(refusals: Refusals, why: impl Into<String>) -> Self {
        Self {
            recheck_at: refusals.ends_at(),
            rests_on: NoTargetRestsOn::Places,
            outcome: Outcome::NoTarget { why: why.into() },
            refusals,
        }
    }

    /// No target because there is no room on `short`.
    fn no_room(mut refusals: Refusals, short: &[Short], why: impl Into<String>) -> Self {
        for short in short {
            refusals.0.insert(short.cluster.clone(), short.refusal());
        }
        Self {
            rests_on: NoTargetRestsOn::PlacesAndResources,
            ..Self::no_target(refusals, why)
        }
    }
}

/// Whether the workload would find a place if it left `question.leaving` now.
#[must_use]
pub fn feasibility(question: &Question<'_>) -> Feasibility {
    if question.check == PreEvictionCheck::Off {
        return Feasibility::fit(
            vec![],
            vec![],
            Refusals::default(),
            "--pre-eviction-check=off: nothing is checked",
        );
    }
    let mut answer = dry_run(question);
    if let Outcome::NoTarget { why } = &mut answer.outcome
        && let Some((until, unreported)) = first_to_count_again(question)
    {
        why.push_str("; ");
        why.push_str(&unreported);
        answer.recheck_at = answer.recheck_at.into_iter().chain([until]).min();
    }
    answer
}

/// The answer by what is known now.
fn dry_run(question: &Question<'_>) -> Feasibility {
    let after = after_eviction(question.binding, question.leaving);
    // By room a scheduler moves only what is missing: what runs elsewhere stays, and a cluster that is not Ready has no room
    // for more ([`crate::available`]).
    let stays = |name: &ClusterName| strategy::counts_room(&after.spec) && after.spec.target(name).is_some();
    let places = question.fleet.only(|name, cluster| {
        name != question.leaving && (cluster.is_ready() && !cluster.is_being_deleted() || stays(name))
    });
    let answer = schedule(&Scheduling {
        binding: &after,
        fleet: &places,
        plugins: question.plugins,
        rules: question.rules,
        start: StartFrom::GroupInUse,
        now: question.now,
    });
    match answer {
        Ok(decision) => judge(question, &after, decision),
        Err(failure) => fewer_copies(question).unwrap_or_else(|| no_placement(question, &failure)),
    }
}

/// The binding as the eviction would leave it.
fn after_eviction(binding: &Binding, leaving: &ClusterName) -> Binding {
    let mut after = binding.clone();
    after.spec.clusters.retain(|target| target.name != leaving.as_str());
    if after.spec.task(leaving).is_none() {
        after.spec.graceful_eviction_tasks.push(GracefulEvictionTask {
            from_cluster: leaving.to_string(),
            clusters_before_failover: binding.spec.clusters.iter().map(|target| target.name.clone()).collect(),
            ..GracefulEvictionTask::default()
        });
    }
    after
}

fn judge(question: &Question<'_>, after: &Binding, decision: Decision) -> Feasibility {
    let refusals = with_excluded(question, decision.refusals);
    let gained: Vec<ClusterName> = decision
        .clusters
        .iter()
        .map(|target| ClusterName::from(target.name.as_str()))
        .filter(|name| question.binding.spec.target(name).is_none())
        .collect();
    let placement = after.spec.placement.clone().unwrap_or_default();
    if strategy::of(&after.spec, &placement).is_ok_and(Strategy::divides) {
        let placed: i64 = decision.clusters.iter().map(|target| i64::from(target.replicas)).sum();
        let wanted = i64::from(after.replicas());
        let more = capacity::additional(after, &decision.clusters);
        let short = capacity::short(question, more);
        return if placed < wanted {
            Feasibility::no_target(refusals, format!("only {placed} of {wanted} replicas find a place"))
        } else if short.is_empty() {
            Feasibility::fit(
                decision.clusters,
                gained,
                refusals,
                format!("all {wanted} replicas find a place"),
            )
        } else {
            let why = format!("the replicas that move find no room: {}", in_words(&short));
            Feasibility::no_room(refusals, &short, why)
        };
    }
    let copies = decision.clusters.iter();
    let new_copies = copies.filter(|target| question.binding.spec.target(&target.name.as_str().into()).is_none());
    let short = capacity::short(question, new_copies.cloned());
    let has_room = |name: &ClusterName| short.iter().all(|short| short.cluster != *name);
    let gained: Vec<ClusterName> = gained.into_iter().filter(has_room).collect();
    let wanted = spread::min_clusters(&placement);
    if !short.is_empty() && decision.clusters.len().saturating_sub(short.len()) < wanted {
        let why = format!(
            "minGroups wants {wanted} clusters, and there is no room: {}",
            in_words(&short)
        );
        return fewer_copies(question).unwrap_or_else(|| Feasibility::no_room(refusals, &short, why));
    }
    let owed = unreplaced(question) + 1;
    if gained.len() >= owed {
        let names: Vec<&str> = gained.iter().map(AsRef::as_ref).collect();
        let why = format!("{} can take it", names.join(", "));
        return Feasibility::fit(decision.clusters, gained, refusals, why);
    }
    if let Some(accepted) = fewer_copies(question) {
        return accepted;
    }
    let candidates = gained.len();
    let too_few = || {
        format!(
            "{candidates} clusters can take it, and {owed} copies want one until the scheduler has placed those before"
        )
    };
    match (candidates, short.is_empty()) {
        (0, true) => {
            let why = format!("no other cluster can take it: {}", said(&refusals));
            Feasibility::no_target(refusals, why)
        }
        (0, false) => {
            let why = format!("no other cluster has room for it: {}", in_words(&short));
            Feasibility::no_room(refusals, &short, why)
        }
        (_, true) => Feasibility::no_target(refusals, too_few()),
        (_, false) => {
            let why = format!("{}; beside them {}", too_few(), in_words(&short));
            Feasibility::no_room(refusals, &short, why)
        }
    }
}

/// Copies on their way out for which the scheduler has not looked yet: each wants one of the candidates. A copy that only
/// waits for those that need it wants none.
fn unreplaced(question: &Question<'_>) -> usize {
    if placed(question.binding).is_ok() {
        return 0;
    }
    question
        .binding
        .spec
        .graceful_eviction_tasks
        .iter()
        .filter(|task| task.from_cluster != question.leaving.as_str() && !is_mirror(task))
        .count()
}

/// The copies of which one would do if it works: none where fewer copies are not accepted.
fn copies_that_would_do<'a>(question: &Question<'a>) -> impl Iterator<Item = (&'a TargetCluster, &'a Cluster)> {
    let (leaving, fleet) = (question.leaving, question.fleet);
    let will_do = question.fewer_copies == FewerCopies::AcceptedIfOneIsHealthy && !is_divided(question.binding);
    let targets: &[TargetCluster] = if will_do { &question.binding.spec.clusters } else { &[] };
    targets
        .iter()
        .filter(move |target| target.name != leaving.as_str())
        .filter_map(move |target| Some((target, fleet.get(&target.name)?)))
        .filter(|(_, cluster)| !cluster.is_being_deleted())
}

/// When the first of them counts again whose report is from before its cluster was away, and whose that is, in words.
fn first_to_count_again(question: &Question<'_>) -> Option<(Timestamp, String)> {
    let unreported = copies_that_would_do(question).filter_map(|(target, cluster)| {
        let not_working = works(question.binding, target, Some(cluster), question.now).err()?;
        Some((not_working.look_again_at()?, format!("{} {not_working}", target.name)))
    });
    unreported.min()
}

/// A copy that works on another cluster of the result, in the sense in which a task may end for it.
fn fewer_copies(question: &Question<'_>) -> Option<Feasibility> {
    let (elsewhere, _) = copies_that_would_do(question)
        .find(|&(target, cluster)| works(question.binding, target, Some(cluster), question.now).is_ok())?;
    Some(Feasibility::fit(
        after_eviction(question.binding, question.leaving).spec.clusters,
        vec![],
        Refusals::default(),
        format!(
            "fewer copies are accepted, and a healthy one runs on {}",
            elsewhere.name
        ),
    ))
}

fn is_divided(binding: &Binding) -> bool {
    let placement = binding.spec.placement.clone().unwrap_or_default();
    binding.spec.is_workload() && placement.scheduling_type() != api_types::placement::ReplicaSchedulingType::Duplicated
}

fn no_placement(question: &Question<'_>, failure: &Failure) -> Feasibility {
    let refusals = with_excluded(question, failure.refusals().cloned().unwrap_or_default());
    let why = match failure {
        Failure::NotEnough { available, wanted, .. } => {
            let before = missing_before(question.binding);
            let before = if before > 0 {
                format!(" ({before} of these were missing before)")
            } else {
                String::new()
            };
            let why =
                format!("{wanted} replicas want a place{before}, and the other clusters have room for {available}");
            let short = capacity::too_little(question, &refusals, *wanted);
            return Feasibility::no_room(refusals, &short, why);
        }
        Failure::NoClusterFit { .. } => format!("no other cluster can take it: {}", said(&refusals)),
        Failure::Spread { error, .. } => format!("{error}, not counting {}", question.leaving),
        Failure::Groups(groups) => format!("{groups}, not counting {}", question.leaving),
        // Our scheduler would leave it without a place. Another one might not; who runs that one has to say so.
        Failure::Unsupported(Unsupported { what }) => format!(
            "{what} is a placement that the check before an eviction does not know, so that it cannot say where the workload \
             would go; where another scheduler places it, --pre-eviction-check=off evicts without asking"
        ),
    };
    let rests_on = if failure.wants_room() {
        NoTargetRestsOn::PlacesAndResources
    } else {
        NoTargetRestsOn::Places
    };
    Feasibility {
        rests_on,
        recheck_at: failure.recheck_at(),
        ..Feasibility::no_target(refusals, why)
    }
}

/// Replicas that the present result of what is divided by room has no place for.
fn missing_before(binding: &Binding) -> i64 {
    let placed: i64 = binding
        .spec
        .clusters
        .iter()
        .map(|target| i64::from(target.replicas))
        .sum();
    i64::from(binding.replicas()) - placed
}

/// Adds those that the dry run left out of the fleet.
fn with_excluded(question: &Question<'_>, mut refusals: Refusals) -> Refusals {
    for (name, cluster) in question.fleet.iter() {
        let reason = if name == question.leaving {
            "cluster(s) is the one to be left"
        } else if cluster.is_being_deleted() {
            "cluster(s) is being deleted"
        } else if !cluster.is_ready() {
            "cluster(s) is not Ready"
        } else {
            continue;
        };
        refusals.0.insert(name.clone(), Refusal::new(NAME, reason));
    }
    refusals
}

fn said(refusals: &Refusals) -> String {
    if refusals.0.is_empty() {
        "there is none".to_owned()
    } else {
        refusals.histogram()
    }
}

#[cfg(test)]
mod tests;
