//! Where else the workload could run, by the scheduler's own dry run. Pure.

use std::collections::BTreeMap;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::work::{Binding, TargetCluster};
use failover_core::eviction::{Cause, FailoverGate};
use jiff::Timestamp;
use scheduler_filters::schedule::StartFrom;
use scheduler_filters::{
    Decision, DeletionBy, Failure, FewerCopies, Fleet, Outcome, Plugins, PreEvictionCheck, Question, Refusals, Rules,
    Scheduling, feasibility, schedule,
};
use serde::Serialize;

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
    /// Every cluster, by name.
    pub places: Vec<Place>,
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
    pub(super) gate: Option<FailoverGate>,
    pub(super) now: Timestamp,
}

impl Scheduler<'_> {
    fn rules(&self) -> Rules {
        let deletion = match self.gate {
            Some(FailoverGate::Off) => DeletionBy::Scheduler,
            Some(FailoverGate::On) | None => DeletionBy::Queue,
        };
        Rules {
            deletion,
            ..Rules::default()
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
            places: self.places(&answer.refusals),
        }
    }

    /// What would be found for the binding as it is.
    pub(super) fn as_is(&self, binding: &Binding) -> Search {
        let found = self.found(binding);
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
            places: self.places(&refusals),
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
