//! What a policy's `failover.application` asks for, with what it leaves open filled in.

use api_types::policy::{ApplicationFailoverBehavior, PurgeMode};
use api_types::work::Binding;

/// Default of `decisionConditions.tolerationSeconds`.
pub const DEFAULT_TOLERATION_SECONDS: i32 = 10;

/// For so long at least after a cluster returned no copy leaves it for its health: what is stored may be from before the
/// outage, and whoever carries statuses has that time to read them anew.
pub const RETURN_SECONDS: i64 = 60;

/// What an absent `gracePeriodSeconds` is read as where the purge mode is Gracefully; not stored.
pub const DEFAULT_GRACE_PERIOD_SECONDS: i32 = 600;

/// `spec.failover.application` of a binding, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Seconds without interruption that a copy may be unhealthy.
    pub toleration_seconds: i64,
    /// Seconds after a status was first collected, before which nothing leaves; nothing where that does not count.
    pub delay_seconds: Option<i64>,
    /// Which copies count.
    pub counting: Counting,
    /// What becomes of the old copy: Directly, Gracefully or Never.
    pub purge_mode: PurgeMode,
    /// Seconds after which the old copy goes although the new one is not healthy; only with Gracefully.
    pub grace_period_seconds: Option<i32>,
}

/// Which copies may fail over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// All. The default.
    All,
    /// Those that were healthy once since they are there (`preConditions.healthyState`).
    OnceHealthy,
}

impl Rules {
    /// The rules of a binding; nothing where it does not ask for failover of applications.
    ///
    /// Rules: seconds below 0 are 0, and a grace period of none is the default. Any `healthyState` is read as `Healthy`,
    /// the only one there is: a value that this version does not know must not move more than it meant to.
    #[must_use]
    pub fn of(binding: &Binding) -> Option<Self> {
        let behavior = behavior(binding)?;
        let before = behavior.pre_conditions.as_ref();
        let purge_mode = behavior
            .purge_mode
            .as_ref()
            .map_or(PurgeMode::Gracefully, PurgeMode::effective);
        let grace = behavior.grace_period_seconds.filter(|seconds| *seconds > 0);
        Some(Self {
            toleration_seconds: i64::from(
                behavior
                    .decision_conditions
                    .toleration_seconds
                    .unwrap_or(DEFAULT_TOLERATION_SECONDS)
                    .max(0),
            ),
            delay_seconds: before
                .and_then(|before| before.delay_seconds)
                .filter(|seconds| *seconds > 0)
                .map(i64::from),
            counting: match before.and_then(|before| before.healthy_state.as_ref()) {
                None => Counting::All,
                Some(_) => Counting::OnceHealthy,
            },
            grace_period_seconds: (purge_mode == PurgeMode::Gracefully)
                .then_some(grace.unwrap_or(DEFAULT_GRACE_PERIOD_SECONDS)),
            purge_mode,
        })
    }
}

/// `spec.failover.application`, as it is stored.
#[must_use]
pub fn behavior(binding: &Binding) -> Option<&ApplicationFailoverBehavior> {
    binding.spec.failover.as_ref()?.application.as_ref()
}
