//! What the queue holds, by binding, as far as it was heard; and what is worth telling about a step. Pure.
//!
//! Steps of a first watch say what is there, not what happens: they are told to nobody. A queue whose leader changed
//! begins empty and hears from its producers again: for a while what was known before counts as still there, so that
//! it is neither gone nor told a second time.

use std::collections::{BTreeMap, BTreeSet};

use api_types::BindingKey;
use eviction_queue_api::convert::{self, Malformed};
use eviction_queue_api::v1::{self, watch_entries_response::Message as Step};
use failover_core::eviction::queue::{EntryKey, HoldReason, Removed, WithdrawReason};
use jiff::Timestamp;

/// An entry as it was last heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// State.
    pub state: v1::EntryState,
    /// With Held: why.
    pub hold: Option<Held>,
    /// When it is due.
    pub due_at: Timestamp,
    /// The verdict in words.
    pub reason: String,
}

/// Why an entry is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    /// The reason.
    pub reason: v1::HoldReason,
    /// In words.
    pub message: String,
    /// With Stay: whether a drop keeps it.
    pub by_drop: bool,
}

/// Something worth telling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Happened {
    /// The entry entered the queue.
    Queued,
    /// The queue released it.
    Released,
    /// It is held, for another reason than before.
    Held(Held),
    /// It was evicted; who did it tells so.
    Evicted,
    /// It left without an eviction.
    Abandoned {
        /// One word.
        word: &'static str,
        /// In words.
        message: String,
    },
}

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Noted {
    /// The entry.
    pub key: EntryKey,
    /// As it is now, or was last.
    pub seen: Seen,
    /// What is worth telling, in order.
    pub happened: Vec<Happened>,
}

/// Whether steps are news.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// Everything known is being told; these were.
    Listing(BTreeSet<EntryKey>),
    /// Changes as they happen; what was known before and is not among these may yet be published again.
    Settling(BTreeSet<EntryKey>),
    /// Changes as they happen.
    Live,
}

/// Entries by binding.
#[derive(Debug)]
pub(crate) struct Book {
    entries: BTreeMap<BindingKey, BTreeMap<EntryKey, Seen>>,
    told: BTreeMap<EntryKey, v1::HoldReason>,
    phase: Phase,
}

impl Default for Book {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            told: BTreeMap::new(),
            phase: Phase::Listing(BTreeSet::new()),
        }
    }
}

impl Book {
    /// A watch begins that tells everything first.
    pub fn begin(&mut self) {
        self.phase = Phase::Listing(BTreeSet::new());
    }

    /// The entries of a binding.
    pub fn of(&self, binding: &BindingKey) -> Option<&BTreeMap<EntryKey, Seen>> {
        self.entries.get(binding)
    }

    /// Whether the whole queue has been told once.
    pub fn is_live(&self) -> bool {
        !matches!(self.phase, Phase::Listing(_))
    }

    /// Everything that the queue holds was told.
    pub fn synced(&mut self) {
        if let Phase::Listing(listed) = &mut self.phase {
            self.phase = Phase::Settling(std::mem::take(listed));
        }
    }

    /// Its producers had their time: what was not told is gone. Returns the bindings of what is gone.
    pub fn settled(&mut self) -> BTreeSet<BindingKey> {
        let Phase::Settling(listed) = std::mem::replace(&mut self.phase, Phase::Live) else {
            return BTreeSet::new();
        };
        let mut gone = BTreeSet::new();
        self.entries.retain(|binding, entries| {
            entries.retain(|key, _| {
                let stays = listed.contains(key);
                if !stays {
                    gone.insert(binding.clone());
                    self.told.remove(key);
                }
                stays
            });
            !entries.is_empty()
        });
        gone
    }

    /// Takes in a step.
    pub fn take(&mut self, step: Step) -> Result<Option<Noted>, Malformed> {
        match step {
            Step::Changed(entry) => self.changed(entry).map(Some),
            Step::Removed(removed) => {
                let was_evicted = removed.reason() == v1::RemovedReason::Evicted;
                let (word, message) = (abandoned(removed.reason()), removed.message);
                let Some(entry) = removed.entry else {
                    return Err(Malformed::Missing { field: "removed.entry" });
                };
                let (key, seen) = read(entry)?;
                self.told.remove(&key);
                if let Some(entries) = self.entries.get_mut(&key.binding) {
                    entries.remove(&key);
                    if entries.is_empty() {
                        self.entries.remove(&key.binding);
                    }
                }
                let happened = word.map(|word| Happened::Abandoned { word, message });
                let evicted = was_evicted.then_some(Happened::Evicted);
                let happened = happened.into_iter().chain(evicted).collect();
                Ok(Some(Noted { key, seen, happened }))
            }
            Step::Synced(_) => Ok(None),
        }
    }

