//! The eviction queue's gRPC API: generated types and the descriptor set for reflection.
//!
//! The definition, with every field's unit, is `proto/failover/evictionqueue/v1/eviction_queue.proto`.

/// Generated from `karmada.failover.evictionqueue.v1`.
pub mod v1 {
    #![allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated; documented in the proto file")]
    tonic::include_proto!("karmada.failover.evictionqueue.v1");
}

/// Encoded `FileDescriptorSet` of the API, for gRPC reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/eviction_queue_descriptors.bin"));

/// Metadata key by which a follower names the leader's address.
pub const LEADER_ADDRESS_METADATA: &str = "failover-leader-address";
