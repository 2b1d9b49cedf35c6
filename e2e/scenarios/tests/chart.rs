//! The chart `control-plane`, rendered and installed by helm as a user does.
#![allow(
    clippy::unwrap_used,
    reason = "clippy does not see that the helpers of a test are test code"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use api_types::taint_policy::ClusterTaintPolicy;
use e2e_harness::{Binaries, ControlPlane, Identity, Tool, available_with};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};

const DEFAULTS: [&str; 2] = ["not-ready-no-schedule", "unreachable-no-schedule"];

fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/control-plane")
}

/// helm with nothing of the user's own.
struct Helm {
    binaries: Binaries,
    home: tempfile::TempDir,
    kubeconfig: PathBuf,
}

impl Helm {
    /// For rendering only, where `kubeconfig` names no file.
    fn new(binaries: Binaries, kubeconfig: PathBuf) -> Self {
        Self {
            binaries,
            home: tempfile::tempdir().unwrap(),
            kubeconfig,
        }
    }

    fn output(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(self.binaries.path(Tool::Helm));
        for variable in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(variable, self.home.path());
        }
        command
            .env("KUBECONFIG", &self.kubeconfig)
            .args(arguments)
            .output()
            .unwrap()
    }

    fn run(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert!(
            output.status.success(),
            "helm {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// The policies that the chart installs with these settings.
    fn policies(&self, settings: &[&str]) -> Vec<String> {
        let mut objects = self.rendered(settings);
        objects.retain(|object| object.contains("kind: ClusterTaintPolicy"));
        objects
    }

    /// The objects that the chart makes with these settings.
    fn rendered(&self, settings: &[&str]) -> Vec<String> {
        let chart = chart();
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        let arguments: Vec<&str> = ["template", "control-plane", chart.to_str().unwrap()]
            .into_iter()
            .chain(settings)
            .collect();
        let text = self.run(&arguments);
        text.split("---\n")
            .map(without_comments)
            .filter(|object| !object.is_empty())
            .collect()
    }
}

fn without_comments(yaml: &str) -> String {
    let lines: Vec<&str> = yaml.lines().filter(|line| !line.starts_with('#')).collect();
    lines.join("\n").trim().to_owned()
}

fn file(name: &str) -> String {
    let path = chart().join(format!("policies/{name}.yaml"));
    without_comments(&std::fs::read_to_string(path).unwrap())
}

#[test]
fn each_value_installs_the_file_that_stands_for_it() {
    let Some(binaries) = available_with(Tool::Helm, "rendering the charts") else {
        return;
    };
    let helm = Helm::new(binaries, "/dev/null".into());
    assert_eq!(helm.policies(&[]), DEFAULTS.map(file), "the defaults");
    let off = [
        "policies.notReadyNoSchedule=false",
        "policies.unreachableNoSchedule=false",
    ];
    assert_eq!(helm.policies(&off), [""; 0]);
    for (value, name) in [
        ("notReadyNoExecute", "not-ready-no-execute"),
        ("notReadyPreferNoExecute", "not-ready-prefer-no-execute"),
    ] {
        let on = format!("policies.{value}=true");
        assert_eq!(helm.policies(&[off[0], off[1], &on]), [file(name)]);
        assert_eq!(
            helm.policies(&["mode=beside", &on]),
            [file(name)],
            "stock adds the NoSchedule taints itself"
        );
    }
    assert_eq!(helm.policies(&["mode=beside"]), [""; 0]);
}

#[test]
fn rights_are_installed_whatever_the_values_say() {
    let Some(binaries) = available_with(Tool::Helm, "rendering the charts") else {
        return;
    };
    let helm = Helm::new(binaries, "/dev/null".into());
    let files = std::fs::read_dir(chart().join("rbac")).unwrap();
    let texts = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let expected: BTreeSet<String> = texts
        .flat_map(|text| text.split("---\n").map(without_comments).collect::<Vec<_>>())
        .collect();
    let rights = |settings: &[&str]| -> BTreeSet<String> {
        let objects = helm.rendered(settings).into_iter();
        objects
            .filter(|object| object.contains("rbac.authorization.k8s.io/v1"))
            .collect()
    };
    assert_eq!(rights(&[]), expected);
    assert_eq!(rights(&["mode=beside"]), expected);
}

#[test]
fn a_value_that_means_nothing_is_refused_by_name() {
    let Some(binaries) = available_with(Tool::Helm, "rendering the charts") else {
        return;
    };
    let helm = Helm::new(binaries, "/dev/null".into());
    let chart = chart();
    for (setting, complaint) in [
        ("policies.notReady=true", "'notReady' not allowed"),
        (
            "policies.notReadyNoExecute=true,policies.notReadyPreferNoExecute=true",
            "at '/policies': 'not' failed",
        ),
        ("policies.notReadyNoExecute=yes", "policies/notReadyNoExecute"),
        ("mode=alone", "value must be one of 'standalone', 'beside'"),
    ] {
        let arguments = ["template", "x", chart.to_str().unwrap(), "--set", setting];
        let output = helm.output(&arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && said.contains(complaint),
            "{setting}: {said}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_installs_kinds_and_policies_on_a_real_api_server_and_upgrades() {
    let Some(binaries) = available_with(Tool::Helm, "the chart on a real API server") else {
        return;
    };
    let control_plane = ControlPlane::start().await.unwrap();
    let helm = Helm::new(binaries, control_plane.kubeconfig(Identity::Admin));
    let chart = chart();
    let place = [
        "control-plane",
        chart.to_str().unwrap(),
        "--namespace",
        "karmada-system",
    ];
    let notes = helm.run(&[&["install"], &place[..], &["--create-namespace", "--wait"]].concat());
    assert!(
        notes.contains("namespace karmada-cluster, which is there now"),
        "{notes}"
    );
    assert!(
        notes.contains("karmada-failover run --feature-gates=Failover=true"),
        "{notes}"
    );
    let client = control_plane.client().await.unwrap();
    assert_eq!(policies(&client).await, DEFAULTS);
    helm.run(&[&["upgrade"], &place[..], &["--set", "policies.notReadyNoExecute=true"]].concat());
    assert_eq!(
        policies(&client).await,
        ["not-ready-no-execute", DEFAULTS[0], DEFAULTS[1]]
    );
    helm.run(&["uninstall", "control-plane", "--namespace", "karmada-system"]);
    // The kinds stay, and with them whatever a person applied.
    assert_eq!(policies(&client).await, [""; 0]);
    // So do the credentials of members.
    let of_members = Api::<Namespace>::all(client).get("karmada-cluster").await.unwrap();
    assert!(of_members.metadata.deletion_timestamp.is_none());
}

async fn policies(client: &Client) -> Vec<String> {
    let all = Api::<ClusterTaintPolicy>::all(client.clone());
    let mut names: Vec<String> = all
        .list(&ListParams::default())
        .await
        .unwrap()
        .into_iter()
        .map(|policy| policy.name_any())
        .collect();
    names.sort();
    names
}
