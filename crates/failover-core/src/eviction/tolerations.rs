//! Tolerations against one taint: Kubernetes' matching rules, and the most permissive of several matches.

use k8s_openapi::api::core::v1::{Taint, Toleration};

/// How long a taint is tolerated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tolerance {
    /// Not at all.
    None,
    /// For so many seconds after the taint was added; 0 or less is no time at all.
    Seconds(i64),
    /// For ever.
    Forever,
}

/// Whether one toleration matches one taint.
///
/// Source: Kubernetes' `ToleratesTaint`: an empty effect matches every effect, an empty key every key; `Exists` needs
/// no value, `Equal` (also when absent) the same value. Any other operator, such as `Lt` or `Gt`, matches nothing.
#[must_use]
pub fn matches(toleration: &Toleration, taint: &Taint) -> bool {
    let given = |text: &Option<String>| text.as_deref().filter(|text| !text.is_empty()).map(str::to_owned);
    if given(&toleration.effect).is_some_and(|effect| effect != taint.effect) {
        return false;
    }
    if given(&toleration.key).is_some_and(|key| key != taint.key) {
        return false;
    }
    match toleration.operator.as_deref().unwrap_or_default() {
        "Exists" => true,
        "" | "Equal" => toleration.value.as_deref().unwrap_or_default() == taint.value.as_deref().unwrap_or_default(),
        _ => false,
    }
}

/// How long `taint` is tolerated by `tolerations`. Of several that match, the most permissive counts, so that their
/// order in the list says nothing.
#[must_use]
pub fn tolerance(tolerations: &[Toleration], taint: &Taint) -> Tolerance {
    tolerations
        .iter()
        .filter(|toleration| matches(toleration, taint))
        .map(|toleration| {
            toleration
                .toleration_seconds
                .map_or(Tolerance::Forever, Tolerance::Seconds)
        })
        .max()
        .unwrap_or(Tolerance::None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn taint() -> Taint {
        serde_json::from_value(json!({"key": "k", "value": "v", "effect": "NoExecute"})).unwrap()
    }

    #[rstest]
    #[case::all_given(json!({"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute"}), true)]
    #[case::equal_is_the_default(json!({"key": "k", "value": "v"}), true)]
    #[case::exists_needs_no_value(json!({"key": "k", "operator": "Exists"}), true)]
    #[case::everything(json!({"operator": "Exists"}), true)]
    #[case::empty_texts_are_wildcards(json!({"key": "", "effect": "", "operator": "Exists"}), true)]
    #[case::another_key(json!({"key": "x", "operator": "Exists"}), false)]
    #[case::another_value(json!({"key": "k", "value": "w"}), false)]
    #[case::another_effect(json!({"key": "k", "operator": "Exists", "effect": "NoSchedule"}), false)]
    // C37 (karmada#7272): stored objects may carry operators of newer Kubernetes versions.
    #[case::less_than(json!({"key": "k", "operator": "Lt", "value": "v"}), false)]
    #[case::greater_than(json!({"key": "k", "operator": "Gt", "value": "v"}), false)]
    fn matching(#[case] toleration: Value, #[case] expected: bool) {
        assert_eq!(
            matches(&serde_json::from_value(toleration).unwrap(), &taint()),
            expected
        );
    }

    // C35 (aws-fsx-csi-driver#305): a wide timed toleration and an exact unlimited one.
    #[test]
    fn the_most_permissive_counts_whatever_the_order() {
        let mut list: Vec<Toleration> = serde_json::from_value(json!([
            {"operator": "Exists", "tolerationSeconds": 300},
            {"key": "k", "operator": "Exists"},
            {"key": "k", "operator": "Exists", "tolerationSeconds": 600},
        ]))
        .unwrap();
        assert_eq!(tolerance(&list, &taint()), Tolerance::Forever);
        list.reverse();
        assert_eq!(tolerance(&list, &taint()), Tolerance::Forever);
        list.retain(|toleration| toleration.toleration_seconds.is_some());
        assert_eq!(tolerance(&list, &taint()), Tolerance::Seconds(600));
        assert_eq!(tolerance(&[], &taint()), Tolerance::None);
    }
}
