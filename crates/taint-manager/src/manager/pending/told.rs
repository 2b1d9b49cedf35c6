//! Events about what the queue does: per binding, except that what enters the queue is counted per cluster and minute.

use std::collections::BTreeMap;
use std::time::Duration;

use api_types::ClusterName;
use controller_kit::{Context, EventType};
use tokio::time::Instant;

use super::book::{Happened, Noted, hold_word};
use crate::objects::{binding_reference, cluster_reference};

/// The first entries of a burst are waited for so long before they are told.
const GATHER: Duration = Duration::from_secs(1);
/// A cluster gets at most one event about what entered the queue in this time.
const AT_MOST_EVERY: Duration = Duration::from_secs(60);

/// Counts what enters the queue, and tells the rest at once.
#[derive(Default)]
pub(crate) struct Teller {
    queued: BTreeMap<ClusterName, Queued>,
}

struct Queued {
    cluster_uid: String,
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
        let (event_type, reason, note) = match happened {
            Happened::Queued => return self.count(noted),
            Happened::Released => (
                EventType::Normal,
                "EvictionReleased",
                format!(
                    "the eviction queue releases the eviction from {}: {}",
                    key.cluster, noted.seen.reason
                ),
            ),
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
        let about = binding_reference(&key.binding, &key.binding_uid);
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
        self.queued
            .values()
            .map(|queued| {
                if queued.count > 0 {
                    queued.tell_at
                } else {
                    queued.counts_from
                }
            })
            .min()
    }

    /// Tells what is due.
    pub fn tell(&mut self, ctx: &Context) {
        let now = Instant::now();
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
