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
use serde_json::{Value, json};

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

/// What the program says to a server with these kinds.
fn run_on(kinds: &[Value]) -> Output {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let clock = controller_kit::Clock::system();
    let sandbox = runtime.block_on(async { Sandbox::new(SandboxOptions::new(Arc::new(move || clock.now()))) });
    let served = runtime
        .block_on(sandbox.serve_http(SocketAddr::from(([127, 0, 0, 1], 0))))
        .unwrap();
    for kind in kinds {
        sandbox.apply_crd(kind.clone()).unwrap();
    }
    sandbox
        .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}}))
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    std::fs::write(&path, served.kubeconfig()).unwrap();
    run(&[
        &format!("--kubeconfig={}", path.display()),
        "--queue-bind-address=127.0.0.1:0",
    ])
}

fn our_kinds() -> Vec<Value> {
    let kinds = api_types::crds().into_iter();
    kinds.map(|kind| serde_json::to_value(kind).unwrap()).collect()
}

fn is_called(kind: &Value, name: &str) -> bool {
    kind["spec"]["names"]["kind"] == name
}

#[test]
fn a_server_without_our_kinds_is_told_how_to_get_them() {
    assert_says(
        &run_on(&[]),
        1,
        &["cluster.karmada.io", "kubectl apply -f charts/karmada-crds/kinds"],
    );
}

#[test]
fn kinds_of_another_version_are_named() {
    let mut kinds = our_kinds();
    let policy = kinds.iter_mut().find(|kind| is_called(kind, "ClusterTaintPolicy"));
    policy.unwrap()["spec"]["versions"][0]["name"] = json!("v1alpha9");
    assert_says(
        &run_on(&kinds),
        1,
        &[
            "does not serve ClusterTaintPolicy (policy.karmada.io/v1alpha1)",
            "kubectl apply -f charts/karmada-crds/kinds",
        ],
    );
}

/// Of an older version, or a stock Karmada's: the server would drop fields of ours without a word.
#[test]
fn kinds_that_drop_our_fields_are_not_worked_with() {
    let mut kinds = our_kinds();
    let policy = kinds.iter_mut().find(|kind| is_called(kind, "PropagationPolicy"));
    let version = &mut policy.unwrap()["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let cluster = &mut version["properties"]["spec"]["properties"]["failover"]["properties"]["cluster"]["properties"];
    assert!(cluster.as_object_mut().unwrap().remove("tolerationSeconds").is_some());
    assert_says(
        &run_on(&kinds),
        1,
        &[
            "the API server drops PropagationPolicy spec.failover.cluster.tolerationSeconds",
            "helm upgrade of the chart karmada-crds",
        ],
    );
}

/// The chart of a Karmada's own kinds is there, ours is not.
#[test]
fn half_of_the_kinds_is_not_enough() {
    let mut kinds = our_kinds();
    kinds.retain(|kind| kind["spec"]["group"] != "failover.karmada.io");
    let output = run_on(&kinds);
    assert_says(
        &output,
        1,
        &["(failover.karmada.io/v1alpha1)", "-f charts/control-plane/kinds"],
    );
    assert!(!said(&output).contains("Cluster (cluster.karmada.io"), "that is there");
}
