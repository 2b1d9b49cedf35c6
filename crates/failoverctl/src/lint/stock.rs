//! What a stock Karmada would make of an object: its CRDs know fewer fields than ours, by which objects are judged. Pure.

use failover_core::lint::{Code, Finding};
use serde_json::Value;

/// Kinds of policies that have `spec.failover`.
const POLICIES: &[&str] = &["PropagationPolicy", "ClusterPropagationPolicy"];
const TAINT_POLICY: &[&str] = &["ClusterTaintPolicy"];

/// A field that stock's CRD does not have.
struct Dropped {
    kinds: &'static [&'static str],
    /// Below `spec`.
    field: &'static str,
    why: &'static str,
    fix: &'static str,
}

const WINDOWED: &str = "stock Karmada knows policies in its own form only";
const IN_STOCKS_FORM: &str = "write addOnConditions, removeOnConditions and taints, and the windows into annotation \
                              failover.karmada.io/windows (docs/beside-stock.md)";
const DEFAULTS: &str = "the default counts instead, as if nothing had been said";
const IN_THE_ANNOTATION: &str = "write it into annotation failover.karmada.io/failover (docs/beside-stock.md)";

const DROPPED: [Dropped; 8] = [
    dropped(TAINT_POLICY, "matchConditions", WINDOWED, IN_STOCKS_FORM),
    dropped(TAINT_POLICY, "taintsToAdd", WINDOWED, IN_STOCKS_FORM),
    dropped(
        TAINT_POLICY,
        "targetCluster",
        "the policy would speak of every cluster",
        "call it targetClusters",
    ),
    dropped(
        TAINT_POLICY,
        "suspended",
        "the policy acts as soon as it is stored",
        "try it out with failoverctl plan --policy FILE before it is applied; to hold back what it would move: failoverctl pause",
    ),
    dropped(
        POLICIES,
        "failover/cluster/tolerationSeconds",
        DEFAULTS,
        IN_THE_ANNOTATION,
    ),
    dropped(
        POLICIES,
        "failover/cluster/gracePeriodSeconds",
        DEFAULTS,
        IN_THE_ANNOTATION,
    ),
    dropped(
        POLICIES,
        "failover/application/preConditions",
        DEFAULTS,
        IN_THE_ANNOTATION,
    ),
    dropped(
        POLICIES,
        "failover/application/blockPredecessorSeconds",
        DEFAULTS,
        IN_THE_ANNOTATION,
    ),
];

const fn dropped(kinds: &'static [&'static str], field: &'static str, why: &'static str, fix: &'static str) -> Dropped {
    Dropped { kinds, field, why, fix }
}

/// What of the object a stock Karmada's API server drops.
pub(crate) fn drops(object: &Value) -> Vec<Finding> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let of_kind = DROPPED.iter().filter(|dropped| dropped.kinds.contains(&kind));
    let stands = |dropped: &&Dropped| {
        let said = object["spec"].pointer(&format!("/{}", dropped.field));
        said.is_some_and(|said| !said.is_null() && *said != Value::Bool(false))
    };
    of_kind
        .filter(stands)
        .map(|dropped| {
            let field = format!("spec.{}", dropped.field.replace('/', "."));
            let what = format!("stock Karmada's {kind} has no field {field}: its API server drops it");
            Finding::new(Code::StockDrops, field, what, dropped.why, dropped.fix)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case::windows("ClusterTaintPolicy", json!({"matchConditions": [], "taintsToAdd": []}), &["spec.matchConditions", "spec.taintsToAdd"])]
    #[case::tried_out("ClusterTaintPolicy", json!({"suspended": true, "taints": []}), &["spec.suspended"])]
    #[case::not_suspended("ClusterTaintPolicy", json!({"suspended": false}), &[])]
    #[case::stocks_form("ClusterTaintPolicy", json!({"targetClusters": {}, "addOnConditions": [], "taints": []}), &[])]
    #[case::opted_in("PropagationPolicy", json!({"failover": {"cluster": {"purgeMode": "Directly"}}}), &[])]
    #[case::later("PropagationPolicy", json!({"failover": {"cluster": {"tolerationSeconds": 60}}}), &["spec.failover.cluster.tolerationSeconds"])]
    #[case::cluster_scope(
        "ClusterPropagationPolicy", json!({"failover": {"application": {"preConditions": {}}}}),
        &["spec.failover.application.preConditions"]
    )]
    #[case::another_kind("FailoverPause", json!({"suspended": true}), &[])]
    fn fields(#[case] kind: &str, #[case] spec: Value, #[case] expected: &[&str]) {
        let found = drops(&json!({"kind": kind, "spec": spec}));
        let fields: Vec<&str> = found.iter().map(|finding| finding.field.as_str()).collect();
        assert_eq!(fields, expected);
    }
}
