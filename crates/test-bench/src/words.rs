//! What processes say on objects, held against the page that explains it.
//!
//! Guarantee: every condition of a Cluster, a ClusterTaintPolicy, a binding or a FailoverPause that a process wrote at any time,
//! and every Event and every condition of a Work of a process that is stored at the end, stands on the page: with its kind and
//! its status, or with the type of the Event. What the test wrote itself is not judged, nor what a process left as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use kube_sandbox::{Entry, Faults, Journal, Sandbox};
use serde::Deserialize;
use serde_json::Value;

/// Read, not compiled in: the programs are built without the pages.
static PAGE: LazyLock<Page> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(Words::PAGE);
    Page::read(&std::fs::read_to_string(path).expect(Words::PAGE))
});

/// Of these every version is looked at.
const FOLLOWED: [&str; 5] = [
    "cluster.karmada.io/clusters",
    "policy.karmada.io/clustertaintpolicies",
    "work.karmada.io/resourcebindings",
    "work.karmada.io/clusterresourcebindings",
    "failover.karmada.io/failoverpauses",
];

/// A condition as far as the page tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
    reason: String,
}

/// An object as far as conditions go.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Object {
    kind: String,
    status: Option<Status>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    conditions: Option<Vec<Condition>>,
}

impl Object {
    fn conditions(self) -> impl Iterator<Item = (String, Condition)> {
        let conditions = self.status.and_then(|status| status.conditions).unwrap_or_default();
        let kind = self.kind;
        conditions.into_iter().map(move |condition| (kind.clone(), condition))
    }
}

/// Who says what on a control plane.
pub(crate) struct Words {
    journal: Journal,
    faults: Faults,
    page: &'static Page,
}

impl Words {
    /// Where everything has to stand.
    pub const PAGE: &str = "docs/reference/conditions-and-events.md";

    /// Begins to listen.
    ///
    /// # Panics
    /// When the page is not there, or of another form: now, and not when a test is over.
    pub fn of(plane: &Sandbox) -> Self {
        Self {
            journal: plane.journal(&FOLLOWED),
            faults: plane.faults(),
            page: &PAGE,
        }
    }

    /// What processes said that does not stand on the page.
    pub fn undocumented(&self, plane: &Sandbox) -> Vec<String> {
        let mut unknown = self.unknown_conditions();
        let works = plane.list("work.karmada.io/v1alpha1", "Work").into_iter();
        for work in works.filter(|work| self.wrote(work)) {
            let said = serde_json::from_value::<Object>(work).unwrap_or_default().conditions();
            unknown.extend(said.filter_map(|(kind, condition)| self.page.lacks(&kind, &condition)));
        }
        unknown.extend(self.events(plane).filter_map(|event| self.page.lacks_event(&event)));
        unknown.into_iter().collect()
    }

    fn wrote(&self, object: &Value) -> bool {
        let version = object["metadata"]["resourceVersion"].as_str();
        version.is_some_and(|version| self.faults.wrote(version))
    }

    /// Those of processes, and of the program that people use, with whatever client a test gives it.
    fn events(&self, plane: &Sandbox) -> impl Iterator<Item = Value> {
        let events = plane.list("v1", "Event").into_iter();
        events.filter(|event| self.wrote(event) || event["source"]["component"] == "failoverctl")
    }

    fn unknown_conditions(&self) -> BTreeSet<String> {
        let mut before = BTreeMap::<(&'static str, String), Entry>::new();
        let mut unknown = BTreeSet::new();
        for entry in self.journal.take().into_iter().filter(|entry| !entry.is_gone) {
            let old = before.insert((entry.resource, entry.key().to_owned()), entry.clone());
            if !self.faults.wrote(&entry.resource_version()) {
                continue;
            }
            let lacking: Vec<(Condition, String)> = conditions(&entry)
                .filter_map(|(kind, condition)| self.page.lacks(&kind, &condition).map(|lack| (condition, lack)))
                .collect();
            if !lacking.is_empty() {
                let old: Vec<Condition> = old
                    .iter()
                    .flat_map(conditions)
                    .map(|(_, condition)| condition)
                    .collect();
                let new = lacking.into_iter().filter(|(condition, _)| !old.contains(condition));
                unknown.extend(new.map(|(_, lack)| lack));
            }
        }
        unknown
    }
}

fn conditions(entry: &Entry) -> impl Iterator<Item = (String, Condition)> {
    entry.object::<Object>().unwrap_or_default().conditions()
}

/// The two tables of the page.
struct Page {
    /// Kind, type, status and reason.
    conditions: BTreeSet<(String, Condition)>,
    /// Reason, and the types that its cell names.
    events: BTreeMap<String, BTreeSet<&'static str>>,
}

impl Page {
    fn read(text: &str) -> Self {
        let mut conditions = BTreeSet::new();
        for row in rows(text, "Conditions") {
            let [types, kinds, _, reasons] = row[..] else {
                panic!("a row of conditions has other columns: {row:?}")
            };
            for type_ in quoted(types) {
                for kind in kinds.split(", ") {
                    conditions.extend(meanings(reasons).into_iter().map(|(status, reason)| {
                        let condition = Condition {
                            type_: type_.to_owned(),
                            status: status.to_owned(),
                            reason: reason.to_owned(),
                        };
                        (kind.to_owned(), condition)
                    }));
                }
            }
        }
        let events = rows(text, "Events").into_iter().flat_map(|row| {
            let (reasons, types) = (row[0], types_of_events(row[1]));
            quoted(reasons).map(move |reason| (reason.to_owned(), types.clone()))
        });
        let events: BTreeMap<String, BTreeSet<&'static str>> = events.collect();
        assert!(conditions.len() > 20 && events.len() > 20, "the page has another form");
        Self { conditions, events }
    }

