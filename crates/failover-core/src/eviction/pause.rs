//! What is wrong with a FailoverPause. The API server refuses most of it; what was stored before it did, or by a server
//! that does not check, says so in the pause's status.

use std::fmt;

use api_types::failover::{FailoverPause, PauseScope};

/// What a pause holds back in spite of what is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Nothing.
    Nothing,
    /// Something, and not what somebody may think.
    SomethingElse,
}

/// What is wrong with a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// In words.
    pub message: String,
    /// What it holds back all the same.
    pub holds: Holds,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Why a pause does not do what somebody may think it does; `None` when it does.
#[must_use]
pub fn problem(pause: &FailoverPause) -> Option<Problem> {
    let nothing = |message: String| Problem {
        message,
        holds: Holds::Nothing,
    };
    let something_else = |message: String| Problem {
        message,
        holds: Holds::SomethingElse,
    };
    let spec = &pause.spec;
    let created = pause.metadata.creation_timestamp.as_ref();
    if let (Some(until), Some(created)) = (&spec.until, created)
        && until.0 <= created.0
    {
        return Some(nothing(format!(
            "until {} is not after the time at which the pause was created, {}: it was never in effect",
            until.0, created.0
        )));
    }
    let unused = |field: &str, names: &[String]| {
        (!names.is_empty()).then(|| {
            something_else(format!(
                "{field} means nothing with scope {}: what is paused is {}",
                spec.scope,
                covered(&spec.scope)
            ))
        })
    };
    let missing = |field: &str, names: &[String]| {
        let blank = names.iter().all(|name| name.trim().is_empty());
        blank.then(|| {
            nothing(format!(
                "scope {} without {field} pauses nothing: name some",
                spec.scope
            ))
        })
    };
    match &spec.scope {
        PauseScope::All => unused("clusters", &spec.clusters).or_else(|| unused("namespaces", &spec.namespaces)),
        PauseScope::Clusters => missing("clusters", &spec.clusters).or_else(|| unused("namespaces", &spec.namespaces)),
        PauseScope::Namespaces => {
            missing("namespaces", &spec.namespaces).or_else(|| unused("clusters", &spec.clusters))
        }
        PauseScope::Other(scope) => Some(something_else(format!(
            "scope {scope:?} is not known to this version of the eviction queue, so everything is paused: use All, \
             Clusters or Namespaces"
        ))),
    }
}

fn covered(scope: &PauseScope) -> &'static str {
    match scope {
        PauseScope::All | PauseScope::Other(_) => "everything",
        PauseScope::Clusters => "the clusters named",
        PauseScope::Namespaces => "the namespaces named",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    #[rstest]
    #[case::all(json!({"scope": "All"}), None)]
    #[case::all_until(json!({"scope": "All", "until": "2026-01-01T01:00:00Z"}), None)]
    #[case::never(json!({"scope": "All", "until": "2026-01-01T00:00:00Z"}), Some("until 2026-01-01T00:00:00Z is not after"))]
    #[case::clusters(json!({"scope": "Clusters", "clusters": ["m1"]}), None)]
    #[case::no_clusters(json!({"scope": "Clusters"}), Some("scope Clusters without clusters pauses nothing"))]
    #[case::blank(json!({"scope": "Clusters", "clusters": [" "]}), Some("scope Clusters without clusters pauses nothing"))]
    #[case::namespaces(json!({"scope": "Namespaces", "namespaces": ["-"]}), None)]
    #[case::no_namespaces(json!({"scope": "Namespaces", "namespaces": []}), Some("scope Namespaces without namespaces"))]
    #[case::namespaces_of_all(json!({"scope": "All", "namespaces": ["a"]}), Some("namespaces means nothing with scope All: what is paused is everything"))]
    #[case::both(json!({"scope": "Namespaces", "namespaces": ["a"], "clusters": ["m1"]}), Some("clusters means nothing with scope Namespaces"))]
    #[case::unknown(json!({"scope": "Regions"}), Some("scope \"Regions\" is not known"))]
    fn problems(#[case] mut spec: Value, #[case] expected: Option<&str>) {
        spec["reason"] = json!("r");
        let pause: FailoverPause = serde_json::from_value(json!({
            "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause",
            "metadata": {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": spec,
        }))
        .unwrap();
        let found = problem(&pause);
        assert_eq!(found.is_some(), expected.is_some(), "{found:?}");
        let Some(found) = found else { return };
        assert!(found.message.starts_with(expected.unwrap_or_default()), "{found}");
        let holds_nothing = found.message.contains("never in effect") || found.message.contains("pauses nothing");
        assert_eq!(found.holds == Holds::Nothing, holds_nothing, "{found}");
    }
}
