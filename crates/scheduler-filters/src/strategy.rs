//! What a placement asks for: how replicas are divided, and what of Karmada's API this version does not do.

use api_types::placement::{
    DynamicWeightFactor, Placement, ReplicaDivisionPreference, ReplicaSchedulingType, StaticClusterWeight,
};
use api_types::work::ResourceBindingSpec;

use crate::dynamic::Division;

/// How replicas are assigned to the clusters chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strategy<'a> {
    /// Every cluster runs all replicas.
    Duplicated,
    /// The clusters share the replicas by fixed weights; no rule means equal shares.
    StaticWeight(&'a [StaticClusterWeight]),
    /// The clusters share the replicas by the room that they have.
    Dynamic(Division),
    /// Nothing to divide: every cluster gets the object.
    NoReplicas,
}

impl Strategy<'_> {
    /// Whether clusters share the replicas.
    #[must_use]
    pub fn divides(self) -> bool {
        matches!(self, Self::StaticWeight(_) | Self::Dynamic(_))
    }
}

/// A placement that this version does not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this scheduler does not support {what}: the workload is left as it is")]
pub struct Unsupported {
    /// What the placement asks for.
    pub what: String,
}

impl Unsupported {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into() }
    }
}

/// The strategy of a binding.
///
/// # Errors
/// [`Unsupported`] for what Karmada knows and this version does not do: several components, workload affinity, overflow
/// affinities; and for values that nobody knows.
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

/// How a placement of type Divided divides.
///
/// # Errors
/// [`Unsupported`] for values that nobody knows.
fn divided(placement: &Placement) -> Result<Strategy<'_>, Unsupported> {
    let scheduling = placement.replica_scheduling.as_ref();
    match scheduling.and_then(|s| s.replica_division_preference.as_ref()) {
        Some(ReplicaDivisionPreference::Aggregated) => return Ok(Strategy::Dynamic(Division::Aggregated)),
        Some(ReplicaDivisionPreference::Other(other)) => {
            return Err(Unsupported::new(format!("replicaDivisionPreference {other}")));
        }
        Some(ReplicaDivisionPreference::Weighted) | None => {}
    }
    let Some(weights) = scheduling.and_then(|s| s.weight_preference.as_ref()) else {
        return Ok(Strategy::StaticWeight(&[]));
    };
    match &weights.dynamic_weight {
        Some(DynamicWeightFactor::AvailableReplicas) => Ok(Strategy::Dynamic(Division::ByRoom)),
        Some(DynamicWeightFactor::Other(other)) if !other.is_empty() => {
            Err(Unsupported::new(format!("dynamicWeight {other}")))
        }
        Some(DynamicWeightFactor::Other(_)) | None => Ok(Strategy::StaticWeight(&weights.static_weight_list)),
    }
}

/// Whether a placement is Divided by fixed weights. Such a one looks at no spread constraint, as in stock, also where the
/// object has no replicas to divide.
#[must_use]
pub fn is_by_fixed_weights(placement: &Placement) -> bool {
    placement.scheduling_type() == ReplicaSchedulingType::Divided
        && matches!(divided(placement), Ok(Strategy::StaticWeight(_)))
}

/// Whether the room that clusters have decides where replicas of this binding go.
#[must_use]
pub fn counts_room(spec: &ResourceBindingSpec) -> bool {
    let anywhere = Placement::default();
    let placement = spec.placement.as_ref().unwrap_or(&anywhere);
    matches!(of(spec, placement), Ok(Strategy::Dynamic(_)))
}
