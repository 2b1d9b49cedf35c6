//! Where else the workload could run, by the scheduler's own dry run. Pure.

use std::collections::BTreeMap;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::placement::Placement;
use api_types::work::{Binding, TargetCluster};
use failover_core::eviction::{Cause, Switches};
use jiff::Timestamp;
use scheduler_filters::available::Estimator;
use scheduler_filters::schedule::StartFrom;
use scheduler_filters::strategy::{self, Strategy};
use scheduler_filters::{
    Decision, Failure, FewerCopies, Fleet, Outcome, Plugins, PreEvictionCheck, Question, Refusals, Request, Rules,
    Scheduling, feasibility, schedule,
};
use serde::Serialize;

use crate::controllers;
use crate::output::At;

/// Whether one cluster would take the workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// The cluster.
    pub cluster: String,
    /// The plugin that refuses; absent: none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_by: Option<&'static str>,
    /// Its reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When the reason ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<At>,
}

/// What one plugin gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Score {
    /// Its name.
    pub plugin: &'static str,
    /// From 1 to 100.
    pub score: i64,
}

/// How the scheduler ranks a cluster that it could choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rank {
    /// The sum of its scores; higher is better, of equals that which can hold more replicas, then the first by name.
    pub score: i64,
    /// What it is made of; what gives nothing is left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<Score>,
    /// How many more replicas it has room for, where the placement divides replicas by that: 0 where it has reported no
    /// resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room: Option<i32>,
}

/// What the scheduler would find.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Search {
    /// The cluster that is left; absent: none, the binding as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaving: Option<String>,
    /// Whether the workload would find a place.
    pub fits: bool,
    /// Why, or why not.
    pub why: String,
    /// The clusters and replicas that the scheduler would choose, as `name` or `name:replicas`.
    pub result: Vec<String>,
    /// When it is worth asking again although nothing changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recheck_at: Option<At>,
    /// Every cluster, by name; none where the placement is one that this version does not do.
    pub places: Vec<Place>,
    /// What it lacks, where it finds no place for the binding as it is.
    #[serde(skip)]
    pub(super) lack: Lack,
}

/// What a search lacks that finds no place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Lack {
    /// A cluster that takes it.
    #[default]
    Clusters,
    /// As many clusters or regions as are wanted; some would take it.
    Groups,
    /// Room; some would take it.
    Room,
    /// A scheduler that can do what the placement asks for.
    Support,
}

impl Lack {
    fn of(failure: &Failure) -> Self {
        match failure {
            failure if failure.wants_room() => Self::Room,
            Failure::Spread { .. } => Self::Groups,
            Failure::Unsupported(_) => Self::Support,
            _ => Self::Clusters,
        }
    }
}

/// Copies that the scheduler has no place for and keeps in the result until another one is healthy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptView {
    /// Their clusters.
    pub clusters: Vec<String>,
    /// Why, in the scheduler's words.
    pub why: String,
    /// The clusters that were chosen, and why the copies there do not count yet.
    pub waits_for: String,
}

/// The settings of the dry run. Those of the scheduler's own flags that no object tells are taken at their defaults.
pub(super) struct Scheduler<'a> {
    pub(super) fleet: &'a Fleet,
    pub(super) switches: &'a Switches,
    pub(super) now: Timestamp,
}

