//! The entries of a lane in the order in which people see them: that of the lane itself, by which the queue releases.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use jiff::Timestamp;

use super::entry::{Entry, State};
use super::line::{in_lane, is_starving};
use super::model::Queue;

/// The entries of one lane, as they stood in it at one moment; not sorted before somebody asks for them in order.
#[derive(Clone, Debug)]
pub struct LaneEntries {
    entries: Vec<Arc<Entry>>,
    now: Timestamp,
    starvation_limit: Duration,
}

impl LaneEntries {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Leaves out those that are not to be kept.
    pub fn retain(&mut self, mut keep: impl FnMut(&Entry) -> bool) {
        self.entries.retain(|entry| keep(entry));
    }

    /// What is leased, what is ready in the order of its release, what is ready and has to wait after a failure, what is
    /// due later, what is held; each by due time, then by binding.
    #[must_use]
    pub fn into_order(mut self) -> Vec<Arc<Entry>> {
        let starving = |entry: &Entry| is_starving(entry.published.due_at, self.now, self.starvation_limit);
        self.entries.sort_unstable_by(|a, b| {
            let (of_a, of_b) = (Rank::of(a), Rank::of(b));
            let by_time = || a.published.due_at.cmp(&b.published.due_at);
            let by_priority = || Reverse(a.published.priority).cmp(&Reverse(b.published.priority));
            let within = || match (of_a, starving(a), starving(b)) {
                (Rank::Ready, true, false) => Ordering::Less,
                (Rank::Ready, false, true) => Ordering::Greater,
                (Rank::Ready, true, true) => by_time().then_with(by_priority),
                (Rank::Ready, false, false) => by_priority().then_with(by_time),
                _ => by_time(),
            };
            of_a.cmp(&of_b)
                .then_with(within)
                .then_with(|| in_lane(a.key(), b.key()))
        });
        self.entries
    }
}

/// Where an entry stands among those of its lane.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Leased,
    Ready,
    ReadyAfterAFailure,
    Waiting,
    Held,
}

impl Rank {
    fn of(entry: &Entry) -> Self {
        match entry.state {
            State::Leased(_) => Self::Leased,
            State::Ready if entry.is_eligible() => Self::Ready,
            State::Ready => Self::ReadyAfterAFailure,
            State::Waiting => Self::Waiting,
            State::Held { .. } => Self::Held,
        }
    }
}

impl Queue {
    /// The entries by lane, of one cluster or of all: references only, so that whoever sorts and filters them need not
    /// keep the queue waiting.
    #[must_use]
    pub fn lane_entries(&self, cluster: Option<&ClusterName>, now: Timestamp) -> Vec<LaneEntries> {
        self.lanes
            .keys()
            .filter(|name| cluster.is_none_or(|cluster| cluster == *name))
            .map(|name| LaneEntries {
                entries: self.entries_on(name).map(|(_, entry)| entry.clone()).collect(),
                now,
                starvation_limit: self.settings.starvation_limit,
            })
            .collect()
    }
}
