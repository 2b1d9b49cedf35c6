//! How much is left of what is waited for, and when it is expected to be gone. Pure.

use std::collections::BTreeSet;

use eviction_queue_api::v1;
use jiff::{SignedDuration, Timestamp};

use crate::change::entries;
use crate::entry::{EntryView, State};
use crate::output::{At, relative};

/// What is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Due later.
    pub waiting: u64,
    /// Due.
    pub ready: u64,
    /// With the evictor.
    pub leased: u64,
    /// Not released.
    pub held: u64,
    /// When the last of those that wait is due.
    pub last_due: Option<Timestamp>,
}

impl Left {
    /// Counts these entries.
    pub fn of<'a>(entries: impl Iterator<Item = &'a EntryView>) -> Self {
        let mut left = Self::default();
        for entry in entries {
            match entry.state {
                State::Waiting => {
                    left.waiting += 1;
                    left.last_due = left.last_due.max(entry.due_at.map(|at| at.0));
                }
                State::Leased => left.leased += 1,
                State::Held => left.held += 1,
                State::Ready | State::Unknown => left.ready += 1,
            }
        }
        left
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.waiting + self.ready + self.leased + self.held
    }

    /// How many of each, as in `3 entries: 1 waiting, 2 ready`.
    #[must_use]
    pub fn counts(&self) -> String {
        let each = [
            (self.waiting, "waiting"),
            (self.ready, "ready"),
            (self.leased, "leased"),
            (self.held, "held"),
        ];
        let some: Vec<String> = each
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, state)| format!("{count} {state}"))
            .collect();
        match &some[..] {
            [] => "no entry".to_owned(),
            some => format!("{}: {}", entries(self.count()), some.join(", ")),
        }
    }

    /// When the last of them that are not held is released, if nothing changes and all that is due goes first.
    #[must_use]
    pub fn expected(&self, status: &v1::GetStatusResponse) -> Option<Timestamp> {
        if self.ready + self.waiting == 0 || status.evictions_per_second <= 0.0 || status.consumers == 0 {
            return None;
        }
        let (ready, waiting) = status
            .totals
            .as_ref()
            .map_or((0, 0), |totals| (totals.ready, totals.waiting));
        let as_of = status.as_of.as_ref().and_then(At::of_proto)?.0;
        let release_of = |count: u64| {
            let seconds = f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / status.evictions_per_second;
            let wait = SignedDuration::try_from_secs_f64(seconds).ok()?;
            as_of.checked_add(wait).ok()
        };
        let in_turn = release_of(if self.waiting > 0 { ready + waiting } else { ready })?;
        Some(self.last_due.map_or(in_turn, |due| due.max(in_turn)))
    }

    /// Whether nothing is left, and would come: every producer has told its whole set to a queue that has begun.
    #[must_use]
    pub fn is_over(&self, status: &v1::GetStatusResponse) -> bool {
        self.count() == 0 && not_told(status).is_none()
    }

    /// In one line, for somebody who waits.
    #[must_use]
    pub fn progress(&self, status: &v1::GetStatusResponse, now: Timestamp) -> String {
        let left = self.counts();
        if self.count() == 0 {
            let why = not_told(status).unwrap_or_default();
            return format!("{left} matches, but {why}");
        }
        // How many and until when come first: a narrow terminal shows no more of it.
        let (until, more) = match self.expected(status) {
            Some(at) => {
                let but = if self.held > 0 { " but for what is held" } else { "" };
                let until = format!(", the last {}{but}", relative(at, now));
                let more = format!("the last goes at {} at {}/s", At(at), status.evictions_per_second);
                (until, Some(more))
            }
            None if self.ready + self.waiting == 0 => (String::new(), None),
            None if status.evictions_per_second <= 0.0 => {
                (", nothing is released".to_owned(), Some(status.reason.clone()))
            }
            None => (
                ", nothing is released".to_owned(),
                Some("no evictor is connected".to_owned()),
            ),
        };
        let mut parts = vec![left.replacen(':', &format!(" left{until}:"), 1)];
        parts.extend(more);
        if self.held > 0 {
            parts.push("what is held goes only when its reason ends: failoverctl queue list --state held".to_owned());
        }
        parts.join("; ")
    }
}

/// Entries that only a former leader named, for somebody who waits: as long as their producers are silent, nobody knows
/// whether they still have to leave.
#[must_use]
pub fn unsure(count: usize, silent: &BTreeSet<&str>) -> String {
    let silent: Vec<&str> = silent.iter().copied().collect();
    let have = if silent.len() == 1 { "has" } else { "have" };
    format!(
        "{} of the former leader may be gone: {} {have} not told the new leader yet; who runs: failoverctl status",
        entries(count as u64),
        silent.join(" and ")
    )
}

/// Why an empty queue does not mean that nothing has to leave.
fn not_told(status: &v1::GetStatusResponse) -> Option<String> {
    if status.regime() == v1::Regime::Starting {
        return Some("the queue is only starting".to_owned());
    }
    if status.producers.is_empty() {
        return Some("nobody has told the queue yet who has to leave: does the taint manager run?".to_owned());
    }
    let silent = status.producers.iter().find(|producer| !producer.synced)?;
    Some(format!(
        "{} has not told the queue yet who has to leave",
        silent.producer
    ))
}
