//! Leader election: one Lease per controller.
//!
//! Guarantees:
//! - Every write of a Lease carries the version that was read, so of two candidates one loses.
//! - Another holder's lease is taken only after it stood unchanged for its whole duration by our own monotonic time;
//!   what others' clocks say does not matter.
//! - A holder that could not renew within the renew deadline (shorter than the duration) has lost, from the moment
//!   its last successful renewal was *sent*. Losing ends the process before another may take over.
//! - At a graceful end the Lease is handed back, so that the next holder need not wait.

mod elector;
mod leadership;
mod said;

use std::time::Duration;

pub use self::leadership::{Epoch, Leadership};
pub use self::said::{NoGates, Said, said};

pub(crate) use self::elector::{Elector, Held};

/// Annotation with the version of the holder's program.
pub const VERSION_ANNOTATION: &str = "failover.karmada.io/version";
/// Annotation with the holder's feature gates, as in `--feature-gates`.
pub const GATES_ANNOTATION: &str = "failover.karmada.io/gates";
/// Annotation with whose control plane the holder takes it for, `standalone` or `beside`; not there where that makes no difference.
pub const MODE_ANNOTATION: &str = "failover.karmada.io/mode";
/// Annotation with the names of the controllers that run in the holder's process, separated by commas.
pub const CONTROLLERS_ANNOTATION: &str = "failover.karmada.io/controllers";
/// Annotation with the address under which the holder serves; set by the eviction queue.
pub const ADDRESS_ANNOTATION: &str = "failover.karmada.io/address";

/// Annotation with what disturbs the holder's process; not there when nothing does.
pub const DISTURBANCES_ANNOTATION: &str = "failover.karmada.io/disturbances";

/// Annotations that begin so belong to the holder, and go when it changes.
const HOLDER_PREFIX: &str = "failover.karmada.io/";

/// The times of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTiming {
    /// How long a lease is good without a renewal.
    pub duration: Duration,
    /// A holder that could not renew for this long steps down. Shorter than `duration`.
    pub renew_deadline: Duration,
    /// Time between renewals, and between a candidate's looks.
    pub renew_every: Duration,
}

impl Default for LeaseTiming {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            renew_every: Duration::from_secs(5),
        }
    }
}

impl LeaseTiming {
    /// What is wrong with these times, if anything.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let show = crate::durations::format_duration;
        if self.renew_deadline >= self.duration {
            return Some(format!(
                "--leader-elect-renew-deadline ({}) must be shorter than --leader-elect-lease-duration ({})",
                show(self.renew_deadline),
                show(self.duration)
            ));
        }
        if self.renew_every.is_zero() || self.renew_every >= self.renew_deadline {
            return Some(format!(
                "--leader-elect-retry-period ({}) must be above 0 and shorter than --leader-elect-renew-deadline ({})",
                show(self.renew_every),
                show(self.renew_deadline)
            ));
        }
        None
    }
}

/// Name of the Lease of a controller: its name in kebab case, `evictionQueue` → `eviction-queue`.
#[must_use]
pub fn lease_name(controller: &str) -> String {
    let mut name = String::with_capacity(controller.len() + 4);
    for letter in controller.chars() {
        if letter.is_ascii_uppercase() {
            if !name.is_empty() {
                name.push('-');
            }
            name.push(letter.to_ascii_lowercase());
        } else {
            name.push(letter);
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("evictionQueue", "eviction-queue")]
    #[case("clusterTaintPolicy", "cluster-taint-policy")]
    #[case("scheduler", "scheduler")]
    fn names(#[case] controller: &str, #[case] lease: &str) {
        assert_eq!(lease_name(controller), lease);
    }

    #[test]
    fn impossible_times_are_named() {
        let good = LeaseTiming::default();
        assert_eq!(good.problem(), None);
        let late = LeaseTiming {
            renew_deadline: good.duration,
            ..good
        };
        assert!(
            late.problem()
                .unwrap()
                .contains("--leader-elect-renew-deadline (15s) must be shorter")
        );
        let lazy = LeaseTiming {
            renew_every: good.renew_deadline,
            ..good
        };
        assert!(lazy.problem().unwrap().contains("--leader-elect-retry-period (10s)"));
    }
}
