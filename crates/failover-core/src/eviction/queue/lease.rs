//! Leases that are out.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::entry::{EntryKey, Published};
use super::event::StreamId;

/// Names a lease within a term of the queue; also its take from the bucket.
pub type LeaseId = u64;

#[derive(Clone, Debug)]
pub(super) struct Lease {
    pub key: Arc<EntryKey>,
    pub published: Arc<Published>,
    /// The stream that hears what becomes of it: the last one on which it was granted or renewed.
    pub consumer: StreamId,
    pub consumer_identity: Arc<str>,
    pub released_at: Timestamp,
    pub ends: Duration,
    /// Why it must not be used any more.
    pub revoked: Option<String>,
    /// Nothing is written on a lease before its first renewal was confirmed.
    pub confirmed: bool,
}
