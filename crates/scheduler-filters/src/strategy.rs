//! What a placement asks for, and what of it this version does not do.

use api_types::placement::{
    DynamicWeightFactor, Placement, ReplicaDivisionPreference, ReplicaSchedulingType, SpreadField, StaticClusterWeight,
};
use api_types::work::ResourceBindingSpec;

/// How replicas are assigned to the clusters chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strategy<'a> {
    /// Every cluster runs all replicas.
    Duplicated,
    /// The clusters share the replicas by fixed weights; no rule means equal shares.
    StaticWeight(&'a [StaticClusterWeight]),
    /// Nothing to divide: every cluster gets the object.
    NoReplicas,
}

/// A placement that this version does not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this scheduler does not support {what}: the workload is left as it is")]
pub struct Unsupported {
    /// What the placement asks for.
    pub what: String,
}

impl Unsupported {
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}

/// How many clusters may be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    /// At least so many.
    pub min: usize,
    /// At most so many.
    pub max: usize,
}

/// The strategy of a binding.
///
/// # Errors
/// [`Unsupported`] for what Karmada knows and this version does not do: dynamic weights, Aggregated, several
/// components, workload affinity, overflow affinities.
pub fn of<'a>(spec: &ResourceBindingSpec, placement: &'a Placement) -> Result<Strategy<'a>, Unsupported> {
    if placement.workload_affinity.is_some() {
        return Err(Unsupported::new("workloadAffinity"));
    }
    if placement
        .cluster_affinities
        .iter()
        .any(|term| !term.overflow_affinities.is_empty())
    {
        return Err(Unsupported::new("overflowAffinities"));
    }
    if !spec.components.is_empty() {
        return Err(Unsupported::new("workloads with several components"));
    }
    if !spec.is_workload() {
        return Ok(Strategy::NoReplicas);
    }
    match placement.scheduling_type() {
        ReplicaSchedulingType::Duplicated => Ok(Strategy::Duplicated),
        ReplicaSchedulingType::Divided => divided(placement),
        ReplicaSchedulingType::Other(other) => Err(Unsupported::new(format!("replicaSchedulingType {other}"))),
    }
}

fn divided(placement: &Placement) -> Result<Strategy<'_>, Unsupported> {
    let scheduling = placement.replica_scheduling.as_ref();
    match scheduling.and_then(|s| s.replica_division_preference.as_ref()) {
        Some(ReplicaDivisionPreference::Aggregated) => {
            return Err(Unsupported::new("replicaDivisionPreference Aggregated"));
        }
        Some(ReplicaDivisionPreference::Other(other)) => {
            return Err(Unsupported::new(format!("replicaDivisionPreference {other}")));
        }
        Some(ReplicaDivisionPreference::Weighted) | None => {}
    }
    match scheduling.and_then(|s| s.weight_preference.as_ref()) {
        None => Ok(Strategy::StaticWeight(&[])),
        Some(weights) => match &weights.dynamic_weight {
            None => Ok(Strategy::StaticWeight(&weights.static_weight_list)),
            Some(DynamicWeightFactor::AvailableReplicas | DynamicWeightFactor::Other(_)) => {
                Err(Unsupported::new("dynamicWeight"))
            }
        },
    }
}

/// How many clusters may be chosen; absent means all that fit. Fixed weights look at no spread constraint, as in stock.
///
/// # Errors
/// [`Unsupported`] for groups by label, region, zone or provider.
pub fn groups(strategy: Strategy<'_>, placement: &Placement) -> Result<Option<Groups>, Unsupported> {
    if matches!(strategy, Strategy::StaticWeight(_)) {
        return Ok(None);
    }
    let mut by_cluster = None;
    for constraint in &placement.spread_constraints {
        if constraint
            .spread_by_label
            .as_ref()
            .is_some_and(|label| !label.is_empty())
        {
            return Err(Unsupported::new("spreadByLabel"));
        }
        match constraint.spread_by_field.as_ref().unwrap_or(&SpreadField::Cluster) {
            SpreadField::Cluster => {
                let count = |n: i64| usize::try_from(n).unwrap_or(0);
                by_cluster = Some(Groups {
                    min: count(constraint.min_groups).max(1),
                    max: count(constraint.max_groups),
                });
            }
            other => return Err(Unsupported::new(format!("spread constraints by {other}"))),
        }
    }
    Ok(by_cluster)
}
