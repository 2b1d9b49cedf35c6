//! The entries of a lane in the order in which people see them: that of the lane itself, by which the queue releases.

use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use jiff::Timestamp;

use super::entry::{Entry, State};
use super::line::{group_of, in_lane, in_turn};
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
        let within = |rank: Rank, a: &Entry, b: &Entry| match rank {
            Rank::Ready => in_turn(group_of(a), group_of(b), self.now, self.starvation_limit),
            _ => a.published.due_at.cmp(&b.published.due_at),
        };
        self.entries.sort_unstable_by(|a, b| {
            let rank = Rank::of(a);
            rank.cmp(&Rank::of(b))
                .then_with(|| within(rank, a, b))
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
