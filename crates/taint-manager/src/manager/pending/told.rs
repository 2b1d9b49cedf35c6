//! Events about what the queue does: per binding, except that what enters the queue is counted per cluster and minute,
//! and that a release is told only when nothing follows from it for a while.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use controller_kit::{Context, EventType};
use failover_core::eviction::queue::EntryKey;
use tokio::time::Instant;

use super::book::{Happened, Noted, hold_word};
use crate::objects::{binding_reference, cluster_reference};

/// The first entries of a burst are waited for so long before they are told.
const GATHER: Duration = Duration::from_secs(1);
/// A cluster gets at most one event about what entered the queue in this time.
const AT_MOST_EVERY: Duration = Duration::from_secs(60);

/// Most releases end in an eviction at once, which is told by itself: one that takes longer is told too.
const RELEASE_IS_NEWS_AFTER: Duration = Duration::from_secs(2);

/// Counts what enters the queue, waits for what follows from a release, and tells the rest at once.
#[derive(Default)]
pub(crate) struct Teller {
    queued: BTreeMap<ClusterName, Queued>,
    released: BTreeMap<EntryKey, Released>,
}

struct Released {
    note: String,
    tell_at: Instant,
}

struct Queued {
    cluster_uid: Arc<str>,
    count: u64,
    reason: String,
    tell_at: Instant,
    /// Told and nothing new: forgotten then.
    counts_from: Instant,
}

impl Teller {
    /// Takes in what happened to an entry.
    pub fn note(&mut self, ctx: &Context, noted: &Noted) {
        for happened in &noted.happened {
            self.note_one(ctx, noted, happened);
        }
    }

    fn note_one(&mut self, ctx: &Context, noted: &Noted, happened: &Happened) {
        let key = &noted.key;
        if *happened != Happened::Queued {
            self.released.remove(key);
        }
        let (event_type, reason, note) = match happened {
            Happened::Queued => return self.count(noted),
            Happened::Evicted => return,
            Happened::Released => {
                let note = format!(
                    "the eviction queue releases the eviction from {}: {}",
                    key.cluster, noted.seen.reason
                );
                let tell_at = Instant::now() + RELEASE_IS_NEWS_AFTER;
                self.released.insert(key.clone(), Released { note, tell_at });
                return;
            }
            Happened::Held(held) => (
                EventType::Normal,
                "EvictionHeld",
                format!(
                    "stays on {} for now ({}): {}",
                    key.cluster,
                    hold_word(held.reason),
                    held.message
                ),
            ),
            Happened::Abandoned { word, message } => (
                EventType::Normal,
                "EvictionAbandoned",
                format!("stays on {} ({word}): {message}", key.cluster),
            ),
        };
        let about = binding_reference(&key.binding, &key.binding_uid.to_string());
        ctx.events.publish(&about, event_type, reason, note);
    }

    fn count(&mut self, noted: &Noted) {
        let now = Instant::now();
        let key = &noted.key;
        let queued = self.queued.entry(key.cluster.clone()).or_insert_with(|| Queued {
            cluster_uid: key.cluster_uid.clone(),
            count: 0,
            reason: String::new(),
            tell_at: now + GATHER,
            counts_from: now,
        });
        if queued.count == 0 {
            queued.tell_at = (now + GATHER).max(queued.counts_from);
        }
        queued.count += 1;
        queued.cluster_uid.clone_from(&key.cluster_uid);
        queued.reason.clone_from(&noted.seen.reason);
    }

    /// When something is to be told next.
    pub fn due(&self) -> Option<Instant> {
        let queued = self.queued.values().map(|queued| {
            if queued.count > 0 {
                queued.tell_at
            } else {
                queued.counts_from
            }
        });
        let released = self.released.values().map(|released| released.tell_at);
        queued.chain(released).min()
    }

    /// Tells what is due.
    pub fn tell(&mut self, ctx: &Context) {
        let now = Instant::now();
        let is_due = |_: &EntryKey, released: &mut Released| released.tell_at <= now;
        for (key, released) in self.released.extract_if(.., is_due) {
            let about = binding_reference(&key.binding, &key.binding_uid.to_string());
            ctx.events
                .publish(&about, EventType::Normal, "EvictionReleased", released.note);
        }
        self.queued.retain(|cluster, queued| {
            if queued.count == 0 {
                return queued.counts_from > now;
            }
            if queued.tell_at <= now {
                let about = cluster_reference(cluster, &queued.cluster_uid);
                let note = match queued.count {
                    1 => format!("1 workload is queued to leave: {}", queued.reason),
                    count => format!(
                        "{count} workloads are queued to leave, the last because {}",
                        queued.reason
                    ),
                };
                ctx.events.publish(&about, EventType::Normal, "EvictionsQueued", note);
                queued.count = 0;
                queued.counts_from = now + AT_MOST_EVERY;
            }
            true
        });
    }
}
