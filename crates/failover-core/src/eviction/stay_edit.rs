//! How the taint manager changes the annotation `failover.karmada.io/stay`: items of drops come, and go again.
//!
//! Guarantees: what a person wrote, and fields that this version does not know, stay as they are; a text that cannot be
//! read is never written over; a change that changes nothing is none. An annotation that is left without items is
//! removed.

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::work::Binding;
use serde_json::Value;

use super::Cause;
use super::stay::{StayItem, read_text};
use crate::application::{CopyClock, HealthClock};

/// What becomes of the annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StayEdit {
    /// Nothing: it says what it should.
    AsItIs,
    /// It is written.
    Write(String),
    /// It is removed.
    Remove,
}

/// The annotation is not a JSON list of items. Somebody wrote it, so it is left to be mended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the annotation {} cannot be read, so nothing is written over it: {why}; mend it or remove it",
    api_types::names::annotation::STAY
)]
pub struct Unreadable {
    /// The parser's words.
    pub why: String,
}

/// A drop, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drop<'a> {
    /// The cluster on which the workload stays.
    pub cluster: &'a ClusterName,
    /// In spite of what.
    pub cause: &'a Cause,
    /// Who dropped the entry.
    pub caller: &'a str,
    /// Why.
    pub reason: &'a str,
}

/// Adds the item of a drop. One that is there already for this cause is left as it is.
///
/// # Errors
/// [`Unreadable`].
pub fn add(text: &str, drop: Drop<'_>) -> Result<StayEdit, Unreadable> {
    let mut items = parse(text)?;
    if items.iter().any(|(item, _)| is_drop_of(item, drop.cluster, drop.cause)) {
        return Ok(StayEdit::AsItIs);
    }
    let item = StayItem {
        cluster: drop.cluster.to_string(),
        verdict: Some(drop.cause.identity()),
        // Empty would read as a person's.
        dropped_by: Some(drop.caller.to_owned()),
        reason: Some(drop.reason.to_owned()).filter(|reason| !reason.is_empty()),
    };
    let value = serde_json::to_value(&item).map_err(|error| Unreadable { why: error.to_string() })?;
    items.push((item, value));
    Ok(write(items))
}

/// Removes the items of drops for this cluster and cause.
///
/// # Errors
/// [`Unreadable`].
pub fn remove(text: &str, cluster: &ClusterName, cause: &Cause) -> Result<StayEdit, Unreadable> {
    keep(text, |item| !is_drop_of(item, cluster, cause))
}

/// Removes the items of drops for which `is_over` says so.
///
/// # Errors
/// [`Unreadable`].
pub fn clean(text: &str, is_over: impl Fn(&StayItem) -> bool) -> Result<StayEdit, Unreadable> {
    keep(text, |item| item.dropped_by.is_none() || !is_over(item))
}

/// Why a drop does not count any more, or `None` while it does: the cause that it names does not stand on the cluster,
/// or the binding is not there. That something else is due earlier, or that the cause is tolerated for a while, ends no
/// drop: the same verdict can come back, and it was dropped.
#[must_use]
pub fn over(item: &StayItem, binding: &Binding, cluster: Option<&Cluster>) -> Option<&'static str> {
    let name = ClusterName::from(item.cluster.as_str());
    if binding.spec.target(&name).is_none() {
        return Some("the workload is not on the cluster any more");
    }
    let Some(cluster) = cluster else {
        return Some("the cluster is gone");
    };
    // A verdict that nobody can read was not written by this version: left to who can.
    let cause: Cause = item.verdict.as_deref()?.parse().ok()?;
    let stands = match cause {
        Cause::Application { since } => match HealthClock::of(binding) {
            Ok(clock) => clock.copy(&name).and_then(CopyClock::unhealthy_since) == Some(since),
            // Nobody knows, until it is counted anew.
            Err(_) => true,
        },
        Cause::Taint { .. } | Cause::Deletion { .. } => cause.stands_on(cluster),
    };
    (!stands).then_some("what it was dropped for is over")
}

