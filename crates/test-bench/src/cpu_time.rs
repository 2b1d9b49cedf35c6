//! Time that was had of the processor: what a benchmark counts that waits for nothing, for other programs on the machine
//! must not count.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Of this thread.
///
/// # Panics
/// Never: the system's answer is a time.
#[must_use]
pub fn of_this_thread() -> Duration {
    duration(clock_gettime(ClockId::ThreadCPUTime))
}

/// Of this process, all its threads together.
///
/// # Panics
/// Never: the system's answer is a time.
#[must_use]
pub fn of_this_process() -> Duration {
    duration(clock_gettime(ClockId::ProcessCPUTime))
}

fn duration(time: Timespec) -> Duration {
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_passes_while_one_works_and_a_thread_has_no_more_than_its_process() {
        let began = of_this_thread();
        while of_this_thread() == began {}
        assert!(of_this_thread() <= of_this_process());
    }
}
