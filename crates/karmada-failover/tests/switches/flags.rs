//! Command lines written for Karmada keep working: what has no effect any more costs one warning that says what to use
//! instead.

use std::net::SocketAddr;
use std::process::{Command, Output};
use std::sync::Arc;

use kube_sandbox::{Sandbox, SandboxOptions};

/// Runs the binary against a server without our kinds, where it says what it has to say and ends.
fn run(flags: &[&str]) -> Output {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let clock = controller_kit::Clock::system();
    let _inside = runtime.enter();
    let sandbox = Sandbox::new(SandboxOptions::new(Arc::new(move || clock.now())));
    let served = runtime
        .block_on(sandbox.serve_http(SocketAddr::from(([127, 0, 0, 1], 0))))
        .unwrap();
    sandbox
        .create(serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}}))
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, served.kubeconfig()).unwrap();
    Command::new(env!("CARGO_BIN_EXE_karmada-failover"))
        .args(["run", "--admin-bind-address=0", "--queue-bind-address=127.0.0.1:0"])
        .arg(format!("--kubeconfig={}", path.display()))
        .args(flags)
        .output()
        .unwrap()
}

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
    let flags: Vec<&str> = expected.iter().map(|(flag, _)| *flag).collect();
    let output = run(&flags);
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(1), "not an error of usage: {said}");
    for (flag, instead) in expected {
        let name = flag.trim_start_matches("--feature-gates=").split('=').next().unwrap();
        let lines: Vec<&str> = said
            .lines()
            .filter(|line| line.contains("WARN") && line.contains(name))
            .collect();
        assert_eq!(lines.len(), 1, "one warning about {name}: {said}");
        assert!(lines[0].contains(instead), "{instead:?} is not in {}", lines[0]);
    }
}

/// Without any of them nobody is warned of anything.
#[test]
fn a_plain_command_line_costs_no_warning() {
    let output = run(&[]);
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    // The server has none of our kinds, which ends the process: how its tasks end then is not a word on the flags.
    let of_flags = |line: &&str| line.contains("WARN") && !line.contains("controller_kit::tasks");
    let warned: Vec<&str> = said.lines().filter(of_flags).collect();
    assert!(warned.is_empty(), "{said}");
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
