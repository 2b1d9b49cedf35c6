//! The book-keeping of events, without time of its own and without the network.
//!
//! Guarantees: equal events are one series with a count; a series has at most one write on its way and at most one
//! that waits; an object has a budget of writes, and what goes beyond it waits instead of being lost. What is bounded is
//! what waits: series that are written make room for new ones, those not repeated for longest first, and are forgotten
//! when servers have, too. Nothing here takes longer the more is remembered, and of what is written there is no text but
//! the name of its Event: a recovery of thousands of workloads is not kept for an hour in their words.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use tokio::time::Instant;

use super::EventType;
use crate::random::hash_text;

/// A repeated event's count is written at most this often.
const COUNT_EVERY: Duration = Duration::from_secs(10);
/// Writes that an object may have in a row.
const BURST: f64 = 25.0;
/// Time for one more write once the burst is used up.
const REFILL: Duration = Duration::from_secs(60);
/// Different events remembered. Those that are written are forgotten when there are more, and the next one like them is
/// then a new Event; when as many wait to be written, new ones are dropped.
const MAX_SERIES: usize = 8192;
/// A series that is written and not repeated for so long is forgotten: servers keep an Event for an hour by default, so that
/// its repetition would be a new Event anyway.
const REMEMBERED: Duration = Duration::from_secs(3600);
/// A budget that nothing was taken from for so long is full; so often they are looked through for full ones.
const FULL_AFTER: Duration = Duration::from_secs(25 * 60);
/// Tries before what waits of a series is dropped.
const MAX_TRIES: u32 = 5;

/// What makes events equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeriesKey {
    pub(crate) object: ObjectId,
    /// The component that speaks.
    pub(crate) source: Arc<str>,
    pub(crate) event_type: EventType,
    pub(crate) reason: String,
    pub(crate) note: String,
}

/// Api version, kind, namespace, name, uid.
pub(crate) type ObjectId = [String; 5];

/// A hash of what makes events equal. Two of thousands of series do not have the same by chance; where somebody sees to it,
/// an event is counted to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SeriesId(u64);

impl SeriesKey {
    pub(crate) fn id(&self) -> SeriesId {
        let [api_version, kind, namespace, name, uid] = &self.object;
        SeriesId(hash_text(&[
            api_version,
            kind,
            namespace,
            name,
            uid,
            &self.source,
            self.event_type.as_str(),
            &self.reason,
            &self.note,
        ]))
    }

    /// A hash of the object, as for [`SeriesId`].
    fn object_id(&self) -> u64 {
        hash_text(&self.object.each_ref().map(String::as_str))
    }
}

/// A series of which something is to be written, or on its way.
pub(crate) struct Series {
    pub(crate) key: SeriesKey,
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

/// What is remembered of a series of which everything is written.
struct AtRest {
    written: Written,
    last_published: Instant,
    write_not_before: Instant,
}

/// The Event on the server.
#[derive(Clone)]
pub(crate) struct Written {
    pub(crate) name: String,
    pub(crate) count: u32,
}

#[derive(Default)]
pub(crate) struct State {
    waiting: BTreeMap<SeriesId, Series>,
    due: BTreeSet<(Instant, SeriesId)>,
    at_rest: BTreeMap<SeriesId, AtRest>,
    /// Those at rest by when they were published last.
    by_age: BTreeSet<(Instant, SeriesId)>,
    /// By a hash of the object.
    budgets: BTreeMap<u64, Budget>,
    /// When budgets were looked through last.
    budgets_seen: Option<Instant>,
    dropping: Dropping,
}

/// Whether new events are being dropped, for want of room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Dropping {
    #[default]
    No,
    /// And not only for a moment: until half of the room is free again.
    Yes,
}

struct Budget {
    writes: f64,
    counted_at: Instant,
}

