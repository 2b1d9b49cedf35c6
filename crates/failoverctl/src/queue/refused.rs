//! What a gRPC status means to a person.

use eviction_queue_api::LEADER_ADDRESS_METADATA;
use tonic::{Code, Status};

use crate::failure::{ExitStatus, Failure};

/// The leader, named by a follower.
pub(super) fn leader_elsewhere(status: &Status) -> Option<String> {
    if status.code() != Code::Unavailable {
        return None;
    }
    let address = status.metadata().get(LEADER_ADDRESS_METADATA)?.to_str().ok()?;
    Some(address.to_owned()).filter(|address| !address.is_empty())
}

/// No connection could be made.
pub(super) fn no_connection(what: String, error: &tonic::transport::Error) -> Failure {
    let mut why = String::new();
    let mut source = std::error::Error::source(error);
    let mut timed_out = false;
    while let Some(current) = source {
        why = current.to_string();
        timed_out |= current
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == std::io::ErrorKind::TimedOut)
            || why.contains("deadline has elapsed");
        source = current.source();
    }
    if timed_out {
        return Failure::new(
            ExitStatus::TimedOut,
            what,
            "no connection in time",
            "check the address and the network, or give a longer --timeout",
        );
    }
    let why = if why.is_empty() { "no connection".to_owned() } else { why };
    Failure::new(
        ExitStatus::Unreachable,
        what,
        why,
        "check that the queue runs and that this machine can reach the address \
         (inside a cluster: kubectl port-forward to its pod, then --queue-address 127.0.0.1:PORT)",
    )
}

/// The queue refused to answer.
pub(super) fn failure(address: &str, asked: &str, status: &Status) -> Failure {
    let what = format!("cannot get {asked} from the eviction queue at {address}");
    let said = if status.message().is_empty() { "it gives no reason" } else { status.message() };
    let (exit, why, next) = match status.code() {
        Code::Unavailable => (
            ExitStatus::Unreachable,
            format!("it does not answer, or does not lead: {said}"),
            "ask its leader: leave --queue-address away, or look at Lease eviction-queue",
        ),
        Code::DeadlineExceeded | Code::Cancelled => {
            (ExitStatus::TimedOut, "no answer in time".to_owned(), "try again, with a longer --timeout")
        }
        Code::Unauthenticated | Code::PermissionDenied => (
            ExitStatus::Unreachable,
            format!("it does not let us in: {said}"),
            "use an identity that has the role reader",
        ),
        Code::Unimplemented => (
            ExitStatus::Unreachable,
            "what answers there is no eviction queue, or a much older one".to_owned(),
            "check --queue-address, and that failoverctl and the queue are at most one minor version apart",
        ),
        Code::InvalidArgument => (ExitStatus::Usage, format!("it refuses the question: {said}"), "correct the arguments"),
        _ => (ExitStatus::Unreachable, said.to_owned(), "look into the log of the eviction queue"),
    };
    Failure::new(exit, what, why, next)
}
