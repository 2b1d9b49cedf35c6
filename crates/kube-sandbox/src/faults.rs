//! Faults on demand, and what the server saw: the levers and the gauges of tests.
//!
//! Guarantee: nothing here is random by itself; a seeded latency gives the same delays for the same requests in the
//! same order. Requests of [`crate::Sandbox::observer`] are neither disturbed nor counted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::conditional::WrittenOn;
use crate::matching::{Match, Seen};
use crate::request::Verb;

/// What happens to a matching request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Effect {
    /// 409, as if somebody else had just written; nothing is stored.
    Conflict,
    /// This answer; nothing is stored.
    Error {
        /// HTTP code.
        code: u16,
        /// Reason of the Status.
        reason: String,
        /// Message of the Status.
        message: String,
    },
    /// Served after this time.
    Latency(Duration),
    /// 200 with a body that is no JSON; nothing is stored.
    Garbage,
    /// The connection breaks before the request is served.
    Disconnect,
    /// Never answered, never served.
    Hang,
    /// Served (a write is stored), but the connection breaks before the answer.
    AnswerLost,
}

/// What happens to a matching watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventEffect {
    /// Never sent.
    Drop,
    /// Sent this much later; the events behind it wait too, as on a real connection.
    Delay(Duration),
}

/// Names an injected fault, to remove it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FaultId(u64);

/// One write that was served, in the order of serving.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WriteRecord {
    /// When.
    pub at: jiff::Timestamp,
    /// Name of the client, empty when it has none.
    pub client: String,
    /// What it did.
    pub verb: Verb,
    /// Plural name of the resource.
    pub resource: String,
    /// Subresource, such as `status`.
    pub subresource: Option<String>,
    /// Namespace of the request.
    pub namespace: Option<String>,
    /// Name in the request, or the generated one.
    pub name: Option<String>,
    /// HTTP code of the answer.
    pub code: u16,
    /// On which version it was made.
    pub on: WrittenOn,
    /// Whether something was stored: false for refusals, dry runs, and writes that change nothing.
    pub changed: bool,
    /// Version of the object after the write, where there is one.
    pub resource_version: Option<u64>,
}

#[derive(Debug)]
struct Rule<E> {
    id: FaultId,
    when: Match,
    skip: u64,
    left: u64,
    effect: E,
}

#[derive(Debug, Default)]
struct Levers {
    next_id: u64,
    requests: Vec<Rule<Effect>>,
    events: Vec<Rule<EventEffect>>,
    cuts: Vec<Match>,
    latency: Option<(u64, u64)>,
    stale: Vec<(Match, u64)>,
    freezes: Vec<(Match, u64)>,
    frozen: Vec<Match>,
    counts: BTreeMap<(String, Verb, String), u64>,
    writes: VecDeque<WriteRecord>,
    write_limit: usize,
    /// Changes of what is there that would have landed on any version.
    blind: Vec<WriteRecord>,
    /// Versions that a client made.
    made: BTreeSet<u64>,
}

/// Faults and observations of one server.
#[derive(Clone, Debug)]
pub struct Faults {
    levers: Arc<Mutex<Levers>>,
    /// Wakes watches and waiting requests after a lever moved.
    pub(crate) moved: Arc<Notify>,
}

/// How many writes the log keeps.
const WRITE_LOG: usize = 200_000;
/// Of how many versions it is known whether a client made them.
const VERSION_LOG: usize = 1_000_000;

impl Faults {
    pub(crate) fn new(moved: Arc<Notify>) -> Self {
        Self {
            levers: Arc::new(Mutex::new(Levers {
                write_limit: WRITE_LOG,
                ..Levers::default()
            })),
            moved,
        }
    }

    /// Every matching request meets the effect, until removed.
    pub fn inject(&self, when: Match, effect: Effect) -> FaultId {
        self.inject_times(when, 0, u64::MAX, effect)
    }

    /// After `skip` matching requests, the next `times` meet the effect. The k-th write fails with
    /// `inject_times(Match::writes(), k - 1, 1, …)`.
    pub fn inject_times(&self, when: Match, skip: u64, times: u64, effect: Effect) -> FaultId {
        let mut levers = self.levers.lock();
        let id = levers.id();
        levers.requests.push(Rule {
            id,
            when,
            skip,
            left: times,
            effect,
        });
        id
    }

