//! Rule 8, on a sandbox's write log: no write without the version that was read.

use super::checker::Violation;
use crate::conditional::WrittenOn;
use crate::faults::WriteRecord;
use crate::request::Verb;

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

/// The updates and patches of shared objects that would have landed on any version, whether or not they did.
#[must_use]
pub fn unconditional_writes(writes: &[WriteRecord]) -> Vec<Violation> {
    let changes_shared = |write: &&WriteRecord| {
        matches!(write.verb, Verb::Update | Verb::Patch) && SHARED.contains(&write.resource.as_str())
    };
    let blind = writes
        .iter()
        .filter(changes_shared)
        .filter(|write| write.on == WrittenOn::AnyVersion);
    let broken = blind.map(|write| Violation {
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
    });
    broken.collect()
}
