//! Who is away, from when, in what way and for how long.

use std::fmt;
use std::time::Duration;

use super::components::Component;
use super::story::Moment;

/// How a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is asked to, and hands its Leases back.
    Stop,
    /// As by `kill -9`.
    Crash,
}

/// When it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cue {
    /// At the first line that tells of this step.
    At(Moment),
    /// At the n-th (from 1) line that tells of this step: with several workloads.
    AtNth(Moment, usize),
    /// When its k-th (from 1) write to the control plane was stored, before it hears of it.
    AfterWrite(u64),
    /// When the k-th (from 1) write to this member was stored, before the writer hears of it.
    AfterMemberWrite(&'static str, u64),
    /// At these times from the start, every one a restart.
    AtTimes(Vec<Duration>),
}

/// One component is away.
#[derive(Clone, Debug)]
pub struct Outage {
    pub component: Component,
    pub cue: Cue,
    pub way: Way,
    /// How long until it is started again.
    pub down: Duration,
}

impl Outage {
    /// How long after the start of the outage the component can do its work again, as documented: it is started, and
    /// a Lease that was not handed back must first run out (15 s as the new process sees it).
    pub fn length(&self) -> Duration {
        self.down
            + match self.way {
                Way::Stop => Duration::ZERO,
                Way::Crash => Duration::from_secs(15),
            }
    }

    /// What a fresh start of this component costs beyond that, as documented.
    pub fn warm_up(&self) -> Duration {
        Duration::from_secs(match self.component {
            // The threshold starts anew (6 s here), and its observations come every 2 s.
            Component::Health => 6 + 2,
            // A new leader of the queue releases nothing for 10 s; then its token bucket fills: 2 s at 0.5/s.
            Component::Queue => 10 + 2,
            // What a dead evictor holds comes back after the lease's 30 s and 2 s more, and 2 s pass for the token.
            Component::TaintManager if self.way == Way::Crash => 30 + 2 + 2,
            _ => 0,
        })
    }
}

impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} {:?} {:?}, down {} s",
            self.component,
            self.way,
            self.cue,
            self.down.as_secs()
        )
    }
}
