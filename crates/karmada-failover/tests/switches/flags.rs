//! Command lines written for Karmada keep working: what has no effect any more costs one warning that says what to use
//! instead.

use std::process::Command;

use test_bench::{Program, assert_old_flags_are_warned_about};

const PROGRAM: Program<'static> = Program {
    file: env!("CARGO_BIN_EXE_karmada-failover"),
    command: &["run", "--queue-bind-address=127.0.0.1:0"],
};

#[test]
fn old_flags_and_the_old_gate_are_accepted_with_a_warning_each() {
    let expected = [
        ("--enable-taint-manager=false", "--controllers=-taintManager"),
        ("--graceful-eviction-timeout=10m", "failover.cluster.gracePeriodSeconds"),
        ("--failover-eviction-timeout=5m", "addOnMatchSeconds"),
        (
            "--default-not-ready-toleration-seconds=300",
            "placement.clusterTolerations",
        ),
        (
            "--default-unreachable-toleration-seconds=300",
            "placement.clusterTolerations",
        ),
        (
            "--feature-gates=GracefulEviction=false",
            "graceful eviction is always on",
        ),
    ];
    assert_old_flags_are_warned_about(PROGRAM, &expected);
}

/// Without any of them nobody is warned of anything.
#[test]
fn a_plain_command_line_costs_no_warning() {
    let said = PROGRAM.run(&[]);
    // The server has none of our kinds, which ends the process: how its tasks end then is not a word on the flags.
    let of_flags = |line: &&str| !line.contains("controller_kit::tasks");
    let warned: Vec<&str> = said.lines(&["WARN"]).into_iter().filter(of_flags).collect();
    assert!(warned.is_empty(), "{}", said.text);
}

/// They are accepted, not advertised.
#[test]
fn help_shows_what_has_an_effect() {
    let output = Command::new(env!("CARGO_BIN_EXE_karmada-failover"))
        .args(["run", "--help"])
        .output()
        .unwrap();
    let help = String::from_utf8_lossy(&output.stdout);
    assert!(help.contains("--resource-eviction-rate"), "{help}");
    for old in [
        "--enable-taint-manager",
        "--failover-eviction-timeout",
        "--default-not-ready-toleration-seconds",
    ] {
        assert!(!help.contains(old), "{old} is in {help}");
    }
}
