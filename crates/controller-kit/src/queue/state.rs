//! The book-keeping of a work queue, without time and tasks.
//!
//! Guarantees:
//! - A key is with at most one worker at a time.
//! - A key added while it waits is there once; added while a worker has it, it is queued again when that one is done.
//! - Of several delayed adds of a key the earliest counts; an immediate add leaves a delayed one in place.
//! - A key with nothing to come takes no memory.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::Hash;

use jiff::Timestamp;
use tokio::time::Instant;

use crate::room::{self, smaller_room};

/// The state of all keys. `K` is cheap to clone.
#[derive(Debug)]
pub(crate) struct State<K> {
    ready: VecDeque<(K, Instant)>,
    keys: HashMap<K, Entry>,
    by_elapsed: BTreeSet<(Instant, K)>,
    by_clock: BTreeSet<(Timestamp, K)>,
}

#[derive(Debug, Default)]
struct Entry {
    queued: bool,
    working: bool,
    failures: u32,
    due_elapsed: Option<Instant>,
    due_clock: Option<Timestamp>,
}

impl Entry {
    fn is_idle(&self) -> bool {
        !self.queued && !self.working && self.failures == 0 && self.due_elapsed.is_none() && self.due_clock.is_none()
    }
}

/// When the next delayed key is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NextDue {
    pub(crate) elapsed: Option<Instant>,
    pub(crate) clock: Option<Timestamp>,
}

impl<K: Ord + Hash + Clone> State<K> {
    pub(crate) fn new() -> Self {
        Self {
            ready: VecDeque::new(),
            keys: HashMap::new(),
            by_elapsed: BTreeSet::new(),
            by_clock: BTreeSet::new(),
        }
    }

    pub(crate) fn add(&mut self, key: K, now: Instant) {
        let entry = self.keys.entry(key.clone()).or_default();
        if entry.queued {
            return;
        }
        entry.queued = true;
        if !entry.working {
            self.ready.push_back((key, now));
        }
    }

    pub(crate) fn add_at_elapsed(&mut self, key: K, due: Instant) {
        let entry = self.keys.entry(key.clone()).or_default();
        if entry.due_elapsed.is_some_and(|known| known <= due) {
            return;
        }
        if let Some(later) = entry.due_elapsed.replace(due) {
            self.by_elapsed.remove(&(later, key.clone()));
        }
        self.by_elapsed.insert((due, key));
    }

    pub(crate) fn add_at_clock(&mut self, key: K, due: Timestamp) {
        let entry = self.keys.entry(key.clone()).or_default();
        if entry.due_clock.is_some_and(|known| known <= due) {
            return;
        }
        if let Some(later) = entry.due_clock.replace(due) {
            self.by_clock.remove(&(later, key.clone()));
        }
        self.by_clock.insert((due, key));
    }

    /// Queues every delayed key that is due.
    pub(crate) fn wake_due(&mut self, now: Instant, clock_now: Timestamp) {
        while let Some((due, key)) = self.by_elapsed.first().cloned()
            && due <= now
        {
            self.by_elapsed.pop_first();
            if let Some(entry) = self.keys.get_mut(&key) {
                entry.due_elapsed = None;
            }
            self.add(key, now);
        }
        while let Some((due, key)) = self.by_clock.first().cloned()
            && due <= clock_now
        {
            self.by_clock.pop_first();
            if let Some(entry) = self.keys.get_mut(&key) {
                entry.due_clock = None;
            }
            self.add(key, now);
        }
    }

    pub(crate) fn next_due(&self) -> NextDue {
        NextDue {
            elapsed: self.by_elapsed.first().map(|(due, _)| *due),
            clock: self.by_clock.first().map(|(due, _)| *due),
        }
    }

    /// Gives the next key to a worker, with the moment since which it was ready.
    pub(crate) fn take(&mut self) -> Option<(K, Instant)> {
        let (key, since) = room::pop_front(&mut self.ready)?;
        if let Some(entry) = self.keys.get_mut(&key) {
            entry.queued = false;
            entry.working = true;
        }
        Some((key, since))
    }

    /// The worker is done with the key and nothing failed.
    pub(crate) fn succeeded(&mut self, key: &K, now: Instant) {
        if let Some(entry) = self.keys.get_mut(key) {
            entry.failures = 0;
        }
        self.done(key, now);
    }

    /// The worker failed; returns how many times in a row by now. The caller decides about the next try.
    pub(crate) fn failed(&mut self, key: &K, now: Instant) -> u32 {
        let entry = self.keys.entry(key.clone()).or_default();
        entry.failures = entry.failures.saturating_add(1);
        let failures = entry.failures;
        self.done(key, now);
        failures
    }

    fn done(&mut self, key: &K, now: Instant) {
        let Some(entry) = self.keys.get_mut(key) else { return };
        entry.working = false;
        if entry.queued {
            self.ready.push_back((key.clone(), now));
        } else if entry.is_idle() {
            self.remove(key);
        }
    }

    /// Takes out a key with nothing to come. After a storm the room of many keys is given back, each time half of it.
    fn remove(&mut self, key: &K) {
        self.keys.remove(key);
        if let Some(room) = smaller_room(self.keys.len(), self.keys.capacity()) {
            self.keys.shrink_to(room);
        }
    }

