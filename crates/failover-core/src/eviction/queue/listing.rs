//! The entries of a lane in the order in which people see them: that of the lane itself, by which the queue releases.

use std::sync::Arc;

use api_types::ClusterName;
use jiff::Timestamp;

use super::entry::{Entry, State};
use super::model::Queue;

/// The entries of one lane, as they stood in it at one moment.
#[derive(Clone, Debug)]
pub struct LaneEntries {
    /// Those that may go now, in the order in which they would.
    ready: Vec<Arc<Entry>>,
    /// The others, unsorted.
    others: Vec<Arc<Entry>>,
}

impl LaneEntries {
    /// What is leased, what is ready in the order of its release, what is ready and has to wait after a failure, what is
    /// due later, what is held; each by due time, then by key.
    #[must_use]
    pub fn into_order(mut self) -> Vec<Arc<Entry>> {
        let rank = |entry: &Entry| match entry.state {
            State::Leased(_) => 0,
            State::Ready => 1,
            State::Waiting => 2,
            State::Held { .. } => 3,
        };
        let by = |entry: &Entry| (rank(entry), entry.published.due_at);
        self.others
            .sort_unstable_by(|a, b| by(a).cmp(&by(b)).then_with(|| a.key().cmp(b.key())));
        let leased = self.others.iter().take_while(|entry| rank(entry) == 0).count();
        self.others.splice(leased..leased, self.ready);
        self.others
    }
}

impl Queue {
    /// The entries by lane, of one cluster or of all: references only, so that whoever sorts and filters them need not
    /// keep the queue waiting.
    #[must_use]
    pub fn lane_entries(&self, cluster: Option<&ClusterName>, now: Timestamp) -> Vec<LaneEntries> {
        self.lanes
            .iter()
            .filter(|(name, _)| cluster.is_none_or(|cluster| cluster == *name))
            .map(|(name, lane)| LaneEntries {
                ready: lane
                    .line
                    .in_order(now, self.settings.starvation_limit)
                    .filter_map(|key| self.entries.get(key).cloned())
                    .collect(),
                others: self
                    .entries_on(name)
                    .filter(|(_, entry)| !entry.is_eligible())
                    .map(|(_, entry)| entry.clone())
                    .collect(),
            })
            .collect()
    }
}
