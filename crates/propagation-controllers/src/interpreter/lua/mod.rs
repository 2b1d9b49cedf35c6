//! Scripts in Lua 5.1, as stock runs them, within bounds.
//!
//! Guarantees: a script reaches nothing outside of the objects it is given; it ends within its [budget](budget), or is
//! ended; what it says of one object does not depend on others; every failure names the line.

mod budget;
mod convert;
mod jumps;
mod library;
mod machine;
mod overruns;
mod pattern;
mod text;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::Instant;

use self::budget::{Budget, MEMORY};
use self::machine::Machine;
use self::overruns::Overruns;

pub use self::convert::{References, Tree, json};
pub use self::machine::Argument;

/// Name of a script in Lua's own messages.
const CHUNK: &str = "script";
/// Machines kept ready for one script: as many as usually run at the same time.
const KEPT_MACHINES: usize = 4;
/// A script that takes more instructions than this leaves the threads that others wait for.
const HEAVY: u64 = 200_000;
/// Bytes of an error's words: they stand in events and conditions, which have no room for more.
const MAX_PROBLEM: usize = 1024;

/// Why a script failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct ScriptError {
    /// The line of the script, where it is known.
    pub line: Option<u32>,
    /// What is wrong.
    pub problem: String,
    /// Whether it took more than it may.
    pub exhausted: bool,
}

impl ScriptError {
    fn plain(problem: impl Into<String>) -> Self {
        Self {
            line: None,
            problem: shortened(problem.into()),
            exhausted: false,
        }
    }

    fn of(error: &mlua::Error, budget: &Budget) -> Self {
        let (line, problem) = problem_of(error);
        if let Some(exhausted) = budget.exhausted() {
            return Self {
                line,
                problem: exhausted.to_string(),
                exhausted: true,
            };
        }
        let out_of_memory = problem.ends_with("not enough memory") || problem.starts_with("memory error");
        Self {
            line,
            problem: if out_of_memory {
                format!("needs more than {} MiB of memory", MEMORY >> 20)
            } else {
                shortened(problem)
            },
            exhausted: out_of_memory,
        }
    }
}

/// The words as far as there is room for them.
pub fn shortened(mut problem: String) -> String {
    if problem.len() > MAX_PROBLEM {
        problem.truncate(problem.floor_char_boundary(MAX_PROBLEM));
        problem.push('…');
    }
    problem
}

/// The line and the words of an error, without the rest of Lua's account.
fn problem_of(error: &mlua::Error) -> (Option<u32>, String) {
    match error {
        mlua::Error::CallbackError { traceback, cause } => {
            let (line, problem) = problem_of(cause);
            let at = format!("{CHUNK}:");
            let in_script = || {
                traceback
                    .lines()
                    .find_map(|row| number_behind(row.trim_start().strip_prefix(&at)?))
            };
            (line.or_else(in_script), problem)
        }
        mlua::Error::WithContext { cause, .. } => problem_of(cause),
        mlua::Error::SyntaxError { message, .. } | mlua::Error::RuntimeError(message) => {
            let words = message.split("\nstack traceback:").next().unwrap_or(message).trim();
            let behind = words.strip_prefix(CHUNK).and_then(|rest| rest.strip_prefix(':'));
            match behind.and_then(|rest| rest.split_once(": ")) {
                Some((line, problem)) if line.parse::<u32>().is_ok() => (line.parse().ok(), problem.to_owned()),
                _ => (None, words.to_owned()),
            }
        }
        other => (None, other.to_string()),
    }
}

fn number_behind(text: &str) -> Option<u32> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// A script and the machines that have it loaded.
pub struct Script {
    source: String,
    function: &'static str,
    idle: Mutex<Vec<Machine>>,
    /// Whether a call took much; then calls leave the threads that others wait for.
    heavy: AtomicBool,
    overruns: Mutex<Overruns>,
    checked: OnceLock<Result<(), ScriptError>>,
}

impl Script {
    /// A script that has `function`. Nothing is run yet.
    pub fn new(source: impl Into<String>, function: &'static str) -> Self {
        Self {
            source: source.into(),
            function,
            idle: Mutex::default(),
            heavy: AtomicBool::new(false),
            overruns: Mutex::default(),
            checked: OnceLock::new(),
        }
    }

    /// The text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the script loads and has its function. Tried once.
    ///
    /// # Errors
    /// Why it does not.
    pub fn check(&self, now: Timestamp) -> Result<(), ScriptError> {
        let try_it = || {
            let machine = Machine::load(&self.source)?;
            machine.check(self.function, now)?;
            self.keep(machine);
            Ok(())
        };
        self.checked.get_or_init(|| off_the_workers(try_it)).clone()
    }

    /// Calls the script's function for an object; `object` tells it from others.
    ///
    /// # Errors
    /// Why it failed: it does not load, has no such function, went wrong, or took more than it may.
    pub fn call(
        &self,
        object: &str,
        arguments: &[Argument<'_>],
        results: usize,
        now: Timestamp,
    ) -> Result<Vec<Tree>, ScriptError> {
        // Those who wait for other objects and kinds would wait for it.
        if let Some(why) = self.overruns.lock().rests(object, Instant::now()) {
            return Err(why);
        }
        let call = || self.call_here(arguments, results, now);
        let outcome = if self.heavy.load(Ordering::Relaxed) {
            off_the_workers(call)
        } else {
            call()
        };
        let exhausted = outcome.as_ref().err().filter(|error| error.exhausted);
        self.overruns.lock().remember(object, exhausted, Instant::now());
        outcome
    }

    fn call_here(&self, arguments: &[Argument<'_>], results: usize, now: Timestamp) -> Result<Vec<Tree>, ScriptError> {
        let idle = self.idle.lock().pop();
        let machine = match idle {
            Some(machine) => machine,
            None => Machine::load(&self.source)?,
        };
        let outcome = machine.call(self.function, arguments, results, now);
        if machine.spent() > HEAVY {
            self.heavy.store(true, Ordering::Relaxed);
        }
        // After a failure the machine may be in any state.
        if outcome.is_ok() && machine.can_be_kept() {
            self.keep(machine);
        }
        outcome
    }

    fn keep(&self, machine: Machine) {
        let mut idle = self.idle.lock();
        if idle.len() < KEPT_MACHINES {
            idle.push(machine);
        }
    }
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Script")
            .field("function", &self.function)
            .finish_non_exhaustive()
    }
}

/// Runs `call` where it keeps no other task of the runtime waiting.
fn off_the_workers<T>(call: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(call),
        _ => call(),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
