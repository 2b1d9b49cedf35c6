//! What the teller makes of the eviction queue: its entries, its regime, and what it could not say because it was away.

use std::collections::BTreeSet;

use super::Teller;
use crate::story::line::{Line, Step};

/// Where an entry of the eviction queue stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryStands {
    /// It is there.
    Queued,
    /// The queue holds it.
    Held,
    /// It was leased to an evictor.
    Released,
    /// It left, and not by an eviction.
    Abandoned,
}

/// An entry of the eviction queue, as far as the story needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct EntrySeen {
    /// The cluster that is to be left.
    pub cluster: String,
    /// The binding, as `namespace/name`.
    pub binding: String,
    /// Identity of the cause: of another failure it is another entry.
    pub cause: String,
    /// Where it stands.
    pub stands: EntryStands,
    /// The queue's own words.
    pub why: String,
}

/// The regime of a queue that does not know enough yet.
const STARTING: &str = "Starting";

impl Teller {
    /// The regime of the queue was seen. The first is no change, and what the queue is while it starts no news.
    pub fn see_regime(&mut self, regime: &str, evictions_per_second: f64, why: String, at: f64) {
        if regime == STARTING || self.regime.as_deref() == Some(regime) {
            return;
        }
        if self.regime.replace(regime.to_owned()).is_some() {
            let mut line = Line::of(Step::RegimeChanged, at, why);
            line.regime = Some(regime.to_owned());
            line.evictions_per_second = Some(evictions_per_second);
            self.tale.add(line, None);
        } else {
            self.first_regime = Some(regime.to_owned());
        }
    }

    /// An entry of the queue was seen.
    pub fn see_entry(&mut self, entry: &EntrySeen, at: f64) {
        let (step, words) = match entry.stands {
            EntryStands::Queued => (Step::EvictionQueued, ""),
            EntryStands::Held => (Step::EvictionHeld, entry.why.as_str()),
            EntryStands::Released => (Step::EvictionReleased, ""),
            EntryStands::Abandoned => (Step::EvictionAbandoned, ""),
        };
        let (cause, cluster, binding) = (entry.cause.clone(), entry.cluster.clone(), entry.binding.clone());
        if self
            .entries
            .insert((cause, cluster, binding, entry.stands, words.to_owned()))
        {
            self.say(step, at, Some(&entry.cluster), Some(&entry.binding), entry.why.clone());
        }
    }

    /// An entry waits for its turn, or is held: whatever it was released for before came to nothing, and the next
    /// release is told again.
    pub fn see_waiting(&mut self, cause: &str, cluster: &str, binding: &str) {
        self.entries.remove(&(
            cause.to_owned(),
            cluster.to_owned(),
            binding.to_owned(),
            EntryStands::Released,
            String::new(),
        ));
    }

    /// All entries of the queue, by cluster and binding; `None` while it cannot be seen.
    pub fn see_queue(&mut self, entries: Option<BTreeSet<(String, String)>>, at: f64) {
        self.queued = entries;
        self.tell_missed_releases(at);
    }

    /// An entry came to the queue, or changed in it.
    pub fn see_queued(&mut self, cluster: &str, binding: &str) {
        if let Some(queued) = &mut self.queued {
            queued.insert((cluster.to_owned(), binding.to_owned()));
        }
    }

    /// An entry left the queue.
    pub fn see_left(&mut self, cluster: &str, binding: &str, at: f64) {
        if let Some(queued) = &mut self.queued {
            queued.remove(&(cluster.to_owned(), binding.to_owned()));
        }
        self.tell_missed_releases(at);
    }

    /// What was evicted and is not in the queue was released, whether or not the queue was there to say so.
    pub(super) fn tell_missed_releases(&mut self, at: f64) {
        let Some(queued) = &self.queued else { return };
        let is_missed = |line: &Line| {
            let (Some(cluster), Some(binding)) = (&line.cluster, &line.binding) else {
                return false;
            };
            !queued.contains(&(cluster.clone(), binding.clone()))
        };
        let mut missed = self.tale.evictions_without_release();
        missed.retain(is_missed);
        for eviction in missed {
            let (cluster, binding) = (eviction.cluster.as_deref(), eviction.binding.as_deref());
            if !self.tale.was_told_before(Step::EvictionQueued, &eviction) {
                self.say(Step::EvictionQueued, at, cluster, binding, eviction.why.clone());
            }
            let why = "its turn came while the queue could not be seen".to_owned();
            self.say(Step::EvictionReleased, at, cluster, binding, why);
        }
    }
}

#[cfg(test)]
mod tests {
    use api_types::work::Binding;
    use kube_sandbox::rules::Seen;

    use super::*;

    /// The queue is stopped between the release of an entry and its word on it.
    #[test]
    fn a_release_that_nobody_saw_is_told_once_the_queue_is_seen_without_the_entry() {
        let mut teller = Teller::default();
        let entry = |stands| EntrySeen {
            cluster: "member1".to_owned(),
            binding: "default/web".to_owned(),
            cause: "down".to_owned(),
            stands,
            why: "its taint".to_owned(),
        };
        teller.see_queue(Some(BTreeSet::new()), 0.0);
        teller
            .tale
            .add(Line::of(Step::TaintAdded, 1.0, String::new()).on("member1"), None);
        teller.see_queued("member1", "default/web");
        teller.see_entry(&entry(EntryStands::Queued), 2.0);
        let binding = |tasks: serde_json::Value| -> Binding {
            serde_json::from_value(serde_json::json!({
                "metadata": {"namespace": "default", "name": "web"},
                "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "gracefulEvictionTasks": tasks},
            }))
            .unwrap()
        };
        let task =
            serde_json::json!([{"fromCluster": "member1", "reason": "TaintUntolerated", "producer": "TaintManager"}]);
        teller.see_binding(Seen::Stored(binding(serde_json::json!([]))), 3.0);
        teller.see_queue(None, 4.0);
        teller.see_binding(Seen::Stored(binding(task)), 5.0);
        let steps = |teller: &Teller| teller.told().iter().map(|line| line.step).collect::<Vec<_>>();
        assert_eq!(
            steps(&teller),
            [Step::TaintAdded, Step::EvictionQueued],
            "the queue may tell yet"
        );
        teller.see_queue(
            Some(BTreeSet::from([("member1".to_owned(), "default/web".to_owned())])),
            6.0,
        );
        assert_eq!(steps(&teller).len(), 2, "it stands there yet");
        teller.see_left("member1", "default/web", 7.0);
        assert_eq!(steps(&teller)[2..], [Step::EvictionReleased, Step::ClusterEvicted]);
        teller.see_queue(Some(BTreeSet::new()), 8.0);
        assert_eq!(steps(&teller).len(), 4, "once");
    }
}
