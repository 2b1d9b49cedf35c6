//! Causes of an eviction and their identity.
//!
//! The identity is a text that a person can write into the `stay` annotation and that two components compare:
//! `key:effect@timeAdded`, `deletion@deletionTimestamp` or `application@unhealthySince`, times in RFC 3339 to the
//! second. A taint that went and came back has another `timeAdded` and therefore another identity: what was decided
//! about the first says nothing about the second.

use std::fmt;
use std::str::FromStr;

use api_types::cluster::Cluster;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

use crate::taint_policy::TaintId;

const DELETION: &str = "deletion";
const APPLICATION: &str = "application";

/// Why a workload has to leave a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A NoExecute or PreferNoExecute taint of the cluster.
    Taint {
        /// Key of the taint.
        key: String,
        /// Effect of the taint.
        effect: String,
        /// When the taint was added, to the second.
        added_at: Timestamp,
    },
    /// The Cluster is being deleted.
    Deletion {
        /// Its deletion timestamp, to the second.
        at: Timestamp,
    },
    /// The application is unhealthy on a healthy cluster.
    Application {
        /// Unhealthy without interruption since then, to the second.
        since: Timestamp,
    },
}

/// Kind of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CauseKind {
    /// A taint.
    Taint,
    /// Deletion of the Cluster.
    Deletion,
    /// Failure of the application.
    Application,
}

impl Cause {
    /// Which kind this is.
    #[must_use]
    pub fn kind(&self) -> CauseKind {
        match self {
            Self::Taint { .. } => CauseKind::Taint,
            Self::Deletion { .. } => CauseKind::Deletion,
            Self::Application { .. } => CauseKind::Application,
        }
    }

    /// The taint that this is, if it is one.
    #[must_use]
    pub fn taint(&self) -> Option<TaintId> {
        match self {
            Self::Taint { key, effect, .. } => Some(TaintId {
                key: key.clone(),
                effect: effect.clone(),
            }),
            Self::Deletion { .. } | Self::Application { .. } => None,
        }
    }

    /// When the cause began, to the second.
    #[must_use]
    pub fn began_at(&self) -> Timestamp {
        match self {
            Self::Taint { added_at, .. } => *added_at,
            Self::Deletion { at } => *at,
            Self::Application { since } => *since,
        }
    }

    /// Whether it stands on this cluster. The failure of an application does as long as the cluster does.
    #[must_use]
    pub fn stands_on(&self, cluster: &Cluster) -> bool {
        let is = |time: &Time| to_the_second(time.0) == to_the_second(self.began_at());
        match self {
            Self::Taint { key, effect, .. } => {
                cluster.spec.taints.iter().any(|taint| {
                    taint.key == *key && taint.effect == *effect && taint.time_added.as_ref().is_some_and(is)
                })
            }
            Self::Deletion { .. } => cluster.metadata.deletion_timestamp.as_ref().is_some_and(is),
            Self::Application { .. } => true,
        }
    }

    /// The identity as text; reads back with [`str::parse`].
    #[must_use]
    pub fn identity(&self) -> String {
        self.to_string()
    }
}

/// Kubernetes stores times to the second: what is finer must not make two identities of one cause.
#[must_use]
pub fn to_the_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = to_the_second(self.began_at());
        match self {
            Self::Taint { key, effect, .. } => write!(f, "{key}:{effect}@{at}"),
            Self::Deletion { .. } => write!(f, "{DELETION}@{at}"),
            Self::Application { .. } => write!(f, "{APPLICATION}@{at}"),
        }
    }
}

/// A text that is no identity of a cause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} names no cause: want key:effect@time, deletion@time or application@time, with a time like 2026-01-31T12:00:00Z"
)]
pub struct NoCause {
    /// What was written.
    pub text: String,
}

impl FromStr for Cause {
    type Err = NoCause;

    fn from_str(text: &str) -> Result<Self, NoCause> {
        let no_cause = || NoCause { text: text.to_owned() };
        let (what, at) = text.rsplit_once('@').ok_or_else(no_cause)?;
        let at = to_the_second(at.parse().map_err(|_| no_cause())?);
        match what.rsplit_once(':') {
            Some((key, effect)) if !key.is_empty() && !effect.is_empty() => Ok(Self::Taint {
                key: key.to_owned(),
                effect: effect.to_owned(),
                added_at: at,
            }),
            None if what == DELETION => Ok(Self::Deletion { at }),
            None if what == APPLICATION => Ok(Self::Application { since: at }),
            _ => Err(no_cause()),
        }
    }
}

impl Serialize for Cause {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cause {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn identities_read_as_they_are_printed() {
        for text in [
            "cluster.karmada.io/not-ready:NoExecute@2026-01-01T00:00:00Z",
            "deletion:NoExecute@2026-01-01T00:00:00Z",
            "deletion@2026-01-01T00:00:00Z",
            "application@2026-01-01T00:00:00Z",
        ] {
            assert_eq!(text.parse::<Cause>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn fractions_of_a_second_make_no_second_identity() {
        let cause = Cause::Deletion {
            at: "2026-01-01T00:00:00.9Z".parse().unwrap(),
        };
        assert_eq!(cause.identity(), "deletion@2026-01-01T00:00:00Z");
    }

    #[test]
    fn a_text_that_names_no_cause_says_what_is_wanted() {
        for text in [
            "",
            "deletion",
            "deletion@soon",
            "@2026-01-01T00:00:00Z",
            ":NoExecute@2026-01-01T00:00:00Z",
            "a:@2026-01-01T00:00:00Z",
        ] {
            assert!(
                text.parse::<Cause>()
                    .unwrap_err()
                    .to_string()
                    .contains("key:effect@time"),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_fail_badly(text in ".*") {
            if let Ok(cause) = text.parse::<Cause>() {
                prop_assert_eq!(cause.to_string().parse::<Cause>(), Ok(cause));
            }
        }
    }
}
