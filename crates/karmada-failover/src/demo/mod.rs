//! A simulated fleet in one process, the real controllers on it, and a story to watch.

mod kubeconfig;
mod stage;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};

use self::stage::Stage;
use crate::story::example::Pace;
use crate::story::print::{Output, Printer};
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
}

impl Scenario {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
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
    let pace = if flags.fast { Pace::FAST } else { Pace::WATCHABLE };
    let printer = Printer::new(flags.output);
    let mut stage = Stage::set(&pace, &flags.scenario.name()).await?;
    printer.started(&stage.started)?;
    let mut observer = Observer::start(stage.sources()?);
    let rules = stage.watch_rules(&pace);

    let told = tokio::select! {
        biased;
        problems = script::play_worked_example(&mut stage, &pace, &mut observer, &printer) => Some(problems?),
        interrupted = interruption() => interrupted.map(|()| None)?,
    };
    let Some(mut problems) = told else {
        stage.strike().await;
        return Ok(ExitCode::from(INTERRUPTED));
    };
    let evictions = rules.evictions().len();
    problems.extend(rules.finish().iter().map(ToString::to_string));
    let summary = script::summary(&observer, evictions, problems);
    printer.summary(&summary)?;
    if flags.keep {
        printer.act("everything stays up until you press Ctrl-C")?;
        interruption().await?;
    }
    let ended = stage.strike().await;
    anyhow::ensure!(ended == controller_kit::Ended::Stopped, "the controllers did not end in order: {ended:?}");
    Ok(if summary.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
