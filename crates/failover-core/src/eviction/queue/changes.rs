//! The last changes of entries, numbered, for those who watch.
//!
//! Kept is which entry changed, not what it was then: whoever reads later is told what the entry is now, or why and as
//! what it left, once, at its last change. So a watcher that reads slowly misses states that are over and never how
//! things stand, and a large queue does not keep its entries several times.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use super::entries::Entries;
use super::entry::{Entry, EntryKey};

/// Why an entry left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// It was evicted.
    Evicted,
    /// Its producer took it back.
    Withdrawn(super::entry::WithdrawReason),
    /// Its producer did not come back in time.
    ProducerGone,
}

impl Removed {
    /// One word in CamelCase.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        use super::entry::WithdrawReason as Reason;
        match self {
            Self::Evicted => "Evicted",
            Self::ProducerGone => "ProducerGone",
            Self::Withdrawn(reason) => match reason {
                Reason::NotPublished => "Withdrawn",
                Reason::ClusterRecovered => "ClusterRecovered",
                Reason::Tolerated => "Tolerated",
                Reason::BindingGone => "BindingGone",
                Reason::Leaving => "Leaving",
                Reason::Replaced => "Replaced",
                Reason::SwitchedOff => "SwitchedOff",
                Reason::ApplicationRecovered => "ApplicationRecovered",
                Reason::ClusterNotReady => "ClusterNotReady",
            },
        }
    }
}

/// One change.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its number; each change has the next.
    pub revision: u64,
    /// The entry as it is now, or as it was last.
    pub entry: Arc<Entry>,
    /// Set: it left.
    pub removed: Option<Removed>,
}

/// Changes after a revision.
#[derive(Clone, Debug)]
pub struct ChangesAfter {
    /// The last change of each entry among them, in order.
    pub changes: Vec<Change>,
    /// They go up to this revision.
    pub up_to: u64,
}

/// The changes asked for are not kept any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("changes before revision {oldest} are not kept any more")]
pub struct TooFarBack {
    /// The oldest that is kept.
    pub oldest: u64,
}

/// How many changes an event forgets of what is more than the ring keeps: as many as a watcher reads at a time, twice.
const FORGOTTEN_BY_EVENT: usize = 1_000;

/// A ring of changes.
///
/// What one event does to many entries throws out nobody who was up to date before it, however many they are: kept are the
/// changes of the event under way, and of those before it as many as there are entries and `kept` at least, of which at most
/// `kept` may be of entries that left. What is more than that goes little by little with the events that follow, so that
/// watchers can read it.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    /// Which entry each of the last changes is of; the last has the number `revision`.
    ring: VecDeque<Arc<EntryKey>>,
    revision: u64,
    kept: usize,
    /// What left and has not come back, as long as its change is in the ring.
    gone: HashMap<Arc<EntryKey>, Gone, FxBuildHasher>,
    /// When the event under way began: the revision then, and how many entries there were.
    began_at: u64,
    entries: usize,
}

#[derive(Clone, Debug)]
struct Gone {
    revision: u64,
    entry: Arc<Entry>,
    why: Removed,
}

impl Changes {
    pub fn new(kept: usize) -> Self {
        Self {
            ring: VecDeque::new(),
            revision: 0,
            kept: kept.max(1),
            gone: HashMap::default(),
            began_at: 0,
            entries: 0,
        }
    }

    /// An event begins, with so many entries.
    pub fn begin(&mut self, entries: usize) {
        self.began_at = self.revision;
        self.entries = entries;
        for _ in 0..FORGOTTEN_BY_EVENT {
            if !self.is_too_long() {
                break;
            }
            self.forget_oldest();
        }
    }

    /// Number of the last change; 0: there was none.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// An entry comes or changes: by this number its state is known as its last one.
    pub fn changed(&mut self, key: &Arc<EntryKey>) -> u64 {
        if !self.gone.is_empty() {
            self.gone.remove(key);
        }
        self.advance(key.clone())
    }

