//! What a gRPC status means for a caller: one place for what tonic's codes really are.
//!
//! tonic differs from grpc-go: an expired deadline is `Cancelled`, a broken stream is `Unknown` with an h2 error in its
//! text, and only a refused dial is `Unavailable`.

use tonic::{Code, Status};

/// Metadata key by which a follower names the leader's address.
pub const LEADER_ADDRESS: &str = "failover-leader-address";

/// What to do about a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice {
    /// The server is a follower and knows the leader: go there.
    GoTo {
        /// Address of the leader.
        address: String,
    },
    /// The server or the way to it is gone, or it is not the leader: find the leader anew.
    FindLeader,
    /// The server is there and cannot take it now: try again later.
    Later,
    /// Trying again will not help.
    GiveUp,
}

/// What to do about `status`.
#[must_use]
pub fn advice(status: &Status) -> Advice {
    let leader = status
        .metadata()
        .get(LEADER_ADDRESS)
        .and_then(|value| value.to_str().ok());
    match (status.code(), leader) {
        (Code::Unavailable, Some(address)) if !address.is_empty() => Advice::GoTo {
            address: address.to_owned(),
        },
        (Code::Unavailable | Code::Cancelled | Code::Unknown | Code::DeadlineExceeded | Code::Internal, _) => {
            Advice::FindLeader
        }
        (Code::ResourceExhausted | Code::Aborted, _) => Advice::Later,
        _ => Advice::GiveUp,
    }
}

/// The answer of a server that does not lead.
#[must_use]
pub fn not_leader(leader: Option<&str>) -> Status {
    let message = match leader {
        Some(address) => format!("this replica does not lead the eviction queue; the leader is at {address}"),
        None => "this replica does not lead the eviction queue, and no leader is known".to_owned(),
    };
    let mut status = Status::unavailable(message);
    if let Some(value) = leader.and_then(|address| address.parse().ok()) {
        status.metadata_mut().insert(LEADER_ADDRESS, value);
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_follower_s_answer_leads_to_the_leader() {
        assert_eq!(
            advice(&not_leader(Some("10.0.0.1:8443"))),
            Advice::GoTo {
                address: "10.0.0.1:8443".to_owned()
            }
        );
        assert_eq!(advice(&not_leader(None)), Advice::FindLeader);
    }

    #[test]
    fn codes_as_tonic_uses_them() {
        assert_eq!(advice(&Status::cancelled("Timeout expired")), Advice::FindLeader);
        assert_eq!(
            advice(&Status::unknown(
                "h2 protocol error: error reading a body from connection"
            )),
            Advice::FindLeader
        );
        assert_eq!(advice(&Status::resource_exhausted("full")), Advice::Later);
        assert_eq!(advice(&Status::invalid_argument("x")), Advice::GiveUp);
    }
}
