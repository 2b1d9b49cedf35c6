//! Rule 6, read off the queue: everything queued is in the end evicted, abandoned with a reason, or visibly held.

use std::sync::Arc;
use std::time::Duration;

use controller_kit::leader::lease_name;
use eviction_queue_api::v1::queue_inspection_client::QueueInspectionClient;
use eviction_queue_api::v1::{Entry, EntryState, GetStatusRequest, ListEntriesRequest};
use eviction_queue_api::{Channel, ClientError, QUEUE_CONTROLLER, QueueClient};
use jiff::{SignedDuration, Timestamp};
use kube_sandbox::Sandbox;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::bench::Bench;

/// What an entry may need beyond its turn: a new leader's grace, a lease that runs out, back-offs.
const SLACK: SignedDuration = SignedDuration::from_mins(2);
/// How long the queue may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a [`QueueWatch`] looks.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// What the queue held at one moment.
struct Look {
    entries: Vec<Entry>,
    evictions_per_second: f64,
    /// Nothing is in the way of evictions: no pause, nobody missing.
    is_free: bool,
}

impl Look {
    async fn at(queue: &QueueClient) -> Result<Self, ClientError> {
        let status =
            |mut service: QueueInspectionClient<Channel>| async move { service.get_status(GetStatusRequest {}).await };
        let status = queue.inspect(PATIENCE, status).await?;
        let mut entries = Vec::new();
        let mut page_token = String::new();
        loop {
            let request = ListEntriesRequest {
                page_size: 1000,
                page_token,
                ..Default::default()
            };
            let list = |mut service: QueueInspectionClient<Channel>| {
                let request = request.clone();
                async move { service.list_entries(request).await }
            };
            let page = queue.inspect(PATIENCE, list).await?;
            entries.extend(page.entries);
            page_token = page.next_page_token;
            if page_token.is_empty() {
                break;
            }
        }
        Ok(Self {
            entries,
            evictions_per_second: status.evictions_per_second,
            is_free: status.notes.is_empty() && status.evictions_per_second > 0.0,
        })
    }

    /// Entries that should have gone long ago, and of which nobody says why they have not. Until `free_since` something
    /// was in the way of all.
    fn forgotten(&self, now: Timestamp, free_since: Timestamp) -> Vec<String> {
        if !self.is_free {
            return Vec::new();
        }
        #[expect(clippy::cast_precision_loss, reason = "a count of entries")]
        let turn_of_the_last = self.entries.len() as f64 / self.evictions_per_second;
        let bound = SignedDuration::try_from_secs_f64(turn_of_the_last).unwrap() + SLACK;
        let time = |time: Option<&prost_types::Timestamp>| {
            time.and_then(|time| Timestamp::new(time.seconds, time.nanos).ok())
                .unwrap_or(Timestamp::UNIX_EPOCH)
        };
        let waits_since = |entry: &Entry| {
            let due = entry.published.as_ref().and_then(|published| published.due_at.as_ref());
            time(due).max(time(entry.since.as_ref())).max(free_since)
        };
        self.entries
            .iter()
            .filter(|entry| entry.state() != EntryState::Held)
            .filter(|entry| now.duration_since(waits_since(entry)) > bound)
            .map(|entry| format!("rule 6 broken at {now}: forgotten: {entry:?}"))
            .collect()
    }
}

/// Entries that should have gone long ago, and of which nobody says why they have not.
///
/// # Errors
/// When the queue does not answer: nobody knows then.
pub async fn forgotten_entries(queue: &QueueClient, now: Timestamp) -> Result<Vec<String>, ClientError> {
    Ok(Look::at(queue).await?.forgotten(now, Timestamp::UNIX_EPOCH))
}

/// Looks into a queue again and again for entries that nobody remembers, and fails the test when it goes. While nobody
/// leads there is nothing to be said; but where a queue led and no look into it was answered, nothing was checked, and
/// that fails the test too.
pub struct QueueWatch {
    seen: Arc<Mutex<Seen>>,
    _looking: JoinSet<()>,
}

/// What the looks have brought so far.
#[derive(Default)]
struct Seen {
    forgotten: Vec<String>,
    answered: u32,
    /// When a queue led and did not answer, and why it did not.
    unanswered: Vec<String>,
}

impl Seen {
    /// What fails the test.
    fn broken(&self) -> Vec<String> {
        let mut broken = self.forgotten.clone();
        // One may have come in the midst of a change of leaders.
        if self.answered == 0 && self.unanswered.len() > 1 {
            broken.push(format!("rule 6 was not checked: {:#?}", self.unanswered));
        }
        broken
    }
}

