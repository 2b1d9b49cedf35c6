//! `e2e-scenarios NAME`: a story on real API servers.

mod accounts;
mod cluster_health;
mod clusters;
mod components;
mod evictions;
mod failoverctl;
mod fleet;
mod grpcurl;
mod healthy_side;
mod installed;
mod judged;
mod kubectl;
mod mass_failure;
mod pull_member;
mod restarts;
mod simulated_members;
mod story;
mod taint_policies;
mod telling;
mod worked_example;

use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use karmada_failover::story::example::Pace;
use karmada_failover::story::scenario::{
    application_failover, custom_kind, drain, fallback, no_target, opt_in, regions, room,
};

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
    /// The same, with everything as the charts install it on two API servers: arguments, files, rights.
    Installed,
    /// The same beside a stock Karmada: what stock goes on doing others do in its place, on its kinds; and the way back.
    InstalledBeside,
    /// The worked example, while every process is killed once, at its step, and started again.
    Restarts,
    /// Much of the fleet fails at once, and the eviction queue brakes; twelve simulated members.
    MassFailure,
    /// An application fails on clusters that are well: it moves on, and stays where nothing is left.
    ApplicationFailover,
    /// A cluster fails and nothing fits elsewhere.
    NoTarget,
    /// A healthy cluster is drained with failoverctl, and taken back.
    Drain,
    /// A cluster fails, and only who asked for it moves.
    OptIn,
    /// A kind of one's own, with scripts that say what it is, moves like any other.
    CustomKind,
    /// A workload spreads over regions, divided by room: one fails that has another member, and one that has not.
    Regions,
    /// Free capacity, as nodes and pods have it, decides where a workload goes, and whether it may leave.
    Room,
    /// A whole group of clusters fails, and its workload falls back to the next one; four members.
    Fallback,
    /// Sixty workloads leave a cluster while who evicts them is killed, suspended, paused and told otherwise.
    Evictions,
    /// Policies alone, as a person sees them who has kubectl: windows, a restart, a taint taken back, bad policies.
    TaintPolicies,
    /// Who reports on members: one that answers nothing, a reporter that dies, a monitor that hears nobody, a deletion that
    /// waits.
    ClusterHealth,
    /// A member whose agent, with the rights that it prints and no others, is killed and started again.
    PullMember,
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "a command's complaint goes to standard error")]
async fn main() -> ExitCode {
    let told = match Cli::parse().scenario {
        Scenario::WorkedExample => worked_example::tell().await,
        Scenario::Installed => installed::tell().await,
        Scenario::InstalledBeside => installed::beside::tell().await,
        Scenario::Restarts => restarts::tell().await,
        Scenario::MassFailure => mass_failure::tell().await,
        Scenario::ApplicationFailover => story::tell(application_failover::scenario(Pace::FAST)).await,
        Scenario::NoTarget => story::tell(no_target::scenario(Pace::FAST)).await,
        Scenario::Drain => story::tell(drain::scenario(Pace::FAST)).await,
        Scenario::OptIn => story::tell(opt_in::scenario(Pace::FAST)).await,
        Scenario::CustomKind => story::tell(custom_kind::scenario(Pace::FAST)).await,
        Scenario::Regions => story::tell(regions::scenario(Pace::FAST)).await,
        Scenario::Room => story::tell(room::scenario(Pace::FAST)).await,
        Scenario::Fallback => story::tell(fallback::scenario(Pace::FAST)).await,
        Scenario::Evictions => evictions::tell().await,
        Scenario::TaintPolicies => taint_policies::tell().await,
        Scenario::ClusterHealth => cluster_health::tell().await,
        Scenario::PullMember => pull_member::tell().await,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What no run of the tests tells rots.
    #[test]
    fn the_suite_tells_every_scenario() {
        let suite = include_str!("../../../xtask/src/e2e.rs");
        for scenario in Scenario::value_variants() {
            let name = scenario.to_possible_value().expect("none is hidden");
            assert!(suite.contains(&format!("\"{}\"", name.get_name())), "{name:?}");
        }
    }
}