    /// After `skip` matching watch events, the next `times` meet the effect. Matches see the verb [`Verb::Watch`], and
    /// the namespace and name of the object.
    pub fn disturb_events(&self, when: Match, skip: u64, times: u64, effect: EventEffect) -> FaultId {
        let mut levers = self.levers.lock();
        let id = levers.id();
        levers.events.push(Rule {
            id,
            when,
            skip,
            left: times,
            effect,
        });
        id
    }

    /// Every request is served after 0 to `max` whole milliseconds, by a sequence that depends on the seed alone: the
    /// way to try other interleavings.
    pub fn seeded_latency(&self, seed: u64, max: Duration) {
        let max = u64::try_from(max.as_millis()).unwrap_or(u64::MAX);
        // The multiplier spreads small seeds over all bits; zero would be a fixed point.
        self.levers.lock().latency = Some((seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, max));
    }

    /// Matching lists show what was stored this many versions ago, as a lagging cache would.
    pub fn stale_lists(&self, when: Match, versions: u64) {
        self.levers.lock().stale.push((when, versions));
    }

    /// Lists show what is stored again.
    pub fn fresh_lists(&self) {
        self.levers.lock().stale.clear();
    }

    /// Ends all matching open watches; a new watch is not affected.
    pub fn cut_watches(&self, when: Match) {
        self.levers.lock().cuts.push(when);
        self.moved.notify_waiters();
    }

    /// After the k-th (from 1) matching write from now on is stored, its answer and all further requests and events of
    /// the same client wait until [`Self::thaw`]: the moment to crash a component right after a write. With
    /// `Match::client` only that client freezes, otherwise all. [`Self::frozen`] tells when it happened.
    pub fn freeze_after_write(&self, when: Match, k: u64) {
        self.levers.lock().freezes.push((when, k.max(1)));
    }

