//! Whether the scheduler has placed a binding as it is stored now.

use std::fmt;

use api_types::placement::ReplicaSchedulingType;
use api_types::work::{Binding, condition};

/// Why a binding is not placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotPlaced {
    /// The scheduler has not looked at this generation yet.
    NotObserved,
    /// The scheduler found no place.
    NotScheduled,
    /// The result is empty.
    Empty,
    /// The result holds fewer replicas than the template.
    Replicas {
        /// Replicas in the result.
        placed: i64,
        /// Replicas of the template.
        wanted: i64,
    },
}

impl fmt::Display for NotPlaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotObserved => f.write_str("the scheduler has not looked at the present state yet"),
            Self::NotScheduled => f.write_str("the scheduler found no place"),
            Self::Empty => f.write_str("the scheduling result is empty"),
            Self::Replicas { placed, wanted } => write!(f, "{placed} of {wanted} replicas are placed"),
        }
    }
}

/// Whether the scheduler has acted on the stored generation: its word on an earlier one is none on this.
#[must_use]
pub fn is_observed(binding: &Binding) -> bool {
    let observed = binding
        .status
        .as_ref()
        .and_then(|status| status.scheduler_observed_generation);
    observed.is_some() && observed == binding.metadata.generation
}

/// Whether `binding` is placed: Scheduled is True, the scheduler has acted on the stored generation, the result is not
/// empty and, where replicas are divided, holds all of them. It may hold more: the scheduler lets the last copy that
/// runs stay beside the new ones until one of these works.
///
/// # Errors
/// What is missing.
pub fn placed(binding: &Binding) -> Result<(), NotPlaced> {
    if !is_observed(binding) {
        return Err(NotPlaced::NotObserved);
    }
    if binding
        .condition(condition::SCHEDULED)
        .is_none_or(|c| c.status != "True")
    {
        return Err(NotPlaced::NotScheduled);
    }
    if binding.spec.clusters.is_empty() {
        return Err(NotPlaced::Empty);
    }
    let divided = binding.spec.is_workload()
        && binding
            .spec
            .placement
            .as_ref()
            .is_some_and(|placement| placement.scheduling_type() == ReplicaSchedulingType::Divided);
    let placed: i64 = binding
        .spec
        .clusters
        .iter()
        .map(|target| i64::from(target.replicas))
        .sum();
    let wanted = i64::from(binding.replicas());
    if divided && placed < wanted {
        Err(NotPlaced::Replicas { placed, wanted })
    } else {
        Ok(())
    }
}
