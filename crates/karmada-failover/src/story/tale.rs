//! The lines of the story in their order.
//!
//! Several watches feed the story, and the line of an effect can arrive a moment before that of its cause. Such a line
//! waits until its cause was told; its time is never before that of the line above.

use super::line::{Line, Step};

/// What was told, and what waits to be.
#[derive(Debug, Default)]
pub struct Tale {
    told: Vec<Line>,
    /// Lines that wait until their cause is told.
    waiting: Vec<(Line, Option<Step>)>,
}

impl Tale {
    /// All lines so far, in order.
    pub fn told(&self) -> &[Line] {
        &self.told
    }

    /// Adds a line, which is told once its cause was.
    pub fn add(&mut self, line: Line, cause: Option<Step>) {
        self.waiting.push((line, cause));
        while let Some(index) = self
            .waiting
            .iter()
            .position(|(line, cause)| self.was_told(*cause, line))
        {
            let (mut line, _) = self.waiting.remove(index);
            line.at = line.at.max(self.told.last().map_or(0.0, |last| last.at));
            self.told.push(line);
        }
    }

    /// Whether a cluster was told as not Ready, and not as Ready again.
    pub fn is_told_as_away(&self, cluster: &str) -> bool {
        let of_cluster = |line: &&Line| line.cluster.as_deref() == Some(cluster);
        let last = self.told.iter().rev().filter(of_cluster);
        last.map(|line| line.step)
            .find(|step| matches!(step, Step::ClusterNotReady | Step::ClusterReturned))
            == Some(Step::ClusterNotReady)
    }

    /// The cluster that this binding left, if its eviction was seen.
    pub fn left_by(&self, binding: &str) -> Option<String> {
        let is_eviction = |line: &&Line| line.step == Step::ClusterEvicted && line.binding.as_deref() == Some(binding);
        self.all().rev().find(is_eviction).and_then(|line| line.cluster.clone())
    }

    /// Whether this happened to the binding since it was last evicted, told or not.
    pub fn has_happened_since_eviction(&self, step: Step, binding: &str) -> bool {
        let of_binding = self.all().filter(|line| line.binding.as_deref() == Some(binding));
        of_binding.fold(false, |happened, line| match line.step {
            Step::ClusterEvicted => false,
            other => happened || other == step,
        })
    }

    /// Whether the application that a line is about was told to have failed on its cluster.
    fn has_failed(&self, line: &Line) -> bool {
        let is_failure = |told: &Line| {
            told.step == Step::ApplicationFailed && told.binding == line.binding && told.cluster == line.cluster
        };
        self.told.iter().any(is_failure)
    }

    /// Whether this was told of the cluster.
    pub fn has_told(&self, step: Step, cluster: &str) -> bool {
        self.told
            .iter()
            .any(|line| line.step == step && line.cluster.as_deref() == Some(cluster))
    }

    /// The evictions that wait for the word of the queue that it released them.
    pub fn evictions_without_release(&self) -> Vec<Line> {
        let waiting = self.waiting.iter().map(|(line, _)| line);
        waiting
            .filter(|line| line.step == Step::ClusterEvicted && !self.was_told(Some(Step::EvictionReleased), line))
            .cloned()
            .collect()
    }

    /// Whether `step` was told of what this eviction is about, since the eviction before it.
    pub fn was_told_before(&self, step: Step, eviction: &Line) -> bool {
        self.was_told(Some(step), eviction)
    }

    /// What was told, then what waits.
    fn all(&self) -> impl DoubleEndedIterator<Item = &Line> {
        self.told.iter().chain(self.waiting.iter().map(|(line, _)| line))
    }

    /// Whether the cause of a line was told: of what can happen to a binding again and again, since it happened last.
    fn was_told(&self, cause: Option<Step>, line: &Line) -> bool {
        let Some(cause) = cause else { return true };
        let is_of_same = |told: &Line| match (&told.binding, &line.binding) {
            (Some(told), Some(this)) => told == this,
            _ => told.cluster == line.cluster,
        };
        let last = |step: Step| self.told.iter().rposition(|told| told.step == step && is_of_same(told));
        if line.step == Step::EvictionQueued && self.has_failed(line) {
            return true;
        }
        let repeats = matches!(
            line.step,
            Step::ClusterEvicted | Step::Rescheduled | Step::ReplacementHealthy
        );
        last(cause).is_some_and(|told| !repeats || last(line.step).is_none_or(|before| before < told))
    }
}

/// The step that a step follows from; an entry of the queue also follows from the failure of its application.
pub fn cause_of(step: Step) -> Option<Step> {
    match step {
        Step::ClusterNotReady => Some(Step::ClusterFailed),
        Step::TaintAdded | Step::ClusterReturned => Some(Step::ClusterNotReady),
        Step::EvictionQueued => Some(Step::TaintAdded),
        Step::EvictionHeld | Step::EvictionReleased | Step::EvictionAbandoned => Some(Step::EvictionQueued),
        Step::ClusterEvicted => Some(Step::EvictionReleased),
        Step::Rescheduled => Some(Step::ClusterEvicted),
        Step::ReplacementHealthy => Some(Step::Rescheduled),
        Step::OldCopyKept => Some(Step::ReplacementHealthy),
        Step::TaintRemoved => Some(Step::ClusterReturned),
        Step::OldCopyRemoved => Some(Step::OldCopyKept),
        Step::ApplicationFailed => Some(Step::WorkloadRunning),
        Step::FleetReady | Step::WorkloadRunning | Step::ClusterFailed | Step::RegimeChanged => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two watches: that of the bindings is ahead of that of the queue.
    #[test]
    fn an_effect_waits_for_its_cause_and_is_told_no_earlier() {
        let mut tale = Tale::default();
        let mut add = |step: Step, at: f64| {
            let mut line = Line::of(step, at, String::new()).on("member1");
            line.binding = Some("shop/web".to_owned());
            let cause = cause_of(step).filter(|_| step != Step::EvictionReleased);
            tale.add(line, cause);
            tale.told().iter().map(|line| (line.step, line.at)).collect::<Vec<_>>()
        };
        assert_eq!(add(Step::ClusterEvicted, 1.0), []);
        let (released, evicted) = (Step::EvictionReleased, Step::ClusterEvicted);
        assert_eq!(add(released, 2.0), [(released, 2.0), (evicted, 2.0)]);
        // Evicted again, it waits for a release of its own.
        assert_eq!(add(evicted, 3.0).len(), 2);
        assert_eq!(add(released, 4.0)[2..], [(released, 4.0), (evicted, 4.0)]);
    }
}
