//! Logs and traces.
//!
//! Guarantees: a global subscriber is set only by [`Telemetry::install`], which only `main` calls; tests get one per
//! process from [`subscriber`], with the simulated clock's time in its lines.

use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{TraceContextExt, TracerProvider};
use opentelemetry_otlp::WithExportConfig;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::{Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::clock::Clock;
use crate::process::{KitFlags, LogFormat};

/// Why logs or traces cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// `--log-level` cannot be read.
    #[error("--log-level {filter:?}: {why}")]
    Filter {
        /// The flag's value.
        filter: String,
        /// The parser's complaint.
        why: String,
    },
    /// `--otlp-endpoint` cannot be used.
    #[error("--otlp-endpoint {endpoint:?}: {why}")]
    Otlp {
        /// The flag's value.
        endpoint: String,
        /// The exporter's complaint.
        why: String,
    },
    /// Somebody else set a global subscriber.
    #[error("logging is set up already: {0}")]
    Installed(String),
}

/// The process's logs and traces, as long as it runs.
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
}

impl Telemetry {
    /// Sets the global subscriber: logs to standard error, traces to the OTLP endpoint when there is one.
    ///
    /// # Errors
    /// [`TelemetryError`], with nothing set.
    pub fn install(component: &'static str, flags: &KitFlags) -> Result<Self, TelemetryError> {
        let filter = filter(&flags.log_level)?;
        let traces = flags
            .otlp_endpoint
            .as_deref()
            .map(|endpoint| exporter(component, endpoint))
            .transpose()?;
        let spans = traces
            .as_ref()
            .map(|provider| tracing_opentelemetry::layer().with_tracer(provider.tracer(component)));
        tracing_subscriber::registry()
            .with(spans)
            .with(lines(flags.log_format, std::io::stderr, Clock::system()).with_filter(filter))
            .try_init()
            .map_err(|error| TelemetryError::Installed(error.to_string()))?;
        Ok(Self { traces })
    }

    /// Sends what was not sent yet.
    pub fn finish(self) {
        if let Some(traces) = self.traces
            && let Err(error) = traces.shutdown()
        {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

/// A subscriber of its own for one process in a test; lines carry the clock's time.
///
/// # Errors
/// [`TelemetryError::Filter`] when `level` cannot be read.
pub fn subscriber<W>(
    format: LogFormat,
    level: &str,
    clock: Clock,
    writer: W,
) -> Result<impl Subscriber + Send + Sync, TelemetryError>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    Ok(tracing_subscriber::registry().with(lines(format, writer, clock).with_filter(filter(level)?)))
}

/// The W3C `traceparent` of the current span, to be carried in an entry or a record; `None` when nothing is traced.
#[must_use]
pub fn traceparent() -> Option<String> {
    let context = Span::current().context();
    if !context.span().span_context().is_valid() {
        return None;
    }
    let mut carrier = std::collections::HashMap::new();
    TraceContextPropagator::new().inject_context(&context, &mut carrier);
    carrier.remove("traceparent")
}

/// Makes `span` a part of the trace that `traceparent` names. A text that is none leaves the span as it is.
pub fn continue_trace(span: &Span, traceparent: &str) {
    let carrier = std::collections::HashMap::from([("traceparent".to_owned(), traceparent.to_owned())]);
    let context = TraceContextPropagator::new().extract(&carrier);
    if context.span().span_context().is_valid() {
        // An error means that nobody traces, and then there is nothing to continue.
        let _ = span.set_parent(context);
    }
}

fn filter(level: &str) -> Result<EnvFilter, TelemetryError> {
    EnvFilter::try_new(level).map_err(|error| TelemetryError::Filter {
        filter: level.to_owned(),
        why: error.to_string(),
    })
}

fn lines<S, W>(format: LogFormat, writer: W, clock: Clock) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let layer = tracing_subscriber::fmt::layer()
        .with_timer(ClockTime(clock))
        .with_ansi(false)
        .with_writer(writer);
    match format {
        LogFormat::Text => layer.boxed(),
        LogFormat::Json => layer.json().flatten_event(true).boxed(),
    }
}

fn exporter(component: &'static str, endpoint: &str) -> Result<SdkTracerProvider, TelemetryError> {
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_tonic()
        .with_endpoint(endpoint)
        .build()
        .map_err(|error| TelemetryError::Otlp {
            endpoint: endpoint.to_owned(),
            why: error.to_string(),
        })?;
    let resource = opentelemetry_sdk::Resource::builder()
        .with_service_name(component)
        .build();
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource)
        .build())
}

struct ClockTime(Clock);

impl FormatTime for ClockTime {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        write!(writer, "{:.3}", self.0.now())
    }
}
