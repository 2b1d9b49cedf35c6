//! What is known of the other end of a connection.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::sync::Semaphore;

/// The other end of a connection, in the extensions of each of its requests.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    /// Where it calls from; nothing inside a process.
    pub address: Option<SocketAddr>,
    /// Names of its client certificate, which was checked in the handshake; nothing without one.
    pub names: Option<Arc<[String]>>,
    /// Whether there is room for it.
    pub place: Place,
    /// What is left of the calls that it may make at once.
    pub streams: Option<Arc<Semaphore>>,
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