    /// Resolves as soon as a freeze took effect.
    pub async fn frozen(&self) {
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            if !self.levers.lock().frozen.is_empty() {
                return;
            }
            moved.await;
        }
    }

    /// Ends all freezes, also those that wait for their write.
    pub fn thaw(&self) {
        {
            let mut levers = self.levers.lock();
            levers.frozen.clear();
            levers.freezes.clear();
        }
        self.moved.notify_waiters();
    }

    /// Takes one fault away.
    pub fn remove(&self, id: FaultId) {
        let mut levers = self.levers.lock();
        levers.requests.retain(|r| r.id != id);
        levers.events.retain(|r| r.id != id);
    }

    /// Takes all faults away; counts and the write log stay.
    pub fn clear(&self) {
        {
            let mut levers = self.levers.lock();
            levers.requests.clear();
            levers.events.clear();
            levers.stale.clear();
            levers.latency = None;
        }
        self.thaw();
    }

    /// How many requests came in that fit; namespace and name are not counted apart, so a match on them counts none.
    #[must_use]
    pub fn count(&self, when: &Match) -> u64 {
        let levers = self.levers.lock();
        let fits = |(client, verb, resource): &(String, Verb, String)| {
            let (resource, subresource) = match resource.split_once('/') {
                Some((resource, subresource)) => (resource, Some(subresource)),
                None => (resource.as_str(), None),
            };
            when.fits(&Seen {
                client,
                verb: *verb,
                resource,
                subresource,
                namespace: None,
                name: None,
            })
        };
        levers.counts.iter().filter(|(key, _)| fits(key)).map(|(_, n)| n).sum()
    }

    /// Requests by verb and resource (`works`, `works/status`), over all clients.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<(Verb, String), u64> {
        let mut all = BTreeMap::new();
        for ((_, verb, resource), n) in &self.levers.lock().counts {
            *all.entry((*verb, resource.clone())).or_default() += n;
        }
        all
    }

    /// The writes served so far, oldest first (the last 200,000).
    #[must_use]
    pub fn writes(&self) -> Vec<WriteRecord> {
        self.levers.lock().writes.iter().cloned().collect()
    }

    /// The updates and patches that would have landed on any version, whether or not they did; since the server was
    /// made, whatever was reset (the first 200,000).
    #[must_use]
    pub fn blind_writes(&self) -> Vec<WriteRecord> {
        self.levers.lock().blind.clone()
    }

    /// Whether a client made this version, whatever was reset (the last million). What an observer writes counts not: it
    /// is the test's own.
    #[must_use]
    pub fn wrote(&self, resource_version: &str) -> bool {
        let version = resource_version.parse();
        version.is_ok_and(|version: u64| self.levers.lock().made.contains(&version))
    }

    /// Starts counting and logging afresh.
    pub fn reset_counts(&self) {
        let mut levers = self.levers.lock();
        levers.counts.clear();
        levers.writes.clear();
    }

    pub(crate) fn record_request(&self, seen: &Seen<'_>) {
        let resource = match seen.subresource {
            Some(sub) => format!("{}/{sub}", seen.resource),
            None => seen.resource.to_owned(),
        };
        *self
            .levers
            .lock()
            .counts
            .entry((seen.client.to_owned(), seen.verb, resource))
            .or_default() += 1;
    }

    /// Logs a write, and starts a freeze that waited for it.
    pub(crate) fn record_write(&self, record: WriteRecord) {
        let mut levers = self.levers.lock();
        let froze = levers.count_freezes(&record);
        if record.changed {
            levers.made.extend(record.resource_version);
        }
        while levers.made.len() > VERSION_LOG {
            levers.made.pop_first();
        }
        let is_blind = matches!(record.verb, Verb::Update | Verb::Patch) && record.on == WrittenOn::AnyVersion;
        if is_blind && levers.blind.len() < levers.write_limit {
            levers.blind.push(record.clone());
        }
        levers.writes.push_back(record);
        while levers.writes.len() > levers.write_limit {
            levers.writes.pop_front();
        }
        drop(levers);
        if froze {
            self.moved.notify_waiters();
        }
    }

    pub(crate) fn request_effects(&self, seen: &Seen<'_>) -> Vec<Effect> {
        let mut levers = self.levers.lock();
        let mut effects = Vec::new();
        if let Some((state, max)) = &mut levers.latency {
            *state ^= *state << 13;
            *state ^= *state >> 7;
            *state ^= *state << 17;
            effects.push(Effect::Latency(Duration::from_millis((*state >> 16) % (*max + 1))));
        }
        effects.extend(
            levers
                .requests
                .iter_mut()
                .filter(|r| r.when.fits(seen))
                .filter_map(Rule::fire),
        );
        levers.requests.retain(|r| r.left > 0);
        effects
    }

    pub(crate) fn event_effects(&self, seen: &Seen<'_>) -> Vec<EventEffect> {
        let mut levers = self.levers.lock();
        if levers.events.is_empty() {
            return Vec::new();
        }
        let effects = levers
            .events
            .iter_mut()
            .filter(|r| r.when.fits(seen))
            .filter_map(Rule::fire)
            .collect();
        levers.events.retain(|r| r.left > 0);
        effects
    }

    pub(crate) fn staleness(&self, seen: &Seen<'_>) -> u64 {
        self.levers
            .lock()
            .stale
            .iter()
            .filter(|(when, _)| when.fits(seen))
            .map(|(_, n)| *n)
            .max()
            .unwrap_or(0)
    }

    /// Number of cuts so far: a watch remembers it when it starts.
    pub(crate) fn cuts(&self) -> usize {
        self.levers.lock().cuts.len()
    }

    pub(crate) fn is_cut(&self, since: usize, seen: &Seen<'_>) -> bool {
        self.levers.lock().cuts.iter().skip(since).any(|when| when.fits(seen))
    }

    pub(crate) fn is_frozen(&self, client: &str) -> bool {
        self.levers
            .lock()
            .frozen
            .iter()
            .any(|when| when.client.as_deref().is_none_or(|c| c == client))
    }
}

impl Levers {
    fn id(&mut self) -> FaultId {
        self.next_id += 1;
        FaultId(self.next_id)
    }

    fn count_freezes(&mut self, record: &WriteRecord) -> bool {
        if !record.changed {
            return false;
        }
        let seen = Seen {
            client: &record.client,
            verb: record.verb,
            resource: &record.resource,
            subresource: record.subresource.as_deref(),
            namespace: record.namespace.as_deref(),
            name: record.name.as_deref(),
        };
        let before = self.frozen.len();
        for (when, left) in &mut self.freezes {
            if when.fits(&seen) {
                *left -= 1;
                if *left == 0 {
                    self.frozen.push(when.clone());
                }
            }
        }
        self.freezes.retain(|(_, left)| *left > 0);
        self.frozen.len() > before
    }
}

impl<E: Clone> Rule<E> {
    fn fire(&mut self) -> Option<E> {
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        if self.left == 0 {
            return None;
        }
        if self.left != u64::MAX {
            self.left -= 1;
        }
        Some(self.effect.clone())
    }
}
