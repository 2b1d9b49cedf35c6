//! Policies that the API server itself refuses, by the rules of the CRD, with words that help.

use anyhow::{anyhow, ensure};
use serde_json::{Value, json};

use super::{policy, say};
use crate::kubectl::Kubectl;

/// Every bad one is refused, for its own reason; the good one is taken.
pub fn are_refused(kubectl: &Kubectl) -> anyhow::Result<()> {
    let refusal = |spec: &Value| {
        let mut manifest = policy();
        manifest["metadata"]["name"] = json!("another");
        manifest["spec"] = spec.clone();
        kubectl.refusal(&manifest.to_string())
    };
    let good = policy()["spec"].clone();
    if let Some(complaint) = refusal(&good)? {
        return Err(anyhow!("a good policy is refused: {complaint}"));
    }
    let bad = bad_policies(&good);
    for (spec, words) in &bad {
        let complaint = refusal(spec)?.ok_or_else(|| anyhow!("a bad policy is taken: {spec}"))?;
        ensure!(complaint.contains(words), "not for its reason, {words:?}: {complaint}");
    }
    say(&format!("{} bad policies are refused", bad.len()));
    Ok(())
}

fn bad_policies(good: &Value) -> Vec<(Value, &'static str)> {
    let with = |path: &str, value: Value| {
        let mut spec = good.clone();
        if let Some(field) = spec.pointer_mut(path) {
            *field = value;
        } else {
            spec[path.trim_start_matches('/')] = value;
        }
        spec
    };
    let stock_form = |name: &str, value: Value| {
        let mut spec = good.clone();
        spec[name] = value;
        spec
    };
    let condition = good["matchConditions"].clone();
    let both_targets = {
        let mut spec = with("/targetCluster", json!({"clusterNames": ["member1"]}));
        spec["targetClusters"] = json!({"clusterNames": ["member1"]});
        spec
    };
    vec![
        (
            stock_form("addOnConditions", condition.clone()),
            "two forms of a policy",
        ),
        (
            stock_form("taints", json!([{"key": "k", "effect": "NoSchedule"}])),
            "two forms of a policy",
        ),
        (both_targets, "two spellings of one field"),
        (json!({ "matchConditions": condition }), "names at least one taint"),
        (json!({}), "names at least one taint"),
        (with("/taintsToAdd/0/effect", json!("NoSuchEffect")), "effect"),
        (with("/taintsToAdd/0/addOnMatchSeconds", json!(0)), "addOnMatchSeconds"),
        (
            with("/taintsToAdd/0/removeOnMismatchSeconds", json!(-5)),
            "removeOnMismatchSeconds",
        ),
        (with("/taintsToAdd/0/key", json!("no key")), "key"),
        (with("/taintsToAdd/0/value", json!("no value!")), "value"),
        (with("/matchConditions/0/statusValues", json!([])), "statusValues"),
        (
            with("/matchConditions/0/statusValues", json!(["Maybe"])),
            "statusValues",
        ),
        (with("/matchConditions/0/operator", json!("Like")), "operator"),
        (
            with("/taintsToAdd", json!([good["taintsToAdd"][0], good["taintsToAdd"][0]])),
            "Duplicate value",
        ),
    ]
}
