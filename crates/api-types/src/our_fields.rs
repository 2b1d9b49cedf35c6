//! The fields that we add to kinds of Karmada's: all of them. Stock's API server drops them, and so does one whose CRDs are of an
//! older version.
//!
//! Guarantees: what the CRDs of our types have and stock's have not stands here, and nothing else; shown by the test
//! `our_fields` of this crate, for which stock's fields are recorded.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::names::annotation;
use crate::openapi;
use crate::second_home::SecondHome;

const BINDING: &str = "work.karmada.io/v1alpha2";
const POLICY: &str = "policy.karmada.io/v1alpha1";

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OurField {
    /// `group/version`.
    pub api_version: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// As in `spec.gracefulEvictionTasks.blockInHistory`; lists are passed through.
    pub field: &'static str,
    /// What it is made of, below it: a CRD of an older version may know it in part.
    pub parts: &'static [&'static str],
    /// Where its word stands beside a stock Karmada.
    pub second_home: SecondHome,
}

impl OurField {
    /// What of it an API server drops by the schema of the kind: the field, or parts of it. Nothing when it is kept whole.
    #[must_use]
    pub fn dropped_by(&self, document: &Value, schema: &Value) -> Vec<String> {
        let is_dropped = |field: &str| !openapi::keeps(document, schema, field);
        if is_dropped(self.field) {
            return vec![self.field.to_owned()];
        }
        let parts = self.parts.iter().map(|part| format!("{}.{part}", self.field));
        parts.filter(|part| is_dropped(part)).collect()
    }
}

/// A field of one or two kinds.
type Row = (&'static str, &'static [&'static str], SecondHome);

const NONE: &[&str] = &[];
const WINDOWS: SecondHome = SecondHome::Annotation(annotation::WINDOWS);
const FAILOVER: SecondHome = SecondHome::Annotation(annotation::FAILOVER);
const HISTORY: SecondHome = SecondHome::Annotation(annotation::ACTIVE_EVICTION_HISTORY);
const HEALTH_CLOCK: SecondHome = SecondHome::Annotation(annotation::HEALTH_CLOCK);

const OF_TAINT_POLICIES: [Row; 5] = [
    (
        "spec.matchConditions",
        &["conditionType", "operator", "statusValues"],
        WINDOWS,
    ),
    (
        "spec.taintsToAdd",
        &["key", "effect", "value", "addOnMatchSeconds", "removeOnMismatchSeconds"],
        WINDOWS,
    ),
    (
        "spec.targetCluster",
        &[
            "clusterNames",
            "exclude",
            "fieldSelector.matchExpressions.key",
            "fieldSelector.matchExpressions.operator",
            "fieldSelector.matchExpressions.values",
            "labelSelector.matchExpressions.key",
            "labelSelector.matchExpressions.operator",
            "labelSelector.matchExpressions.values",
            "labelSelector.matchLabels",
        ],
        SecondHome::Nowhere("stock calls it targetClusters"),
    ),
    (
        "spec.suspended",
        NONE,
        SecondHome::Nowhere(
            "nowhere, a policy acts as soon as it is stored: try it out with failoverctl plan --policy, stop it by failoverctl pause",
        ),
    ),
    (
        "status",
        &[
            "clusters.firesAt",
            "clusters.message",
            "clusters.name",
            "clusters.since",
            "clusters.state",
            "clustersOmitted",
            "conditions.lastTransitionTime",
            "conditions.message",
            "conditions.observedGeneration",
            "conditions.reason",
            "conditions.status",
            "conditions.type",
            "matching",
            "nextChangeAt",
            "observedGeneration",
            "pending",
            "tainted",
            "targetClusters",
        ],
        SecondHome::Nowhere("events and metrics"),
    ),
];

/// Of policies, and of the bindings that they are copied to.
const OF_BOTH: [Row; 4] = [
    ("spec.failover.cluster.tolerationSeconds", NONE, FAILOVER),
    ("spec.failover.cluster.gracePeriodSeconds", NONE, FAILOVER),
    (
        "spec.failover.application.preConditions",
        &["delaySeconds", "healthyState"],
        FAILOVER,
    ),
    ("spec.failover.application.blockPredecessorSeconds", NONE, FAILOVER),
];

const OF_BINDINGS: [Row; 5] = [
    (
        "spec.activeEvictionHistory",
        &["clusterName", "creationTimestamp"],
        HISTORY,
    ),
    (
        "spec.gracefulEvictionTasks.blockInHistory",
        NONE,
        SecondHome::Nowhere(
            "nowhere, an open task is a block itself: editing the history lifts it once the task is gone",
        ),
    ),
    ("status.aggregatedStatus.settled", NONE, HEALTH_CLOCK),
    ("status.aggregatedStatus.creationTimestamp", NONE, HEALTH_CLOCK),
    (
        "status.aggregatedStatus.collectedAt",
        NONE,
        SecondHome::Nowhere("nowhere, a status counts whenever it was read"),
    ),
];

const KINDS: [(&str, &str, &[&[Row]]); 5] = [
    (POLICY, "ClusterTaintPolicy", &[&OF_TAINT_POLICIES]),
    (POLICY, "PropagationPolicy", &[&OF_BOTH]),
    (POLICY, "ClusterPropagationPolicy", &[&OF_BOTH]),
    (BINDING, "ResourceBinding", &[&OF_BOTH, &OF_BINDINGS]),
    (BINDING, "ClusterResourceBinding", &[&OF_BOTH, &OF_BINDINGS]),
];

/// Every field of ours in every kind of Karmada's.
pub fn all() -> impl Iterator<Item = OurField> {
    KINDS.iter().flat_map(|(api_version, kind, rows)| {
        rows.iter()
            .flat_map(|rows| rows.iter())
            .map(|(field, parts, second_home)| OurField {
                api_version,
                kind,
                field,
                parts,
                second_home: *second_home,
            })
    })
}

/// Those that an API server drops, as `KIND FIELD`, by its OpenAPI documents, each under its `group/version`. Of a kind that no
/// document has nothing is said.
#[must_use]
pub fn dropped(documents: &BTreeMap<&str, Value>) -> Vec<String> {
    let of_field = |field: OurField| {
        let document = documents.get(field.api_version)?;
        let schema = openapi::of_kind(document, field.kind)?;
        let dropped = field.dropped_by(document, schema).into_iter();
        Some(dropped.map(move |dropped| format!("{} {dropped}", field.kind)))
    };
    all().filter_map(of_field).flatten().collect()
}

/// The groups and versions whose documents tell of all of them.
#[must_use]
pub fn api_versions() -> Vec<&'static str> {
    let mut versions: Vec<&str> = KINDS.iter().map(|(api_version, ..)| *api_version).collect();
    versions.sort_unstable();
    versions.dedup();
    versions
}
