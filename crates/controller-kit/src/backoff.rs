//! Waiting longer after each failure.

use std::time::Duration;

use crate::random::Random;

/// Doubling waits with jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The wait after the first failure.
    pub base: Duration,
    /// The longest wait.
    pub max: Duration,
}

impl Backoff {
    /// The wait after the `failures`-th failure in a row (counted from 1): `base`, doubled for each further one, at
    /// most `max`, then changed by up to a quarter in either direction but never above `max`.
    #[must_use]
    pub fn delay(&self, failures: u32, random: &mut Random) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        let wait = self.base.saturating_mul(1_u32 << doublings).min(self.max);
        random.jitter(wait).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bounds(seed: u64, failures in 1_u32..100) {
            let backoff = Backoff { base: Duration::from_millis(100), max: Duration::from_secs(300) };
            let plain = backoff.base.saturating_mul(2_u32.saturating_pow(failures - 1)).min(backoff.max);
            let wait = backoff.delay(failures, &mut Random::seeded(seed));
            prop_assert!(wait >= plain.mul_f64(0.74) && wait <= plain.mul_f64(1.26).min(backoff.max), "{wait:?}");
        }
    }
}
