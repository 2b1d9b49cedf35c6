//! A simulated fleet in one process, the real controllers on it, and a story to watch.

mod kubeconfig;
mod stage;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};

use self::stage::{Files, Stage};
use crate::story::example::Pace;
use crate::story::print::{Output, Printer};
use crate::story::scenario::{
    self, application_failover, custom_kind, drain, fallback, flapping, mass_failure, no_target, opt_in, regions, room,
    worked_example,
};
use crate::story::{Observer, script};

/// Flags of `karmada-failover demo`.
#[derive(Args, Clone, Debug)]
pub struct DemoFlags {
    /// Which story.
    #[arg(long, value_enum, default_value_t = Scenario::WorkedExample)]
    scenario: Scenario,
    /// The same story with short windows, in less than a minute.
    #[arg(long)]
    fast: bool,
    /// Stay up after the story, until interrupted.
    #[arg(long)]
    keep: bool,
    /// For people, or one JSON object a line.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// A story.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// Three replicas spread 1:2; the first member fails and returns.
    WorkedExample,
    /// Much of the fleet fails at once, and the eviction queue brakes.
    MassFailure,
    /// An application fails on clusters that are well.
    ApplicationFailover,
    /// A cluster fails, and nothing fits elsewhere.
    NoTarget,
    /// A healthy cluster is drained.
    Drain,
    /// A cluster fails, and only who asked for it moves.
    OptIn,
    /// A cluster comes and goes.
    Flapping,
    /// A kind of one's own, with scripts that say what it is, moves like any other.
    CustomKind,
    /// A workload spreads over regions: one fails that has another member, and one that has not.
    Regions,
    /// Free capacity decides where a workload goes, and whether it may leave.
    Room,
    /// A whole group of clusters fails, and its workload falls back to the next one.
    Fallback,
}

/// How long things take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tempo {
    Watchable,
    Fast,
}

impl Tempo {
    /// The windows of most stories.
    fn pace(self) -> Pace {
        match self {
            Self::Watchable => Pace::WATCHABLE,
            Self::Fast => Pace::FAST,
        }
    }
}

impl Scenario {
    fn at(self, tempo: Tempo) -> scenario::Scenario {
        match (self, tempo) {
            (Self::WorkedExample, _) => worked_example::scenario(tempo.pace()),
            (Self::MassFailure, Tempo::Watchable) => mass_failure::watchable(),
            (Self::MassFailure, Tempo::Fast) => mass_failure::fast(),
            (Self::ApplicationFailover, _) => application_failover::scenario(tempo.pace()),
            (Self::NoTarget, _) => no_target::scenario(tempo.pace()),
            (Self::Drain, _) => drain::scenario(tempo.pace()),
            (Self::OptIn, _) => opt_in::scenario(tempo.pace()),
            (Self::CustomKind, _) => custom_kind::scenario(tempo.pace()),
            (Self::Regions, _) => regions::scenario(tempo.pace()),
            (Self::Room, _) => room::scenario(tempo.pace()),
            (Self::Fallback, _) => fallback::scenario(tempo.pace()),
            (Self::Flapping, Tempo::Watchable) => flapping::scenario(flapping::WATCHABLE),
            (Self::Flapping, Tempo::Fast) => flapping::scenario(flapping::FAST),
        }
    }
}

/// Runs the demo. The exit code is 0 only if the story came out right, with `--keep` when it is ended after that.
#[must_use]
pub fn main(flags: &DemoFlags) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&anyhow::anyhow!("cannot start threads: {error}")),
    };
    let outcome = runtime.block_on(tell(flags));
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome.unwrap_or_else(|error| complain(&error))
}

#[expect(clippy::print_stderr, reason = "a command's complaint goes to standard error")]
fn complain(error: &anyhow::Error) -> ExitCode {
    eprintln!("karmada-failover demo: {error:#}");
    ExitCode::FAILURE
}

/// What a shell expects of a command that was interrupted.
const INTERRUPTED: u8 = 130;

/// Ctrl-C, or SIGTERM as a supervisor sends it.
async fn interruption() -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    tokio::select! {
        biased;
        pressed = tokio::signal::ctrl_c() => pressed.context("cannot listen for Ctrl-C"),
        _ = terminate.recv() => Ok(()),
    }
}

async fn tell(flags: &DemoFlags) -> anyhow::Result<ExitCode> {
    let story = flags
        .scenario
        .at(if flags.fast { Tempo::Fast } else { Tempo::Watchable });
    let printer = Printer::new(flags.output);
    let mut stage = Stage::set(&story).await?;
    printer.started(&stage.started)?;
    let mut observer = Observer::start(stage.sources()?);
    let rules = stage.watch_rules(&story);

    let told = tokio::select! {
        biased;
        problems = script::play(&story, &mut stage, &mut observer, &printer) => Some(problems?),
        interrupted = interruption() => interrupted.map(|()| None)?,
    };
    let Some(mut problems) = told else {
        stage.strike(Files::Remove).await;
        return Ok(ExitCode::from(INTERRUPTED));
    };
    let evictions = rules.evictions().len();
    problems.extend(rules.finish().iter().map(ToString::to_string));
    let summary = script::summary(&observer, evictions, problems);
    printer.summary(&summary)?;
    if !summary.ok {
        complain(&anyhow::anyhow!(
            "the log of the controllers is kept in {}",
            stage.started.log
        ));
    }
    if flags.keep {
        printer.act("everything stays up until you press Ctrl-C")?;
        interruption().await?;
    }
    let ended = stage.strike(if summary.ok { Files::Remove } else { Files::Keep }).await;
    anyhow::ensure!(
        ended == controller_kit::Ended::Stopped,
        "the controllers did not end in order: {ended:?}"
    );
    Ok(if summary.ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
