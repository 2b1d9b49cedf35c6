//! Mistakes of its user: each gets an answer that says what, where, why and what to do.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

use std::net::SocketAddr;
use std::process::{Command, Output};
use std::sync::Arc;

use kube_sandbox::{Sandbox, SandboxOptions};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_karmada-failover"))
        .arg("run")
        .arg("--admin-bind-address=0")
        .args(arguments)
        .env_remove("KUBECONFIG")
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[track_caller]
fn assert_says(output: &Output, code: i32, words: &[&str]) {
    let said = said(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "{word:?} is not in: {said}");
    }
}

#[test]
fn an_unknown_controller_is_named_with_those_that_are_known() {
    assert_says(
        &run(&["--controllers=*,evicter"]),
        2,
        &["evicter", "evictor", "taintManager", "evictionQueue", "bindingStatus"],
    );
}

#[test]
fn an_unknown_gate_is_named_with_those_that_are_known() {
    assert_says(&run(&["--feature-gates=Failovr=true"]), 2, &["Failovr", "Failover"]);
}

#[test]
fn a_kubeconfig_that_is_not_there_is_named() {
    assert_says(
        &run(&["--kubeconfig=/nowhere/kubeconfig"]),
        2,
        &["/nowhere/kubeconfig", "--kubeconfig"],
    );
}

#[test]
fn a_kubeconfig_that_is_none_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, "not: [a, kubeconfig").unwrap();
    let flag = format!("--kubeconfig={}", path.display());
    assert_says(&run(&[&flag]), 2, &[&path.display().to_string()]);
}

#[test]
fn flags_out_of_range_are_all_reported_at_once() {
    let output = run(&[
        "--resource-eviction-rate=-1",
        "--unhealthy-cluster-threshold=0",
        "--feature-gates=Nope=true",
    ]);
    assert_says(
        &output,
        2,
        &["resource-eviction-rate", "unhealthy-cluster-threshold", "Nope"],
    );
}

#[test]
fn a_server_without_our_kinds_is_told_how_to_get_them() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let clock = controller_kit::Clock::system();
    let sandbox = runtime.block_on(async { Sandbox::new(SandboxOptions::new(Arc::new(move || clock.now()))) });
    let served = runtime
        .block_on(sandbox.serve_http(SocketAddr::from(([127, 0, 0, 1], 0))))
        .unwrap();
    sandbox
        .create(serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}}))
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, served.kubeconfig()).unwrap();
    let output = run(&[
        &format!("--kubeconfig={}", path.display()),
        "--queue-bind-address=127.0.0.1:0",
    ]);
    assert_says(
        &output,
        1,
        &["cluster.karmada.io", "kubectl apply -f charts/karmada-crds/kinds"],
    );
}
