//! What a test hears of the log.

use std::sync::Arc;

use parking_lot::Mutex;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

use super::{TelemetryError, subscriber};
use crate::clock::Clock;
use crate::process::LogFormat;

/// What is logged on this thread from its start until it is dropped, for tests that ask what an operator reads.
pub struct Recording {
    text: Arc<Mutex<Vec<u8>>>,
    _until_dropped: tracing::dispatcher::DefaultGuard,
}

impl Recording {
    /// Starts to record.
    ///
    /// # Errors
    /// [`TelemetryError::Filter`] when `level` cannot be read.
    pub fn start(level: &str, clock: &Clock) -> Result<Self, TelemetryError> {
        let text = Arc::<Mutex<Vec<u8>>>::default();
        let pen = Pen(text.clone());
        let subscriber = subscriber(LogFormat::Text, level, clock.clone(), move || pen.clone())?;
        ask_every_time();
        Ok(Self {
            text,
            _until_dropped: tracing::subscriber::set_default(subscriber),
        })
    }

    /// The lines so far.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        String::from_utf8_lossy(&self.text.lock())
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

/// Makes every line of this process ask its thread's subscriber whether it is wanted.
///
/// What nobody wanted when it was first logged is remembered as unwanted; a [`Recording`] that starts on another thread
/// at that moment would miss it for ever. Programs of several tests that record call this before they log anything.
pub fn ask_every_time() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    // One that is there already hears of every line, too.
    ONCE.call_once(|| drop(tracing::subscriber::set_global_default(Undecided)));
}

/// Wants nothing, and is to be asked again.
struct Undecided;

impl Subscriber for Undecided {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::TRACE)
    }

    fn enabled(&self, _: &Metadata<'_>) -> bool {
        false
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Recording").field(&self.lines()).finish()
    }
}

#[derive(Clone)]
pub(super) struct Pen(pub(super) Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Pen {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