    /// An entry leaves.
    pub fn left(&mut self, key: Arc<EntryKey>, entry: Arc<Entry>, why: Removed) {
        let revision = self.advance(key.clone());
        self.gone.insert(key, Gone { revision, entry, why });
    }

    /// The key under which an entry that left is kept: one that comes back goes on with it.
    pub fn key_of_gone(&self, key: &EntryKey) -> Option<&Arc<EntryKey>> {
        self.gone.get_key_value(key).map(|(key, _)| key)
    }

    fn advance(&mut self, key: Arc<EntryKey>) -> u64 {
        self.ring.push_back(key);
        self.revision += 1;
        // Two for one: what an event left over becomes less with each further change.
        for _ in 0..2 {
            if self.is_too_long() {
                self.forget_oldest();
            }
        }
        self.revision
    }

    /// Whether more is kept of what was before the event under way than is to be.
    fn is_too_long(&self) -> bool {
        let of_event = usize::try_from(self.revision - self.began_at).unwrap_or(usize::MAX);
        let before = |all: usize| all.saturating_sub(of_event);
        before(self.ring.len()) > self.kept.max(self.entries) || before(self.gone.len()) > self.kept
    }

    fn forget_oldest(&mut self) {
        let oldest = self.oldest();
        if let Some(key) = self.ring.pop_front()
            && self.gone.get(&key).is_some_and(|gone| gone.revision == oldest)
        {
            self.gone.remove(&key);
        }
        let much = |len: usize, room: usize| room > FORGOTTEN_BY_EVENT && len < room / 4;
        if much(self.ring.len(), self.ring.capacity()) {
            self.ring.shrink_to(self.ring.capacity() / 2);
        }
        if much(self.gone.len(), self.gone.capacity()) {
            self.gone.shrink_to(self.gone.capacity() / 2);
        }
    }

    /// Each is gone, and its change is in the ring; of what is there the last change is no later than the last of all.
    #[cfg(test)]
    pub fn check(&self, entries: &Entries) {
        for (key, gone) in &self.gone {
            assert!(!entries.contains_key(key), "{key} is there and gone");
            assert!((self.oldest()..=self.revision).contains(&gone.revision), "{key}");
            let at = usize::try_from(gone.revision - self.oldest()).unwrap();
            assert_eq!(self.ring[at], *key);
        }
        for entry in entries.values() {
            assert!(entry.revision > 0 && entry.revision <= self.revision, "{}", entry.key());
        }
    }

    fn oldest(&self) -> u64 {
        let kept = u64::try_from(self.ring.len()).unwrap_or(u64::MAX);
        self.revision + 1 - kept
    }

    /// What the next changes after a revision, at most `limit` of them, came to.
    pub fn after(&self, revision: u64, limit: usize, entries: &Entries) -> Result<ChangesAfter, TooFarBack> {
        let oldest = self.oldest();
        if revision > self.revision || revision + 1 < oldest {
            return Err(TooFarBack { oldest });
        }
        let skip = usize::try_from(revision + 1 - oldest).unwrap_or(usize::MAX);
        let (mut changes, mut up_to) = (Vec::new(), revision);
        for key in self.ring.iter().skip(skip).take(limit) {
            up_to += 1;
            changes.extend(self.last_of(key, up_to, entries));
        }
        Ok(ChangesAfter { changes, up_to })
    }

    /// The change of this number, unless a later one has overtaken it.
    fn last_of(&self, key: &EntryKey, revision: u64, entries: &Entries) -> Option<Change> {
        if let Some(entry) = entries.get(key) {
            return (entry.revision == revision).then(|| Change {
                revision,
                entry: entry.clone(),
                removed: None,
            });
        }
        let gone = self.gone.get(key)?;
        (gone.revision == revision).then(|| Change {
            revision,
            entry: gone.entry.clone(),
            removed: Some(gone.why),
        })
    }
}
