//! The scheduler as a function: filter, score, select, divide, over the groups of clusters in their order; and then
//! whatever it was that chose, the last running copy stays until another one works ([`last_copy`]).

mod failure;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::placement::{ClusterAffinity, Placement, ReplicaSchedulingType};
use api_types::work::{Binding, TargetCluster};
use failover_core::graceful::mirrors::is_mirror;
use jiff::Timestamp;

use crate::available::{Available, Estimator};
use crate::baseline;
use crate::divide::{self, TieOrder};
use crate::dynamic::{self, Mode, NotEnough};
use crate::fleet::Fleet;
use crate::last_copy::{self, Kept};
use crate::plugin::Plugins;
use crate::request::{Refusal, Refusals, Request, Rules};
use crate::select::{self, Candidate, Demand};
use crate::spread::{self, Spread};
use crate::steps::Step;
use crate::strategy::{self, Strategy};

pub use failure::{Failure, NoGroup};

/// What is scheduled, and with what.
#[derive(Clone, Copy, Debug)]
pub struct Scheduling<'a> {
    /// The binding, as it is stored or as it would be.
    pub binding: &'a Binding,
    /// All clusters.
    pub fleet: &'a Fleet,
    /// The plugins that are on.
    pub plugins: &'a Plugins,
    /// Settings.
    pub rules: Rules,
    /// Whether the placement starts from scratch (`rescheduleTriggeredAt`): the first affinity group is tried again, and
    /// replicas that follow the room of clusters are divided anew.
    pub start: StartFrom,
    /// The time of the decision.
    pub now: Timestamp,
}

/// At which affinity group a scheduling begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartFrom {
    /// At the group in use. Nothing goes back to an earlier group by itself.
    #[default]
    GroupInUse,
    /// At the first group, because a person asked for a fresh placement.
    FirstGroup,
}

/// A placement that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Clusters and replicas, by name, with the copies that are kept. Empty only for a workload of no replicas that runs
    /// nowhere.
    pub clusters: Vec<TargetCluster>,
    /// The copies that stay beside those that were chosen, as long as none of these works.
    pub kept: Option<Kept>,
    /// The affinity group that was used, where the placement has such groups.
    pub affinity_name: Option<String>,
    /// The clusters that were refused in that group.
    pub refusals: Refusals,
    /// What is odd about what the placement asks for, as a sentence.
    pub remark: Option<&'static str>,
}

impl<'a> Scheduling<'a> {
    /// Whether what runs stays, or everything is divided anew.
    fn mode(&self) -> Mode {
        match self.start {
            StartFrom::GroupInUse => Mode::Steady,
            StartFrom::FirstGroup => Mode::Fresh,
        }
    }

    /// What plugins are asked in the group of `affinity`.
    fn request(&self, placement: &'a Placement, affinity: Option<&'a ClusterAffinity>) -> Request<'a> {
        Request {
            binding: self.binding,
            placement,
            affinity,
            fleet: self.fleet,
            rules: self.rules,
            now: self.now,
        }
    }
}

/// Whether a cluster can be chosen: the rules that no flag switches off, then the plugins.
pub(crate) fn judge(request: &Request<'_>, plugins: &Plugins, cluster: &Cluster) -> Result<(), Refusal> {
    baseline::check(request, cluster).and_then(|()| plugins.filter(request, cluster))
}

/// Whether a cluster could be chosen at all, in any group from the one in use on, however replicas are divided then.
///
/// # Errors
/// Why not, in the first of these groups.
pub(crate) fn passes(scheduling: &Scheduling<'_>, cluster: &ClusterName) -> Result<(), Refusal> {
    let anywhere = Placement::default();
    let placement = scheduling.binding.spec.placement.as_ref().unwrap_or(&anywhere);
    let Some(cluster) = scheduling.fleet.get(cluster.as_str()) else {
        return Err(Refusal::new("Cluster", "cluster(s) does not exist"));
    };
    let judged = |affinity| judge(&scheduling.request(placement, affinity), scheduling.plugins, cluster);
    if placement.cluster_affinities.is_empty() {
        return judged(placement.cluster_affinity.as_ref());
    }
    let first = first_group(scheduling, placement);
    let mut refusal = None;
    for term in &placement.cluster_affinities[first..] {
        match judged(Some(&term.cluster_affinity)) {
            Ok(()) => return Ok(()),
            Err(later) => refusal = refusal.or(Some(later)),
        }
    }
    refusal.map_or(Ok(()), Err)
}

