//! From a command line to an answer.

use std::time::Duration;

use controller_kit::Clock;
use controller_kit::durations::format_duration;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;

use crate::cli::{Cli, Command, ExplainCommand, QueueCommand, Target};
use crate::control_plane::ControlPlane;
use crate::controllers::{self, Mode};
use crate::entries;
use crate::explain;
use crate::failure::{ExitStatus, Failure};
use crate::output::{Colour, Report, render};
use crate::queue::{self, Queue};
use crate::status;

/// What goes to standard output, and how the program ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The text.
    pub text: String,
    /// Fine, or Problem.
    pub status: ExitStatus,
}

/// Carries a command out.
///
/// # Errors
/// What was wanted, why it failed, what to do; with how the program ends.
pub async fn run(cli: &Cli, clock: &Clock, colour: Colour) -> Result<Answer, Failure> {
    in_time(cli.target.timeout, async {
        // With a fixed address, the commands about the queue need no API server.
        if let (Command::Queue(command), Some(address)) = (&cli.command, &cli.target.queue_address) {
            let mut queue = Queue::at(address, cli.target.request_timeout());
            return about_queue(command, &mut queue, cli, clock.now(), colour).await;
        }
        let control_plane = ControlPlane::find(&cli.target).await?;
        answer(cli, &control_plane, clock, colour).await
    })
    .await
}

/// Carries a command out on a control plane that is found already.
///
/// # Errors
/// As [`run`].
pub async fn answer(cli: &Cli, control_plane: &ControlPlane, clock: &Clock, colour: Colour) -> Result<Answer, Failure> {
    control_plane.require_our_kinds().await?;
    let leases = control_plane.leases().await?;
    let now = clock.now();
    match &cli.command {
        Command::Status { cluster } => {
            let mode = control_plane.mode().await?;
            let queue = find_queue(&cli.target, &leases, mode, now);
            let gathered = status::gather(control_plane, leases, mode, queue, cluster.as_deref()).await?;
            let now = clock.now();
            finish(&status::report(&gathered, now)?, cli, now, colour)
        }
        Command::Queue(command) => {
            let mut queue = find_queue(&cli.target, &leases, Mode::Unknown, now)?;
            about_queue(command, &mut queue, cli, clock.now(), colour).await
        }
        Command::Explain(ExplainCommand::Binding { binding }) => {
            let mode = control_plane.mode().await?;
            let queue = find_queue(&cli.target, &leases, mode, now);
            let gathered = explain::gather(control_plane, leases, mode, queue, binding).await?;
            let now = clock.now();
            finish(&explain::report(&gathered, now), cli, now, colour)
        }
    }
}

async fn about_queue(
    command: &QueueCommand,
    queue: &mut Queue,
    cli: &Cli,
    now: Timestamp,
    colour: Colour,
) -> Result<Answer, Failure> {
    match command {
        QueueCommand::List(args) => finish(&entries::list(queue, args).await?, cli, now, colour),
        QueueCommand::Show(args) => finish(&entries::show(queue, args).await?, cli, now, colour),
    }
}

fn find_queue(target: &Target, leases: &[Lease], mode: Mode, now: Timestamp) -> Result<Queue, Failure> {
    let controllers = controllers::controllers(leases, mode, now);
    let address = queue::address(target.queue_address.as_deref(), &controllers, &target.system_namespace)?;
    Ok(Queue::at(&address, target.request_timeout()))
}

fn finish<R: Report>(report: &R, cli: &Cli, now: Timestamp, colour: Colour) -> Result<Answer, Failure> {
    Ok(Answer {
        text: render(report, cli.output, now, colour)?,
        status: report.status(),
    })
}

async fn in_time<T>(limit: Duration, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
        Err(Failure::new(
            ExitStatus::TimedOut,
            "cannot answer",
            format!(
                "the API server and the queue did not answer within {}",
                format_duration(limit)
            ),
            "try again, with a longer --timeout if they are slow",
        ))
    })
}
