//! `e2e-scenarios NAME`: a story on real API servers.

mod components;
mod fleet;
mod healthy_side;
mod mass_failure;
mod restarts;
mod simulated_members;
mod worked_example;

use std::process::ExitCode;

use clap::{Parser, ValueEnum};

/// Tells a story on real API servers, with the separate binaries as processes.
#[derive(Parser)]
struct Cli {
    /// Which story.
    scenario: Scenario,
}

#[derive(Clone, Copy, ValueEnum)]
enum Scenario {
    /// Three replicas spread 1:2; member1's API server is killed and started again.
    WorkedExample,
    /// The same, while every process is killed once, at its step, and started again.
    Restarts,
    /// Much of the fleet fails at once, and the eviction queue brakes; twelve simulated members.
    MassFailure,
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "a command's complaint goes to standard error")]
async fn main() -> ExitCode {
    let told = match Cli::parse().scenario {
        Scenario::WorkedExample => worked_example::tell().await,
        Scenario::Restarts => restarts::tell().await,
        Scenario::MassFailure => mass_failure::tell().await,
    };
    match told {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("e2e-scenarios: {error:#}");
            ExitCode::FAILURE
        }
    }
}