impl Scheduler<'_> {
    fn rules(&self) -> Rules {
        Rules {
            deletion: controllers::deletion_by(self.switches),
            ..Rules::default()
        }
    }

    /// How each cluster that exists ranks for the binding as it is, whether or not it could be chosen.
    pub(super) fn rank(&self, binding: &Binding, cluster: &Cluster) -> Rank {
        let anywhere = Placement::default();
        let placement = binding.spec.placement.as_ref().unwrap_or(&anywhere);
        let request = Request {
            binding,
            placement,
            affinity: None,
            fleet: self.fleet,
            rules: self.rules(),
            now: self.now,
        };
        let plugins = Plugins::default();
        let scores = plugins.scores(&request, cluster);
        let by_room = matches!(strategy::of(&binding.spec, placement), Ok(Strategy::Dynamic(_)));
        let room = || Estimator::new(request, &plugins).available(cluster).room;
        let given = scores.into_iter().filter(|(_, score)| *score > 0);
        let scores: Vec<Score> = given.map(|(plugin, score)| Score { plugin, score }).collect();
        Rank {
            score: scores.iter().map(|given| given.score).sum(),
            scores,
            room: by_room.then(room),
        }
    }

    /// What would be found if the workload left `leaving` for `cause`: the check that the evictor makes.
    pub(super) fn without(&self, binding: &Binding, leaving: &ClusterName, cause: Option<&Cause>) -> Search {
        let fewer_copies = cause
            .zip(self.fleet.get(leaving.as_str()))
            .map_or(FewerCopies::Refused, |(cause, cluster)| {
                FewerCopies::accepted_by(cause, cluster)
            });
        let answer = feasibility(&Question {
            binding,
            leaving,
            fleet: self.fleet,
            plugins: &Plugins::default(),
            rules: self.rules(),
            check: PreEvictionCheck::Affinity,
            fewer_copies,
            now: self.now,
        });
        let result = match &answer.outcome {
            Outcome::Fits { result, .. } => result.iter().map(shown).collect(),
            Outcome::NoTarget { .. } => Vec::new(),
        };
        Search {
            leaving: Some(leaving.to_string()),
            fits: answer.fits(),
            why: answer.why().to_owned(),
            result,
            recheck_at: answer.recheck_at.map(At),
            places: match self.found(binding) {
                Err(Failure::Unsupported(_)) => Vec::new(),
                _ => self.places(&answer.refusals),
            },
            lack: Lack::default(),
        }
    }

    /// What would be found for the binding as it is.
    pub(super) fn as_is(&self, binding: &Binding) -> Search {
        let found = self.found(binding);
        let lack = found.as_ref().err().map(Lack::of).unwrap_or_default();
        let (fits, why, result, refusals, recheck_at) = match &found {
            Ok(decision) => (
                true,
                "the scheduler finds a place".to_owned(),
                decision.clusters.iter().map(shown).collect(),
                decision.refusals.clone(),
                None,
            ),
            Err(failure) => (
                false,
                failure.to_string(),
                Vec::new(),
                failure.refusals().cloned().unwrap_or_default(),
                failure.recheck_at(),
            ),
        };
        Search {
            leaving: None,
            fits,
            why,
            result,
            recheck_at: recheck_at.map(At),
            places: match found {
                Err(Failure::Unsupported(_)) => Vec::new(),
                _ => self.places(&refusals),
            },
            lack,
        }
    }

    /// The copies that are kept in the result as it stands. Where the scheduler would choose anew if it looked, but has no
    /// reason to look, nothing is kept.
    pub(super) fn kept(&self, binding: &Binding) -> Option<KeptView> {
        let decision = self.found(binding).ok()?;
        let kept = decision.kept?;
        let shares = |targets: &[TargetCluster]| -> BTreeMap<String, i32> {
            let share = |target: &TargetCluster| (target.name.clone(), target.replicas);
            targets.iter().map(share).collect()
        };
        (shares(&decision.clusters) == shares(&binding.spec.clusters)).then(|| KeptView {
            clusters: kept.targets.iter().map(|target| target.name.clone()).collect(),
            why: kept.to_string(),
            waits_for: kept.waits_for(),
        })
    }

    fn found(&self, binding: &Binding) -> Result<Decision, Failure> {
        schedule(&Scheduling {
            binding,
            fleet: self.fleet,
            plugins: &Plugins::default(),
            rules: self.rules(),
            start: StartFrom::GroupInUse,
            now: self.now,
        })
    }

    fn places(&self, refusals: &Refusals) -> Vec<Place> {
        let place = |(name, _): (&ClusterName, &Cluster)| {
            let refusal = refusals.0.get(name);
            Place {
                cluster: name.to_string(),
                refused_by: refusal.map(|refusal| refusal.plugin),
                reason: refusal.map(|refusal| refusal.reason.clone()),
                until: refusal.and_then(|refusal| refusal.until).map(At),
            }
        };
        self.fleet.iter().map(place).collect()
    }
}

fn shown(target: &TargetCluster) -> String {
    if target.replicas == 0 {
        target.name.clone()
    } else {
        format!("{}:{}", target.name, target.replicas)
    }
}
