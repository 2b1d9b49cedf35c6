//! The eviction queue's gRPC API: generated types, their translation into the types of `failover-core`, the descriptor
//! set for reflection, a client that finds the leader and follows it, and the producers' side of the protocol.
//!
//! The definition, with every field's unit, is `proto/failover/evictionqueue/v1/eviction_queue.proto`.

mod channel;
pub mod client;
pub mod convert;
mod dial;
mod in_common;
mod link;
pub mod memory;
mod problem;
pub mod producer;
#[cfg(test)]
mod recorded_tests;
mod security;
pub mod status;
mod way;
pub mod wire;

pub use channel::Channel;
pub use client::{ClientError, QueueClient};
pub use in_common::InCommon;
pub use link::Link;
pub use problem::ConnectionProblem;
/// A time as the messages have it.
pub use prost_types::Timestamp;
pub use security::{ConnectionFlags, Security};
pub use way::{QueueConnector, QueueFlags};

/// Generated from `karmada.failover.evictionqueue.v1`.
pub mod v1 {
    #![allow(
        missing_docs,
        clippy::all,
        clippy::pedantic,
        reason = "generated; documented in the proto file"
    )]
    tonic::include_proto!("karmada.failover.evictionqueue.v1");
}

/// Encoded `FileDescriptorSet` of the API, for gRPC reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/eviction_queue_descriptors.bin"));

/// Name of the controller whose Lease says where the queue is.
pub const QUEUE_CONTROLLER: &str = "evictionQueue";

/// The most entries in one message of `Publish`.
pub const ENTRIES_PER_MESSAGE: usize = 1_000;
