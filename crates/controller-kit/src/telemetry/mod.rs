//! Logs and traces.
//!
//! Guarantees: a global subscriber is set only by [`Telemetry::install`], which only `main` calls; tests get one per
//! process from [`subscriber`], with the simulated clock's time in its lines.

mod otlp;
mod recording;
mod traces;

use tracing::Subscriber;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::clock::Clock;
use crate::process::{KitFlags, LogFormat};

pub use recording::{Recording, ask_every_time};
pub use traces::{NoTraceContext, Span, TraceContext, Traces};

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
    collector: Option<otlp::Collector>,
}

impl Telemetry {
    /// Sets the global subscriber: logs to standard error, traces to the OTLP endpoint when there is one.
    ///
    /// # Errors
    /// [`TelemetryError`], with nothing set.
    pub fn install(component: &'static str, identity: &str, flags: &KitFlags) -> Result<Self, TelemetryError> {
        let filter = filter(&flags.log_level)?;
        let collector = flags
            .otlp_endpoint
            .as_deref()
            .map(|endpoint| otlp::Collector::at(component, identity, endpoint))
            .transpose()?;
        tracing_subscriber::registry()
            .with(lines(flags.log_format, std::io::stderr, Clock::system()).with_filter(filter))
            .try_init()
            .map_err(|error| TelemetryError::Installed(error.to_string()))?;
        Ok(Self { collector })
    }

    /// Where the process tells its spans: nowhere without an endpoint.
    #[must_use]
    pub fn traces(&self) -> Traces {
        self.collector.as_ref().map(otlp::Collector::traces).unwrap_or_default()
    }

    /// Sends what was not sent yet.
    pub fn finish(self) {
        if let Some(collector) = self.collector
            && let Err(error) = collector.finish()
        {
            tracing::warn!(error, "the last traces were not sent");
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

/// The client library says ERROR for every request that gets no answer: twice a second for a member that is down. Who
/// sent the request says so once, in a line that names the cluster; the library speaks only when it is asked by name.
fn filter(level: &str) -> Result<EnvFilter, TelemetryError> {
    let asked = level.split(',').any(|directive| directive.trim().starts_with("kube"));
    let quiet = if asked { "" } else { ",kube_client=off" };
    EnvFilter::try_new(format!("{level}{quiet}")).map_err(|error| TelemetryError::Filter {
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

struct ClockTime(Clock);

impl FormatTime for ClockTime {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
        write!(writer, "{:.3}", self.0.now())
    }
}

#[cfg(test)]
mod tests {
    use super::recording::Pen;
    use super::*;
    use parking_lot::Mutex;
    use std::sync::Arc;
    use std::time::Duration;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Lines {
        fn pen(&self) -> Pen {
            Pen(self.0.clone())
        }

        fn text(&self) -> String {
            String::from_utf8(self.0.lock().clone()).unwrap()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn lines_carry_the_injected_time_and_the_chosen_format() {
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        tokio::time::sleep(Duration::from_secs(61)).await;
        let write = |format, level| {
            let lines = Lines::default();
            let pen = lines.pen();
            let subscriber = subscriber(format, level, clock.clone(), move || pen.clone()).unwrap();
            tracing::subscriber::with_default(subscriber, || {
                tracing::info!(cluster = "member1", "tainted");
                tracing::debug!("detail");
            });
            lines.text()
        };
        let text = write(LogFormat::Text, "info");
        assert!(text.starts_with("2026-01-01T00:01:01.000Z  INFO "), "{text}");
        assert!(text.ends_with("tainted cluster=\"member1\"\n"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&write(LogFormat::Json, "info")).unwrap();
        assert_eq!(json["timestamp"], "2026-01-01T00:01:01.000Z");
        assert_eq!(
            (json["cluster"].as_str(), json["message"].as_str()),
            (Some("member1"), Some("tainted"))
        );
        assert_eq!(write(LogFormat::Text, "warn"), "");
        assert_eq!(write(LogFormat::Text, "warn,controller_kit=debug").lines().count(), 2);
    }

    #[test]
    fn the_client_library_speaks_only_when_it_is_named() {
        let lines_at = |level: &str| {
            let recording = Recording::start(level, &Clock::system()).unwrap();
            tracing::error!(target: "kube_client::client::builder", "failed with error client error (Connect)");
            tracing::error!("ours");
            recording.lines().len()
        };
        assert_eq!(lines_at("info"), 1);
        assert_eq!(lines_at("debug"), 1);
        assert_eq!(lines_at("info,kube_client=warn"), 2);
        assert_eq!(lines_at("off"), 0);
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_named() {
        let error = filter("info,controller_kit=loud").unwrap_err().to_string();
        assert!(
            error.starts_with("--log-level \"info,controller_kit=loud\": "),
            "{error}"
        );
    }
}
