//! What `cargo xtask test` runs, in which order.
//!
//! A stage that fails does not keep the others from running, but for those that stand on it.

use std::time::Duration;

use anyhow::Result;
use e2e_control_plane::in_ci;
use xshell::{Cmd, cmd};

use crate::run;
use crate::stage::{Outcome, Report, Strictness};
use crate::totals::{Totals, failed_tests};
use crate::workspace::Workspace;
use crate::{bench, control_plane, demo, deny, e2e, images, prometheus};

const FORMAT_WITHIN: Duration = Duration::from_mins(5);
const LINT_WITHIN: Duration = Duration::from_mins(40);
const TEST_WITHIN: Duration = Duration::from_mins(40);

/// How much is run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// What has to hold before a change lands.
    Usual,
    /// The long ones too.
    Full,
}

/// Runs the stages and prints the report. Whether nothing failed.
pub fn run(workspace: &Workspace, extent: Extent) -> Result<bool> {
    let shell = workspace.shell();
    let strictness = if in_ci() {
        Strictness::MustRun
    } else {
        Strictness::MayLeaveOut
    };
    let mut report = Report::new(strictness);

    report.stage("formatting", || {
        check(cmd!(shell, "cargo fmt --all --check"), FORMAT_WITHIN)
    });
    report.stage("lints", || {
        check(
            cmd!(shell, "cargo clippy --workspace --all-targets --locked -- -D warnings"),
            LINT_WITHIN,
        )
    });
    report.stage("licences, bans, sources", || deny::stage(workspace));
    // Before the tests, some of which run on it.
    let real_servers = report.stage("real control plane", control_plane::stage);
    report.stage("prometheus", prometheus::stage);
    let built = report.stage("build", || workspace.build().into());
    if built {
        report.stage("tests", || tests(workspace, extent));
        report.stage("demo", || demo::run(workspace).into());
    } else {
        report.stage("tests", not_built);
        report.stage("demo", not_built);
    }
    let scenario = |name| match (built, real_servers) {
        (true, true) => e2e::run(workspace, name).into(),
        (false, _) => not_built(),
        (true, false) => Outcome::LeftOut("it needs the real control plane (see there)".to_owned()),
    };
    report.stage("e2e installed", || scenario(e2e::INSTALLED));
    if extent == Extent::Full {
        for (stage, name) in e2e::OTHERS {
            report.stage(stage, || scenario(name));
        }
        report.stage("images", || images::stage(workspace));
        report.stage("benchmarks", || bench::stage(workspace, real_servers));
        report.stage("advisories", || deny::advisories_stage(workspace));
    }
    Ok(report.close())
}

fn check(command: Cmd<'_>, limit: Duration) -> Outcome {
    run::run(command, limit).map(drop).into()
}

fn not_built() -> Outcome {
    Outcome::Failed("not run: the build failed".to_owned())
}

/// All tests of all packages. Each counts; a test program that does not even close counts as one failure.
fn tests(workspace: &Workspace, extent: Extent) -> Outcome {
    let mut command = cmd!(workspace.shell(), "cargo test --workspace --locked --no-fail-fast");
    if extent == Extent::Full {
        // Tests that run a representative part of what they have run all of it.
        command = command.env("KARMADA_FAILOVER_FULL", "1");
    }
    match run::run_to_end(command, TEST_WITHIN) {
        Ok(finished) => {
            let mut totals = Totals::of_libtest(&finished.lines);
            if !finished.succeeded && totals.failed == 0 {
                totals.failed = 1;
            }
            Outcome::Counted(totals, failed_tests(&finished.lines))
        }
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}
