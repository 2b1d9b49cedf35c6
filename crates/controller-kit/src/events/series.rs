//! The book-keeping of events, without time of its own and without the network.
//!
//! Guarantees: equal events are one series with a count; a series has at most one write on its way and at most one
//! that waits; an object has a budget of writes, and what goes beyond it waits instead of being lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use tokio::time::Instant;

use super::EventType;

/// A repeated event's count is written at most this often.
const COUNT_EVERY: Duration = Duration::from_secs(10);
/// Writes that an object may have in a row.
const BURST: f64 = 25.0;
/// Time for one more write once the burst is used up.
const REFILL: Duration = Duration::from_secs(60);
/// Different events remembered; beyond that new ones are dropped until old ones are forgotten.
const MAX_SERIES: usize = 8192;
/// An event not repeated for this long may be forgotten; the next one is then a new Event.
const FORGET_AFTER: Duration = Duration::from_secs(3600);
/// Tries before what waits of a series is dropped.
const MAX_TRIES: u32 = 5;

/// What makes events equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SeriesKey {
    pub(crate) object: ObjectId,
    /// The component that speaks.
    pub(crate) source: Arc<str>,
    pub(crate) event_type: EventType,
    pub(crate) reason: String,
    pub(crate) note: String,
}

/// Api version, kind, namespace, name, uid.
pub(crate) type ObjectId = (String, String, String, String, String);

pub(crate) struct Series {
    pub(crate) object: ObjectReference,
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
    pub(crate) written: Option<Written>,
    unwritten: u32,
    tries: u32,
    last_published: Instant,
    write_not_before: Instant,
    /// Where the series stands in the table of dues.
    due: Option<Instant>,
}

/// The Event on the server.
#[derive(Clone)]
pub(crate) struct Written {
    pub(crate) name: String,
    pub(crate) count: u32,
}

#[derive(Default)]
pub(crate) struct State {
    series: BTreeMap<SeriesKey, Series>,
    due: BTreeSet<(Instant, SeriesKey)>,
    budgets: BTreeMap<ObjectId, Budget>,
}

struct Budget {
    writes: f64,
    counted_at: Instant,
}

/// Whether there is room for an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Taken,
    Full,
}

/// Whether the process ends: then dues and budgets do not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hurry {
    No,
    Yes,
}

/// The next thing to do.
pub(crate) enum Turn {
    /// Write this series, with so many events more than it had.
    Write(SeriesKey, u32),
    /// Nothing before this moment.
    Wait(Instant),
    /// Nothing until something is published.
    Idle,
}

/// What a write that failed becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextTry {
    TheSame,
    /// As a new Event: the old one is gone, or its name is taken.
    AsNewEvent,
}

/// Whether there will be another try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Again,
    GivenUp,
}

impl State {
    /// Counts an event.
    pub(crate) fn publish(&mut self, key: &SeriesKey, about: &ObjectReference, now: Instant, wall: Timestamp) -> Room {
        if !self.series.contains_key(key) && self.series.len() >= MAX_SERIES {
            self.forget_old(now);
            if self.series.len() >= MAX_SERIES {
                return Room::Full;
            }
        }
        let series = self.series.entry(key.clone()).or_insert_with(|| Series {
            object: about.clone(),
            first: wall,
            last: wall,
            written: None,
            unwritten: 0,
            tries: 0,
            last_published: now,
            write_not_before: now,
            due: None,
        });
        series.unwritten = series.unwritten.saturating_add(1);
        series.last = wall;
        series.last_published = now;
        if series.due.is_none() {
            let due = series.write_not_before.max(now);
            self.schedule(key, due);
        }
        Room::Taken
    }

    /// The series whose turn it is, within its object's budget.
    pub(crate) fn next(&mut self, now: Instant, hurry: Hurry) -> Turn {
        while let Some((due, key)) = self.due.pop_first() {
            if due > now && hurry == Hurry::No {
                self.due.insert((due, key));
                return Turn::Wait(due);
            }
            if hurry == Hurry::No
                && let Err(later) = self.spend(&key.object, now)
            {
                self.schedule(&key, later);
                continue;
            }
            let Some(series) = self.series.get_mut(&key) else {
                continue;
            };
            series.due = None;
            let adds = std::mem::take(&mut series.unwritten);
            return Turn::Write(key, adds);
        }
        Turn::Idle
    }

