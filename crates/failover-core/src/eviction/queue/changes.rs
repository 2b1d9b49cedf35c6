//! The last changes of entries, numbered, for those who watch.

use std::collections::VecDeque;
use std::sync::Arc;

use super::entry::Entry;

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

/// The changes asked for are not kept any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("changes before revision {oldest} are not kept any more")]
pub struct TooFarBack {
    /// The oldest that is kept.
    pub oldest: u64,
}

/// A ring of changes.
#[derive(Clone, Debug)]
pub struct Changes {
    ring: VecDeque<Change>,
    revision: u64,
    kept: usize,
}

impl Changes {
    pub(super) fn new(kept: usize) -> Self {
        Self {
            ring: VecDeque::new(),
            revision: 0,
            kept: kept.max(1),
        }
    }

    /// Number of the last change; 0: there was none.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn push(&mut self, entry: Arc<Entry>, removed: Option<Removed>) {
        self.revision += 1;
        if self.ring.len() == self.kept {
            self.ring.pop_front();
        }
        self.ring.push_back(Change {
            revision: self.revision,
            entry,
            removed,
        });
    }

    /// The changes after a revision, at most `limit`.
    ///
    /// # Errors
    /// [`TooFarBack`] when some of them are not kept any more, or the revision is none of this queue's.
    pub fn after(&self, revision: u64, limit: usize) -> Result<Vec<Change>, TooFarBack> {
        let oldest = self.ring.front().map_or(self.revision + 1, |change| change.revision);
        if revision > self.revision || revision + 1 < oldest {
            return Err(TooFarBack { oldest });
        }
        let skip = usize::try_from(revision + 1 - oldest).unwrap_or(usize::MAX);
        Ok(self.ring.iter().skip(skip).take(limit).cloned().collect())
    }
}
