//! Numbers that depend on a seed alone.

/// Xorshift.
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        // The multiplier spreads small seeds over all bits; zero would be a fixed point.
        let mut random = Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        (0..4).for_each(|_| {
            random.next();
        });
        random
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    /// From `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// One of these, by value.
    pub fn one_of<T: Copy>(&mut self, from: &[T]) -> T {
        *self.pick(from)
    }

    /// True once in `times`.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.next().is_multiple_of(times)
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[usize::try_from(self.next()).unwrap_or(0) % from.len()]
    }

    /// Some of them, at least `least`, in their order.
    pub fn some<T: Clone>(&mut self, from: &[T], least: usize) -> Vec<T> {
        let mut left = from.to_vec();
        let wanted = self.between(least as u64, from.len() as u64);
        while left.len() as u64 > wanted {
            let index = usize::try_from(self.next()).unwrap_or(0) % left.len();
            left.remove(index);
        }
        left
    }
}
