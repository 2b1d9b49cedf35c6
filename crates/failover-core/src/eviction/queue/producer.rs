//! Producers: their terms, their streams, and how long their word counts without one.

use std::collections::BTreeSet;
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
}

#[derive(Clone, Debug)]
pub(super) struct Producer {
    pub epoch: ProducerEpoch,
    pub identity: String,
    pub link: Link,
}

#[derive(Clone, Debug)]
pub(super) enum Link {
    /// A stream is open and its snapshot is under way: what it named so far.
    Syncing {
        stream: StreamId,
        seen: BTreeSet<Arc<EntryKey>>,
    },
    /// A stream is open and its snapshot complete.
    Synced { stream: StreamId },
    /// No stream; its entries count as before.
    Away { since: Duration, since_wall: Timestamp },
    /// No stream for longer than the grace: its entries are held.
    Gone { since: Duration, since_wall: Timestamp },
}

impl Producer {
    pub fn stream(&self) -> Option<StreamId> {
        match self.link {
            Link::Syncing { stream, .. } | Link::Synced { stream } => Some(stream),
            Link::Away { .. } | Link::Gone { .. } => None,
        }
    }

    pub fn is_gone(&self) -> bool {
        matches!(self.link, Link::Gone { .. })
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
