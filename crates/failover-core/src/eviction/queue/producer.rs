//! Producers: their terms, their streams, and how long their word counts without one.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::entry::EntryKey;
use super::event::StreamId;

/// Term of a producer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProducerEpoch {
    /// UID of the Lease; empty for a producer that needs none.
    pub lease_uid: String,
    /// Its transitions.
    pub transitions: i64,
}

/// Whether a producer's term may publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EpochCheck {
    /// It may.
    Accept,
    /// Another Lease than the one known: ask the API server whether it is the producer's.
    ConfirmLive,
    /// A later term has published already.
    Refuse {
        /// Transitions of the later term.
        known_transitions: i64,
    },
    /// So many others are known that it would be one too many.
    TooMany {
        /// The most that are remembered.
        most: usize,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Producer {
    pub epoch: ProducerEpoch,
    pub identity: String,
    pub link: Link,
    pub takeovers: Takeovers,
}

/// How often another process took the place of one that was still publishing. Once is a hand-over that the old process
/// has not noticed; again and again are two live processes of one name.
#[derive(Clone, Debug, Default)]
pub(super) struct Takeovers {
    /// How often, in this term.
    pub count: u64,
    last: VecDeque<Duration>,
    from: String,
}

const FLAPPING_TAKEOVERS: usize = 3;
const FLAPPING_WITHIN: Duration = Duration::from_secs(300);

impl Takeovers {
    /// A stream of `from` was open when another process said hello.
    pub fn add(&mut self, from: &str, now: Duration) {
        self.count += 1;
        from.clone_into(&mut self.from);
        if self.last.len() == FLAPPING_TAKEOVERS {
            self.last.pop_front();
        }
        self.last.push_back(now);
    }

    /// Says that two live processes take turns.
    pub fn note(&self, producer: &str, identity: &str, now: Duration) -> Option<String> {
        let since = self.last.front().filter(|_| self.last.len() == FLAPPING_TAKEOVERS)?;
        (now.saturating_sub(*since) <= FLAPPING_WITHIN).then(|| {
            format!(
                "{producer} is published by two processes in turns, {identity} and {} ({} times so far): end one of them",
                self.from, self.count
            )
        })
    }
}

#[derive(Clone, Debug)]
pub(super) enum Link {
    /// A stream is open and its snapshot is under way: what it named so far.
    Syncing {
        stream: StreamId,
        seen: BTreeSet<Arc<EntryKey>>,
        /// Since when there was no stream with a complete snapshot; absent: there was one until this stream.
        silent: Option<Silence>,
    },
    /// A stream is open and its snapshot complete.
    Synced { stream: StreamId },
    /// No stream.
    Away(Silence),
}

/// Since when nothing whole was heard of a producer. It lasts until a snapshot is complete: one that says hello and goes,
/// again and again, has not come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Silence {
    pub since: Duration,
    pub since_wall: Timestamp,
    pub grace: Grace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grace {
    /// Its entries count as before.
    Runs,
    /// Its entries are held, but for those that it has named anew.
    Over,
}

impl Producer {
    pub fn stream(&self) -> Option<StreamId> {
        match self.link {
            Link::Syncing { stream, .. } | Link::Synced { stream } => Some(stream),
            Link::Away(_) => None,
        }
    }

    /// Without a stream for longer than the grace.
    pub fn is_gone(&self) -> bool {
        matches!(&self.link, Link::Away(silence) if silence.grace == Grace::Over)
    }

    /// Since when nothing whole was heard of it.
    pub fn silence(&self) -> Option<Silence> {
        match self.link {
            Link::Syncing { silent, .. } => silent,
            Link::Synced { .. } => None,
            Link::Away(silence) => Some(silence),
        }
    }

    /// Whether what it said of an entry is too old to evict by.
    pub fn is_stale(&self, key: &EntryKey) -> bool {
        let is_over = self.silence().is_some_and(|silence| silence.grace == Grace::Over);
        is_over && !matches!(&self.link, Link::Syncing { seen, .. } if seen.contains(key))
    }

    /// A term may publish when it is of the known Lease and not earlier than the last.
    pub fn check(&self, epoch: &ProducerEpoch) -> EpochCheck {
        if epoch.lease_uid != self.epoch.lease_uid {
            EpochCheck::ConfirmLive
        } else if epoch.transitions < self.epoch.transitions {
            EpochCheck::Refuse {
                known_transitions: self.epoch.transitions,
            }
        } else {
            EpochCheck::Accept
        }
    }
}
