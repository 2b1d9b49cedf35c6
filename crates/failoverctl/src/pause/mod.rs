//! `pause`, `pause list` and `resume`.
//!
//! Rooms: `wanted` (from arguments to a FailoverPause), `known` (whether what it names exists), `api` (the only place that writes to the API server),
//! `holding` (what a pause holds back, from the queue), `view` and `report` (what is said). Here is the order of things.

mod api;
mod holding;
mod known;
mod report;
mod view;
mod wanted;

pub use holding::{Effect, Holding};
pub use report::{PauseAndWhy, PauseChange, PauseLine, PauseList, Resumption};
pub use view::PauseObject;

use api_types::failover::FailoverPause;
use jiff::Timestamp;

use crate::change::{Go, agreed, command, require_consent};
use crate::cli::{PauseArgs, PauseCommand, ResumeArgs, Target};
use crate::control_plane::ControlPlane;
use crate::failure::{ExitStatus, Failure};
use crate::queue::Queue;
use crate::run::{Came, Surroundings};
use api::{DryRun, Pauses};

/// Whether the arguments make a pause.
///
/// # Errors
/// They do not.
pub fn check(args: &PauseArgs, now: Timestamp) -> Result<(), Failure> {
    match args.command {
        Some(PauseCommand::List) => Ok(()),
        None => wanted::pause(args, now).map(|_| ()),
    }
}

/// Makes a pause.
///
/// # Errors
/// The arguments make none, the server refuses it, or nobody can be asked.
pub async fn pause(
    control_plane: &ControlPlane,
    mut queue: Result<Queue, Failure>,
    args: &PauseArgs,
    target: &Target,
    around: &Surroundings,
) -> Result<Came<PauseChange>, Failure> {
    let now = around.clock.now();
    let wanted = wanted::pause(args, now)?;
    let made = PauseObject::of(&wanted);
    require_consent(
        around.console.as_ref(),
        &args.change,
        &format!("pause {}", made.what_stops()),
    )?;
    known::check(control_plane, &wanted.spec).await?;
    let pauses = Pauses::of(control_plane);
    let checked = pauses.create(&wanted, DryRun::Yes).await?;
    let holds = match &mut queue {
        Ok(queue) => holding::now(queue, &wanted.spec).await,
        Err(failure) => Err(failure.clone()),
    };
    let mut change = PauseChange {
        dry_run: true,
        queue_error: holds.as_ref().err().map(Failure::one_line),
        holds: holds.ok(),
        pause: PauseObject {
            created_at: None,
            ..PauseObject::of(&checked)
        },
        in_effect: None,
        undo: command(target, &["resume".to_owned(), made.name.clone()]),
    };
    if args.change.dry_run {
        return Ok(Came::To(change));
    }
    if agreed(&around.console, &args.change, &change.announcement(now)).await == Go::Not {
        return Ok(Came::Nothing);
    }
    change.pause = PauseObject::of(&pauses.create(&wanted, DryRun::No).await?);
    change.dry_run = false;
    let effect = match &mut queue {
        Ok(queue) => holding::taken_over(queue, &change.pause.name).await,
        Err(failure) => Err(failure.clone()),
    };
    change.queue_error = effect.as_ref().err().map(Failure::one_line);
    change.in_effect = Some(effect.unwrap_or(Effect::NotSeen));
    Ok(Came::To(change))
}

/// The pauses that there are.
///
/// # Errors
/// They cannot be listed.
pub async fn list(control_plane: &ControlPlane, queue: Result<Queue, Failure>) -> Result<PauseList, Failure> {
    let pauses = Pauses::of(control_plane).all().await?;
    let told = match queue {
        Ok(mut queue) => queue.status().await,
        Err(failure) => Err(failure),
    };
    Ok(report::list(&pauses, &told))
}

/// The pauses as stored, for when the queue does not say which are in effect. They are a courtesy: who may not list
/// them gets none.
pub(crate) async fn stored(control_plane: &ControlPlane) -> Vec<FailoverPause> {
    Pauses::of(control_plane).all().await.unwrap_or_default()
}

/// The pauses as stored, for what depends on them.
///
/// # Errors
/// They cannot be listed.
pub(crate) async fn all(control_plane: &ControlPlane) -> Result<Vec<FailoverPause>, Failure> {
    Pauses::of(control_plane).all().await
}

