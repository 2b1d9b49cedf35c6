//! Whether watches show what this process itself has written: by that, and without anybody's clock, it is known that they
//! are late.
//!
//! Guarantees: of each kind at most one write is awaited, so that nothing grows; only informers that follow every object
//! of their kind take part, since others need not show what is written.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use crate::disturbances::{Disturbance, Disturbances};
use crate::durations::format_duration;

/// A watch that shows a write after this time, or not at all, is late.
const LATE: Duration = Duration::from_secs(5);

/// Time between two looks for writes that are not shown at all.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// The kinds that are followed. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Echoes {
    by_kind: Arc<Mutex<BTreeMap<String, Arc<Echo>>>>,
}

/// Of one kind.
#[derive(Default)]
pub(crate) struct Echo {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The newest version that lists and watches have shown.
    heard: u64,
    /// The oldest write that they have not shown: its version, and when it was answered.
    awaited: Option<(u64, Instant)>,
}

impl Echoes {
    /// Of a kind, written as informers write it, whose objects are all followed.
    pub(crate) fn of(&self, kind: &str) -> Arc<Echo> {
        self.by_kind.lock().entry(kind.to_owned()).or_default().clone()
    }

    /// Whether anybody follows all objects of this kind.
    pub(crate) fn follow(&self, kind: &str) -> bool {
        self.by_kind.lock().contains_key(kind)
    }

    /// A write has left an object of this kind at this version.
    pub(crate) fn wrote(&self, kind: &str, version: &str) {
        let echo = self.by_kind.lock().get(kind).cloned();
        if let (Some(echo), Ok(version)) = (echo, version.parse()) {
            echo.wrote(version);
        }
    }

    /// Tells of writes that are not shown, until aborted.
    pub(crate) async fn watch(self, disturbances: Disturbances) {
        loop {
            sleep(LOOK_EVERY).await;
            for (kind, echo) in self.by_kind.lock().iter() {
                if let Some(late) = echo.overdue() {
                    tell(&disturbances, kind, late);
                }
            }
        }
    }
}

impl Echo {
    fn wrote(&self, version: u64) {
        let mut state = self.state.lock();
        if version > state.heard && state.awaited.is_none() {
            state.awaited = Some((version, Instant::now()));
        }
    }

    /// Lists and watches have shown everything up to this version. Returns by how long what was awaited came late, if it
    /// was and did.
    pub(crate) fn heard(&self, version: &str) -> Option<Duration> {
        let version = version.parse().ok()?;
        let mut state = self.state.lock();
        state.heard = state.heard.max(version);
        let (_, written) = state.awaited.take_if(|(awaited, _)| *awaited <= version)?;
        Some(written.elapsed()).filter(|took| *took >= LATE)
    }

    fn overdue(&self) -> Option<Duration> {
        let (_, written) = self.state.lock().awaited?;
        Some(written.elapsed()).filter(|took| *took >= LATE)
    }

    /// The server was set back: versions begin anew.
    pub(crate) fn begin_anew(&self) {
        *self.state.lock() = State::default();
    }
}

/// Says that a write of this kind is not shown after `late`.
pub(crate) fn tell(disturbances: &Disturbances, kind: &str, late: Duration) {
    disturbances.seen(Disturbance::LateEvents, "", || {
        let late = format_duration(Duration::from_secs(late.as_secs()));
        format!("a write of {kind} was not shown for {late}")
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_oldest_write_that_is_not_shown_counts() {
        let echoes = Echoes::default();
        echoes.wrote("works", "5");
        let echo = echoes.of("works");
        assert_eq!(echo.heard("10"), None);
        echoes.wrote("works", "7");
        assert_eq!(echo.overdue(), None, "it was shown before it was answered");
        echoes.wrote("works", "11");
        sleep(Duration::from_secs(4)).await;
        echoes.wrote("works", "12");
        assert_eq!(echo.heard("10"), None, "something else");
        assert_eq!(echo.overdue(), None);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(echo.overdue(), Some(Duration::from_secs(5)));
        assert_eq!(echo.heard("13"), Some(Duration::from_secs(5)));
        assert_eq!((echo.overdue(), echo.heard("14")), (None, None));
        echoes.wrote("works", "15");
        sleep(Duration::from_secs(1)).await;
        assert_eq!(echo.heard("15"), None, "in time");
        echoes.wrote("works", "no number");
        echoes.wrote("works", "900");
        echo.begin_anew();
        sleep(Duration::from_secs(9)).await;
        assert_eq!(echo.overdue(), None);
    }
}
