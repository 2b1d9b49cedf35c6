//! What is known of the other end of a connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use tokio::sync::Semaphore;

/// The other end of a connection, in the extensions of each of its requests.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    /// Where it calls from; nothing inside a process.
    pub address: Option<SocketAddr>,
    /// Its client certificate, which was checked in the handshake; nothing without one.
    pub certificate: Option<Certified>,
    /// Whether there is room for it.
    pub place: Place,
    /// What is left of the calls that it may make at once.
    pub streams: Option<Arc<Semaphore>>,
    /// Whether it keeps its place.
    pub welcome: Welcome,
}

/// Whether the other end has shown that it may do something here that not everybody may. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Welcome(Arc<AtomicBool>);

impl Welcome {
    /// It has.
    pub fn give(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it has.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a client certificate said in the handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certified {
    /// Its names.
    pub names: Arc<[String]>,
    /// Until when it counts: a connection may live longer.
    pub not_after: Timestamp,
}

/// Whether there is room for a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// There is.
    #[default]
    Seated,
    /// There is not: it lives only long enough to be told.
    Standing {
        /// Connections that are allowed.
        most: usize,
    },
}
