//! The evictor's part of the trace of a move: the first span, from its cause to the written eviction, and each try.

use controller_kit::telemetry::{Span, TraceContext};
use failover_core::eviction::queue::OutcomeKind;
use jiff::Timestamp;

use super::lease::Lease;
use super::work::Done;

/// The spans of a lease that was worked on from `began` to `ended`; none when the entry's producer traces nothing.
pub(crate) fn spans(lease: &Lease, done: &Done, began: Timestamp, ended: Timestamp) -> Vec<Span> {
    let Some(of) = TraceContext::read(lease.entry.traceparent.as_deref()) else {
        return Vec::new();
    };
    let key = &lease.entry.key;
    let subject = |span: Span| span.with("binding", &key.binding).with("cluster", &key.cluster);
    let attempt = subject(Span::in_trace(of, "evict", began, ended));
    let completion = match done {
        Done::Lapses(why) => return vec![attempt.failed(why)],
        Done::Complete(completion) => completion,
    };
    let attempt = attempt
        .with("outcome", completion.outcome.as_str())
        .with("reason", &completion.reason);
    match completion.outcome {
        OutcomeKind::Failed => vec![attempt.failed(&completion.message)],
        OutcomeKind::Evicted => {
            let since = key.cause.began_at();
            let whole = subject(Span::first(of, "move", since, ended))
                .with("cause", key.cause.identity())
                .with("resource.kind", &lease.entry.template.kind)
                .with("producer", &lease.producer)
                .with("why", &completion.message);
            let due = subject(Span::in_trace(of, "until due", since, lease.entry.due_at));
            vec![whole, due, attempt]
        }
        _ => vec![attempt],
    }
}
