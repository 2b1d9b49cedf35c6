//! What the monitor reads off annotations of Leases: the push reporter's list, and a person's word.

use std::collections::BTreeSet;

use api_types::ClusterName;
use api_types::names::annotation;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;

/// What stands in the list of clusters that are overdue while the reporter can ask none: no Cluster has such a name.
pub const NOTHING_PROBED: &str = "*";

/// The clusters that the reporter's Lease names as overdue; [`NOTHING_PROBED`] alone when none at all could be asked.
#[must_use]
pub fn probes_overdue(lease: &Lease) -> BTreeSet<ClusterName> {
    let annotations = lease.metadata.annotations.as_ref();
    annotations
        .and_then(|all| all.get(annotation::PROBES_OVERDUE))
        .into_iter()
        .flat_map(|names| names.split(','))
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(ClusterName::from)
        .collect()
}

/// Until when a person said that the monitor is not isolated.
///
/// # Errors
/// What is wrong with the annotation, and how it is written.
pub fn not_isolated_until(lease: &Lease) -> Result<Option<Timestamp>, String> {
    let annotations = lease.metadata.annotations.as_ref();
    let Some(text) = annotations.and_then(|all| all.get(annotation::NOT_ISOLATED_UNTIL)) else {
        return Ok(None);
    };
    text.trim().parse().map(Some).map_err(|error| {
        format!(
            "the annotation {} is not a time such as 2026-01-01T12:00:00Z and is not followed: {error}",
            annotation::NOT_ISOLATED_UNTIL
        )
    })
}