    fn lacks(&self, kind: &str, condition: &Condition) -> Option<String> {
        let known = self.conditions.contains(&(kind.to_owned(), condition.clone()));
        let Condition { type_, status, reason } = condition;
        (!known).then(|| format!("condition {type_} {status} {reason} of {kind}"))
    }

    fn lacks_event(&self, event: &Value) -> Option<String> {
        let text = |field: &str| event[field].as_str().unwrap_or_default();
        let (reason, type_) = (text("reason"), text("type"));
        let known = self.events.get(reason).is_some_and(|types| types.contains(type_));
        (!known).then(|| {
            let kind = event["involvedObject"]["kind"].as_str().unwrap_or_default();
            format!("Event {reason} ({type_}) on {kind}")
        })
    }
}

/// The rows of a section's table, in cells.
fn rows<'a>(text: &'a str, name: &str) -> Vec<Vec<&'a str>> {
    let section = text.split("\n## ").find(|part| part.starts_with(name));
    let section = section.unwrap_or_else(|| panic!("the page has no section {name}"));
    let lines = section.lines().filter(|line| line.starts_with("| `"));
    lines
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect()
}

/// The types that a cell names, among other words.
fn types_of_events(cell: &str) -> BTreeSet<&'static str> {
    let named: Vec<&str> = cell.split([' ', ',']).collect();
    ["Normal", "Warning"]
        .into_iter()
        .filter(|type_| named.contains(type_))
        .collect()
}

/// What stands between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Status and reason of what a cell says: the status begins the cell or a sentence, and its reasons follow.
fn meanings(cell: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for sentence in cell.split(". ") {
        let status = sentence.split([' ', ',']).next().unwrap_or_default();
        if ["True", "False", "Unknown"].contains(&status) {
            found.extend(quoted(sentence).map(|reason| (status, reason)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn statuses_go_with_the_reasons_that_follow() {
        let cell = "True `A`: it is; `B`: so. False `C`. Unknown, when the time is over, `D`: who knows";
        assert_eq!(
            meanings(cell),
            [("True", "A"), ("True", "B"), ("False", "C"), ("Unknown", "D")]
        );
    }

    #[test]
    fn a_condition_is_known_by_kind_type_status_and_reason() {
        let said = |kind: &str, type_: &str, status: &str, reason: &str| {
            let condition = serde_json::from_value(json!({"type": type_, "status": status, "reason": reason})).unwrap();
            PAGE.lacks(kind, &condition).is_none()
        };
        assert!(said("Cluster", "Ready", "True", "ClusterReady"));
        assert!(!said("Cluster", "Ready", "False", "ClusterReady"));
        assert!(!said("Cluster", "Ready", "True", "Splendid"));
        assert!(!said("Cluster", "Steady", "True", "ClusterReady"));
        assert!(!said("Work", "Ready", "True", "ClusterReady"));
    }

    #[test]
    fn an_event_is_known_by_reason_and_type() {
        let event = |reason: &str, type_: &str| PAGE.lacks_event(&json!({"reason": reason, "type": type_})).is_none();
        assert!(event("ClusterReady", "Normal"));
        assert!(event("ClusterUnknown", "Warning") && event("ClusterUnknown", "Normal"));
        assert!(!event("ClusterReady", "Warning"));
        assert!(!event("ClusterReady", ""), "an Event has a type");
        assert!(!event("ClusterSplendid", "Normal"));
    }
}
