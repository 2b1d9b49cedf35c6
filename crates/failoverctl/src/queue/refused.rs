//! What a gRPC status means to a person.

use eviction_queue_api::{ClientError, ConnectionProblem};
use tonic::{Code, Status};

use crate::failure::{ExitStatus, Failure};

/// There is no way to the queue.
pub(super) fn no_way(address: &str, error: &ClientError) -> Failure {
    let what = format!("cannot reach the eviction queue at {address}");
    match error {
        ClientError::Address { .. } => Failure::new(
            ExitStatus::Usage,
            what,
            "this is not HOST:PORT",
            "correct --queue-address, as in 127.0.0.1:9443",
        ),
        ClientError::Security(_) | ClientError::TokenInTheClear { .. } => Failure::new(
            ExitStatus::Usage,
            what,
            error.to_string(),
            "correct the flags of the connection; docs/queue-access.md tells which go together",
        ),
        other => Failure::new(ExitStatus::Unreachable, what, other.to_string(), REACH_IT),
    }
}

const REACH_IT: &str = "check that the queue runs and that this machine can reach the address \
     (inside a cluster: kubectl port-forward to its pod, then --queue-address 127.0.0.1:PORT)";

/// Why no connection could be made: the innermost cause, as in `Connection refused`.
fn no_connection(status: &Status) -> Option<String> {
    let source = std::error::Error::source(status)?;
    if let Some(problem) = source.downcast_ref::<ConnectionProblem>() {
        return Some(problem.to_string());
    }
    let transport = source.downcast_ref::<tonic::transport::Error>()?;
    let mut innermost: &dyn std::error::Error = transport;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    Some(innermost.to_string())
}

/// The queue refused to answer.
pub(super) fn failure(address: &str, asked: &str, status: &Status) -> Failure {
    if let Some(why) = no_connection(status) {
        return Failure::new(
            ExitStatus::Unreachable,
            format!("cannot reach the eviction queue at {address}"),
            why,
            REACH_IT,
        );
    }
    let what = format!("cannot get {asked} from the eviction queue at {address}");
    let said = if status.message().is_empty() {
        "it gives no reason"
    } else {
        status.message()
    };
    let (exit, why, next) = match status.code() {
        Code::Unavailable => (
            ExitStatus::Unreachable,
            format!("it does not answer, or does not lead: {said}"),
            "ask its leader: leave --queue-address away, or look at Lease eviction-queue",
        ),
        Code::DeadlineExceeded | Code::Cancelled => (
            ExitStatus::TimedOut,
            "no answer in time".to_owned(),
            "try again, with a longer --timeout",
        ),
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
        Code::InvalidArgument => (
            ExitStatus::Usage,
            format!("it refuses the question: {said}"),
            "correct the arguments",
        ),
        _ => (
            ExitStatus::Unreachable,
            said.to_owned(),
            "look into the log of the eviction queue",
        ),
    };
    Failure::new(exit, what, why, next)
}
