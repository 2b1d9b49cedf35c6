//! Whose business the placement of a binding is.

use std::fmt;

use api_types::names::label;
use api_types::placement::Placement;
use api_types::work::Binding;

use crate::schedulers::DEFAULT_SCHEDULER;

/// Why a scheduler leaves a binding alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOurs {
    /// It is being deleted.
    BeingDeleted,
    /// Another scheduler places it.
    OtherScheduler,
    /// `suspension.scheduling`.
    Suspended,
    /// Neither a policy nor another manager made it, such as an attached binding: it follows those that need it.
    NoManager,
    /// It has no placement.
    NoPlacement,
}

impl fmt::Display for NotOurs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeingDeleted => "it is being deleted",
            Self::OtherScheduler => "spec.schedulerName names another scheduler",
            Self::Suspended => "spec.suspension.scheduling is true",
            Self::NoManager => "no policy made it: it follows the workloads that need it",
            Self::NoPlacement => "it has no spec.placement",
        })
    }
}

/// The scheduler that a binding names.
#[must_use]
pub fn scheduler_of(binding: &Binding) -> &str {
    let named = binding.spec.scheduler_name.as_deref();
    named.filter(|name| !name.is_empty()).unwrap_or(DEFAULT_SCHEDULER)
}

/// The placement of a binding that the scheduler of this name handles.
///
/// # Errors
/// Why it is left alone.
pub fn ours<'a>(binding: &'a Binding, scheduler_name: &str) -> Result<&'a Placement, NotOurs> {
    if binding.is_being_deleted() {
        return Err(NotOurs::BeingDeleted);
    }
    if scheduler_of(binding) != scheduler_name {
        return Err(NotOurs::OtherScheduler);
    }
    let suspension = binding.spec.suspension.as_ref();
    if suspension.and_then(|suspension| suspension.scheduling) == Some(true) {
        return Err(NotOurs::Suspended);
    }
    const MANAGERS: [&str; 3] = [
        label::PROPAGATION_POLICY_ID,
        label::CLUSTER_PROPAGATION_POLICY_ID,
        label::BINDING_MANAGED_BY,
    ];
    let labels = binding.metadata.labels.as_ref();
    if !labels.is_some_and(|labels| MANAGERS.iter().any(|name| labels.contains_key(*name))) {
        return Err(NotOurs::NoManager);
    }
    binding.spec.placement.as_ref().ok_or(NotOurs::NoPlacement)
}