    /// Drops everything that waits for the key; what a worker does with it now goes on.
    pub(crate) fn forget(&mut self, key: &K) {
        let Some(entry) = self.keys.get_mut(key) else { return };
        if let Some(due) = entry.due_elapsed.take() {
            self.by_elapsed.remove(&(due, key.clone()));
        }
        if let Some(due) = entry.due_clock.take() {
            self.by_clock.remove(&(due, key.clone()));
        }
        entry.failures = 0;
        if entry.queued {
            entry.queued = false;
            self.ready.retain(|(waiting, _)| waiting != key);
        }
        if entry.is_idle() {
            self.remove(key);
        }
    }

    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub(crate) fn ready_len(&self) -> usize {
        self.ready.len()
    }

    pub(crate) fn delayed_len(&self) -> usize {
        self.by_elapsed.len() + self.by_clock.len()
    }

    pub(crate) fn working_len(&self) -> usize {
        self.keys.values().filter(|entry| entry.working).count()
    }

    pub(crate) fn oldest_ready(&self) -> Option<Instant> {
        self.ready.front().map(|(_, since)| *since)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Step {
        Add(u8),
        After(u8, u64),
        At(u8, i64),
        Pass(u64),
        Take,
        Finish { nth: usize, fails: bool },
        Forget(u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0_u8..4).prop_map(Step::Add),
            (0_u8..4, 0_u64..50).prop_map(|(key, ms)| Step::After(key, ms)),
            (0_u8..4, 0_i64..50).prop_map(|(key, ms)| Step::At(key, ms)),
            (0_u64..30).prop_map(Step::Pass),
            Just(Step::Take),
            (0_usize..4, any::<bool>()).prop_map(|(nth, fails)| Step::Finish { nth, fails }),
            (0_u8..4).prop_map(Step::Forget),
        ]
    }

    /// What each key is owed, kept the simple way.
    #[derive(Default)]
    struct Model {
        owed: BTreeSet<u8>,
        elapsed: BTreeMap<u8, Instant>,
        clock: BTreeMap<u8, Timestamp>,
    }

    proptest! {
        #[test]
        fn never_two_at_once_and_no_wake_up_is_lost(steps in proptest::collection::vec(step(), 0..120)) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
            let _guard = runtime.enter();
            let (mut now, mut clock) = (Instant::now(), Timestamp::UNIX_EPOCH);
            let mut state = State::new();
            let mut model = Model::default();
            let mut working: Vec<u8> = Vec::new();
            for step in steps {
                match step {
                    Step::Add(key) => {
                        state.add(key, now);
                        model.owed.insert(key);
                    }
                    Step::After(key, ms) => {
                        let due = now + Duration::from_millis(ms);
                        state.add_at_elapsed(key, due);
                        let known = model.elapsed.entry(key).or_insert(due);
                        *known = due.min(*known);
                    }
                    Step::At(key, ms) => {
                        let due = clock + jiff::SignedDuration::from_millis(ms);
                        state.add_at_clock(key, due);
                        let known = model.clock.entry(key).or_insert(due);
                        *known = due.min(*known);
                    }
                    Step::Pass(ms) => {
                        now += Duration::from_millis(ms);
                        clock += jiff::SignedDuration::from_millis(i64::try_from(ms).unwrap());
                    }
                    Step::Take => {
                        if let Some((key, _)) = state.take() {
                            prop_assert!(!working.contains(&key), "two workers on {}", key);
                            prop_assert!(model.owed.remove(&key), "{} was not owed", key);
                            working.push(key);
                        }
                    }
                    Step::Finish { nth, fails } => {
                        if nth < working.len() {
                            let key = working.remove(nth);
                            if fails {
                                prop_assert!(state.failed(&key, now) >= 1);
                            } else {
                                state.succeeded(&key, now);
                            }
                        }
                    }
                    Step::Forget(key) => {
                        state.forget(&key);
                        model.owed.remove(&key);
                        model.elapsed.remove(&key);
                        model.clock.remove(&key);
                    }
                }
                state.wake_due(now, clock);
                for (key, _) in model.elapsed.extract_if(.., |_, due| *due <= now) {
                    model.owed.insert(key);
                }
                for (key, _) in model.clock.extract_if(.., |_, due| *due <= clock) {
                    model.owed.insert(key);
                }
                let next = state.next_due();
                prop_assert_eq!(next.elapsed, model.elapsed.values().min().copied());
                prop_assert_eq!(next.clock, model.clock.values().min().copied());
            }
            // All is handed out in the end, each key once.
            for key in working {
                state.succeeded(&key, now);
            }
            let mut rest = BTreeSet::new();
            while let Some((key, _)) = state.take() {
                prop_assert!(rest.insert(key));
                state.succeeded(&key, now);
            }
            prop_assert_eq!(rest, model.owed);
        }
    }

    // kubernetes#52657, #107543: nothing may stay behind for keys that are done.
    #[tokio::test(start_paused = true)]
    async fn a_finished_key_takes_no_memory() {
        let mut state = State::new();
        let now = Instant::now();
        for key in 0..20_000_u32 {
            state.add(key, now);
            state.add_at_elapsed(key, now);
        }
        state.wake_due(now, Timestamp::UNIX_EPOCH);
        while let Some((key, _)) = state.take() {
            state.succeeded(&key, now);
        }
        assert_eq!((state.keys.len(), state.delayed_len(), state.ready_len()), (0, 0, 0));
        assert!(
            state.keys.capacity() <= 4 * room::ROOM_KEPT,
            "{}",
            state.keys.capacity()
        );
    }
}
