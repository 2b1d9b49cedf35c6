//! How an informer is doing: synced or not, when it last heard from the server, what its last error was.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The stages of an informer's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The first list is not complete.
    Unsynced,
    /// The cache held a complete list at least once and is kept up to date.
    Synced,
    /// Nothing is kept up to date any more.
    Stopped,
}

/// The last try to read from the server, which failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct ReadFailure {
    /// Of which kind it is.
    pub kind: ReadFailureKind,
    /// What was answered, or that nothing was.
    pub words: String,
    /// When, by this process's own time.
    pub at: Instant,
}

/// What a failure to read says of who reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadFailureKind {
    /// The server knows who asks, or asks for it, and does not allow it: 401 or 403.
    Denied,
    /// Anything else.
    Other,
}

impl ReadFailure {
    /// Of this label ([`crate::api_errors::label`]).
    pub(crate) fn now(label: &str, words: &str) -> Self {
        let kind = match label {
            "denied" => ReadFailureKind::Denied,
            _ => ReadFailureKind::Other,
        };
        Self {
            kind,
            words: words.to_owned(),
            at: Instant::now(),
        }
    }
}

pub(crate) struct Status {
    stage: Mutex<Stage>,
    /// Wakes in the order of waiting, so that a simulated run is the same every time; a watch channel of tokio does not.
    moved: Notify,
    heard: Mutex<Heard>,
}

struct Heard {
    last: Instant,
    error: Option<ReadFailure>,
    /// The first failure since then.
    failing_since: Option<Instant>,
}

impl Status {
    pub(crate) fn new() -> Self {
        Self {
            stage: Mutex::new(Stage::Unsynced),
            moved: Notify::new(),
            heard: Mutex::new(Heard {
                last: Instant::now(),
                error: None,
                failing_since: None,
            }),
        }
    }

    /// The server has just shown that what is known is the present: by a page of a list, an event, or a watch that it opened or
    /// ended in order, before which it sent all that there was.
    pub(crate) fn contact(&self) {
        let mut heard = self.heard.lock();
        heard.last = Instant::now();
        heard.failing_since = None;
    }

    /// A complete list is in the cache.
    pub(crate) fn listed(&self) {
        *self.heard.lock() = Heard {
            last: Instant::now(),
            error: None,
            failing_since: None,
        };
        {
            let mut stage = self.stage.lock();
            if *stage != Stage::Unsynced {
                return;
            }
            *stage = Stage::Synced;
        }
        self.moved.notify_waiters();
    }

    pub(crate) fn failed(&self, error: ReadFailure) {
        let mut heard = self.heard.lock();
        heard.failing_since.get_or_insert(error.at);
        heard.error = Some(error);
    }

    /// The last error, while nothing was listed since.
    pub(crate) fn failure(&self) -> Option<ReadFailure> {
        self.heard.lock().error.clone()
    }

    pub(crate) fn stop(&self) {
        *self.stage.lock() = Stage::Stopped;
        self.moved.notify_waiters();
    }

    pub(crate) fn stage(&self) -> Stage {
        *self.stage.lock()
    }

    /// Waits for the first list or the stop.
    pub(crate) async fn settled(&self) -> Stage {
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            match self.stage() {
                Stage::Unsynced => moved.await,
                settled => return settled,
            }
        }
    }

    /// Time since the server was last heard from.
    pub(crate) fn age(&self) -> Duration {
        self.heard.lock().last.elapsed()
    }

    /// For how long reads have failed. A watch that said nothing until it failed was well: the kind was quiet.
    pub(crate) fn failing_for(&self) -> Duration {
        let since = self.heard.lock().failing_since;
        since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// For readiness: what is missing.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.stage() {
            Stage::Synced => Ok(()),
            Stage::Stopped => Err("stopped".to_owned()),
            Stage::Unsynced => Err(match &self.heard.lock().error {
                Some(error) => format!("not synced: {error}"),
                None => "not synced: listing".to_owned(),
            }),
        }
    }
}
