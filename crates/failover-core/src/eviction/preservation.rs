//! What of the old copy's state the new copy is told: values of the reflected status as labels, by the rules of
//! `statePreservation`.
//!
//! Rules: each rule is a JSONPath template in kubectl's dialect ([`jsonpath`]) over the reflected status of the copy that
//! is left; its text is the value of the label. A rule that gives none (no status, a key that is missing, a template that
//! cannot be read, a text that no label can be) is lost, and says why. While one is lost the eviction waits, until the due
//! time and the wait that is set; then it goes on with what the other rules gave, since a dead cluster will never report.
//! (Stock does not let the workload go at all then.)
//!
//! A copy that came by a failover and was never healthy has no state of its own: what the copy before it had kept is
//! handed on, label by label, and not read from it.

pub mod jsonpath;
pub mod label;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use api_types::ClusterName;
use api_types::policy::{StatePreservation, StatePreservationRule};
use api_types::work::{Binding, GracefulEvictionTask, ResourceHealth};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::Cause;
use jsonpath::Template;
use label::{is_label_key, is_label_value};

/// State that is waited for is looked for again so much later: that a cluster reports it is no change of what is wanted,
/// which would end the wait.
const STATE_AGAIN: SignedDuration = SignedDuration::from_secs(10);

/// The most characters of a template that are told.
const SHOWN: usize = 64;
/// The most rules that are told.
const TOLD: usize = 3;

/// What is kept of a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Values by the label that will carry them.
    pub labels: BTreeMap<String, String>,
    /// Rules that gave none.
    pub lost: Vec<Lost>,
}

/// A rule that gives no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The label that would have carried it.
    pub label: String,
    /// The template.
    pub json_path: String,
    /// Why.
    pub why: String,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { label, json_path, why } = self;
        let shown: String = json_path.chars().take(SHOWN).collect();
        write!(f, "{label} ({shown}): {why}")
    }
}

impl State {
    /// What is lost, in words; nothing when nothing is.
    #[must_use]
    pub fn in_words(&self) -> Option<String> {
        if self.lost.is_empty() {
            return None;
        }
        let told: Vec<String> = self.lost.iter().take(TOLD).map(ToString::to_string).collect();
        let more = match self.lost.len().saturating_sub(TOLD) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let what = if self.labels.is_empty() {
            "no state of the copy is kept"
        } else {
            "not all of the copy's state is kept"
        };
        Some(format!("{what}: {}{more}", told.join("; ")))
    }
}

/// Whether an eviction may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preservation {
    /// It may, with this.
    Kept(State),
    /// It waits: the state may yet be reported.
    Wait {
        /// Until then, when it is looked for again.
        until: Timestamp,
        /// For what, in words.
        why: String,
    },
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Leaving<'a> {
    /// The binding.
    pub binding: &'a Binding,
    /// The cluster that it leaves.
    pub cluster: &'a ClusterName,
    /// Since when the eviction is due.
    pub due_at: Timestamp,
    /// For how long after that it waits for state that is missing (`--state-preservation-wait`).
    pub wait: Duration,
    /// The time.
    pub now: Timestamp,
}

/// Keeps the state of the copy that leaves, by the rules of `preservation`.
#[must_use]
pub fn preserve(leaving: &Leaving<'_>, preservation: Option<&StatePreservation>) -> Preservation {
    let state = state(leaving.binding, leaving.cluster, preservation);
    let until = leaving.due_at.saturating_add(leaving.wait).unwrap_or(Timestamp::MAX);
    match state.in_words() {
        Some(why) if leaving.now < until => {
            let again = leaving.now.saturating_add(STATE_AGAIN).unwrap_or(Timestamp::MAX);
            let until = until.min(again);
            Preservation::Wait { until, why }
        }
        _ => Preservation::Kept(state),
    }
}

/// The rules that count when a cluster fails.
#[must_use]
pub fn of_cluster_failover(binding: &Binding) -> Option<&StatePreservation> {
    let failover = binding.spec.failover.as_ref()?;
    failover.cluster.as_ref()?.state_preservation.as_ref()
}

/// The rules that count when the application fails.
#[must_use]
pub fn of_application_failover(binding: &Binding) -> Option<&StatePreservation> {
    let failover = binding.spec.failover.as_ref()?;
    failover.application.as_ref()?.state_preservation.as_ref()
}

/// The rules that count when a workload leaves for `cause`.
#[must_use]
pub fn of_cause<'a>(binding: &'a Binding, cause: &Cause) -> Option<&'a StatePreservation> {
    match cause {
        Cause::Taint { .. } | Cause::Deletion { .. } => of_cluster_failover(binding),
        Cause::Application { .. } => of_application_failover(binding),
    }
}

/// The state of the copy on `cluster`, by the rules.
#[must_use]
pub fn state(binding: &Binding, cluster: &ClusterName, preservation: Option<&StatePreservation>) -> State {
    let handed_on = handed_on(binding, cluster);
    let status = binding.status_on(cluster).and_then(|item| item.status.as_ref());
    let mut state = State::default();
    for rule in preservation.map_or(&[][..], |preservation| &preservation.rules) {
        let label = &rule.alias_label_name;
        let before = handed_on.and_then(|task| task.preserved_label_state.get(label));
        match before.map_or_else(|| value(rule, status), |before| Ok(before.clone())) {
            Ok(value) => {
                state.labels.insert(label.clone(), value);
            }
            Err(why) => state.lost.push(Lost {
                label: label.clone(),
                json_path: rule.json_path.clone(),
                why,
            }),
        }
    }
    state
}

fn value(rule: &StatePreservationRule, status: Option<&Value>) -> Result<String, String> {
    if !is_label_key(&rule.alias_label_name) {
        return Err("this is no key of a label".to_owned());
    }
    let template =
        Template::parse(&rule.json_path).map_err(|bad| format!("the JSONPath of the rule cannot be read: {bad}"))?;
    let status = status.ok_or("the cluster has not reported a status")?;
    let text = template.text(status).map_err(|none| none.to_string())?;
    if is_label_value(&text) {
        Ok(text)
    } else {
        Err("the text is no value of a label (at most 63 letters, digits, '-', '_' and '.')".to_owned())
    }
}

/// The newest task that kept state for the copy on `cluster`, when that one came by it and was never healthy.
fn handed_on<'a>(binding: &'a Binding, cluster: &ClusterName) -> Option<&'a GracefulEvictionTask> {
    let came_by = |task: &&GracefulEvictionTask| {
        let before = &task.clusters_before_failover;
        !task.preserved_label_state.is_empty()
            && !before.is_empty()
            && !before.iter().any(|name| name == cluster.as_str())
    };
    if was_healthy(binding, cluster) {
        return None;
    }
    let tasks = binding.spec.graceful_eviction_tasks.iter();
    tasks
        .filter(came_by)
        .max_by_key(|task| task.creation_timestamp.as_ref().map(|time| time.0))
}

/// Whether the copy was healthy since it is there. Who does not say so of the past says it of the present.
fn was_healthy(binding: &Binding, cluster: &ClusterName) -> bool {
    binding
        .status_on(cluster)
        .is_some_and(|item| item.settled.unwrap_or(item.health == Some(ResourceHealth::Healthy)))
}

#[cfg(test)]
mod tests;
