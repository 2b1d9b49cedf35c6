//! The token bucket: at most one token, and no two evictions closer together than the rate allows.
//!
//! With a burst of 1 the promise "in any window w at most rate·w + 1 evictions" is the same as "between two leases that
//! end in an eviction at least one token accrues". A token that comes back must not break that while other leases are
//! out: so the bucket keeps, for every lease that has not ended, what had accrued when it was taken, and its fill is
//! what has accrued since the last take that was not given back. Giving back the only lease gives the whole token
//! back; giving back one of several gives back nothing that the others may have spent.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Rounding of sums of small steps must not cost a token its last billionth.
const EPSILON: f64 = 1e-9;

/// Names one take.
pub type TakeId = u64;

/// A bucket of capacity 1. Times are elapsed time of one process, which never goes back.
#[derive(Clone, Debug)]
pub struct Bucket {
    tokens_per_second: f64,
    /// Sum of tokens accrued since the start, without the capacity's limit.
    accrued: f64,
    as_of: Duration,
    /// What had accrued at the last take that is spent for good; 0 at the start, so that the bucket is empty then.
    last_spent: f64,
    /// Takes that may yet come back, with what had accrued at each.
    open: BTreeMap<TakeId, f64>,
    open_by_accrued: BTreeSet<(u64, TakeId)>,
}

impl Bucket {
    /// An empty bucket with rate 0: nothing can be taken until there is a rate and time.
    #[must_use]
    pub fn empty(now: Duration) -> Self {
        Self {
            tokens_per_second: 0.0,
            accrued: 0.0,
            as_of: now,
            last_spent: 0.0,
            open: BTreeMap::new(),
            open_by_accrued: BTreeSet::new(),
        }
    }

    /// Changes the rate from now on and keeps the fill; 0 stops.
    pub fn set_rate(&mut self, tokens_per_second: f64, now: Duration) {
        self.accrue(now);
        self.tokens_per_second = tokens_per_second.max(0.0);
    }

    /// The rate in tokens per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.tokens_per_second
    }

    /// The fill now, 0 to 1.
    #[must_use]
    pub fn fill(&self, now: Duration) -> f64 {
        let since = now.saturating_sub(self.as_of).as_secs_f64();
        let accrued = self.accrued + self.tokens_per_second * since;
        (accrued - self.last_take()).clamp(0.0, 1.0)
    }

    /// Takes a token, if a whole one is there.
    pub fn take(&mut self, id: TakeId, now: Duration) -> bool {
        self.accrue(now);
        if self.tokens_per_second <= 0.0 || self.fill(now) < 1.0 - EPSILON {
            return false;
        }
        self.open.insert(id, self.accrued);
        self.open_by_accrued.insert((sortable(self.accrued), id));
        true
    }

    /// The take came to an eviction, or nobody knows what it came to: its token does not come back.
    pub fn spend(&mut self, id: TakeId) {
        if let Some(accrued) = self.close(id) {
            self.last_spent = self.last_spent.max(accrued);
        }
    }

    /// The take came to nothing: as if it had not been.
    pub fn give_back(&mut self, id: TakeId) {
        self.close(id);
    }

    /// How long until a token can be taken if nothing comes back; zero when one can be now, `None` at rate 0.
    #[must_use]
    pub fn ready_in(&self, now: Duration) -> Option<Duration> {
        if self.tokens_per_second <= 0.0 {
            return None;
        }
        let missing = (1.0 - EPSILON - self.fill(now)).max(0.0);
        Some(Duration::try_from_secs_f64(missing / self.tokens_per_second).unwrap_or(Duration::MAX))
    }

    fn accrue(&mut self, now: Duration) {
        let since = now.saturating_sub(self.as_of).as_secs_f64();
        self.accrued += self.tokens_per_second * since;
        self.as_of = self.as_of.max(now);
    }

    fn last_take(&self) -> f64 {
        self.open_by_accrued
            .last()
            .map_or(self.last_spent, |(bits, _)| self.last_spent.max(f64::from_bits(*bits)))
    }

    fn close(&mut self, id: TakeId) -> Option<f64> {
        let accrued = self.open.remove(&id)?;
        self.open_by_accrued.remove(&(sortable(accrued), id));
        Some(accrued)
    }
}

