//! Seeded jitter.
//!
//! Guarantees: the same seed gives the same sequence, on every machine and in every version, so that a simulated run
//! can be repeated. Nothing here is fit for secrets.

use std::time::Duration;

/// A small seeded generator (SplitMix64).
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator whose sequence is given by `seed`.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A generator whose sequence is given by the text, such as the identity of a process and the name of a queue.
    #[must_use]
    pub fn from_text(parts: &[&str]) -> Self {
        Self::seeded(hash_text(parts))
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// `around` changed by up to a quarter of itself in either direction, in whole milliseconds (never below 1 ms
    /// unless `around` is zero).
    pub fn jitter(&mut self, around: Duration) -> Duration {
        if around.is_zero() {
            return around;
        }
        let millis = u64::try_from(around.as_millis())
            .unwrap_or(u64::MAX / 8)
            .min(u64::MAX / 8);
        let quarter = millis / 4;
        let spread = if quarter == 0 {
            0
        } else {
            self.next_u64() % (2 * quarter + 1)
        };
        Duration::from_millis((millis - quarter + spread).max(1))
    }
}

/// A hash of the text that stays the same across builds and machines (FNV-1a, 64 bit).
#[must_use]
pub fn hash_text(parts: &[&str]) -> u64 {
    let mut hash: u64 = 0xCBF2_9CE4_8422_2325;
    for part in parts {
        // The separator keeps ("ab", "c") and ("a", "bc") apart.
        for byte in part.bytes().chain(std::iter::once(0xFF)) {
            hash ^= u64::from(byte);
            hash = hash.wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn jitter_stays_within_a_quarter(seed: u64, millis in 0_u64..10_000_000) {
            let around = Duration::from_millis(millis);
            let got = Random::seeded(seed).jitter(around);
            let quarter = Duration::from_millis(millis / 4);
            prop_assert!(got + quarter >= around && got <= (around + quarter).max(Duration::from_millis(1)));
        }
    }

    #[test]
    fn the_same_seed_repeats_and_another_differs() {
        let take = |seed| {
            let mut random = Random::seeded(seed);
            (0..8).map(|_| random.next_u64()).collect::<Vec<_>>()
        };
        assert_eq!(take(7), take(7));
        assert_ne!(take(7), take(8));
        assert_ne!(hash_text(&["ab", "c"]), hash_text(&["a", "bc"]));
    }
}
