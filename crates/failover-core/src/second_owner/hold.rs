//! What the signs of a second owner hold: evictions for the same job, as far as whoever gave the sign reaches, and until no
//! sign was seen there for a while.
//!
//! Guarantees: a sign in one namespace holds nothing outside of it, so that who may write there stops nobody else's failover;
//! each hold ends by itself; what is remembered is bounded by the namespaces with a sign of late. A time that somebody else
//! wrote decides nothing here: a sign counts from when it was seen.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use api_types::BindingKey;
use jiff::{SignedDuration, Timestamp};

use super::{Job, REASON};
use crate::eviction::cause::to_the_second;
use crate::eviction::queue::{Completion, EntryKey, OutcomeKind};
use crate::eviction::{Cause, CauseKind};

/// Where Events about objects without a namespace are kept.
const EVENTS_OF_CLUSTER_SCOPE: &str = "default";

/// How far whoever gave a sign reaches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// What is in one namespace.
    Namespace(String),
    /// ClusterResourceBindings.
    ClusterScope,
}

impl Reach {
    /// Of who writes a binding's tasks; and where a binding has to be for a sign to hold it.
    #[must_use]
    pub fn of_binding(key: &BindingKey) -> Self {
        key.namespace.clone().map_or(Self::ClusterScope, Self::Namespace)
    }

    /// Of who writes an Event, by the namespace that it is in and that of the object that it is about: not by what it says,
    /// but by where one had to be allowed to write it.
    #[must_use]
    pub fn of_event(namespace: &str, about: Option<&str>) -> Self {
        if about.unwrap_or_default().is_empty() && namespace == EVENTS_OF_CLUSTER_SCOPE {
            Self::ClusterScope
        } else {
            Self::Namespace(namespace.to_owned())
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace(name) => write!(f, "in namespace {name}"),
            Self::ClusterScope => f.write_str("on bindings of cluster scope"),
        }
    }
}

impl Job {
    /// Whose evictions these are: of a second owner of that job they are held. Nobody else moves what a Cluster that is being
    /// deleted leaves behind.
    fn of_cause(cause: &Cause) -> Option<Self> {
        match cause.kind() {
            CauseKind::Taint => Some(Self::TaintManager),
            CauseKind::Application => Some(Self::ApplicationFailover),
            CauseKind::Deletion => None,
        }
    }
}

/// The signs of late.
#[derive(Clone, Debug)]
pub struct Signs {
    hold_for: Duration,
    of: BTreeMap<(Job, Reach), Seen>,
}

/// What was seen of one second owner, while it holds.
#[derive(Clone, Debug)]
struct Seen {
    /// What its first sign was, so that what is said of it stays the same while it lasts.
    first: String,
    /// The time of it.
    since: Timestamp,
    /// When the last one was seen, in elapsed time of the process.
    last: Duration,
}

/// Whether a sign begins a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Evictions are held from now on.
    Begins,
    /// They are for longer, or nothing is ever held.
    GoesOn,
}

impl Signs {
    /// None yet. Each holds for so long; 0: none ever does.
    #[must_use]
    pub fn new(hold_for: Duration) -> Self {
        Self {
            hold_for,
            of: BTreeMap::new(),
        }
    }

    /// A sign is seen, in words, at this time and elapsed time of the process.
    pub fn saw(&mut self, job: Job, reach: Reach, sign: &str, wall: Timestamp, elapsed: Duration) -> Sign {
        let hold_for = self.hold_for;
        if hold_for.is_zero() {
            return Sign::GoesOn;
        }
        let holds = |seen: &Seen| elapsed.saturating_sub(seen.last) < hold_for;
        if let Some(seen) = self.of.get_mut(&(job, reach.clone())).filter(|seen| holds(seen)) {
            seen.last = seen.last.max(elapsed);
            return Sign::GoesOn;
        }
        self.of.retain(|_, seen| holds(seen));
        let seen = Seen {
            first: sign.to_owned(),
            since: wall,
            last: elapsed,
        };
        self.of.insert((job, reach), seen);
        Sign::Begins
    }

    /// How the lease of an entry ends that a second owner holds; nothing: it goes on.
    #[must_use]
    pub fn hold(&self, key: &EntryKey, wall: Timestamp, elapsed: Duration) -> Option<Completion> {
        let job = Job::of_cause(&key.cause)?;
        let reach = Reach::of_binding(&key.binding);
        let of = (job, reach);
        let seen = self.of.get(&of)?;
        let left = self.hold_for.checked_sub(elapsed.saturating_sub(seen.last))?;
        if left.is_zero() {
            return None;
        }
        let left = SignedDuration::try_from(left).unwrap_or(SignedDuration::MAX);
        let whole = SignedDuration::try_from(self.hold_for).unwrap_or(SignedDuration::MAX);
        let message = format!(
            "a second controller does the job of {} {} ({}, at {}): held until {whole:#} after its last sign; to end it, {}",
            job.name(),
            of.1,
            seen.first,
            to_the_second(seen.since),
            job.remedy()
        );
        Some(Completion {
            outcome: OutcomeKind::Wait {
                until: wall.saturating_add(left).unwrap_or(Timestamp::MAX),
            },
            reason: REASON.to_owned(),
            message,
        })
    }
}

#[cfg(test)]
#[path = "hold_tests.rs"]
mod tests;
