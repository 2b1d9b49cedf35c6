//! `queue watch`: changes of the queue as lines, for as long as somebody reads. Whoever reads late is told what an entry came
//! to; every outcome is in `queue recent` and `history`.
//!
//! Rooms: `follow` (what is known and what a step means), `what` (what happened to an entry), `left` (how much is left and
//! until when), `lines` (how it looks), `watcher` (the streams). Here is how a watch ends.

mod follow;
mod left;
mod lines;
mod watcher;
mod what;

use std::time::Duration;

use controller_kit::durations::format_duration;
use tokio::time::timeout;

pub use follow::{Beginning, Follow, Step, Synced};
pub use left::{Left, unsure};
pub use lines::Lines;
pub use what::{Event, QueueChange, happened};

use crate::cli::{Cli, WatchArgs};
use crate::failure::{ExitStatus, Failure};
use crate::queue::Queue;
use crate::run::Surroundings;
use watcher::{End, Watcher};

/// Watches the queue that `find` leads to, until Ctrl-C, until nobody reads, or until it is empty where that is asked.
///
/// # Errors
/// The queue is not found at the beginning, or not for as long as `--timeout`; with `--until-empty`, it ended in another
/// way: after `--within`, by Ctrl-C, or because nobody reads.
pub async fn watch(
    find: impl AsyncFn() -> Result<Queue, Failure>,
    args: &WatchArgs,
    cli: &Cli,
    around: &Surroundings,
) -> Result<(), Failure> {
    let console = &around.console;
    let mut watcher = Watcher::new(args, cli, around);
    let ended = tokio::select! {
        biased;
        () = console.interrupted() => None,
        ended = in_time(args.within, watcher.run(find)) => Some(ended),
    };
    watcher.clear_progress();
    match ended {
        None | Some(Ok(End::NobodyReads)) if args.until_empty => {
            return Err(not_empty("the watch was stopped before no entry matched any more"));
        }
        None => console.note("stopped watching; the queue goes on without a watcher\n"),
        Some(Ok(End::Empty)) => console.note("no entry of the eviction queue matches any more\n"),
        Some(Ok(End::NobodyReads)) => {}
        Some(Err(failure)) => return Err(failure),
    }
    Ok(())
}

async fn in_time(within: Option<Duration>, run: impl Future<Output = Result<End, Failure>>) -> Result<End, Failure> {
    let Some(within) = within else { return run.await };
    timeout(within, run).await.unwrap_or_else(|_| {
        Err(not_empty(&format!(
            "entries that match were left after {}",
            format_duration(within)
        )))
    })
}

/// `--until-empty` has not come to its end: a script must not take that for an empty queue.
fn not_empty(why: &str) -> Failure {
    Failure::new(
        ExitStatus::TimedOut,
        "the eviction queue did not become empty",
        why,
        "see which and why: failoverctl queue list; or wait longer: --within",
    )
}
