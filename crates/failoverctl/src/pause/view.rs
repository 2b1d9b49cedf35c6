//! A FailoverPause in words. Pure.

use api_types::failover::{FailoverPause, PauseScope};
use serde::Serialize;

use crate::output::At;

/// A FailoverPause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PauseObject {
    /// Its name.
    pub name: String,
    /// All, Clusters or Namespaces.
    pub scope: String,
    /// Of scope Clusters: which.
    pub clusters: Vec<String>,
    /// Of scope Namespaces: which; `-` for bindings of cluster scope.
    pub namespaces: Vec<String>,
    /// Why.
    pub reason: String,
    /// When it was made; absent in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<At>,
    /// When it ends by itself; absent: when it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<At>,
}

impl PauseObject {
    /// As shown.
    #[must_use]
    pub fn of(pause: &FailoverPause) -> Self {
        let spec = &pause.spec;
        Self {
            name: pause.metadata.name.clone().unwrap_or_default(),
            scope: spec.scope.as_str().to_owned(),
            clusters: spec.clusters.clone(),
            namespaces: spec.namespaces.clone(),
            reason: spec.reason.clone(),
            created_at: pause.metadata.creation_timestamp.as_ref().map(|time| At(time.0)),
            until: spec.until.as_ref().map(|time| At(time.0)),
        }
    }

    /// As in `evictions from clusters member1, member2`.
    #[must_use]
    pub fn what_stops(&self) -> String {
        let listed = |one: &str, more: &str, names: &[String]| match names {
            [only] => format!("{one} {only}"),
            names => format!("{more} {}", names.join(", ")),
        };
        match PauseScope::from(self.scope.as_str()) {
            PauseScope::All => "all evictions".to_owned(),
            PauseScope::Clusters => format!("evictions from {}", listed("cluster", "clusters", &self.clusters)),
            PauseScope::Namespaces if self.namespaces == ["-"] => "evictions of bindings of cluster scope".to_owned(),
            PauseScope::Namespaces => {
                format!("evictions in {}", listed("namespace", "namespaces", &self.namespaces))
            }
            _ => format!("evictions of scope {}", self.scope),
        }
    }

    /// What it stops, until when and why.
    #[must_use]
    pub fn in_words(&self) -> String {
        let until = match self.until {
            Some(until) => format!("until {until}"),
            None => "until it is deleted".to_owned(),
        };
        format!("{} {until}, because: {}", self.what_stops(), self.reason)
    }

    /// The arguments that make it again.
    #[must_use]
    pub fn as_args(&self) -> Vec<String> {
        let mut args = vec!["pause".to_owned(), "--name".to_owned(), self.name.clone()];
        let mut add = |name: &str, value: String| args.extend([name.to_owned(), value]);
        match PauseScope::from(self.scope.as_str()) {
            PauseScope::Clusters => add("--cluster", self.clusters.join(",")),
            PauseScope::Namespaces => add("--namespace", self.namespaces.join(",")),
            _ => add("--scope", self.scope.to_ascii_lowercase()),
        }
        if let Some(until) = self.until {
            add("--until", until.to_string());
        }
        add("--reason", self.reason.clone());
        args
    }
}