/// Bits of a number that is not negative sort as the number does.
fn sortable(accrued: f64) -> u64 {
    accrued.max(0.0).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_new_bucket_is_empty_and_fills_to_one() {
        let mut bucket = Bucket::empty(ms(0));
        bucket.set_rate(0.5, ms(0));
        assert!(!bucket.take(1, ms(1_999)));
        assert!(bucket.take(1, ms(2_000)));
        bucket.spend(1);
        assert!(bucket.take(2, ms(3_600_000)), "after a long rest");
        bucket.spend(2);
        assert!(!bucket.take(3, ms(3_600_001)), "there is only one");
    }

    #[test]
    fn what_came_to_nothing_comes_back() {
        let mut bucket = Bucket::empty(ms(0));
        bucket.set_rate(1.0, ms(0));
        for id in 0..90 {
            assert!(bucket.take(id, ms(1_000)), "{id}");
            bucket.give_back(id);
        }
        assert!(bucket.take(90, ms(1_000)));
    }

    #[test]
    fn what_comes_back_does_not_pay_for_what_is_out() {
        let mut bucket = Bucket::empty(ms(0));
        bucket.set_rate(1.0, ms(0));
        assert!(bucket.take(1, ms(1_000)));
        assert!(bucket.take(2, ms(2_000)));
        bucket.give_back(1);
        assert!(!bucket.take(3, ms(2_100)), "the second may come to an eviction");
        bucket.give_back(2);
        assert!(bucket.take(3, ms(2_100)));
    }

    #[test]
    fn a_change_of_rate_keeps_the_fill_and_zero_stops() {
        let mut bucket = Bucket::empty(ms(0));
        bucket.set_rate(0.5, ms(0));
        bucket.set_rate(0.0, ms(1_000));
        assert!((bucket.fill(ms(9_000)) - 0.5).abs() < 1e-9);
        assert_eq!(bucket.ready_in(ms(9_000)), None);
        assert!(!bucket.take(1, ms(9_000)));
        bucket.set_rate(0.1, ms(9_000));
        assert!(!bucket.take(1, ms(13_900)));
        assert!(bucket.take(1, ms(14_000)));
        bucket.set_rate(0.0, ms(14_000));
        bucket.give_back(1);
        assert!(!bucket.take(2, ms(14_000)), "a whole token does not help at rate 0");
    }

    #[derive(Clone, Debug)]
    enum Step {
        Wait(u64),
        Take,
        End { which: usize, evicted: bool },
        Rate(f64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1..3_000_u64).prop_map(Step::Wait),
            Just(Step::Take),
            Just(Step::Take),
            (0..8_usize, any::<bool>()).prop_map(|(which, evicted)| Step::End { which, evicted }),
            prop_oneof![Just(0.0), Just(0.1), Just(0.5), Just(1.0), Just(3.0)].prop_map(Step::Rate),
        ]
    }

    proptest! {
        // Correctness rule 1, with changes of rate, tokens that come back, and several leases out at once.
        #[test]
        fn never_faster_than_the_rate(steps in proptest::collection::vec(step(), 1..300)) {
            let mut bucket = Bucket::empty(ms(0));
            bucket.set_rate(1.0, ms(0));
            let (mut now, mut rate, mut allowed) = (0_u64, 1.0, 0.0_f64);
            let mut next = 0;
            let mut out: Vec<(TakeId, f64)> = Vec::new();
            let mut evicted: Vec<f64> = Vec::new();
            for step in steps {
                match step {
                    Step::Wait(by) => {
                        now += by;
                        #[allow(clippy::cast_precision_loss)]
                        let seconds = by as f64 / 1_000.0;
                        allowed += rate * seconds;
                    }
                    Step::Take => {
                        if bucket.take(next, ms(now)) {
                            out.push((next, allowed));
                        }
                        next += 1;
                    }
                    Step::End { which, evicted: done } if !out.is_empty() => {
                        let (id, at) = out.remove(which % out.len());
                        if done {
                            bucket.spend(id);
                            evicted.push(at);
                        } else {
                            bucket.give_back(id);
                        }
                    }
                    Step::End { .. } => {}
                    Step::Rate(to) => {
                        rate = to;
                        bucket.set_rate(to, ms(now));
                    }
                }
                prop_assert!((0.0..=1.0).contains(&bucket.fill(ms(now))));
            }
            evicted.sort_by(f64::total_cmp);
            for (first, from) in evicted.iter().enumerate() {
                for (last, to) in evicted.iter().enumerate().skip(first) {
                    #[allow(clippy::cast_precision_loss)]
                    let count = (last - first + 1) as f64;
                    prop_assert!(count <= to - from + 1.0 + 1e-6);
                }
            }
        }
    }
}