    fn changed(&mut self, entry: v1::Entry) -> Result<Noted, Malformed> {
        let (key, seen) = read(entry)?;
        let entries = self.entries.entry(key.binding.clone()).or_default();
        let before = entries.insert(key.clone(), seen.clone());
        let mut told = self.told.remove(&key);
        let happened = match &mut self.phase {
            Phase::Listing(listed) => {
                listed.insert(key.clone());
                // An earlier process has told it.
                told = seen.hold.as_ref().map(|hold| hold.reason).or(told);
                Vec::new()
            }
            Phase::Settling(listed) => {
                listed.insert(key.clone());
                news(before.as_ref(), &seen, &mut told)
            }
            Phase::Live => news(before.as_ref(), &seen, &mut told),
        };
        if let Some(told) = told {
            self.told.insert(key.clone(), told);
        }
        Ok(Noted { key, seen, happened })
    }
}

/// What an entry's change means for people. `told` is the hold that they know of; it outlives a look at the entry that
/// comes to the same.
fn news(before: Option<&Seen>, now: &Seen, told: &mut Option<v1::HoldReason>) -> Vec<Happened> {
    let queued = before.is_none().then_some(Happened::Queued);
    let was_leased = before.is_some_and(|before| before.state == v1::EntryState::Leased);
    let looked_at_again = matches!(
        told,
        Some(v1::HoldReason::NoTarget | v1::HoldReason::Wait | v1::HoldReason::SecondOwner)
    );
    let released = now.state == v1::EntryState::Leased && !was_leased && !looked_at_again;
    let held = now
        .hold
        .as_ref()
        .filter(|hold| *told != Some(hold.reason))
        // The queue asks the producer, or its own view of the cluster is a moment behind: neither is for people.
        .filter(|hold| !matches!(hold.reason, v1::HoldReason::NotNeeded | v1::HoldReason::CauseNotSeen))
        // What operators order is told where it is written down.
        .filter(|hold| !matches!(hold.reason, v1::HoldReason::Dropped | v1::HoldReason::Undropped) && !hold.by_drop);
    if let Some(hold) = held {
        *told = Some(hold.reason);
    } else if released {
        *told = None;
    }
    let held = held.map(|hold| Happened::Held(hold.clone()));
    queued
        .into_iter()
        .chain(released.then_some(Happened::Released))
        .chain(held)
        .collect()
}

fn read(entry: v1::Entry) -> Result<(EntryKey, Seen), Malformed> {
    let state = entry.state();
    let hold = entry.hold.map(|hold| Held {
        reason: hold.reason(),
        message: hold.message,
        by_drop: hold.dropped,
    });
    let published = entry.published.ok_or(Malformed::Missing { field: "published" })?;
    let due_at = published
        .due_at
        .as_ref()
        .ok_or(Malformed::Missing { field: "due_at" })?;
    let seen = Seen {
        state,
        hold,
        due_at: convert::from_time("due_at", due_at)?,
        reason: published.reason,
    };
    Ok((convert::from_key(published.key)?, seen))
}

/// The word for an entry that left without an eviction and without anything in its place.
fn abandoned(reason: v1::RemovedReason) -> Option<&'static str> {
    let nobody_misses_it = |removed: &Removed| {
        let replaced = [WithdrawReason::Leaving, WithdrawReason::Replaced].map(Removed::Withdrawn);
        *removed == Removed::Evicted || replaced.contains(removed)
    };
    let removed = convert::from_removed_reason(reason)?;
    (!nobody_misses_it(&removed)).then(|| removed.as_str())
}

/// One word for a hold reason.
pub(crate) fn hold_word(reason: v1::HoldReason) -> &'static str {
    convert::from_hold_reason(reason).map_or("Held", HoldReason::as_str)
}

#[cfg(test)]
#[path = "book_tests.rs"]
mod tests;