/// Ends pauses.
///
/// # Errors
/// There is no such pause, the server refuses, or nobody can be asked.
pub async fn resume(
    control_plane: &ControlPlane,
    queue: Result<Queue, Failure>,
    args: &ResumeArgs,
    target: &Target,
    around: &Surroundings,
) -> Result<Came<Resumption>, Failure> {
    require_consent(around.console.as_ref(), &args.change, "resume")?;
    let now = around.clock.now();
    let pauses = Pauses::of(control_plane);
    let there = pauses.all().await?;
    let mut ending = Vec::new();
    for pause in chosen(&there, args)? {
        let way_back = way_back(control_plane, &pause, target, now).await;
        ending.push(Ending { pause, way_back });
    }
    let told = match queue {
        Ok(mut queue) => queue.status().await,
        Err(failure) => Err(failure),
    };
    let resumption = Resumption {
        dry_run: args.change.dry_run,
        ..report::resumption(&ending, &told)
    };
    if ending.is_empty() {
        return Ok(Came::To(resumption));
    }
    for Ending { pause, .. } in &ending {
        pauses.delete(pause, DryRun::Yes).await?;
    }
    if args.change.dry_run {
        return Ok(Came::To(resumption));
    }
    if agreed(&around.console, &args.change, &resumption.announcement(now)).await == Go::Not {
        return Ok(Came::Nothing);
    }
    let (ended, failed) = end(&pauses, ending).await?;
    Ok(Came::To(Resumption {
        failed,
        ..report::resumption(&ended, &told)
    }))
}

/// A pause that is to end, with the command that makes it again, or why there is none.
struct Ending {
    pause: FailoverPause,
    way_back: Result<String, String>,
}

/// Ends each, until the server does not let us: those that ended, and those that did not.
///
/// # Errors
/// None ended.
async fn end(pauses: &Pauses, ending: Vec<Ending>) -> Result<(Vec<Ending>, Vec<PauseAndWhy>), Failure> {
    let mut ended = Vec::new();
    let mut failed = Vec::new();
    let mut first = None;
    let mut no_way: Option<Failure> = None;
    for one in ending {
        let result = match &no_way {
            Some(failure) => Err(failure.clone()),
            None => pauses.delete(&one.pause, DryRun::No).await,
        };
        let Err(failure) = result else {
            ended.push(one);
            continue;
        };
        failed.push(PauseAndWhy::of(&one.pause, &failure.one_line()));
        if matches!(failure.status(), ExitStatus::Unreachable | ExitStatus::TimedOut) {
            no_way = Some(failure.clone());
        }
        first.get_or_insert(failure);
    }
    match first {
        Some(failure) if ended.is_empty() => Err(failure),
        _ => Ok((ended, failed)),
    }
}

/// The command that makes a pause again, or why it would be refused.
async fn way_back(
    control_plane: &ControlPlane,
    pause: &FailoverPause,
    target: &Target,
    now: Timestamp,
) -> Result<String, String> {
    let object = PauseObject::of(pause);
    if object.until.is_some_and(|until| until.0 <= now) {
        return Err("it was over already".to_owned());
    }
    match known::check(control_plane, &pause.spec).await {
        Err(failure) if failure.status() == ExitStatus::Problem => Err(failure.one_line()),
        // Where nobody can say, the command is the better answer.
        Ok(()) | Err(_) => Ok(command(target, &object.as_args())),
    }
}

/// Those that are to end.
fn chosen(there: &[FailoverPause], args: &ResumeArgs) -> Result<Vec<FailoverPause>, Failure> {
    let Some(name) = &args.name else {
        return Ok(there.to_vec());
    };
    let found: Vec<FailoverPause> = there
        .iter()
        .filter(|pause| pause.metadata.name.as_ref() == Some(name))
        .cloned()
        .collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let names: Vec<&str> = there
        .iter()
        .filter_map(|pause| pause.metadata.name.as_deref())
        .collect();
    Err(Failure::new(
        ExitStatus::Problem,
        format!("cannot end FailoverPause {name}"),
        "there is no such object",
        if names.is_empty() {
            "nothing to do: there is no FailoverPause at all".to_owned()
        } else {
            format!("choose one of those that there are: {}", names.join(", "))
        },
    ))
}
