//! Rule 8, on what a sandbox's clients wrote: no write without the version that was read.

use super::checker::Violation;
use crate::faults::WriteRecord;

/// Objects that several writers share: a write on any version could lose another's change. Events and what belongs to
/// one writer alone are not among them.
const SHARED: [&str; 8] = [
    "clusters",
    "clusterresourcebindings",
    "clustertaintpolicies",
    "failoverpauses",
    "failoverrecords",
    "leases",
    "resourcebindings",
    "works",
];

/// Those of the [blind writes](crate::Faults::blind_writes) that change shared objects.
pub(super) fn unconditional_writes(blind: &[WriteRecord]) -> impl Iterator<Item = Violation> {
    let shared = blind.iter().filter(|write| SHARED.contains(&write.resource.as_str()));
    shared.map(|write| Violation {
        rule: 8,
        at: write.at,
        what: format!(
            "{} wrote {}{} {}/{} on whatever version was there",
            write.client,
            write.resource,
            write
                .subresource
                .as_ref()
                .map(|name| format!("/{name}"))
                .unwrap_or_default(),
            write.namespace.as_deref().unwrap_or("-"),
            write.name.as_deref().unwrap_or("-"),
        ),
    })
}