/// Places a binding.
///
/// Ordered groups (`clusterAffinities`) are tried from the one in use on; the first that fits counts. What the present
/// result holds beside that goes, but for the last running copy. A copy that an earlier look kept so counts as one that is
/// not there, unless all is divided anew or nothing is found without it.
///
/// # Errors
/// [`Failure`] of the groups that were tried, when none fits.
pub fn schedule(scheduling: &Scheduling<'_>) -> Result<Decision, Failure> {
    schedule_in_steps(scheduling, &mut |_| {})
}

/// The same, and calls `ended` after each [`Step`].
///
/// # Errors
/// As [`schedule`].
pub fn schedule_in_steps(scheduling: &Scheduling<'_>, ended: &mut dyn FnMut(Step)) -> Result<Decision, Failure> {
    let anywhere = Placement::default();
    let placement = scheduling.binding.spec.placement.as_ref().unwrap_or(&anywhere);
    let without_kept = match scheduling.mode() {
        Mode::Steady => last_copy::without_noted(scheduling.binding),
        Mode::Fresh => None,
    };
    let stands = without_kept.as_ref().and_then(|binding| {
        let scheduling = Scheduling { binding, ..*scheduling };
        chosen(&scheduling, placement, ended).ok()
    });
    let mut decision = match stands {
        Some(decision) => decision,
        None => chosen(scheduling, placement, ended)?,
    };
    decision.kept = last_copy::kept(scheduling, placement, &decision.clusters);
    if let Some(kept) = &decision.kept {
        decision.clusters.extend(kept.targets.iter().cloned());
        decision.clusters.sort_by(|a, b| a.name.cmp(&b.name));
    }
    Ok(decision)
}

/// The first group that fits, and what it is given.
fn chosen(
    scheduling: &Scheduling<'_>,
    placement: &Placement,
    ended: &mut dyn FnMut(Step),
) -> Result<Decision, Failure> {
    let strategy = strategy::of(&scheduling.binding.spec, placement)?;
    if placement.cluster_affinities.is_empty() {
        let affinity = placement.cluster_affinity.as_ref();
        return one_group(scheduling, placement, strategy, affinity, ended);
    }
    let first = first_group(scheduling, placement);
    let mut failures = Vec::new();
    for term in &placement.cluster_affinities[first..] {
        match one_group(scheduling, placement, strategy, Some(&term.cluster_affinity), ended) {
            Ok(decision) => {
                return Ok(Decision {
                    affinity_name: Some(term.affinity_name.clone()),
                    ..decision
                });
            }
            // What is not supported is so whatever the group.
            Err(failure @ Failure::Unsupported(_)) => return Err(failure),
            Err(failure) => failures.push((term.affinity_name.clone(), failure)),
        }
    }
    Err(NoGroup::of(failures).unwrap_or_else(|| Failure::NoClusterFit {
        clusters: scheduling.fleet.len(),
        refusals: Refusals::default(),
    }))
}

fn first_group(scheduling: &Scheduling<'_>, placement: &Placement) -> usize {
    let in_use = match scheduling.start {
        StartFrom::FirstGroup => None,
        StartFrom::GroupInUse => scheduling
            .binding
            .status
            .as_ref()
            .and_then(|status| status.scheduler_observed_affinity_name.as_ref()),
    };
    in_use
        .and_then(|name| {
            placement
                .cluster_affinities
                .iter()
                .position(|term| &term.affinity_name == name)
        })
        .unwrap_or(0)
}

