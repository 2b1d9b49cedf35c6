//! Calls and streams that are refused: each has a status that says why, and is counted.

use controller_kit::Metrics;
use tonic::{Code, Status};

/// Name of the counter.
pub(crate) const REFUSED: &str = "failover_queue_refused_total";

/// Counts a status by which the queue refused something. What is nobody's fault does not count: a client that went away,
/// a replica that does not lead, a term that ended.
pub(crate) fn count(metrics: &Metrics, method: &'static str, status: &Status) {
    let Some(code) = code(status.code()) else { return };
    metrics
        .counter(REFUSED, &[("method", method), ("code", code)])
        .increment(1);
}

/// The code as it is written elsewhere; `None` for those that refuse nothing.
fn code(code: Code) -> Option<&'static str> {
    match code {
        Code::InvalidArgument => Some("INVALID_ARGUMENT"),
        Code::NotFound => Some("NOT_FOUND"),
        Code::AlreadyExists => Some("ALREADY_EXISTS"),
        Code::PermissionDenied => Some("PERMISSION_DENIED"),
        Code::ResourceExhausted => Some("RESOURCE_EXHAUSTED"),
        Code::FailedPrecondition => Some("FAILED_PRECONDITION"),
        Code::OutOfRange => Some("OUT_OF_RANGE"),
        Code::DeadlineExceeded => Some("DEADLINE_EXCEEDED"),
        _ => None,
    }
}

/// What a message that is too large to be taken is answered with. The library calls that OUT_OF_RANGE, or INTERNAL when
/// the message is no message at all.
pub(super) fn of_reading(status: Status) -> Status {
    match status.code() {
        Code::OutOfRange => Status::resource_exhausted(format!(
            "a message is too large, nothing of it was taken: {}; send at most {} entries in one",
            status.message(),
            eviction_queue_api::ENTRIES_PER_MESSAGE
        )),
        Code::Internal if status.message().contains("decode") => {
            Status::invalid_argument(format!("a message cannot be understood: {}", status.message()))
        }
        _ => status,
    }
}
