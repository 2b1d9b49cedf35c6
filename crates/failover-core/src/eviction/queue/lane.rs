//! A lane: the entries that leave one cluster, counted, and the line of those that may go now.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::entry::{Entry, HoldReason, State};
use super::inspect::Totals;
use super::kinds::KindCounts;
use super::line::Line;

#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub since: Timestamp,
    pub totals: Totals,
    pub line: Line,
    pub kinds: KindCounts,
    /// Those that are held, by the reason that comes first. None is 0.
    pub held: BTreeMap<HoldReason, usize>,
}

impl Lane {
    pub fn new(since: Timestamp) -> Self {
        Self {
            since,
            totals: Totals::default(),
            line: Line::default(),
            kinds: KindCounts::default(),
            held: BTreeMap::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.totals.sum() == 0
    }

    /// An entry comes or goes.
    pub fn count(&mut self, entry: &Entry, step: Step) {
        self.count_state(entry, step);
        self.kinds.count(&entry.published.template, step);
    }

    /// An entry changes.
    pub fn recount(&mut self, before: &Entry, after: &Entry) {
        self.count_state(before, Step::Out);
        self.count_state(after, Step::In);
        let (old, new) = (&before.published.template, &after.published.template);
        if (&old.api_version, &old.kind) != (&new.api_version, &new.kind) {
            self.kinds.count(old, Step::Out);
            self.kinds.count(new, Step::In);
        }
    }

    fn count_state(&mut self, entry: &Entry, step: Step) {
        let counter = match entry.state {
            State::Waiting => &mut self.totals.waiting,
            State::Ready => &mut self.totals.ready,
            State::Leased(_) => &mut self.totals.leased,
            State::Held { reason, .. } => {
                self.count_held(reason, step);
                &mut self.totals.held
            }
        };
        step.count(counter);
    }

    fn count_held(&mut self, reason: HoldReason, step: Step) {
        let count = self.held.entry(reason).or_default();
        step.count(count);
        if *count == 0 {
            self.held.remove(&reason);
        }
    }
}

#[derive(Clone, Copy)]
pub(super) enum Step {
    In,
    Out,
}

impl Step {
    fn count(self, counter: &mut usize) {
        match self {
            Self::In => *counter += 1,
            Self::Out => *counter = counter.saturating_sub(1),
        }
    }
}
