//! How long the server itself has worked: what a benchmark of its callers takes off.

use std::time::Duration;

use parking_lot::Mutex;

/// Adds up the time that is spent inside.
pub(crate) struct Meter {
    clock: Box<dyn Fn() -> Duration + Send + Sync>,
    worked: Mutex<Duration>,
}

impl Meter {
    pub(crate) fn new(clock: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self {
            clock: Box::new(clock),
            worked: Mutex::default(),
        }
    }

    pub(crate) fn worked(&self) -> Duration {
        *self.worked.lock()
    }

    pub(crate) fn around<T>(&self, work: impl FnOnce() -> T) -> T {
        let began = (self.clock)();
        let result = work();
        *self.worked.lock() += (self.clock)().saturating_sub(began);
        result
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn time_inside_counts_and_time_outside_does_not() {
        static NOW: AtomicU64 = AtomicU64::new(0);
        let pass = |seconds| NOW.fetch_add(seconds, Ordering::Relaxed);
        let meter = Meter::new(|| Duration::from_secs(NOW.load(Ordering::Relaxed)));
        meter.around(|| pass(3));
        pass(10);
        meter.around(|| pass(4));
        assert_eq!(meter.worked(), Duration::from_secs(7));
    }
}
