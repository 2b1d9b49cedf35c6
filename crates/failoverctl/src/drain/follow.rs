//! Follows a drain until nothing is left, only what is held is left, or the person leaves.

use std::time::Duration;

use api_types::ClusterName;
use eviction_queue_api::v1;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::left::{InQueue, OnBindings, in_queue, is_stuck, on_bindings};
use super::report::{DrainResult, DrainState};
use crate::cli::{DrainArgs, Target};
use crate::control_plane::ControlPlane;
use crate::entry::EntryView;
use crate::failure::{ExitStatus, Failure};
use crate::progress::ProgressLine;
use crate::queue::Queue;
use crate::run::Surroundings;
use crate::watch::Left;

/// How often the queue is asked.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often, at most, all bindings are read.
const READ_EVERY: Duration = Duration::from_secs(5);

/// What a look found.
struct Look {
    revision: (String, u64),
    entries: Vec<EntryView>,
    in_queue: InQueue,
    progress: String,
}

/// # Errors
/// The queue or the API server is not reached for as long as `--timeout`; the drain goes on.
pub(super) async fn follow(
    control_plane: &ControlPlane,
    queue: Result<Queue, Failure>,
    args: &DrainArgs,
    target: &Target,
    around: &Surroundings,
    result: &mut DrainResult,
) -> Result<(), Failure> {
    let queue = queue.map_err(|failure| goes_on(&failure, result))?;
    let mut line = ProgressLine::on(&around.console);
    let following = to_the_end(control_plane, queue, args, target, around, &mut line, result);
    let within = args.within.unwrap_or(Duration::MAX);
    let ended = tokio::select! {
        biased;
        () = around.console.interrupted() => Ok(DrainState::Interrupted),
        ended = timeout(within, following) => ended.unwrap_or(Ok(DrainState::TimeUp)),
    };
    line.clear();
    result.state = ended?;
    Ok(())
}

async fn to_the_end(
    control_plane: &ControlPlane,
    mut queue: Queue,
    args: &DrainArgs,
    target: &Target,
    around: &Surroundings,
    line: &mut ProgressLine,
    result: &mut DrainResult,
) -> Result<DrainState, Failure> {
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut only_held_at: Option<(String, u64)> = None;
    let mut read_at: Option<Instant> = None;
    let mut lost_since: Option<Instant> = None;
    loop {
        looks.tick().await;
        let look = match look(&mut queue, &args.cluster, around).await {
            Ok(look) => look,
            Err(failure) => {
                let since = *lost_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= target.timeout {
                    return Err(goes_on(&failure, result));
                }
                line.say(format!("{}; asking again", failure.one_line()));
                continue;
            }
        };
        lost_since = None;
        result.held = look.entries.iter().filter(|entry| is_stuck(entry)).cloned().collect();
        match look.in_queue {
            InQueue::Something => only_held_at = None,
            // Two looks that saw the same: nothing was just on its way.
            InQueue::OnlyHeld if only_held_at.as_ref() == Some(&look.revision) => {
                only_held_at = None;
                let Some(counted) = on_cluster(control_plane, &args.cluster).await? else {
                    return Ok(DrainState::TakenBack);
                };
                if counted.owing <= look.entries.len() {
                    result.old_copies = counted.old_copies + counted.kept_by_purge_mode;
                    return Ok(DrainState::OnlyHeld);
                }
            }
            InQueue::OnlyHeld => only_held_at = Some(look.revision),
            InQueue::Nothing => {
                only_held_at = None;
                if read_at.is_none_or(|at| at.elapsed() >= READ_EVERY) {
                    read_at = Some(Instant::now());
                    let Some(counted) = on_cluster(control_plane, &args.cluster).await? else {
                        return Ok(DrainState::TakenBack);
                    };
                    result.old_copies = counted.old_copies + counted.kept_by_purge_mode;
                    if counted.is_over() {
                        return Ok(DrainState::Done);
                    }
                    line.say(counted.in_words());
                }
                continue;
            }
        }
        line.say(look.progress);
    }
}

/// What the bindings show of the cluster; nothing when it is drained no more.
async fn on_cluster(control_plane: &ControlPlane, name: &str) -> Result<Option<OnBindings>, Failure> {
    let cluster = control_plane.cluster_to("follow the drain", name).await?;
    if super::taint::on(&cluster).is_none() {
        return Ok(None);
    }
    let about = control_plane.bindings_about(&ClusterName::from(name)).await?;
    Ok(Some(on_bindings(&about, &cluster)))
}

async fn look(queue: &mut Queue, cluster: &str, around: &Surroundings) -> Result<Look, Failure> {
    let status = queue.status().await?;
    let filter = v1::EntryFilter {
        cluster: cluster.to_owned(),
        ..v1::EntryFilter::default()
    };
    let entries: Vec<EntryView> = queue
        .list(&filter, 0)
        .await?
        .entries
        .iter()
        .map(EntryView::of)
        .collect();
    Ok(Look {
        revision: (status.queue_epoch.clone(), status.revision),
        in_queue: in_queue(&entries),
        progress: Left::of(entries.iter()).progress(&status, around.clock.now()),
        entries,
    })
}

/// Following has failed; the drain has not.
fn goes_on(failure: &Failure, result: &DrainResult) -> Failure {
    let status = match failure.status() {
        ExitStatus::TimedOut => ExitStatus::TimedOut,
        _ => ExitStatus::Unreachable,
    };
    Failure::new(
        status,
        format!("cannot follow the drain of {}", result.cluster),
        format!("{}; the drain goes on", failure.one_line()),
        format!("{}; to end the drain: {}", failure.next(), result.end),
    )
}
