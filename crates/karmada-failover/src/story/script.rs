//! What is done to the fleet, and when. What follows from it is not said here: it is read off the API objects.

use std::future::Future;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::example::{self, Pace};
use super::expect;
use super::line::{Line, Step};
use super::observer::Observer;
use super::print::{Printer, Summary};

/// What the script can do to a fleet, simulated or real.
pub trait Theatre {
    /// Creates an object in the control plane, as a person would.
    fn put(&mut self, object: Value) -> impl Future<Output = anyhow::Result<()>>;
    /// Takes a member's API server away; its workloads run on.
    fn stop_member(&mut self, name: &str) -> impl Future<Output = anyhow::Result<()>>;
    /// Brings it back as it was.
    fn start_member(&mut self, name: &str) -> impl Future<Output = anyhow::Result<()>>;
    /// Hears every line when it is told, and may disturb the play. Returns how much longer the play may take for it.
    fn hear(&mut self, _line: &Line) -> impl Future<Output = anyhow::Result<Duration>> {
        async { Ok(Duration::ZERO) }
    }
}

/// Plays the worked example and tells it. Returns what went wrong: what did not come in time, and what came out wrong.
///
/// # Errors
/// When the fleet cannot be acted on, or standard output is closed.
pub async fn play_worked_example(
    theatre: &mut impl Theatre,
    pace: &Pace,
    observer: &mut Observer,
    printer: &Printer,
) -> anyhow::Result<Vec<String>> {
    let late = play(theatre, pace, observer, printer).await?;
    let mut problems: Vec<String> = late.into_iter().collect();
    problems.extend(observer.look(expect::problems));
    Ok(problems)
}

/// The end of a story.
#[must_use]
pub fn summary(observer: &Observer, evictions: usize, problems: Vec<String>) -> Summary {
    observer.look(|teller| Summary {
        ok: problems.is_empty(),
        at: teller.told().last().map_or(0.0, |line| line.at),
        bindings: teller.bindings().iter().map(|(key, binding)| (key.clone(), expect::placement(binding))).collect(),
        evictions,
        problems,
    })
}

async fn play(
    theatre: &mut impl Theatre,
    pace: &Pace,
    observer: &mut Observer,
    printer: &Printer,
) -> anyhow::Result<Option<String>> {
    let limit = patience(pace);
    printer.act("an nginx of three replicas is created, and a policy that spreads it 1:2 over member1 and member2")?;
    theatre.put(example::deployment()).await?;
    theatre.put(example::propagation_policy()).await?;
    if !tell_until(theatre, observer, printer, limit, |told| told == Step::WorkloadRunning).await? {
        return Ok(Some(format!("the workload did not run within {} s", limit.as_secs())));
    }
    printer.act("member1's API server is stopped")?;
    theatre.stop_member(expect::FAILING).await?;
    if !tell_until(theatre, observer, printer, limit, |told| told == Step::OldCopyKept).await? {
        return Ok(Some(format!("the failover was not complete within {} s", limit.as_secs())));
    }
    printer.act("member1's API server comes back")?;
    theatre.start_member(expect::FAILING).await?;
    while !observer.look(expect::is_over) {
        let is_last = |told| told == Step::TaintRemoved || told == Step::OldCopyRemoved;
        if !tell_until(theatre, observer, printer, limit, is_last).await? {
            return Ok(Some(format!("the return was not complete within {} s", limit.as_secs())));
        }
    }
    // Whoever moves things back by itself would do it now.
    tell_until(theatre, observer, printer, Duration::from_secs(3), |_| false).await?;
    Ok(None)
}

/// Longer than everything that has to happen between two acts.
fn patience(pace: &Pace) -> Duration {
    let window = pace.add_on_match_seconds.max(pace.remove_on_mismatch_seconds).max(0).unsigned_abs();
    Duration::from_secs(30 + 3 * u64::from(pace.threshold_seconds + pace.probe_seconds + window))
}

/// Prints what happens until `is_last`; false when that does not come within `limit`.
async fn tell_until(
    theatre: &mut impl Theatre,
    observer: &mut Observer,
    printer: &Printer,
    limit: Duration,
    is_last: impl Fn(Step) -> bool,
) -> anyhow::Result<bool> {
    let mut deadline = Instant::now() + limit;
    while let Ok(Some(line)) = timeout_at(deadline, observer.next()).await {
        printer.line(&line)?;
        deadline += theatre.hear(&line).await?;
        if is_last(line.step) {
            return Ok(true);
        }
    }
    Ok(false)
}
