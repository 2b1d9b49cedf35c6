//! What follows an eviction, as the last part of the trace of its move: it is read off the record when that is closed.

use api_types::failover::{FailoverRecordSpec, FailoverRecordStatus, RecordOutcome};
use controller_kit::telemetry::{Span, TraceContext};

/// The spans from the eviction to the clean-up; none when the move is not traced.
pub(super) fn spans(record: &FailoverRecordSpec, status: &FailoverRecordStatus) -> Vec<Span> {
    let (Some(of), Some(cleaned)) = (TraceContext::read(record.traceparent.as_deref()), &status.cleaned_at) else {
        return Vec::new();
    };
    let binding = match &record.binding.namespace {
        Some(namespace) => format!("{namespace}/{}", record.binding.name),
        None => record.binding.name.clone(),
    };
    let subject = |span: Span| span.with("binding", &binding).with("cluster", &record.from);
    let mut spans = Vec::new();
    let mut from = record.evicted_at.0;
    let targets: Vec<&str> = status.to.iter().map(|target| target.name.as_str()).collect();
    if let Some(scheduled) = &status.scheduled_at {
        let placed = Span::in_trace(of, "place anew", from, scheduled.0).with("to", targets.join(", "));
        spans.push(subject(placed));
        from = scheduled.0;
    }
    if let Some(healthy) = &status.healthy_at {
        spans.push(subject(Span::in_trace(of, "until healthy", from, healthy.0)));
        from = healthy.0;
    }
    let outcome = status.outcome.as_ref().map_or("", RecordOutcome::as_str);
    let clean_up = Span::in_trace(of, "clean up", from, cleaned.0)
        .with("outcome", outcome)
        .with("why", &status.reason);
    spans.push(subject(clean_up));
    spans
}
