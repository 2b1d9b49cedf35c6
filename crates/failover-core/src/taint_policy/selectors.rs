//! Whether a policy's target and taints make sense at all.
//!
//! The API server checks the shape of a selector, not its sense, and one without our schemas checks the taints no
//! better. A selector without sense selects nothing, and a taint that the Cluster's server refuses would take all other
//! changes of that Cluster along: a policy with such a thing is invalid, says why, and leaves its taints as they are.

use api_types::placement::{ClusterAffinity, ClusterField, SetOperator};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::records::TaintId;

/// What is wrong with a taint; `None` when nothing is.
pub(super) fn taint_complaint(id: &TaintId, value: &str) -> Option<String> {
    let key = key_complaint(&id.key).map(|_| format!("{:?} is no taint key", id.key));
    key.or_else(|| value_complaint(value).map(|_| format!("{value:?} is no taint value")))
}

/// What is wrong with the target; `None` when nothing is.
pub(crate) fn complaint(target: &ClusterAffinity) -> Option<String> {
    let labels = target.label_selector.as_ref().and_then(labels_complaint);
    let labels = labels.map(|why| format!("labelSelector: {why}"));
    labels.or_else(|| {
        let requirements = &target.field_selector.as_ref()?.match_expressions;
        let wrong = |requirement: &api_types::placement::FieldSelectorRequirement| {
            if let ClusterField::Other(key) = &requirement.key {
                return Some(format!("key {key:?} is none of provider, region and zone"));
            }
            match &requirement.operator {
                SetOperator::Other(operator) => Some(format!("operator {operator:?} is neither In nor NotIn")),
                _ if requirement.values.is_empty() => Some(format!("{} needs values", requirement.operator)),
                _ => None,
            }
        };
        let why = requirements.iter().find_map(wrong)?;
        Some(format!("fieldSelector: {why}"))
    })
}

/// What is wrong with a label selector; `None` when nothing is.
pub(crate) fn labels_complaint(selector: &LabelSelector) -> Option<String> {
    let pairs = selector.match_labels.iter().flatten();
    let wrong_pair = |(key, value): (&String, &String)| key_complaint(key).or_else(|| value_complaint(value));
    if let Some(why) = pairs.map(wrong_pair).find_map(|why| why) {
        return Some(why);
    }
    selector.match_expressions.iter().flatten().find_map(|requirement| {
        let values = requirement.values.as_deref().unwrap_or_default();
        let sense = match requirement.operator.as_str() {
            "In" | "NotIn" if values.is_empty() => Some(format!("{} needs values", requirement.operator)),
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                Some(format!("{} takes no values", requirement.operator))
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => None,
            other => Some(format!(
                "operator {other:?} is none of In, NotIn, Exists and DoesNotExist"
            )),
        };
        let value = || values.iter().find_map(|value| value_complaint(value));
        key_complaint(&requirement.key).or(sense).or_else(value)
    })
}

/// A qualified name: an optional DNS subdomain, then a name.
fn key_complaint(key: &str) -> Option<String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let fine = !name.is_empty() && is_name(name) && prefix.is_none_or(is_subdomain);
    (!fine).then(|| format!("{key:?} is no label key"))
}

fn value_complaint(value: &str) -> Option<String> {
    let fine = value.is_empty() || is_name(value);
    (!fine).then(|| format!("{value:?} is no label value"))
}

fn is_name(text: &str) -> bool {
    text.len() <= 63
        && has_ends(text, |c| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

fn is_subdomain(text: &str) -> bool {
    let edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= 253
        && text
            .split('.')
            .all(|label| has_ends(label, edge) && label.chars().all(|c| edge(c) || c == '-'))
}

fn has_ends(text: &str, edge: impl Fn(char) -> bool) -> bool {
    text.starts_with(&edge) && text.ends_with(&edge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn said(target: Value) -> Option<String> {
        complaint(&serde_json::from_value::<ClusterAffinity>(target).unwrap())
    }

    fn label(key: &str, operator: &str, values: &Value) -> Value {
        json!({"labelSelector": {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}})
    }

    #[rstest]
    #[case::operator(label("tier", "Gt", &json!(["1"])), "operator \"Gt\" is none of")]
    #[case::in_without_values(label("tier", "In", &json!([])), "In needs values")]
    #[case::exists_with_values(label("tier", "Exists", &json!(["a"])), "Exists takes no values")]
    #[case::key(label("a b", "Exists", &json!([])), "\"a b\" is no label key")]
    #[case::prefix(label("UP/a", "Exists", &json!([])), "is no label key")]
    #[case::two_slashes(label("a/b/c", "Exists", &json!([])), "is no label key")]
    #[case::value(label("a", "In", &json!(["ok", "-x"])), "\"-x\" is no label value")]
    #[case::long(json!({"labelSelector": {"matchLabels": {"a": "x".repeat(64)}}}), "is no label value")]
    #[case::field(json!({"fieldSelector": {"matchExpressions": [{"key": "name", "operator": "In", "values": ["a"]}]}}), "key \"name\"")]
    #[case::field_operator(json!({"fieldSelector": {"matchExpressions": [{"key": "zone", "operator": "Exists", "values": ["a"]}]}}), "operator \"Exists\"")]
    #[case::field_values(json!({"fieldSelector": {"matchExpressions": [{"key": "zone", "operator": "In", "values": []}]}}), "In needs values")]
    fn what_makes_no_sense_is_named(#[case] target: Value, #[case] words: &str) {
        let why = said(target.clone()).unwrap_or_else(|| panic!("{target} is accepted"));
        assert!(why.contains(words), "{why}");
    }

    #[rstest]
    #[case(json!({}))]
    #[case(json!({"labelSelector": {}}))]
    #[case(json!({"labelSelector": {"matchLabels": {"example.com/Tier_1.x": "", "a": "Ab.c-d_e"}}}))]
    #[case(label("a", "DoesNotExist", &json!(null)))]
    #[case(json!({"fieldSelector": {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}, "clusterNames": ["m1"]}))]
    fn sense_is_left_in_peace(#[case] target: Value) {
        assert_eq!(said(target), None);
    }
}
