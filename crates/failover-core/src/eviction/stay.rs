//! The annotation `failover.karmada.io/stay`: a JSON list of `{cluster, verdict}` by which a binding stays on a cluster.
//!
//! A person writes it, or the taint manager for an entry that was dropped from the queue: that item also has `droppedBy`
//! and `reason`. An item without a verdict holds whatever the cause; one with a verdict holds only for the cause of that
//! identity. How the taint manager changes the text is in [`super::stay_edit`].

use api_types::work::Binding;
use api_types::{ClusterName, names};
use serde::{Deserialize, Serialize};

use super::cause::Cause;

/// One item of the annotation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StayItem {
    /// The cluster that the binding stays on.
    pub cluster: String,
    /// Identity of the cause; absent or empty: whatever the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Who dropped the entry from the queue; absent: a person wrote the item.
    #[serde(default, rename = "droppedBy", skip_serializing_if = "Option::is_none")]
    pub dropped_by: Option<String>,
    /// Why it was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl StayItem {
    /// Whether the item keeps a binding on `cluster` in spite of `cause`.
    #[must_use]
    pub fn holds(&self, cluster: &ClusterName, cause: &Cause) -> bool {
        self.cluster == cluster.as_str()
            && self
                .verdict
                .as_deref()
                .filter(|verdict| !verdict.is_empty())
                .is_none_or(|verdict| {
                    // Compared as values, so that a person may write the time in another zone or with fractions.
                    verdict.parse().is_ok_and(|named: Cause| named == to_identity(cause)) || verdict == cause.identity()
                })
    }
}

/// Whether a binding stays by a person's word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stay {
    /// Nobody said so.
    NotAsked,
    /// An item matches.
    Asked(StayItem),
    /// The annotation cannot be read. Somebody wanted something to stay: it does until the annotation is mended,
    /// since an error is never read as "empty".
    Unreadable(String),
}

impl Stay {
    /// Whether the binding stays.
    #[must_use]
    pub fn holds(&self) -> bool {
        *self != Self::NotAsked
    }

    /// Whether a Drop keeps it, so that Undrop takes it back.
    #[must_use]
    pub fn by_drop(&self) -> bool {
        matches!(self, Self::Asked(item) if item.dropped_by.is_some())
    }

    /// Why the binding stays, as a sentence; `None` when nobody said so.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        let annotation = names::annotation::STAY;
        match self {
            Self::NotAsked => None,
            Self::Asked(item) => Some(match (&item.dropped_by, &item.reason) {
                (Some(who), Some(why)) => format!("dropped by {who}: {why} (annotation {annotation})"),
                (Some(who), None) => format!("dropped by {who} (annotation {annotation})"),
                (None, _) => format!("the annotation {annotation} keeps the workload on the cluster"),
            }),
            Self::Unreadable(error) => Some(format!(
                "the annotation {annotation} cannot be read, so the workload stays: {error}"
            )),
        }
    }
}

/// Reads the annotation; absent and blank are an empty list.
///
/// # Errors
/// The parser's words when the text is not a JSON list of items.
pub fn read(binding: &Binding) -> Result<Vec<StayItem>, String> {
    read_text(text(binding))
}

/// The annotation as it is written; absent is empty.
#[must_use]
pub fn text(binding: &Binding) -> &str {
    let annotations = binding.metadata.annotations.as_ref();
    annotations
        .and_then(|all| all.get(names::annotation::STAY))
        .map_or("", String::as_str)
}

pub(super) fn read_text(text: &str) -> Result<Vec<StayItem>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Whether `binding` stays on `cluster` in spite of `cause`.
#[must_use]
pub fn stays(binding: &Binding, cluster: &ClusterName, cause: &Cause) -> Stay {
    let items = match read(binding) {
        Ok(items) => items,
        Err(error) => return Stay::Unreadable(error),
    };
    // A drop is shown before a person's item, because there is a way to take it back.
    let holding = items.into_iter().filter(|item| item.holds(cluster, cause));
    holding
        .min_by_key(|item| item.dropped_by.is_none())
        .map_or(Stay::NotAsked, Stay::Asked)
}

fn to_identity(cause: &Cause) -> Cause {
    cause.identity().parse().unwrap_or_else(|_| cause.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    fn binding(annotation: &str) -> Binding {
        serde_json::from_value(json!({
            "metadata": {"name": "b", "namespace": "n", "annotations": {"failover.karmada.io/stay": annotation}},
            "spec": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "b"}},
        }))
        .unwrap()
    }

    #[rstest]
    #[case::any_cause(r#"[{"cluster": "m1"}]"#, true)]
    #[case::this_cause(r#"[{"cluster": "m1", "verdict": "k:NoExecute@2026-01-01T00:00:00Z"}]"#, true)]
    #[case::same_time_in_another_zone(
        r#"[{"cluster": "m1", "verdict": "k:NoExecute@2026-01-01T01:00:00+01:00"}]"#,
        true
    )]
    #[case::a_later_taint(r#"[{"cluster": "m1", "verdict": "k:NoExecute@2026-01-01T00:00:01Z"}]"#, false)]
    #[case::another_cluster(r#"[{"cluster": "m2"}]"#, false)]
    #[case::second_item(r#"[{"cluster": "m2"}, {"cluster": "m1"}]"#, true)]
    #[case::blank(" ", false)]
    #[case::no_json("m1", true)]
    #[case::no_list(r#"{"cluster": "m1"}"#, true)]
    fn items(#[case] annotation: &str, #[case] expected: bool) {
        let cause = "k:NoExecute@2026-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(stays(&binding(annotation), &"m1".into(), &cause).holds(), expected);
    }

    #[rstest]
    #[case::nobody("[]", None)]
    #[case::somebody(
        r#"[{"cluster": "m1"}]"#,
        Some("the annotation failover.karmada.io/stay keeps the workload on the cluster")
    )]
    #[case::dropped(
        r#"[{"cluster": "m1"}, {"cluster": "m1", "droppedBy": "ada", "reason": "a test runs"}]"#,
        Some("dropped by ada: a test runs (annotation failover.karmada.io/stay)")
    )]
    #[case::unreadable(
        "m1",
        Some("the annotation failover.karmada.io/stay cannot be read, so the workload stays: expected value")
    )]
    fn why(#[case] annotation: &str, #[case] expected: Option<&str>) {
        let cause = "k:NoExecute@2026-01-01T00:00:00Z".parse().unwrap();
        let reason = stays(&binding(annotation), &"m1".into(), &cause).reason();
        assert_eq!(reason.is_some(), expected.is_some());
        assert!(reason.unwrap_or_default().starts_with(expected.unwrap_or_default()));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let cause = Cause::Deletion { at: jiff::Timestamp::UNIX_EPOCH };
            let stay = stays(&binding(&text), &"m1".into(), &cause);
            prop_assert_eq!(read(&binding(&text)).is_err(), matches!(stay, Stay::Unreadable(_)));
        }
    }
}
