//! `explain`: why something moved, why not, and what would change that. Of a binding, of a Cluster, and of a
//! ClusterTaintPolicy.

pub mod binding;
pub mod cluster;
mod conclusion;
pub mod policy;
pub mod taints;

pub use conclusion::Conclusion;