    pub(crate) fn get(&self, key: &SeriesKey) -> Option<&Series> {
        self.series.get(key)
    }

    /// The Event is on the server as `written`.
    pub(crate) fn written(&mut self, key: &SeriesKey, written: Written, now: Instant) {
        let Some(series) = self.series.get_mut(key) else {
            return;
        };
        series.tries = 0;
        series.written = Some(written);
        series.write_not_before = now + COUNT_EVERY;
        if series.unwritten > 0 {
            let due = series.write_not_before;
            self.schedule(key, due);
        }
    }

    /// The write of `adds` events failed; `wait` gives the wait by the number of failures.
    pub(crate) fn failed(
        &mut self,
        key: &SeriesKey,
        adds: u32,
        next: NextTry,
        now: Instant,
        wait: impl FnOnce(u32) -> Duration,
    ) -> Verdict {
        let Some(series) = self.series.get_mut(key) else {
            return Verdict::GivenUp;
        };
        series.tries += 1;
        if series.tries >= MAX_TRIES {
            self.give_up(key);
            return Verdict::GivenUp;
        }
        if next == NextTry::AsNewEvent {
            series.written = None;
        }
        series.unwritten = series.unwritten.saturating_add(adds);
        let due = now + wait(series.tries);
        self.schedule(key, due);
        Verdict::Again
    }

    /// Drops the series: what waits of it is lost, the next event of it starts anew.
    pub(crate) fn give_up(&mut self, key: &SeriesKey) {
        if let Some(due) = self.series.remove(key).and_then(|series| series.due) {
            self.due.remove(&(due, key.clone()));
        }
    }

    fn schedule(&mut self, key: &SeriesKey, due: Instant) {
        let Some(series) = self.series.get_mut(key) else {
            return;
        };
        if let Some(before) = series.due.replace(due) {
            self.due.remove(&(before, key.clone()));
        }
        self.due.insert((due, key.clone()));
    }

    /// Takes one write out of the object's budget, or says when there will be one.
    fn spend(&mut self, object: &ObjectId, now: Instant) -> Result<(), Instant> {
        let budget = self.budgets.entry(object.clone()).or_insert(Budget {
            writes: BURST,
            counted_at: now,
        });
        let gained = now.duration_since(budget.counted_at).as_secs_f64() / REFILL.as_secs_f64();
        budget.writes = (budget.writes + gained).min(BURST);
        budget.counted_at = now;
        if budget.writes >= 1.0 {
            budget.writes -= 1.0;
            return Ok(());
        }
        // Rounded up to a millisecond: timers have no finer grain.
        let missing = REFILL.mul_f64(1.0 - budget.writes);
        Err(now + missing + Duration::from_millis(1))
    }

    fn forget_old(&mut self, now: Instant) {
        self.series
            .retain(|_, series| series.due.is_some() || now.duration_since(series.last_published) < FORGET_AFTER);
        let full_after = REFILL.mul_f64(BURST);
        self.budgets
            .retain(|_, budget| now.duration_since(budget.counted_at) < full_after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(object: &str, note: &str) -> SeriesKey {
        let none = String::new;
        SeriesKey {
            source: "test".into(),
            object: (none(), none(), none(), object.to_owned(), none()),
            event_type: EventType::Normal,
            reason: "Tested".to_owned(),
            note: note.to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_is_bounded_and_old_things_make_room() {
        let mut state = State::default();
        let about = ObjectReference::default();
        let publish = |state: &mut State, number: usize| {
            state.publish(
                &key(&number.to_string(), "x"),
                &about,
                Instant::now(),
                Timestamp::UNIX_EPOCH,
            )
        };
        for number in 0..MAX_SERIES {
            assert_eq!(publish(&mut state, number), Room::Taken);
        }
        assert_eq!(publish(&mut state, MAX_SERIES), Room::Full);
        assert_eq!(publish(&mut state, 0), Room::Taken, "a known one always counts");
        while let Turn::Write(key, count) = state.next(Instant::now(), Hurry::No) {
            state.written(
                &key,
                Written {
                    name: "e".to_owned(),
                    count,
                },
                Instant::now(),
            );
        }
        tokio::time::sleep(FORGET_AFTER).await;
        assert_eq!(publish(&mut state, MAX_SERIES), Room::Taken);
        assert_eq!((state.series.len(), state.budgets.len(), state.due.len()), (1, 0, 1));
    }
}