impl QueueWatch {
    /// Begins to look at the queue of this bench, as this client sees it.
    #[must_use]
    pub fn start(queue: QueueClient, bench: &Bench) -> Self {
        let (plane, clock) = (bench.plane().clone(), bench.clock.clone());
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let told = seen.clone();
        let mut looking = JoinSet::new();
        looking.spawn(async move {
            let mut free_since = clock.now();
            let mut rate = 0.0;
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                let look = Look::at(&queue).await;
                let now = clock.now();
                let mut seen = told.lock();
                match &look {
                    Ok(_) => seen.answered += 1,
                    Err(why) if a_queue_leads(&plane, now) => seen.unanswered.push(format!("{now}: {why}")),
                    Err(_) => {}
                }
                let look = look.ok().filter(|look| look.is_free);
                // Who waited behind a pause, or at a lower rate, begins to wait for a turn now.
                let goes_on = look.as_ref().is_some_and(|look| look.evictions_per_second <= rate);
                if !goes_on {
                    free_since = now;
                }
                rate = look.as_ref().map_or(0.0, |look| look.evictions_per_second);
                let new = look.map(|look| look.forgotten(now, free_since));
                seen.forgotten.extend(new.into_iter().flatten());
            }
        });
        Self {
            seen,
            _looking: looking,
        }
    }
}

/// Whether somebody holds the Lease of a queue, in whatever namespace.
fn a_queue_leads(plane: &Sandbox, now: Timestamp) -> bool {
    let name = lease_name(QUEUE_CONTROLLER);
    let is_held = |lease: &Value| {
        let spec = &lease["spec"];
        let renewed: Option<Timestamp> = spec["renewTime"].as_str().and_then(|time| time.parse().ok());
        let lasts = SignedDuration::from_secs(spec["leaseDurationSeconds"].as_i64().unwrap_or(0));
        let holder = spec["holderIdentity"].as_str().unwrap_or_default();
        !holder.is_empty() && renewed.is_some_and(|renewed| now.duration_since(renewed) < lasts)
    };
    let leases = plane.list("coordination.k8s.io/v1", "Lease");
    leases
        .iter()
        .any(|lease| lease["metadata"]["name"] == *name && is_held(lease))
}

impl Drop for QueueWatch {
    /// Judges.
    ///
    /// # Panics
    /// When an entry was forgotten, or nothing was seen of a queue that led, and the test did not fail by itself.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let broken = self.seen.lock().broken();
            assert!(broken.is_empty(), "{broken:#?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use eviction_queue_api::v1::PublishedEntry;
    use rstest::rstest;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    fn stamp(second: i64) -> prost_types::Timestamp {
        prost_types::Timestamp {
            seconds: at(second).as_second(),
            nanos: 0,
        }
    }

    /// Ten entries at one in two seconds: the last has its turn after 20 s, and everything happens within two minutes more.
    #[rstest]
    #[case::in_time(0, 0, EntryState::Ready, true, 140, 0)]
    #[case::forgotten(0, 0, EntryState::Ready, true, 141, 10)]
    #[case::not_due_yet(3600, 0, EntryState::Waiting, true, 3700, 0)]
    #[case::long_after_its_due_time(3600, 0, EntryState::Waiting, true, 3741, 10)]
    #[case::held(0, 0, EntryState::Held, true, 3600, 0)]
    #[case::let_go_a_moment_ago(0, 3500, EntryState::Ready, true, 3600, 0)]
    #[case::something_is_in_the_way(0, 0, EntryState::Ready, false, 3600, 0)]
    fn what_nobody_remembers_is_told(
        #[case] due: i64,
        #[case] since: i64,
        #[case] state: EntryState,
        #[case] is_free: bool,
        #[case] now: i64,
        #[case] expected: usize,
    ) {
        let mut entry = Entry {
            published: Some(PublishedEntry {
                due_at: Some(stamp(due)),
                ..Default::default()
            }),
            since: Some(stamp(since)),
            ..Default::default()
        };
        entry.set_state(state);
        let look = Look {
            entries: vec![entry; 10],
            evictions_per_second: 0.5,
            is_free,
        };
        assert_eq!(look.forgotten(at(now), at(0)).len(), expected);
        assert_eq!(
            look.forgotten(at(now), at(now - 60)),
            [""; 0],
            "all was stopped until then"
        );
    }
}
