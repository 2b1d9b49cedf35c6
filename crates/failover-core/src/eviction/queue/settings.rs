//! What the administrator chose, and a few times that are part of the protocol.

use std::time::Duration;

use crate::eviction::regime::RegimeSettings;

/// Settings of a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSettings {
    /// Rates and thresholds.
    pub regime: RegimeSettings,
    /// `--max-outstanding-leases`; absent: two seconds' worth of the rate, at least 1.
    pub max_outstanding_leases: Option<usize>,
    /// How long a lease lasts for its consumer. Default 30 s.
    pub lease_duration: Duration,
    /// How much longer the queue counts it than the consumer. Default 2 s.
    pub lease_margin: Duration,
    /// `--leader-grace`: how long a new leader releases nothing. Default 10 s.
    pub leader_grace: Duration,
    /// `--producer-grace`: how long the entries of a producer without a stream count as before. Default 30 s.
    pub producer_grace: Duration,
    /// `--producer-retention`: after how long without a stream they are dropped. Default 1 h.
    pub producer_retention: Duration,
    /// `--starvation-limit`: ready longer than this goes before all younger ones of its lane. Default 10 min.
    pub starvation_limit: Duration,
    /// `--max-entries`. Default 1,000,000.
    pub max_entries: usize,
    /// After how long an entry without a target is looked at again at the latest. Default 5 min.
    pub no_target_recheck: Duration,
    /// How soon an entry that found too little room is looked at again after resource figures of a cluster changed.
    /// Default 30 s.
    pub resources_settle: Duration,
    /// The longest time for which an outcome may ask to wait; what asks for more is looked at again then. Default 24 h.
    pub longest_wait: Duration,
    /// How long an entry rests after a failure or an unneeded lease.
    pub back_off: BackOff,
    /// How many changes are remembered at least for watchers that reconnect or read slowly; one for each entry where there
    /// are more entries. Default 65,536.
    pub changes_kept: usize,
    /// How many outcomes are kept. Default 10,000.
    pub outcomes_kept: usize,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self {
            regime: RegimeSettings::default(),
            max_outstanding_leases: None,
            lease_duration: Duration::from_secs(30),
            lease_margin: Duration::from_secs(2),
            leader_grace: Duration::from_secs(10),
            producer_grace: Duration::from_secs(30),
            producer_retention: Duration::from_secs(3_600),
            starvation_limit: Duration::from_secs(600),
            max_entries: 1_000_000,
            no_target_recheck: Duration::from_secs(300),
            resources_settle: Duration::from_secs(30),
            longest_wait: Duration::from_secs(24 * 3_600),
            back_off: BackOff::default(),
            changes_kept: 65_536,
            outcomes_kept: 10_000,
        }
    }
}

impl QueueSettings {
    /// Leases that may be out at once at this rate.
    #[must_use]
    pub fn max_outstanding(&self, evictions_per_second: f64) -> usize {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "rates are small and not negative"
        )]
        let two_seconds_worth = (2.0 * evictions_per_second) as usize;
        self.max_outstanding_leases.unwrap_or_else(|| two_seconds_worth.max(1))
    }
}

/// Waiting longer after each try in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackOff {
    /// After the first. Default 1 s.
    pub first: Duration,
    /// At the most. Default 5 min.
    pub longest: Duration,
}

impl Default for BackOff {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            longest: Duration::from_secs(300),
        }
    }
}

impl BackOff {
    /// After so many tries, from 1: doubled for each further one.
    #[must_use]
    pub fn after(self, tries: u32) -> Duration {
        let doublings = tries.saturating_sub(1).min(30);
        self.first.saturating_mul(1_u32 << doublings).min(self.longest)
    }
}
