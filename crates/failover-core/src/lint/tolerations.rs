//! `placement.clusterTolerations`.

use api_types::cluster::effect;
use k8s_openapi::api::core::v1::{Taint, Toleration};

use super::code::Code;
use super::finding::Finding;
use crate::eviction::tolerations::{Tolerance, matches, tolerance};

/// A taint that nobody thought of.
const ANY: &str = "any.failover.karmada.io/taint";

pub(super) fn findings(tolerations: &[Toleration], field: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let anything = Taint {
        key: ANY.to_owned(),
        value: Some(ANY.to_owned()),
        effect: effect::NO_EXECUTE.to_owned(),
        time_added: None,
    };
    let for_ever = tolerance(tolerations, &anything) == Tolerance::Forever;
    let culprit = tolerations
        .iter()
        .position(|toleration| toleration.toleration_seconds.is_none() && matches(toleration, &anything));
    if let (true, Some(index)) = (for_ever, culprit) {
        found.push(Finding::new(
            Code::ToleratesEverything,
            format!("{field}[{index}]"),
            "every NoExecute taint is tolerated for ever",
            "the workload stays on a failed cluster; only PreferNoExecute with failover.cluster, or a drain's end, moves it",
            "name the key that is to be tolerated, or give tolerationSeconds",
        ));
    }
    let each = tolerations.iter().enumerate();
    found.extend(each.flat_map(|(index, toleration)| one(toleration, &format!("{field}[{index}]"))));
    found
}

fn one(toleration: &Toleration, field: &str) -> Vec<Finding> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (key, value, of_effect, operator) = (
        text(&toleration.key),
        text(&toleration.value),
        text(&toleration.effect),
        text(&toleration.operator),
    );
    let mut found = Vec::new();
    // The very taint that is named, or one that nobody thought of: what matches neither matches nothing.
    let named = Taint {
        key: if key.is_empty() { ANY.to_owned() } else { key.clone() },
        value: Some(value.clone()),
        effect: if of_effect.is_empty() {
            effect::NO_EXECUTE.to_owned()
        } else {
            of_effect.clone()
        },
        time_added: None,
    };
    if !matches(toleration, &named) {
        found.push(Finding::new(
            Code::OddToleration,
            format!("{field}.operator"),
            format!("operator {operator:?} matches no taint"),
            "only Exists and Equal (the default) are known",
            "use Exists, or Equal with a value",
        ));
    } else if operator == "Exists" && !value.is_empty() {
        found.push(Finding::new(
            Code::OddToleration,
            format!("{field}.value"),
            "value is not looked at with operator Exists",
            "Exists tolerates the key whatever its value; stock Karmada refuses such a toleration",
            "take value away, or use operator Equal",
        ));
    } else if operator != "Exists" && key.is_empty() {
        found.push(Finding::new(
            Code::OddToleration,
            field,
            "a toleration without key needs operator Exists",
            "with Equal it tolerates taints of every key that have this very value; stock Karmada refuses it",
            "give a key, or operator Exists",
        ));
    }
    if of_effect == effect::PREFER_NO_EXECUTE {
        found.push(Finding::new(
            Code::PreferNoExecuteTolerated,
            format!("{field}.effect"),
            "a toleration of PreferNoExecute does nothing",
            "whether a workload leaves then is decided by failover.cluster alone, and when by its tolerationSeconds",
            "take it away; to stay, have no failover.cluster, to stay longer, raise failover.cluster.tolerationSeconds",
        ));
    } else if toleration.toleration_seconds.is_some() && !of_effect.is_empty() && of_effect != effect::NO_EXECUTE {
        found.push(Finding::new(
            Code::TolerationSecondsIgnored,
            format!("{field}.tolerationSeconds"),
            format!("tolerationSeconds says nothing for effect {of_effect}"),
            "only NoExecute moves a workload after a time that tolerations give",
            "take it away, or let the effect be NoExecute",
        ));
    }
    found
}
