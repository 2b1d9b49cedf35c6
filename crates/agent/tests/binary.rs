//! The binary itself: its flags, its mistakes all at once, and the rights that it prints.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests, too")]

use std::process::{Command, Output};

fn agent(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_agent"))
        .args(arguments)
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
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

#[test]
fn every_mistake_is_named_at_once() {
    let output = agent(&[
        "--admin-bind-address=0",
        "--cluster-lease-renew-interval-fraction=2",
        "--cluster-status-update-frequency=0s",
        "--relist-interval=0s",
        "--member-kubeconfig=/nowhere/member",
    ]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for words in [
        "--cluster-name is missing",
        "--cluster-lease-renew-interval-fraction is 2",
        "--cluster-status-update-frequency must be above 0",
        "--relist-interval must be above 0",
        "no control plane to talk to: give --kubeconfig FILE",
        "cannot read kubeconfig /nowhere/member",
        "check --member-kubeconfig",
    ] {
        assert_eq!(said.matches(words).count(), 1, "{words:?} once in {said}");
    }
}

#[test]
fn without_a_pod_the_member_must_be_named() {
    let output = agent(&["--admin-bind-address=0", "--cluster-name=m1"]);
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("no member to talk to: no --member-kubeconfig, and not in a pod"),
        "{said}"
    );
}

#[test]
fn help_has_karmadas_names() {
    let help = said(&agent(&["--help"]));
    for flag in [
        "--cluster-name",
        "--karmada-kubeconfig",
        "--karmada-context",
        "--cluster-lease-duration",
        "--cluster-lease-renew-interval-fraction",
        "--cluster-status-update-frequency",
        "--cluster-success-threshold",
        "--cluster-failure-threshold",
        "--cluster-api-endpoint",
        "--proxy-server-address",
        "--cluster-provider",
        "--cluster-region",
        "--cluster-zones",
        "--member-kubeconfig",
        "--concurrent-work-syncs",
    ] {
        assert!(help.contains(flag), "{flag} is not in {help}");
    }
    for other in [
        "--concurrent-cluster-syncs",
        "--skipped-propagating-namespaces",
        "--cluster-monitor",
    ] {
        assert!(!help.contains(other), "{other} is not the agent's");
    }
}

#[test]
fn the_rights_are_printed_for_kubectl() {
    let output = agent(&["--cluster-name=m1", "--print-rights=control-plane"]);
    assert_eq!(output.status.code(), Some(0));
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(list["kind"], "List");
    let items = list["items"].as_array().unwrap();
    let of = |kind: &str| items.iter().filter(|item| item["kind"] == kind).count();
    assert_eq!((of("ClusterRole"), of("ClusterRoleBinding")), (1, 1));
    assert_eq!((of("Role"), of("RoleBinding"), of("ServiceAccount")), (4, 4, 1));
    let position = |kind: &str| items.iter().position(|item| item["kind"] == kind).unwrap();
    assert!(position("Namespace") < position("Role"), "a Role needs its namespace");
    let elsewhere = said(&agent(&[
        "--cluster-name=m1",
        "--system-namespace=failover",
        "--print-rights=control-plane",
    ]));
    assert!(
        elsewhere.contains("failover") && !elsewhere.contains("karmada-system"),
        "{elsewhere}"
    );
    let nameless = agent(&["--print-rights=control-plane"]);
    assert_eq!(nameless.status.code(), Some(2));
    assert_eq!(
        agent(&["--cluster-name=m1", "--print-rights=member"]).status.code(),
        Some(0)
    );
}

#[test]
fn old_flags_are_accepted_with_a_warning_each() {
    // Any kubeconfig will do for a member: the program ends at the control plane, which lacks our kinds.
    let member = std::env::temp_dir().join(format!("agent-member-{}", std::process::id()));
    let kubeconfig = r#"{"apiVersion": "v1", "kind": "Config", "current-context": "m",
        "clusters": [{"name": "m", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "m", "user": {}}], "contexts": [{"name": "m", "context": {"cluster": "m", "user": "m"}}]}"#;
    std::fs::write(&member, kubeconfig).unwrap();
    let member_flag = format!("--member-kubeconfig={}", member.display());
    let program = test_bench::Program {
        file: env!("CARGO_BIN_EXE_agent"),
        command: &["--cluster-name=m1", &member_flag],
    };
    test_bench::assert_old_flags_are_warned_about(
        program,
        &[
            ("--report-secrets=None", "no credentials of the member are given"),
            (
                "--cluster-namespace=karmada-cluster",
                "the member's Lease stands in karmada-cluster",
            ),
            (
                "--enable-cluster-resource-modeling=false",
                "resources are always summed up",
            ),
        ],
    );
    std::fs::remove_file(&member).unwrap();
}