/// Whether there is room for an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Taken,
    /// None, from now on.
    JustFull,
    /// None, still.
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
    Write(SeriesId, u32),
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
    pub(crate) fn publish(&mut self, key: SeriesKey, about: &ObjectReference, now: Instant, wall: Timestamp) -> Room {
        self.forget_expired(now);
        let id = key.id();
        if !self.waiting.contains_key(&id) {
            let known = self.wake(id);
            if known.is_none()
                && let Err(full) = self.make_room()
            {
                return full;
            }
            let write_not_before = known.as_ref().map_or(now, |known| known.write_not_before);
            let series = Series {
                key,
                object: about.clone(),
                first: wall,
                last: wall,
                written: known.map(|known| known.written),
                unwritten: 0,
                tries: 0,
                last_published: now,
                write_not_before,
                due: None,
            };
            self.waiting.insert(id, series);
        }
        let Some(series) = self.waiting.get_mut(&id) else {
            return Room::Taken;
        };
        series.unwritten = series.unwritten.saturating_add(1);
        series.last = wall;
        series.last_published = now;
        if series.due.is_none() {
            let due = series.write_not_before.max(now);
            self.schedule(id, due);
        }
        Room::Taken
    }

    /// The series whose turn it is, within its object's budget.
    pub(crate) fn next(&mut self, now: Instant, hurry: Hurry) -> Turn {
        while let Some((due, id)) = self.due.pop_first() {
            if due > now && hurry == Hurry::No {
                self.due.insert((due, id));
                return Turn::Wait(due);
            }
            let Some(series) = self.waiting.get(&id) else {
                continue;
            };
            let object = series.key.object_id();
            if hurry == Hurry::No
                && let Err(later) = self.spend(object, now)
            {
                self.schedule(id, later);
                continue;
            }
            let Some(series) = self.waiting.get_mut(&id) else {
                continue;
            };
            series.due = None;
            let adds = std::mem::take(&mut series.unwritten);
            return Turn::Write(id, adds);
        }
        Turn::Idle
    }

    pub(crate) fn get(&self, id: SeriesId) -> Option<&Series> {
        self.waiting.get(&id)
    }

    /// The Event is on the server as `written`.
    pub(crate) fn written(&mut self, id: SeriesId, written: Written, now: Instant) {
        let Some(series) = self.waiting.get_mut(&id) else {
            return;
        };
        series.tries = 0;
        series.write_not_before = now + COUNT_EVERY;
        if series.unwritten > 0 {
            series.written = Some(written);
            let due = series.write_not_before;
            self.schedule(id, due);
            return;
        }
        let at_rest = AtRest {
            written,
            last_published: series.last_published,
            write_not_before: series.write_not_before,
        };
        self.take_out(id);
        self.by_age.insert((at_rest.last_published, id));
        self.at_rest.insert(id, at_rest);
    }

    /// The write of `adds` events failed; `wait` gives the wait by the number of failures.
    pub(crate) fn failed(
        &mut self,
        id: SeriesId,
        adds: u32,
        next: NextTry,
        now: Instant,
        wait: impl FnOnce(u32) -> Duration,
    ) -> Verdict {
        let Some(series) = self.waiting.get_mut(&id) else {
            return Verdict::GivenUp;
        };
        series.tries += 1;
        if series.tries >= MAX_TRIES {
            self.give_up(id);
            return Verdict::GivenUp;
        }
        if next == NextTry::AsNewEvent {
            series.written = None;
        }
        series.unwritten = series.unwritten.saturating_add(adds);
        let due = now + wait(series.tries);
        self.schedule(id, due);
        Verdict::Again
    }

    /// Drops the series: what waits of it is lost, the next event of it starts anew.
    pub(crate) fn give_up(&mut self, id: SeriesId) {
        self.take_out(id);
    }

    fn take_out(&mut self, id: SeriesId) {
        if let Some(due) = self.waiting.remove(&id).and_then(|series| series.due) {
            self.due.remove(&(due, id));
        }
    }

    /// Takes a series out of those at rest.
    fn wake(&mut self, id: SeriesId) -> Option<AtRest> {
        let at_rest = self.at_rest.remove(&id)?;
        self.by_age.remove(&(at_rest.last_published, id));
        Some(at_rest)
    }

    fn forget_expired(&mut self, now: Instant) {
        while let Some((_, id)) = self
            .by_age
            .first()
            .filter(|(published, _)| now.duration_since(*published) >= REMEMBERED)
        {
            self.at_rest.remove(id);
            self.by_age.pop_first();
        }
    }

    /// Forgets the series at rest that was published longest ago, if there is no room otherwise.
    fn make_room(&mut self) -> Result<(), Room> {
        if self.waiting.len() <= MAX_SERIES / 2 {
            self.dropping = Dropping::No;
        }
        if self.waiting.len() + self.at_rest.len() < MAX_SERIES {
            return Ok(());
        }
        if let Some((_, oldest)) = self.by_age.pop_first() {
            self.at_rest.remove(&oldest);
            return Ok(());
        }
        Err(match std::mem::replace(&mut self.dropping, Dropping::Yes) {
            Dropping::No => Room::JustFull,
            Dropping::Yes => Room::Full,
        })
    }

    fn schedule(&mut self, id: SeriesId, due: Instant) {
        let Some(series) = self.waiting.get_mut(&id) else {
            return;
        };
        if let Some(before) = series.due.replace(due) {
            self.due.remove(&(before, id));
        }
        self.due.insert((due, id));
    }

    /// Takes one write out of the object's budget, or says when there will be one.
    fn spend(&mut self, object: u64, now: Instant) -> Result<(), Instant> {
        self.forget_full_budgets(now);
        let budget = self.budgets.entry(object).or_insert(Budget {
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

    /// A full budget is as good as none. Looked for once in a while only, so that it costs little for each write.
    fn forget_full_budgets(&mut self, now: Instant) {
        let seen = *self.budgets_seen.get_or_insert(now);
        if now.duration_since(seen) >= FULL_AFTER {
            self.budgets
                .retain(|_, budget| now.duration_since(budget.counted_at) < FULL_AFTER);
            self.budgets_seen = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(object: &str, note: &str) -> SeriesKey {
        let none = String::new;
        SeriesKey {
            source: "test".into(),
            object: [none(), none(), none(), object.to_owned(), none()],
            event_type: EventType::Normal,
            reason: "Tested".to_owned(),
            note: note.to_owned(),
        }
    }

    fn publish(state: &mut State, object: &str, note: &str) -> Room {
        let about = ObjectReference::default();
        state.publish(key(object, note), &about, Instant::now(), Timestamp::UNIX_EPOCH)
    }

    /// Writes all that may be written now.
    fn write_all(state: &mut State) -> usize {
        let mut writes = 0;
        while let Turn::Write(id, count) = state.next(Instant::now(), Hurry::No) {
            let name = "e".to_owned();
            state.written(id, Written { name, count }, Instant::now());
            writes += 1;
        }
        writes
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_is_bounded_and_what_is_written_makes_room() {
        let mut state = State::default();
        for number in 0..MAX_SERIES {
            assert_eq!(publish(&mut state, &number.to_string(), "x"), Room::Taken);
        }
        let more = |state: &mut State| publish(state, "more", "x");
        assert_eq!(more(&mut state), Room::JustFull, "told once");
        assert_eq!(more(&mut state), Room::Full);
        assert_eq!(publish(&mut state, "0", "x"), Room::Taken, "a known one always counts");
        let Turn::Write(first, count) = state.next(Instant::now(), Hurry::No) else {
            panic!("something waits")
        };
        let name = "e".to_owned();
        state.written(first, Written { name, count }, Instant::now());
        assert_eq!(publish(&mut state, "another", "x"), Room::Taken, "one was written");
        assert_eq!(more(&mut state), Room::Full, "not over yet, so not told again");
        assert_eq!(write_all(&mut state), MAX_SERIES);
        assert_eq!(more(&mut state), Room::Taken);
        assert_eq!(state.at_rest.len() + state.waiting.len(), MAX_SERIES);
    }

    // A storm: a thousand moves and more, eight different events for each, written as they come.
    #[tokio::test(start_paused = true)]
    async fn a_storm_that_is_written_as_it_comes_loses_nothing() {
        let mut state = State::default();
        let mut writes = 0;
        for binding in 0..1_200 {
            for note in ["a", "b", "c", "d", "e", "f", "g", "h"] {
                assert_eq!(publish(&mut state, &binding.to_string(), note), Room::Taken);
            }
            writes += write_all(&mut state);
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
        assert_eq!(writes, 9_600);
        let of_an_hour = 360 * 8;
        assert_eq!(
            (state.waiting.len(), state.at_rest.len(), state.by_age.len()),
            (0, of_an_hour, of_an_hour)
        );
        assert_eq!(state.due.len(), 0);
        assert!(state.budgets.len() <= 2 * 150, "full ones are forgotten");
        assert_eq!(FULL_AFTER, REFILL.mul_f64(BURST));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_said_longest_ago_is_forgotten_first() {
        let mut state = State::default();
        for number in 0..MAX_SERIES {
            publish(&mut state, &number.to_string(), "x");
            write_all(&mut state);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(COUNT_EVERY).await;
        publish(&mut state, "0", "x");
        write_all(&mut state);
        publish(&mut state, "new", "x");
        let is_known = |object| state.at_rest.contains_key(&key(object, "x").id());
        assert!(is_known("0"), "repeated just now");
        assert!(!is_known("1"));
    }
}
