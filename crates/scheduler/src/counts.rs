//! The scheduler's metrics, by stock's names.

use std::sync::Arc;
use std::time::Duration;

use api_types::BindingKey;
use controller_kit::metrics::{CollectorGuard, Family, Holds, Marked};
use controller_kit::{Context, Metrics};
use scheduler_filters::steps::Step;
use scheduler_filters::trigger::Trigger;

const ATTEMPTS: &str = "karmada_scheduler_schedule_attempts_total";
const DURATION: &str = "karmada_scheduler_e2e_scheduling_duration_seconds";
const STEPS: &str = "karmada_scheduler_scheduling_algorithm_duration_seconds";
const INCOMING: &str = "karmada_scheduler_queue_incoming_bindings_total";

/// Counts what the scheduler does. Clones count together.
#[derive(Clone)]
pub(crate) struct Counts {
    metrics: Metrics,
    /// Bindings with a copy that is kept until another one works.
    kept: Marked<BindingKey>,
    _kept_shown: Arc<CollectorGuard>,
}

/// Why a binding is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// It is new, or new to this process.
    BindingAdded,
    /// It changed.
    BindingUpdated,
    /// A try did not come to its end.
    AttemptFailed,
    /// A cluster changed, or who empties clusters that are being deleted.
    ClusterChanged,
}

/// What became of a try to place a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// It has a place.
    Scheduled,
    /// No cluster fits, or the placement cannot be done.
    NoPlace,
}

impl Counts {
    pub(crate) fn of(ctx: &Context) -> Self {
        let metrics = ctx.metrics.clone();
        metrics.describe(
            ATTEMPTS,
            "Tries to place a binding, by result (scheduled, or error when there is no place) and by schedule_type \
             (ScaleSchedule when its replicas changed, else ReconcileSchedule).",
        );
        metrics.describe(
            DURATION,
            "Time from the look at a binding until its place is written, by result and schedule_type.",
        );
        metrics.describe(
            STEPS,
            "Time of a step of the choice of clusters, by schedule_step: Filter, Score, Select, AssignReplicas.",
        );
        metrics.describe(
            INCOMING,
            "Reasons to look at a binding, by event: BindingAdd, BindingUpdate, ScheduleAttemptFailure, ClusterChanged.",
        );
        let kept = Marked::<BindingKey>::default();
        let counted = kept.clone();
        let shown = metrics.guarded_collector("last copies", move || {
            let family = Family::gauge(
                "failover_last_copies_kept",
                "Bindings whose last running copy is kept because nothing replaces it, by the controller that keeps it.",
            );
            vec![family.with(&[("controller", "scheduler")], counted.count())]
        });
        Self {
            metrics,
            kept,
            _kept_shown: Arc::new(shown),
        }
    }

    /// Whether a copy of the binding is kept until another one works.
    pub(crate) fn last_copy(&self, key: &BindingKey, kept: Holds) {
        self.kept.mark(key, kept);
    }

    /// A binding is to be looked at.
    pub(crate) fn incoming(&self, why: Incoming, bindings: usize) {
        let event = match why {
            Incoming::BindingAdded => "BindingAdd",
            Incoming::BindingUpdated => "BindingUpdate",
            Incoming::AttemptFailed => "ScheduleAttemptFailure",
            Incoming::ClusterChanged => "ClusterChanged",
        };
        let bindings = u64::try_from(bindings).unwrap_or(u64::MAX);
        self.metrics.counter(INCOMING, &[("event", event)]).increment(bindings);
    }

    /// A step of the choice of clusters has ended.
    pub(crate) fn step(&self, step: Step, took: Duration) {
        let labels = [("schedule_step", step.name())];
        self.metrics.histogram(STEPS, &labels).record(took);
    }

    /// A binding was placed, or not, and what that means is written.
    pub(crate) fn attempt(&self, attempt: Attempt, why: Trigger, took: Duration) {
        let result = match attempt {
            Attempt::Scheduled => "scheduled",
            Attempt::NoPlace => "error",
        };
        let schedule_type = match why {
            Trigger::ReplicasChanged => "ScaleSchedule",
            _ => "ReconcileSchedule",
        };
        let labels = [("result", result), ("schedule_type", schedule_type)];
        self.metrics.counter(ATTEMPTS, &labels).increment(1);
        self.metrics.histogram(DURATION, &labels).record(took);
    }
}
