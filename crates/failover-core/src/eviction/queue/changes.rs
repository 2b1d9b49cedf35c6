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

/// A ring of changes.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    /// Which entry each of the last changes is of; the last has the number `revision`.
    ring: VecDeque<Arc<EntryKey>>,
    revision: u64,
    kept: usize,
    /// What left and has not come back, as long as its change is in the ring.
    gone: HashMap<Arc<EntryKey>, Gone, FxBuildHasher>,
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
        if self.ring.len() == self.kept {
            let oldest = self.oldest();
            if let Some(key) = self.ring.pop_front()
                && self.gone.get(&key).is_some_and(|gone| gone.revision == oldest)
            {
                self.gone.remove(&key);
            }
        }
        self.ring.push_back(key);
        self.revision += 1;
        self.revision
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
