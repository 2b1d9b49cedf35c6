//! Says that a producer stayed away for so long that its entries were dropped: in the log, as a metric, and as an Event on
//! the queue's own Lease, for there is no object of the control plane that it is about.

use controller_kit::leader::lease_name;
use controller_kit::metrics::Words;
use controller_kit::{Context, EventRecorder, EventType, Metrics};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;

/// Who says it.
pub struct Forgotten {
    events: EventRecorder,
    metrics: Metrics,
    lease: ObjectReference,
}

impl Forgotten {
    /// Speaks for this controller.
    pub fn of(ctx: &Context) -> Self {
        Self {
            events: ctx.events.clone(),
            metrics: ctx.metrics.clone(),
            lease: ObjectReference {
                api_version: Some("coordination.k8s.io/v1".to_owned()),
                kind: Some("Lease".to_owned()),
                namespace: Some(ctx.system_namespace.to_string()),
                name: Some(lease_name(ctx.controller)),
                ..ObjectReference::default()
            },
        }
    }

    /// So many entries of a producer are dropped.
    pub fn say(&self, words: &Words, producer: &str, entries: usize, since: Timestamp) {
        tracing::warn!(producer, entries, %since, "the producer has not come back: its entries are dropped");
        let note = format!(
            "{entries} entries of {producer} are dropped: it has not come back since {since}; nothing of them is evicted \
             before it publishes again"
        );
        self.events
            .publish(&self.lease, EventType::Warning, "ProducerForgotten", note);
        self.metrics
            .counter(
                "failover_queue_forgotten_entries_total",
                &[("producer", words.label(producer))],
            )
            .increment(u64::try_from(entries).unwrap_or(u64::MAX));
    }
}
