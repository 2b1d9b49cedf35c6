//! Who of those who should give signs of life is silent for too long, and when the monitor itself is the likely cause.
//!
//! Guarantees:
//! - Nobody is given up before a full grace period without a sign, counted on the monitor's own time line, and after a
//!   restart from its first look.
//! - Of three or more that count, when all are silent for the grace period, the monitor is *isolated*: nobody is given
//!   up until one is heard, and then every other has a full grace period from that moment; or until a person overrides.
//! - To know that before the first of them is given up, one is given up only while another was heard within the last
//!   half of a grace period; else the monitor is *in doubt* and waits until somebody is heard or all are silent.
//!
//! Who counts: who has something to lose and was not given up before. One that was given up last week does not keep the
//! rule from protecting the others.

use std::collections::BTreeMap;
use std::time::Duration;

use api_types::ClusterName;

use super::silence::{LeaseMark, ReadyMark, Sight, Sign};

/// From how many leases on the silence of all speaks against the monitor.
pub const LEASES_FOR_ISOLATION: usize = 3;

/// How long silence may last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Graces {
    /// Of somebody who has been heard before. Default 40 s (`--cluster-monitor-grace-period`).
    pub grace: Duration,
    /// Of an agent whose cluster nobody has reported on yet. Default 60 s (`--cluster-startup-grace-period`).
    pub startup: Duration,
}

/// Who gives signs of life.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The controller `clusterStatus`, for all Push clusters.
    Reporter,
    /// The agent of a Pull cluster.
    Agent(ClusterName),
}

/// What there is to lose by taking a source for dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stake {
    /// A Ready condition that somebody reported.
    Reported,
    /// Nothing: Ready is Unknown already.
    Unknown,
    /// Nothing: nobody has ever reported.
    Never,
}

/// What is seen of a source at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its Lease.
    pub lease: Option<LeaseMark>,
    /// What it last said of its cluster.
    pub ready: Option<ReadyMark>,
    /// What there is to lose.
    pub stake: Stake,
}

/// Whether a look changes the judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// Judge anew now.
    Judge,
    /// The next judgement may come at its time.
    Later,
}

/// Whether the rule of isolation is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It is.
    InForce,
    /// A person said that the monitor is not isolated.
    Overridden,
}

/// What the silence of a source means at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hearing {
    /// What it seems to mean.
    Clear,
    /// Nobody was heard lately, but not all are silent for the grace period yet.
    InDoubt {
        /// How many leases count.
        leases: usize,
    },
    /// All are silent: probably it is the monitor.
    Isolated {
        /// How many leases count.
        leases: usize,
    },
}

/// What is thought of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Voice {
    /// Not looked at long enough to know: no sign yet, and no grace period either.
    NotKnown,
    /// Heard within the grace period.
    Alive,
    /// Silent for the grace period, but nobody is given up now.
    HeldBack,
    /// Silent for the grace period and given up.
    GivenUp,
}

#[derive(Clone, Debug)]
struct Entry {
    sight: Sight,
    stake: Stake,
    given_up: bool,
}

impl Entry {
    fn limit(&self, graces: &Graces) -> Duration {
        match (self.stake, self.sight.heard_at()) {
            (Stake::Never, None) => graces.startup,
            _ => graces.grace,
        }
    }

    fn is_silent(&self, graces: &Graces, now: Duration) -> bool {
        self.sight.silent_for(now) >= self.limit(graces)
    }

    fn counts(&self) -> bool {
        !self.given_up && (self.stake == Stake::Reported || self.sight.heard_at().is_some())
    }
}

/// Everything that was seen of all sources. Times are since a fixed moment of this process, never a wall clock.
#[derive(Clone, Debug)]
pub struct Watch {
    graces: Graces,
    entries: BTreeMap<Source, Entry>,
    rule: Rule,
    hearing: Hearing,
}

impl Watch {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(graces: Graces) -> Self {
        Self {
            graces,
            entries: BTreeMap::new(),
            rule: Rule::InForce,
            hearing: Hearing::Clear,
        }
    }

