//! How much a script may take, so that nothing waits for it for long.
//!
//! Three bounds. Instructions of the Lua machine are counted, and the work of our own library functions in the same
//! coin: the same script on the same object ends in the same way on every machine. Memory is bounded by the machine.
//! What one instruction may take is bounded by that memory, but may still be much (joining long texts): of such work
//! the time on the processor is the bound, which a busy machine does not change.

use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};

/// Instructions of one call, and steps of our library functions.
pub const INSTRUCTIONS: u64 = 10_000_000;
/// Time on the processor of one call.
pub const CPU_TIME: Duration = Duration::from_millis(500);
/// Memory of a script's objects, in bytes.
pub const MEMORY: usize = 32 << 20;
/// What our library functions hold outside of the machine at the same time, in bytes.
const OUTSIDE: usize = MEMORY / 4;
/// Instructions between two looks at the budget.
pub const LOOK_EVERY: u32 = 100;

const WITHIN: u8 = 0;
const TOO_MANY_INSTRUCTIONS: u8 = 1;
const TOO_LONG: u8 = 2;

/// The script has taken more than its budget. Once so it stays so until the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exhausted {
    /// Too many instructions.
    #[error("takes more than {INSTRUCTIONS} instructions: it may never end")]
    Instructions,
    /// Too much time.
    #[error("takes more than {} ms of processor time", CPU_TIME.as_millis())]
    CpuTime,
}

/// What is left of one call. Shared with the machine's hook.
#[derive(Debug)]
pub struct Budget {
    spent: AtomicU64,
    over: AtomicU8,
    held: AtomicUsize,
    /// When the call began, by this thread's time on the processor.
    began: Mutex<Duration>,
}

impl Budget {
    /// A full budget.
    pub fn new() -> Self {
        Self {
            spent: AtomicU64::new(0),
            over: AtomicU8::new(WITHIN),
            held: AtomicUsize::new(0),
            began: Mutex::new(on_processor()),
        }
    }

    /// Full again, for a call on this thread that begins now.
    pub fn renew(&self) {
        self.spent.store(0, Ordering::Relaxed);
        self.over.store(WITHIN, Ordering::Relaxed);
        *self.began.lock() = on_processor();
    }

    /// Instructions taken by the call.
    pub fn spent(&self) -> u64 {
        self.spent.load(Ordering::Relaxed)
    }

    /// Takes `steps` from the budget.
    pub fn spend(&self, steps: u64) -> Result<(), Exhausted> {
        // One thread at a time runs a machine: nothing is lost between the two.
        let spent = self.spent().saturating_add(steps);
        self.spent.store(spent, Ordering::Relaxed);
        if spent > INSTRUCTIONS {
            self.over.store(TOO_MANY_INSTRUCTIONS, Ordering::Relaxed);
        }
        self.exhausted().map_or(Ok(()), Err)
    }

    /// Takes `steps` from the budget and looks at the time.
    pub fn spend_and_look(&self, steps: u64) -> Result<(), Exhausted> {
        if on_processor().saturating_sub(*self.began.lock()) > CPU_TIME {
            self.over.store(TOO_LONG, Ordering::Relaxed);
        }
        self.spend(steps)
    }

    /// Takes `bytes` of the memory outside of the machine, until they are released; `false` when there is not so much.
    pub fn hold(&self, bytes: usize) -> bool {
        let held = self.held.load(Ordering::Relaxed).saturating_add(bytes);
        let fits = held <= OUTSIDE;
        if fits {
            self.held.store(held, Ordering::Relaxed);
        }
        fits
    }

    /// Gives back what was held.
    pub fn release(&self, bytes: usize) {
        let held = self.held.load(Ordering::Relaxed);
        self.held.store(held.saturating_sub(bytes), Ordering::Relaxed);
    }

    /// Why the call must end.
    pub fn exhausted(&self) -> Option<Exhausted> {
        match self.over.load(Ordering::Relaxed) {
            TOO_MANY_INSTRUCTIONS => Some(Exhausted::Instructions),
            TOO_LONG => Some(Exhausted::CpuTime),
            _ => None,
        }
    }
}

/// Time that this thread has had on a processor.
fn on_processor() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}
