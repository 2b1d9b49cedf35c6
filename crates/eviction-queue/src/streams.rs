//! How many streams may be open at once, of each kind. A slot is taken before a stream is served and is free again when
//! the far end is gone, read or not. Who takes one and who gives it back is logged, so that whoever holds too many can be
//! found.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;

/// Streams of Publish: producers are few, one at a time each.
pub const MAX_PUBLISH_STREAMS: usize = 16;
/// Streams of Lease: one a process with evictors.
pub const MAX_LEASE_STREAMS: usize = 256;
/// Streams of `WatchEntries`.
pub const MAX_WATCH_STREAMS: usize = 128;

/// The slots of one term.
#[derive(Debug)]
pub struct Streams {
    publish: Arc<Semaphore>,
    lease: Arc<Semaphore>,
    watch: Arc<Semaphore>,
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            publish: Arc::new(Semaphore::new(MAX_PUBLISH_STREAMS)),
            lease: Arc::new(Semaphore::new(MAX_LEASE_STREAMS)),
            watch: Arc::new(Semaphore::new(MAX_WATCH_STREAMS)),
        }
    }
}

/// A kind of stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// A producer's.
    Publish,
    /// A consumer's.
    Lease,
    /// A watcher's.
    WatchEntries,
}

impl StreamKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Publish, Self::Lease, Self::WatchEntries];

    /// Name of the method.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Publish => "Publish",
            Self::Lease => "Lease",
            Self::WatchEntries => "WatchEntries",
        }
    }

    /// How many messages down such a stream may wait to be read. A producer may be asked for many entries at once; a
    /// consumer hears of no more leases than are out, and of its own renewals.
    #[must_use]
    pub fn unread(self) -> usize {
        match self {
            Self::Publish => 16_384,
            Self::Lease => 4_096,
            Self::WatchEntries => 256,
        }
    }

    fn most(self) -> usize {
        match self {
            Self::Publish => MAX_PUBLISH_STREAMS,
            Self::Lease => MAX_LEASE_STREAMS,
            Self::WatchEntries => MAX_WATCH_STREAMS,
        }
    }
}

/// The slot of one stream; given back when it is dropped.
#[derive(Debug)]
pub struct Slot {
    kind: StreamKind,
    caller: Arc<str>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Slot {
    fn drop(&mut self) {
        tracing::info!(kind = self.kind.as_str(), caller = &*self.caller, "a stream was closed");
    }
}

impl Streams {
    /// A slot for one more stream of this caller.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED when there is none.
    pub fn slot(&self, kind: StreamKind, caller: Arc<str>) -> Result<Slot, Status> {
        let permit = self.slots(kind).clone().try_acquire_owned().map_err(|_| {
            Status::resource_exhausted(format!(
                "{} streams of {} are open, which is the most: try again later, or find out from the queue's log who \
                 holds them",
                kind.most(),
                kind.as_str()
            ))
        })?;
        tracing::info!(kind = kind.as_str(), caller = &*caller, "a stream was opened");
        Ok(Slot {
            kind,
            caller,
            _permit: permit,
        })
    }

    /// How many streams of this kind are open.
    #[must_use]
    pub fn open(&self, kind: StreamKind) -> usize {
        kind.most().saturating_sub(self.slots(kind).available_permits())
    }

    fn slots(&self, kind: StreamKind) -> &Arc<Semaphore> {
        match kind {
            StreamKind::Publish => &self.publish,
            StreamKind::Lease => &self.lease,
            StreamKind::WatchEntries => &self.watch,
        }
    }
}
