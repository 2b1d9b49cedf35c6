//! What the engine keeps on the Cluster itself, in two annotations: the only memory that outlives a process.
//!
//! `failover.karmada.io/managed-taints` says which taints are ours and for which policies; it is written in the same
//! request as the taints, so the two agree in every version of the object. `failover.karmada.io/taint-windows` says
//! since when each policy has been matching, or has stopped to. Both carry the Cluster's UID: a Cluster that was
//! deleted and joined anew from an old manifest starts clean.
//!
//! Both are JSON for people too. Fields that a newer version added are skipped.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

/// What makes a taint one taint: at most one stands on a Cluster for a key and an effect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaintId {
    /// Taint key.
    pub key: String,
    /// Taint effect.
    pub effect: String,
}

impl TaintId {
    /// The identity of `taint`.
    #[must_use]
    pub fn of(taint: &Taint) -> Self {
        Self {
            key: taint.key.clone(),
            effect: taint.effect.clone(),
        }
    }
}

/// `key:effect`, as kubectl writes it.
impl fmt::Display for TaintId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.key, self.effect)
    }
}

impl Serialize for TaintId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TaintId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.rsplit_once(':') {
            Some((key, effect)) if !key.is_empty() && !effect.is_empty() => Ok(Self {
                key: key.to_owned(),
                effect: effect.to_owned(),
            }),
            _ => Err(serde::de::Error::custom(format!(
                "{text:?} is not a taint written as key:effect"
            ))),
        }
    }
}

/// Why an annotation of ours cannot be read: somebody edited it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("annotation {annotation} is not what the taint-policy-controller writes: {why}")]
pub struct RecordError {
    /// Its name.
    pub annotation: &'static str,
    /// The parser's complaint.
    pub why: String,
}

/// A taint of ours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagedTaint {
    /// Names and UIDs of the policies that want it.
    pub policies: BTreeMap<String, String>,
    /// The value that we wrote.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// The `timeAdded` that we wrote.
    pub time_added: Option<Time>,
}

impl ManagedTaint {
    /// Whether we can have written this entry: without policies or without a time it makes nothing ours.
    pub(super) fn can_be_ours(&self) -> bool {
        !self.policies.is_empty() && self.time_added.is_some()
    }

    /// Whether `taint` is the one that we wrote, and not one that somebody put in its place. A `timeAdded` that got
    /// lost in somebody's update does not make it theirs; one that this record lacks, which we always write, does not
    /// make it ours.
    #[must_use]
    pub fn is(&self, taint: &Taint) -> bool {
        taint.value.as_deref().unwrap_or_default() == self.value
            && match (&taint.time_added, &self.time_added) {
                (Some(theirs), Some(ours)) => theirs.0.as_second() == ours.0.as_second(),
                (Some(_), None) => false,
                (None, _) => true,
            }
    }
}

/// The annotation `failover.karmada.io/managed-taints`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagedTaints {
    /// UID of the Cluster that this was written for.
    #[serde(default)]
    pub cluster: String,
    /// Our taints.
    pub taints: BTreeMap<TaintId, ManagedTaint>,
}

/// A condition as it was when the engine looked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeenCondition {
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Its `lastTransitionTime`. Only compared for being equal: it is somebody else's clock.
    pub last_transition_time: Time,
}

impl SeenCondition {
    /// Whether the two say the same of when the status last changed.
    pub(super) fn is_as_old_as(&self, other: &Self) -> bool {
        self.last_transition_time.0.as_second() == other.last_transition_time.0.as_second()
    }
}

/// When a person took a taint of ours back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DismissedAt {
    /// When the engine noticed, by its wall clock.
    pub at: Timestamp,
    /// The policy's generation then: its next spec ends the dismissal.
    pub generation: i64,
}

