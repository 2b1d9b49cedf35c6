//! The binary itself: flags that Karmada has are accepted, each with a warning that says what to use instead.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests, too")]

use std::process::Command;
use std::sync::Arc;

use kube_sandbox::{Sandbox, SandboxOptions};

#[test]
fn old_flags_are_accepted_with_a_warning_each() {
    let expected = [
        ("--enable-taint-manager=false", "--controllers=-taintManager"),
        (
            "--default-not-ready-toleration-seconds=300",
            "placement.clusterTolerations",
        ),
        (
            "--default-unreachable-toleration-seconds=300",
            "placement.clusterTolerations",
        ),
        (
            "--feature-gates=GracefulEviction=true",
            "graceful eviction is always on",
        ),
    ];
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let _inside = runtime.enter();
    let clock = controller_kit::Clock::system();
    // Without our kinds: the binary says what it has to say, and ends.
    let sandbox = Sandbox::new(SandboxOptions::new(Arc::new(move || clock.now())));
    let served = runtime
        .block_on(sandbox.serve_http("127.0.0.1:0".parse().unwrap()))
        .unwrap();
    sandbox
        .create(serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}}))
        .unwrap();
    let kubeconfig = std::env::temp_dir().join(format!("taint-manager-{}", std::process::id()));
    std::fs::write(&kubeconfig, served.kubeconfig()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_taint-manager"))
        .arg("--admin-bind-address=0")
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .args(expected.iter().map(|(flag, _)| flag))
        .output()
        .unwrap();
    std::fs::remove_file(&kubeconfig).unwrap();
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
