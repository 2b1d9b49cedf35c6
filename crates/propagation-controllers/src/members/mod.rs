//! Member clusters: whether they are there, how to talk to them, and one set of tasks for each.
//!
//! A session lasts as long as its cluster stays Ready and its address and credentials stay the same: what a session
//! has read of the member was read after the member came back.

mod followed;
mod interests;
mod reach;
mod session;
mod supervise;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use controller_kit::{ObjectKey, Store};

pub use followed::{FollowedKind, Unread};
pub use interests::Interests;
pub use reach::Reach;
pub use session::{BY_WORK, Pool, Session, work_of, work_of_value};
pub use supervise::per_ready_member;

/// Whether a member is there and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Its Ready condition is True.
    Ready,
    /// It is a member, but its Ready condition is not True.
    NotReady,
    /// There is no such Cluster.
    Gone,
}

/// Whether a member is there and answers.
#[must_use]
pub fn presence(clusters: &Store<Cluster>, cluster: &ClusterName) -> Presence {
    match clusters.get(&ObjectKey::cluster_scoped(cluster.as_str())) {
        None => Presence::Gone,
        Some(cluster) if cluster.is_ready() => Presence::Ready,
        Some(_) => Presence::NotReady,
    }
}