/// How long a policy has been matching, or not matching, a Cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Window {
    /// Name of the policy, for people.
    pub policy: String,
    /// Whether it matches; in stock's form, whether it is latched.
    pub matching: bool,
    /// Whether what stands stays and nothing comes: neither the conditions that bring taints hold nor those that take them
    /// away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held_back: bool,
    /// Since when, by the engine's own observation and its wall clock; to the millisecond.
    pub since: Timestamp,
    /// The conditions that were evaluated: other ones start the window anew.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// The Cluster's conditions that `rule` names. A restarted process trusts the window only if they are the same.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub conditions: BTreeMap<String, SeenCondition>,
    /// How often each condition got another `lastTransitionTime` without another status, which started this window anew,
    /// since something waits for its end.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub started_anew: BTreeMap<String, u32>,
    /// Since when the window would run, had it not started anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_started: Option<Timestamp>,
    /// Taints of this policy that a person took back.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dismissed: BTreeMap<TaintId, DismissedAt>,
}

impl Window {
    /// Of a policy that does not match and of which nothing stands.
    pub(super) fn quiet(since: Timestamp) -> Self {
        Self {
            policy: String::new(),
            matching: false,
            held_back: false,
            since,
            rule: String::new(),
            conditions: BTreeMap::new(),
            started_anew: BTreeMap::new(),
            first_started: None,
            dismissed: BTreeMap::new(),
        }
    }
}

/// The annotation `failover.karmada.io/taint-windows`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Windows {
    /// UID of the Cluster that this was written for.
    #[serde(default)]
    pub cluster: String,
    /// Windows by policy UID.
    pub windows: BTreeMap<String, Window>,
}

/// Reads one of the annotations; absent is empty.
pub(super) fn read<T: Default + for<'de> Deserialize<'de>>(
    annotations: Option<&BTreeMap<String, String>>,
    annotation: &'static str,
) -> Result<T, RecordError> {
    match annotations.and_then(|all| all.get(annotation)) {
        None => Ok(T::default()),
        Some(text) => serde_json::from_str(text).map_err(|e| RecordError {
            annotation,
            why: e.to_string(),
        }),
    }
}

impl ManagedTaints {
    /// Reads the annotation of a Cluster; absent is empty.
    ///
    /// # Errors
    /// [`RecordError`] when somebody edited it.
    pub fn read(annotations: Option<&BTreeMap<String, String>>) -> Result<Self, RecordError> {
        read(annotations, api_types::names::annotation::MANAGED_TAINTS)
    }
}

impl Windows {
    /// Reads the annotation of a Cluster; absent is empty.
    ///
    /// # Errors
    /// [`RecordError`] when somebody edited it.
    pub fn read(annotations: Option<&BTreeMap<String, String>>) -> Result<Self, RecordError> {
        read(annotations, api_types::names::annotation::TAINT_WINDOWS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn annotated(name: &str, text: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), text.to_owned())])
    }

    #[test]
    fn the_annotations_read_as_documented() {
        let managed = json!({"cluster": "u1", "taints": {"cluster.karmada.io/not-ready:NoExecute":
            {"policies": {"not-ready": "p1"}, "timeAdded": "2026-01-01T00:00:05Z"}}});
        let text = managed.to_string();
        let read = ManagedTaints::read(Some(&annotated(api_types::names::annotation::MANAGED_TAINTS, &text))).unwrap();
        let id = TaintId {
            key: "cluster.karmada.io/not-ready".to_owned(),
            effect: "NoExecute".to_owned(),
        };
        assert_eq!(read.taints[&id].policies["not-ready"], "p1");
        assert_eq!(serde_json::to_value(&read).unwrap(), managed);
    }

    #[test]
    fn what_others_wrote_is_an_error_that_names_the_annotation() {
        for text in ["", "{", "[]", r#"{"taints": {"no-effect": {"policies": {}}}}"#] {
            let error = ManagedTaints::read(Some(&annotated(api_types::names::annotation::MANAGED_TAINTS, text)));
            assert!(
                error
                    .unwrap_err()
                    .to_string()
                    .contains("failover.karmada.io/managed-taints"),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".*") {
            let _ = Windows::read(Some(&annotated(api_types::names::annotation::TAINT_WINDOWS, &text)));
            let _ = ManagedTaints::read(Some(&annotated(api_types::names::annotation::MANAGED_TAINTS, &text)));
        }
    }
}
