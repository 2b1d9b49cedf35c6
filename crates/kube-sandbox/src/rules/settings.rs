//! What the checked system was configured to do, and how exactly it can be seen.

use api_types::names::taint;
use jiff::SignedDuration;

/// By which times windows and rates are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgedBy {
    /// When each version was seen: exact where that is when it was stored.
    Sight,
    /// What is stored, in whole seconds as API servers keep it. However late it is seen, the verdict is the same. A window
    /// goes from the latest `lastTransitionTime` of its conditions, or the policy's `creationTimestamp`, to the taint's
    /// `timeAdded`; an eviction was at its task's `creationTimestamp`. When conditions of a policy were edited is stored
    /// nowhere.
    Stamps,
}

/// What the checked system was configured to do, and how exactly it can be seen.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The highest eviction rate that was configured at any time, in evictions a second.
    pub evictions_per_second: f64,
    /// How much later or earlier than it happened a change may be seen: zero on the sandbox, where time stands still
    /// meanwhile; about a second on real servers.
    pub slack: SignedDuration,
    /// By which times the windows of taints, and the rate of evictions, are judged.
    pub judged_by: JudgedBy,
    /// For how long a cluster may stand in spec.clusters and in the tasks at once before it counts as settled.
    pub settle: SignedDuration,
    /// How old what a component acts on may be: zero where its watches and reads are at once, more where requests or
    /// watch events are made late. What was right by a version replaced less than this ago breaks no rule.
    pub lag: SignedDuration,
    /// How much later than its turn an eviction may be written, where requests are made to take time. The rate is that
    /// of the turns; what is seen are the writes.
    pub write_delay: SignedDuration,
    /// Keys of taints that people put there and take away while it is watched and nobody can tell whose write it was.
    pub people_s_taint_keys: &'static [&'static str],
}

impl Settings {
    /// For the sandbox under simulated time.
    #[must_use]
    pub fn exact(evictions_per_second: f64) -> Self {
        Self {
            evictions_per_second,
            slack: SignedDuration::from_millis(100),
            judged_by: JudgedBy::Sight,
            settle: SignedDuration::from_secs(10),
            lag: SignedDuration::ZERO,
            write_delay: SignedDuration::ZERO,
            people_s_taint_keys: &[],
        }
    }

    /// For servers that run in real time.
    #[must_use]
    pub fn real_time(evictions_per_second: f64) -> Self {
        Self {
            evictions_per_second,
            slack: SignedDuration::from_millis(1500),
            judged_by: JudgedBy::Stamps,
            settle: SignedDuration::from_secs(10),
            lag: SignedDuration::ZERO,
            write_delay: SignedDuration::from_millis(500),
            people_s_taint_keys: &[taint::DRAIN],
        }
    }
}
