//! Follows a drain until nothing is left, only what is held is left, or the person leaves.

use std::time::Duration;

use api_types::ClusterName;
use eviction_queue_api::v1;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::left::{InQueue, OnCluster, in_queue, is_stuck, on_cluster};
use super::report::{DrainResult, DrainState};
use super::works::bindings_of_works;
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
    queue: Queue,
    args: &DrainArgs,
    target: &Target,
    around: &Surroundings,
    line: &mut ProgressLine,
    result: &mut DrainResult,
) -> Result<DrainState, Failure> {
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut lost_since: Option<Instant> = None;
    let mut following = Following {
        control_plane,
        queue,
        cluster: &args.cluster,
        around,
        only_held_at: None,
        read_at: None,
    };
    loop {
        looks.tick().await;
        match following.step(result).await {
            Ok(Step::Ended(state)) => return Ok(state),
            Ok(Step::GoesOn(progress)) => {
                lost_since = None;
                if let Some(progress) = progress {
                    line.say(progress);
                }
            }
            // Not there any more: asking again is of no use.
            Err(failure) if failure.status() == ExitStatus::Problem => return Err(failure),
            Err(failure) => {
                let since = *lost_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= target.timeout {
                    return Err(goes_on(&failure, result));
                }
                line.say(format!("{}; asking again", failure.one_line()));
            }
        }
    }
}

/// What a step came to.
enum Step {
    /// It is over.
    Ended(DrainState),
    /// How far it is, where that was looked at.
    GoesOn(Option<String>),
}

struct Following<'a> {
    control_plane: &'a ControlPlane,
    queue: Queue,
    cluster: &'a str,
    around: &'a Surroundings,
    /// The last look saw only what is held, at this revision.
    only_held_at: Option<(String, u64)>,
    /// When the bindings were read last.
    read_at: Option<Instant>,
}

impl Following<'_> {
    /// One look. After an error the next step asks the same again.
    async fn step(&mut self, result: &mut DrainResult) -> Result<Step, Failure> {
        let look = look(&mut self.queue, self.cluster, self.around).await?;
        result.held = look.entries.iter().filter(|entry| is_stuck(entry)).cloned().collect();
        match look.in_queue {
            InQueue::Something => self.only_held_at = None,
            // Two looks that saw the same: nothing was just on its way.
            InQueue::OnlyHeld if self.only_held_at.as_ref() == Some(&look.revision) => {
                let Some(counted) = self.on_cluster().await? else {
                    return Ok(Step::Ended(DrainState::TakenBack));
                };
                self.only_held_at = None;
                result.count(counted);
                if counted.owing <= look.entries.len() {
                    return Ok(Step::Ended(DrainState::OnlyHeld));
                }
            }
            InQueue::OnlyHeld => self.only_held_at = Some(look.revision),
            InQueue::Nothing => {
                self.only_held_at = None;
                if self.read_at.is_some_and(|at| at.elapsed() < READ_EVERY) {
                    return Ok(Step::GoesOn(None));
                }
                let Some(counted) = self.on_cluster().await? else {
                    return Ok(Step::Ended(DrainState::TakenBack));
                };
                self.read_at = Some(Instant::now());
                result.count(counted);
                if counted.is_over() {
                    return Ok(Step::Ended(DrainState::Done));
                }
                return Ok(Step::GoesOn(Some(counted.in_words())));
            }
        }
        Ok(Step::GoesOn(Some(look.progress)))
    }

    /// What the bindings and then the Works show of the cluster; nothing when it is drained no more.
    async fn on_cluster(&self) -> Result<Option<OnCluster>, Failure> {
        let cluster = self.control_plane.cluster_to("follow the drain", self.cluster).await?;
        if super::taint::on(&cluster).is_none() {
            return Ok(None);
        }
        let name = ClusterName::from(self.cluster);
        let about = self.control_plane.bindings_about(&name).await?;
        // The Works last: what has left a result before is there, or is gone.
        let works = bindings_of_works(self.control_plane, &name).await?;
        Ok(Some(on_cluster(&about, &works, &cluster)))
    }
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
