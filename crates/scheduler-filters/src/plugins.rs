//! The built-in plugins, one a file.

mod api_enablement;
pub(crate) mod cluster_affinity;
mod cluster_eviction;
mod cluster_locality;
mod eviction_history;
mod spread_constraint;
mod taint_preference;
mod taint_toleration;

pub use api_enablement::ApiEnablement;
pub use cluster_affinity::ClusterAffinity;
pub use cluster_eviction::ClusterEviction;
pub use cluster_locality::ClusterLocality;
pub use eviction_history::EvictionHistory;
pub use spread_constraint::SpreadConstraint;
pub use taint_preference::TaintPreference;
pub use taint_toleration::TaintToleration;

use crate::plugin::{DefaultState, Registry};

/// The registry of the plugins of this crate, filters in the order in which they are asked.
#[must_use]
pub fn builtin() -> Registry {
    Registry::default()
        .with_filter(ApiEnablement, DefaultState::On)
        .with_filter(ClusterAffinity, DefaultState::On)
        .with_filter(SpreadConstraint, DefaultState::On)
        .with_filter(TaintToleration, DefaultState::On)
        .with_filter(EvictionHistory, DefaultState::On)
        .with_filter(ClusterEviction, DefaultState::Off)
        .with_score(ClusterLocality, DefaultState::On)
        .with_score(TaintPreference, DefaultState::On)
}

#[cfg(test)]
mod tests;