fn is_drop_of(item: &StayItem, cluster: &ClusterName, cause: &Cause) -> bool {
    item.dropped_by.is_some() && item.verdict.is_some() && item.holds(cluster, cause)
}

fn keep(text: &str, stays: impl Fn(&StayItem) -> bool) -> Result<StayEdit, Unreadable> {
    let mut items = parse(text)?;
    let before = items.len();
    items.retain(|(item, _)| stays(item));
    Ok(if items.len() == before {
        StayEdit::AsItIs
    } else {
        write(items)
    })
}

/// Each item as it is understood, and as it is written.
fn parse(text: &str) -> Result<Vec<(StayItem, Value)>, Unreadable> {
    let unreadable = |why| Unreadable { why };
    let items = read_text(text).map_err(unreadable)?;
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let values: Vec<Value> = serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?;
    Ok(items.into_iter().zip(values).collect())
}

fn write(items: Vec<(StayItem, Value)>) -> StayEdit {
    if items.is_empty() {
        return StayEdit::Remove;
    }
    let values = items.into_iter().map(|(_, value)| value).collect();
    StayEdit::Write(Value::Array(values).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    const CAUSE: &str = "k:NoExecute@2026-01-01T00:00:00Z";
    const OURS: &str =
        r#"{"cluster":"m1","droppedBy":"ada","reason":"a test runs","verdict":"k:NoExecute@2026-01-01T00:00:00Z"}"#;

    fn cause() -> Cause {
        CAUSE.parse().unwrap()
    }

    fn added(text: &str) -> Result<StayEdit, Unreadable> {
        let (cluster, cause) = ("m1".into(), cause());
        add(
            text,
            Drop {
                cluster: &cluster,
                cause: &cause,
                caller: "ada",
                reason: "a test runs",
            },
        )
    }

    fn written(items: &[&str]) -> StayEdit {
        StayEdit::Write(format!("[{}]", items.join(",")))
    }

    #[rstest]
    #[case::nothing("", written(&[OURS]))]
    #[case::a_persons("[{\"cluster\": \"m1\", \"note\": 7}]", written(&[r#"{"cluster":"m1","note":7}"#, OURS]))]
    #[case::there_already(&format!("[{OURS}]"), StayEdit::AsItIs)]
    #[case::by_somebody_else_for_this(
        r#"[{"cluster":"m1","droppedBy":"bob","verdict":"k:NoExecute@2026-01-01T01:00:00+01:00"}]"#,
        StayEdit::AsItIs
    )]
    fn a_drop_is_added_once(#[case] text: &str, #[case] expected: StayEdit) {
        assert_eq!(added(text), Ok(expected));
    }

    #[rstest]
    #[case::ours_alone(&format!("[{OURS}]"), StayEdit::Remove)]
    #[case::beside_a_persons(&format!("[{OURS},{{\"cluster\":\"m1\",\"note\":7}}]"), written(&[r#"{"cluster":"m1","note":7}"#]))]
    #[case::for_something_else(
        r#"[{"cluster":"m1","droppedBy":"ada","verdict":"k:NoExecute@2026-01-02T00:00:00Z"}]"#,
        StayEdit::AsItIs
    )]
    #[case::a_persons(&format!("[{{\"cluster\":\"m1\",\"verdict\":\"{CAUSE}\"}}]"), StayEdit::AsItIs)]
    #[case::nothing("", StayEdit::AsItIs)]
    fn only_the_item_of_the_drop_is_removed(#[case] text: &str, #[case] expected: StayEdit) {
        assert_eq!(remove(text, &"m1".into(), &cause()), Ok(expected));
    }

    #[rstest]
    #[case::stands("k:NoExecute@2026-01-01T00:00:00Z", "m1", None)]
    #[case::stamped_anew("k:NoExecute@2025-01-01T00:00:00Z", "m1", Some("what it was dropped for is over"))]
    #[case::another_taint("x:NoExecute@2026-01-01T00:00:00Z", "m1", Some("what it was dropped for is over"))]
    #[case::deletion("deletion@2026-01-01T00:00:00Z", "m1", Some("what it was dropped for is over"))]
    #[case::application("application@2026-01-01T00:00:00Z", "m1", None)]
    #[case::application_failed_again("application@2025-01-01T00:00:00Z", "m1", Some("what it was dropped for is over"))]
    #[case::nobody_understands_it("x", "m1", None)]
    #[case::moved(
        "k:NoExecute@2026-01-01T00:00:00Z",
        "m2",
        Some("the workload is not on the cluster any more")
    )]
    fn a_drop_is_over_with_its_cause(#[case] verdict: &str, #[case] cluster: &str, #[case] expected: Option<&str>) {
        let item: StayItem =
            serde_json::from_value(json!({"cluster": cluster, "verdict": verdict, "droppedBy": "ada"})).unwrap();
        let binding: Binding = serde_json::from_value(json!({
            "metadata": {"name": "b", "namespace": "n", "annotations": {
                "failover.karmada.io/health-clock": r#"{"m1": {"unhealthySince": "2026-01-01T00:00:00Z"}}"#,
            }},
            "spec": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "b"}, "clusters": [{"name": "m1"}]},
        }))
        .unwrap();
        let stored: Cluster = serde_json::from_value(json!({
            "metadata": {"name": "m1"},
            "spec": {"syncMode": "Push", "taints": [{"key": "k", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]},
        }))
        .unwrap();
        assert_eq!(over(&item, &binding, Some(&stored)), expected);
        let gone = expected.map_or(Some("the cluster is gone"), |why| {
            Some(if cluster == "m1" { "the cluster is gone" } else { why })
        });
        assert_eq!(over(&item, &binding, None), gone);
    }

    #[rstest]
    #[case::healthy_again("", Some("what it was dropped for is over"))]
    #[case::nobody_can_read_since_when("m1", None)]
    fn a_drop_of_an_application_is_over_when_it_recovered(#[case] clock: &str, #[case] expected: Option<&str>) {
        let item: StayItem = serde_json::from_value(
            json!({"cluster": "m1", "verdict": "application@2026-01-01T00:00:00Z", "droppedBy": "ada"}),
        )
        .unwrap();
        let binding: Binding = serde_json::from_value(json!({
            "metadata": {"name": "b", "annotations": {"failover.karmada.io/health-clock": clock}},
            "spec": {"resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "b"}, "clusters": [{"name": "m1"}]},
        }))
        .unwrap();
        let cluster: Cluster =
            serde_json::from_value(json!({"metadata": {"name": "m1"}, "spec": {"syncMode": "Push"}})).unwrap();
        assert_eq!(over(&item, &binding, Some(&cluster)), expected);
    }

    proptest! {
        // Whatever somebody wrote: it is refused, or all of it is still there beside the drop, and goes on being there
        // when the drop is taken back.
        #[test]
        fn what_others_wrote_stays(text in prop_oneof![
            ".*",
            proptest::collection::vec(("[a-z]{0,3}", proptest::option::of("[a-z:@0-9]{0,9}"), any::<Option<u8>>()), 0..5).prop_map(|items| {
                let items = items.into_iter().map(|(cluster, verdict, other)| json!({"cluster": cluster, "verdict": verdict, "other": other}));
                Value::Array(items.collect()).to_string()
            }),
        ]) {
            let Ok(StayEdit::Write(with_drop)) = added(&text) else {
                prop_assert_eq!(added(&text).is_err(), read_text(&text).is_err());
                return Ok(());
            };
            let values = |text: &str| match text.trim() {
                "" => Vec::new(),
                text => serde_json::from_str::<Vec<Value>>(text).unwrap(),
            };
            let (before, mut after) = (values(&text), values(&with_drop));
            prop_assert_eq!(after.pop().unwrap(), serde_json::from_str::<Value>(OURS).unwrap());
            prop_assert_eq!(&before, &after);
            let back = match remove(&with_drop, &"m1".into(), &cause()).unwrap() {
                StayEdit::Write(text) => values(&text),
                StayEdit::Remove => Vec::new(),
                StayEdit::AsItIs => panic!("the drop is removed"),
            };
            prop_assert_eq!(before, back);
        }
    }
}
