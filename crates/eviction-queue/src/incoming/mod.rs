//! From a listener to connections that are ready for gRPC: bounded in number and in time, with TLS if there are files
//! for it.
//!
//! Guarantees: a caller that is slow, silent or many blocks nobody else; what is refused is counted and, where a way is
//! left to say it, told.

mod connection;
mod door;
mod handshakes;
mod peer;

pub use self::connection::Connection;
pub use self::door::{Door, Limits, Remote};
pub use self::peer::{Certified, Peer, Place, Welcome};

/// Calls of one connection at once: a controller has three streams and some questions.
pub const MAX_CALLS_A_CONNECTION: usize = 256;

/// What HTTP/2 allows beyond that, so that a call too many gets an answer that says so.
pub const CALLS_BEYOND: usize = 32;