    /// The graces.
    #[must_use]
    pub fn graces(&self) -> &Graces {
        &self.graces
    }

    /// Takes in what is seen of a source now.
    pub fn note(&mut self, source: Source, seen: Seen, now: Duration) -> Noted {
        let was_isolated = matches!(self.hearing_at(now), Hearing::Isolated { .. });
        let Seen { lease, ready, stake } = seen;
        let Some(entry) = self.entries.get_mut(&source) else {
            let entry = Entry {
                sight: Sight::first(lease, ready, now),
                stake,
                given_up: false,
            };
            self.entries.insert(source, entry);
            return Noted::Judge;
        };
        let changed = entry.stake != stake;
        entry.stake = stake;
        let sign = entry.sight.look(lease, ready, now);
        let returns = sign == Sign::Heard && std::mem::take(&mut entry.given_up);
        if sign == Sign::Heard && was_isolated {
            for (other, entry) in &mut self.entries {
                if *other != source && !entry.given_up {
                    entry.sight.start_anew(now);
                }
            }
        }
        let unclear = sign == Sign::Heard && (was_isolated || self.hearing != Hearing::Clear);
        if changed || returns || unclear {
            Noted::Judge
        } else {
            Noted::Later
        }
    }

    /// The source does not matter any more.
    pub fn forget(&mut self, source: &Source) {
        self.entries.remove(source);
    }

    /// Gives up whoever is to be given up now. Returns after which time to judge again if nothing is noted meanwhile.
    pub fn judge(&mut self, rule: Rule, now: Duration) -> Option<Duration> {
        self.rule = rule;
        self.hearing = self.hearing_at(now);
        if self.hearing == Hearing::Clear {
            for entry in self.entries.values_mut() {
                entry.given_up |= entry.is_silent(&self.graces, now);
            }
        }
        let dues = self
            .entries
            .values()
            .filter(|entry| !entry.given_up)
            .map(|entry| entry.sight.quiet_since() + entry.limit(&self.graces));
        dues.filter(|due| *due > now).min().map(|due| due - now)
    }

    /// What silence meant at the last judgement.
    #[must_use]
    pub fn hearing(&self) -> Hearing {
        self.hearing
    }

    /// Whether anybody was heard within the grace period.
    #[must_use]
    pub fn hears_somebody(&self, now: Duration) -> bool {
        self.entries
            .keys()
            .any(|source| self.voice(source, now) == Some(Voice::Alive))
    }

    /// What is thought of a source; none for one that was never noted.
    #[must_use]
    pub fn voice(&self, source: &Source, now: Duration) -> Option<Voice> {
        let entry = self.entries.get(source)?;
        Some(if entry.given_up {
            Voice::GivenUp
        } else if entry.is_silent(&self.graces, now) {
            Voice::HeldBack
        } else if entry.sight.heard_at().is_none() {
            Voice::NotKnown
        } else {
            Voice::Alive
        })
    }

    /// What was seen of a source.
    #[must_use]
    pub fn sight(&self, source: &Source) -> Option<&Sight> {
        self.entries.get(source).map(|entry| &entry.sight)
    }

    /// How long a source may be silent.
    #[must_use]
    pub fn limit(&self, source: &Source) -> Option<Duration> {
        self.entries.get(source).map(|entry| entry.limit(&self.graces))
    }

    fn hearing_at(&self, now: Duration) -> Hearing {
        if self.rule == Rule::Overridden {
            return Hearing::Clear;
        }
        let counted = || self.entries.values().filter(|entry| entry.counts());
        let leases = counted().count();
        let lately = |entry: &Entry| {
            let heard = entry.sight.heard_at();
            heard.is_some_and(|at| now.saturating_sub(at) < self.graces.grace / 2)
        };
        if leases < LEASES_FOR_ISOLATION {
            Hearing::Clear
        } else if counted().all(|entry| entry.is_silent(&self.graces, now)) {
            Hearing::Isolated { leases }
        } else if counted().any(lately) {
            Hearing::Clear
        } else {
            Hearing::InDoubt { leases }
        }
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
