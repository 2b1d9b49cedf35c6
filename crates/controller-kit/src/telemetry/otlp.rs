//! Spans on their way to an OTLP collector, in batches, by a thread of their own.

use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::WithExportConfig;
use opentelemetry_sdk::trace::{BatchSpanProcessor, SpanData, SpanEvents, SpanLinks, SpanProcessor};

use super::{Span, TelemetryError, Traces};

/// The way to a collector.
pub(super) struct Collector {
    processor: Arc<BatchSpanProcessor>,
}

impl Collector {
    /// Opens the way; nobody need be there yet. Must be called inside the runtime.
    pub fn at(component: &'static str, identity: &str, endpoint: &str) -> Result<Self, TelemetryError> {
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_tonic()
            .with_endpoint(endpoint)
            .build()
            .map_err(|error| TelemetryError::Otlp {
                endpoint: endpoint.to_owned(),
                why: error.to_string(),
            })?;
        let mut processor = BatchSpanProcessor::builder(exporter).build();
        let resource = opentelemetry_sdk::Resource::builder()
            .with_service_name(component)
            .with_attribute(KeyValue::new("service.version", crate::VERSION))
            .with_attribute(KeyValue::new("service.instance.id", identity.to_owned()))
            .build();
        processor.set_resource(&resource);
        Ok(Self {
            processor: Arc::new(processor),
        })
    }

    /// Where spans are told. When more come than can be sent, some are dropped.
    pub fn traces(&self) -> Traces {
        let processor = Arc::clone(&self.processor);
        Traces::to(move |span| processor.on_end(data(span)))
    }

    /// Sends what was not sent yet.
    pub fn finish(&self) -> Result<(), String> {
        self.processor.shutdown().map_err(|error| error.to_string())
    }
}

fn data(span: Span) -> SpanData {
    SpanData {
        span_context: SpanContext::new(
            TraceId::from(span.trace_id),
            SpanId::from(span.span_id),
            TraceFlags::SAMPLED,
            false,
            TraceState::NONE,
        ),
        parent_span_id: span.parent_id.map_or(SpanId::INVALID, SpanId::from),
        parent_span_is_remote: span.parent_id.is_some(),
        span_kind: SpanKind::Internal,
        name: span.name.into(),
        start_time: time(span.from),
        end_time: time(span.until),
        attributes: span
            .attributes
            .into_iter()
            .map(|(name, value)| KeyValue::new(name, value))
            .collect(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: span.error.map_or(Status::Unset, Status::error),
        instrumentation_scope: InstrumentationScope::builder("karmada-failover").build(),
    }
}

fn time(at: Timestamp) -> SystemTime {
    SystemTime::from(at)
}
