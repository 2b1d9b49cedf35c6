//! The fields that we add to kinds of Karmada's. Stock's API server drops them, and so does one whose CRDs are of an older version.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::names::annotation;
use crate::openapi;

const BINDING: &str = "work.karmada.io/v1alpha2";
const POLICY: &str = "policy.karmada.io/v1alpha1";

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OurField {
    /// `group/version`.
    pub api_version: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// As in `spec.taintsToAdd.addOnMatchSeconds`; lists are passed through.
    pub field: &'static str,
    /// Where its word stands beside a stock Karmada.
    pub second_home: SecondHome,
}

/// Where a field's word stands that stock's API server drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondHome {
    /// In this annotation.
    Annotation(&'static str),
    /// Nowhere; this does the same.
    Nowhere(&'static str),
}

const fn field(
    api_version: &'static str,
    kind: &'static str,
    field: &'static str,
    second_home: SecondHome,
) -> OurField {
    OurField {
        api_version,
        kind,
        field,
        second_home,
    }
}

const WINDOWS: SecondHome = SecondHome::Annotation(annotation::WINDOWS);
const FAILOVER: SecondHome = SecondHome::Annotation(annotation::FAILOVER);
const HISTORY: SecondHome = SecondHome::Annotation(annotation::ACTIVE_EVICTION_HISTORY);
const HEALTH_CLOCK: SecondHome = SecondHome::Annotation(annotation::HEALTH_CLOCK);

/// Those by which CRDs of another version, and stock's, are known. Not every field of ours is among them yet.
pub const FIELDS: [OurField; 17] = [
    field(POLICY, "ClusterTaintPolicy", "spec.matchConditions", WINDOWS),
    field(
        POLICY,
        "ClusterTaintPolicy",
        "spec.taintsToAdd.addOnMatchSeconds",
        WINDOWS,
    ),
    field(
        POLICY,
        "ClusterTaintPolicy",
        "spec.suspended",
        SecondHome::Nowhere(
            "nowhere, a policy acts as soon as it is stored: try it out with failoverctl plan --policy, stop it by failoverctl pause",
        ),
    ),
    field(
        POLICY,
        "ClusterTaintPolicy",
        "status",
        SecondHome::Nowhere("events and metrics"),
    ),
    field(
        POLICY,
        "PropagationPolicy",
        "spec.failover.cluster.tolerationSeconds",
        FAILOVER,
    ),
    field(
        POLICY,
        "PropagationPolicy",
        "spec.failover.cluster.gracePeriodSeconds",
        FAILOVER,
    ),
    field(
        POLICY,
        "PropagationPolicy",
        "spec.failover.application.preConditions",
        FAILOVER,
    ),
    field(
        POLICY,
        "PropagationPolicy",
        "spec.failover.application.blockPredecessorSeconds",
        FAILOVER,
    ),
    field(
        POLICY,
        "ClusterPropagationPolicy",
        "spec.failover.cluster.tolerationSeconds",
        FAILOVER,
    ),
    field(
        POLICY,
        "ClusterPropagationPolicy",
        "spec.failover.cluster.gracePeriodSeconds",
        FAILOVER,
    ),
    field(
        POLICY,
        "ClusterPropagationPolicy",
        "spec.failover.application.preConditions",
        FAILOVER,
    ),
    field(
        POLICY,
        "ClusterPropagationPolicy",
        "spec.failover.application.blockPredecessorSeconds",
        FAILOVER,
    ),
    field(
        BINDING,
        "ResourceBinding",
        "spec.failover.cluster.tolerationSeconds",
        FAILOVER,
    ),
    field(BINDING, "ResourceBinding", "spec.activeEvictionHistory", HISTORY),
    field(BINDING, "ClusterResourceBinding", "spec.activeEvictionHistory", HISTORY),
    field(
        BINDING,
        "ResourceBinding",
        "status.aggregatedStatus.settled",
        HEALTH_CLOCK,
    ),
    field(
        BINDING,
        "ClusterResourceBinding",
        "status.aggregatedStatus.settled",
        HEALTH_CLOCK,
    ),
];

/// Those that an API server drops, by its OpenAPI documents, each under its `group/version`. Of a kind that no document has
/// nothing is said.
#[must_use]
pub fn dropped(documents: &BTreeMap<&str, Value>) -> Vec<OurField> {
    let is_dropped = |field: &&OurField| {
        let Some(document) = documents.get(field.api_version) else {
            return false;
        };
        openapi::of_kind(document, field.kind).is_some_and(|schema| !openapi::keeps(document, schema, field.field))
    };
    FIELDS.iter().filter(is_dropped).copied().collect()
}

/// The groups and versions whose documents tell of all of them.
#[must_use]
pub fn api_versions() -> Vec<&'static str> {
    let mut versions: Vec<&str> = FIELDS.iter().map(|field| field.api_version).collect();
    versions.sort_unstable();
    versions.dedup();
    versions
}
