//! What a gRPC status means to a person.

use eviction_queue_api::{ClientError, ConnectionProblem};
use tonic::{Code, Status};

use super::{Role, Wants};
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
        ClientError::Security(_) | ClientError::TokenInTheClear { .. } => {
            let (why, next) = why_and_next(&error.to_string(), "correct the flags of the connection");
            Failure::new(ExitStatus::Usage, what, why, next)
        }
        other => Failure::new(ExitStatus::Unreachable, what, other.to_string(), REACH_IT),
    }
}

const REACH_IT: &str = "check that the queue runs and that this machine can reach the address; from outside the cluster that runs \
     its pod name that cluster with --host-kubeconfig or --host-context: failoverctl then makes a port-forward to the pod";

/// These say themselves what to do: the last part, after `; ` or `: give`, is the instruction.
fn why_and_next(text: &str, otherwise: &str) -> (String, String) {
    if let Some((why, next)) = text.rsplit_once("; ") {
        return (why.to_owned(), next.to_owned());
    }
    match text.rsplit_once(": give ") {
        Some((why, what)) => (why.to_owned(), format!("give {what}")),
        None => (text.to_owned(), otherwise.to_owned()),
    }
}

/// Why no connection could be made, and what to do: what is known of it, or the innermost cause, as in
/// `Connection refused`.
fn no_connection(address: &str, status: &Status) -> Option<(String, String)> {
    let source = std::error::Error::source(status)?;
    if let Some(problem) = source.downcast_ref::<ConnectionProblem>() {
        let said = problem.to_string();
        let said = said
            .replace(&format!(" with the eviction queue at {address}"), "")
            .replace(&format!("the eviction queue at {address}"), "it");
        return Some(why_and_next(&said, REACH_IT));
    }
    let mut innermost: &dyn std::error::Error = source.downcast_ref::<tonic::transport::Error>()?;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    Some((innermost.to_string(), REACH_IT.to_owned()))
}

/// The queue refused to answer.
pub(super) fn failure(address: &str, wants: &Wants, status: &Status) -> Failure {
    if let Some((why, next)) = no_connection(address, status) {
        let what = format!("cannot reach the eviction queue at {address}");
        return Failure::new(ExitStatus::Unreachable, what, why, next);
    }
    let what = match wants.role {
        Role::Reader => format!("cannot get {} from the eviction queue at {address}", wants.what),
        Role::Admin => format!("cannot give {} to the eviction queue at {address}", wants.what),
    };
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
        Code::Unauthenticated | Code::PermissionDenied => return not_let_in(what, wants.role, status),
        Code::Unimplemented => (
            ExitStatus::Unreachable,
            "what answers there is no eviction queue, or a much older one".to_owned(),
            "check --queue-address, and that failoverctl and the queue are at most one minor version apart",
        ),
        Code::InvalidArgument => (
            ExitStatus::Usage,
            match wants.role {
                Role::Reader => format!("it refuses the question: {said}"),
                Role::Admin => format!("it refuses the order: {said}"),
            },
            "correct the arguments",
        ),
        Code::FailedPrecondition | Code::NotFound => (
            ExitStatus::Problem,
            said.to_owned(),
            "see what the entry says: failoverctl queue show NAMESPACE/NAME",
        ),
        _ => (
            ExitStatus::Unreachable,
            said.to_owned(),
            "look into the log of the eviction queue",
        ),
    };
    Failure::new(exit, what, why, next)
}

/// The queue says who it saw, what is needed, and what gives it.
fn not_let_in(what: String, role: Role, status: &Status) -> Failure {
    let role = match role {
        Role::Reader => "reader",
        Role::Admin => "admin",
    };
    let otherwise = format!("use an identity that has the role {role}");
    let (why, next) = match status.message().rsplit_once(": ") {
        Some((why, next)) => (why, next.to_owned()),
        None if status.message().is_empty() => ("it gives no reason", otherwise),
        None => (status.message(), otherwise),
    };
    let next = if status.code() == Code::Unauthenticated {
        format!(
            "{next} (here: a kubeconfig with a token, such as one of failoverctl kubeconfig failoverctl; or --queue-token-file with what \
             kubectl -n karmada-system create token failoverctl prints; or --queue-client-cert-file with --queue-client-key-file)"
        )
    } else {
        next
    };
    Failure::new(
        ExitStatus::Unreachable,
        what,
        format!("it does not let us in: {why}"),
        next,
    )
}
