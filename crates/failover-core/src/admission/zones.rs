//! The deprecated `spec.zone` of a Cluster as `spec.zones`.
//!
//! Readers take the one for the other, so nothing depends on it; stored in one spelling it is also found by those who
//! look for the other. Takes the object as it was sent: whatever is wrong with it is the API server's to say.

use serde_json::Value;

/// What becomes of the zones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZoneChange {
    /// `zones` becomes this one, and `zone` goes.
    Moved(String),
    /// `zone` goes: `zones` has it.
    Dropped,
}

/// What is to be changed of a Cluster; nothing where it is as it should be, and where both say different things, which
/// the CRD refuses with words of its own.
#[must_use]
pub fn zone_change(cluster: &Value) -> Option<ZoneChange> {
    let spec = cluster.get("spec")?;
    let zone = spec.get("zone")?.as_str().filter(|zone| !zone.is_empty())?;
    let empty = Vec::new();
    let zones = match spec.get("zones") {
        None | Some(Value::Null) => &empty,
        Some(Value::Array(zones)) => zones,
        Some(_) => return None,
    };
    if zones.is_empty() {
        return Some(ZoneChange::Moved(zone.to_owned()));
    }
    zones.iter().any(|known| known == zone).then_some(ZoneChange::Dropped)
}