fn one_group(
    scheduling: &Scheduling<'_>,
    placement: &Placement,
    strategy: Strategy<'_>,
    affinity: Option<&ClusterAffinity>,
    ended: &mut dyn FnMut(Step),
) -> Result<Decision, Failure> {
    let Scheduling {
        binding,
        fleet,
        plugins,
        ..
    } = *scheduling;
    let spread = spread::of(placement)?;
    let request = scheduling.request(placement, affinity);
    let mut refusals = Refusals::default();
    let mut fitting = Vec::new();
    for (name, cluster) in fleet.iter() {
        match judge(&request, plugins, cluster) {
            Ok(()) => fitting.push(cluster),
            Err(refusal) => {
                refusals.0.insert(name.clone(), refusal);
            }
        }
    }
    ended(Step::Filter);
    if fitting.is_empty() {
        return Err(Failure::NoClusterFit {
            clusters: fleet.len(),
            refusals,
        });
    }
    // Room is estimated only where it decides something.
    let estimator = (spread != Spread::Everywhere || matches!(strategy, Strategy::Dynamic(_)))
        .then(|| Estimator::new(request, plugins));
    let candidates = fitting.into_iter().map(|cluster| Candidate {
        cluster,
        score: plugins.score(&request, cluster),
        is_present: request.is_present(cluster),
        available: estimator
            .as_ref()
            .map_or(Available::default(), |estimator| estimator.available(cluster)),
    });
    let replicas = binding.replicas().max(0);
    let demand = match placement.scheduling_type() {
        ReplicaSchedulingType::Duplicated => Demand::Each(replicas),
        ReplicaSchedulingType::Divided | ReplicaSchedulingType::Other(_) => Demand::Together(replicas),
    };
    let candidates = candidates.collect();
    ended(Step::Score);
    let copies = copies_before(binding);
    let chosen = select::select(candidates, spread, demand, copies, scheduling.mode());
    ended(Step::Select);
    let chosen = match chosen {
        Ok(chosen) => chosen,
        Err(error) => return Err(Failure::Spread { error, refusals }),
    };
    let assigned = assign(binding, strategy, &chosen, scheduling.mode());
    ended(Step::AssignReplicas);
    match assigned {
        Ok(clusters) => Ok(Decision {
            clusters,
            kept: None,
            affinity_name: None,
            refusals,
            remark: remark(strategy, &chosen, replicas),
        }),
        Err(NotEnough { available, wanted }) => Err(Failure::NotEnough {
            available,
            wanted,
            refusals,
        }),
    }
}

fn remark(strategy: Strategy<'_>, chosen: &[Candidate<'_>], replicas: i32) -> Option<&'static str> {
    let Strategy::StaticWeight(rules) = strategy else {
        return None;
    };
    let clusters: Vec<&Cluster> = chosen.iter().map(|candidate| candidate.cluster).collect();
    (replicas > 0 && divide::weighs_nothing(&clusters, rules))
        .then_some("No rule of the static weights matches a cluster that was chosen: they share the replicas alike.")
}

/// The clusters that the result held before the copies left it that are on their way out.
fn copies_before(binding: &Binding) -> usize {
    let tasks = binding.spec.graceful_eviction_tasks.iter();
    let of_failover = tasks.filter(|task| !is_mirror(task));
    of_failover
        .map(|task| task.clusters_before_failover.len())
        .max()
        .unwrap_or(0)
}

fn assign(
    binding: &Binding,
    strategy: Strategy<'_>,
    chosen: &[Candidate<'_>],
    mode: Mode,
) -> Result<Vec<TargetCluster>, NotEnough> {
    let replicas = binding.replicas();
    let clusters = || chosen.iter().map(|candidate| candidate.cluster).collect::<Vec<_>>();
    let tie = || TieOrder::of_template(binding.spec.resource.uid.as_deref().unwrap_or_default());
    Ok(match strategy {
        Strategy::NoReplicas => divide::duplicated(&clusters(), 0),
        // A workload scaled to nothing stays where it is, at nothing: taking it away would need no words.
        _ if replicas <= 0 => divide::duplicated(&clusters(), 0)
            .into_iter()
            .filter(|target| binding.spec.clusters.iter().any(|present| present.name == target.name))
            .collect(),
        Strategy::Duplicated => divide::duplicated(&clusters(), replicas),
        Strategy::StaticWeight(rules) => divide::static_weight(&clusters(), rules, replicas, tie()),
        Strategy::Dynamic(division) => dynamic::divide(chosen, replicas, division, mode, tie())?,
    })
}

#[cfg(test)]
mod tests;
