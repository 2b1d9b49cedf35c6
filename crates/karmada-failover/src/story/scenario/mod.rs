//! Scenarios as values: what is there, what is done and when, and what must follow, with the reasons.
//!
//! A scenario says nothing of where it is played: the demo, the tests under simulated time and the runs on real API
//! servers play the same value ([`super::script::play`]). `docs/scenarios.md` shows how to write one.

mod action;
pub mod application_failover;
pub mod custom_kind;
pub mod drain;
mod expectation;
pub mod fallback;
pub mod flapping;
pub mod mass_failure;
pub mod no_target;
pub mod objects;
pub mod opt_in;
pub mod regions;
pub mod room;
mod saying;
pub mod worked_example;

use std::fmt;
use std::time::Duration;

use serde_json::Value;

pub use action::{Action, Ending, Fare, MemberState, Network, ObjectName, TAINTS_OF_PEOPLE};
pub use expectation::{Check, Expectation, Seen};
pub use saying::Saying;

use super::example::{self, Pace};
use super::line::Step;

/// A story to be played.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name on command lines.
    pub name: &'static str,
    /// What it shows, as a paragraph.
    pub description: String,
    /// The members that are known to the control plane from the start.
    pub members: Vec<String>,
    /// Members that exist, and join later.
    pub joining: Vec<String>,
    /// How long things take.
    pub pace: Pace,
    /// Evictions a second while much of a large fleet is faulty.
    pub reduced_evictions_per_second: f64,
    /// Objects that are there before anything happens, beside namespaces and members.
    pub given: Vec<Value>,
    /// What happens.
    pub chapters: Vec<Chapter>,
}

/// A part of a story that is judged by itself.
#[derive(Clone, Debug)]
pub struct Chapter {
    /// Its heading; empty when the story has only one.
    pub heading: String,
    /// What is done, in order.
    pub acts: Vec<Act>,
    /// What must have followed when the last act is over.
    pub expectations: Vec<Expectation>,
}

/// Something that is done, and what is waited for before the next.
#[derive(Clone, Debug)]
pub struct Act {
    /// The same in words, for the spectator.
    pub say: String,
    /// One after another.
    pub actions: Vec<Action>,
    /// All of it, in this order; that something comes too late is a problem.
    pub until: Vec<Until>,
    /// How long each of these may take; absent: as the pace suggests.
    pub patience: Option<Duration>,
}

/// What an act waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// A step has been told so many times since the act began.
    Told(Step, usize),
    /// A step has been told so many times since the chapter began.
    ToldInChapter(Step, usize),
    /// This regime holds.
    Regime(&'static str),
    /// No Cluster carries a taint.
    NoTaints,
    /// No binding has an eviction task.
    NoTasks,
    /// The control plane knows that so many CPUs are free on a cluster: what its nodes have less what its pods ask for.
    FreeCpus(&'static str, i32),
    /// The control plane knows of every cluster that it serves this kind.
    Served(&'static str),
    /// A condition of a binding says this.
    Condition(&'static str, Saying),
    /// `failoverctl explain binding` says these words of a binding, where somebody has it.
    Explained(&'static str, &'static str),
    /// So much time has passed.
    Passed(Duration),
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Told(step, 1) => write!(f, "{step:?}"),
            Self::Told(step, times) => write!(f, "{step:?}, {times} times"),
            Self::ToldInChapter(step, times) => write!(f, "{step:?}, {times} times in this chapter"),
            Self::Regime(name) => write!(f, "the regime {name}"),
            Self::NoTaints => f.write_str("no taint on any cluster"),
            Self::NoTasks => f.write_str("no eviction task on any binding"),
            Self::FreeCpus(cluster, cpus) => write!(f, "{cpus} free CPUs reported by {cluster}"),
            Self::Served(kind) => write!(f, "{kind} served by every cluster"),
            Self::Condition(binding, saying) => write!(f, "{saying} of {binding}"),
            Self::Explained(binding, words) => write!(f, "{words:?} as the explanation of {binding}"),
            Self::Passed(time) => write!(f, "{} s", time.as_secs()),
        }
    }
}

impl Scenario {
    /// A story of one chapter on `member1`, `member2` and `member3`, whose failures count as in the worked example.
    #[must_use]
    pub fn of_three(
        name: &'static str,
        description: &str,
        pace: Pace,
        acts: Vec<Act>,
        expectations: Vec<Expectation>,
    ) -> Self {
        Self {
            name,
            description: description.to_owned(),
            members: ["member1", "member2", "member3"].map(str::to_owned).to_vec(),
            joining: Vec::new(),
            pace,
            reduced_evictions_per_second: 0.1,
            given: example::taint_policies(&pace),
            chapters: vec![Chapter {
                heading: String::new(),
                acts,
                expectations,
            }],
        }
    }

    /// All members that exist, by name.
    #[must_use]
    pub fn every_member(&self) -> Vec<&str> {
        self.members.iter().chain(&self.joining).map(String::as_str).collect()
    }

    /// Flags of the eviction queue for this story.
    #[must_use]
    pub fn queue_flags(&self) -> Vec<String> {
        let mut flags = self.pace.queue_flags();
        flags.push(format!(
            "--secondary-resource-eviction-rate={}",
            self.reduced_evictions_per_second
        ));
        flags
    }

    /// The highest rate that the story allows, for the rules.
    #[must_use]
    pub fn highest_rate(&self) -> f64 {
        self.pace.evictions_per_second.max(self.reduced_evictions_per_second)
    }
}

impl Act {
    /// An act of which nothing is waited for yet.
    #[must_use]
    pub fn new(say: impl Into<String>, actions: Vec<Action>) -> Self {
        Self {
            say: say.into(),
            actions,
            until: Vec::new(),
            patience: None,
        }
    }

    /// Waits for something, after what was named before.
    #[must_use]
    pub fn until(mut self, until: Until) -> Self {
        self.until.push(until);
        self
    }

    /// Gives each thing that is waited for so many seconds.
    #[must_use]
    pub fn within(mut self, seconds: u64) -> Self {
        self.patience = Some(Duration::from_secs(seconds));
        self
    }

    /// Waits for a step to be told once.
    #[must_use]
    pub fn until_told(self, step: Step) -> Self {
        self.until(Until::Told(step, 1))
    }

    /// Waits so many seconds, after what was named before.
    #[must_use]
    pub fn then_wait(self, seconds: u64) -> Self {
        self.until(Until::Passed(Duration::from_secs(seconds)))
    }
}
