//! The charts, installed by helm as docs/install.md says: those of the control plane with its kubeconfig, those of the
//! components on a host cluster.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use e2e_harness::{Binaries, ControlPlane, Helm, Identity, Member, free_port};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use karmada_failover::story::example::Pace;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::failoverctl::Failoverctl;

/// The namespace of everything.
pub const NAMESPACE: &str = "karmada-system";
/// Every component that a standalone control plane has.
pub const COMPONENTS: [&str; 8] = [
    "application-failover-controller",
    "cluster-health-controller",
    "eviction-queue",
    "graceful-eviction-controller",
    "propagation-controllers",
    "scheduler",
    "taint-manager",
    "taint-policy-controller",
];

fn chart(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts").join(name)
}

/// What goes to the control plane's API server.
pub struct OnControlPlane(Helm);

impl OnControlPlane {
    pub fn install(binaries: &Binaries, control_plane: &ControlPlane) -> anyhow::Result<Self> {
        let helm = Helm::new(binaries, control_plane.kubeconfig(Identity::Admin))?;
        let place = ["--namespace", NAMESPACE, "--create-namespace", "--wait"];
        for name in ["karmada-crds", "control-plane"] {
            let chart = chart(name).display().to_string();
            let first = ["install", name, &chart];
            let policies = "policies.notReadyNoSchedule=false,policies.unreachableNoSchedule=false";
            let settings: &[&str] = if name == "control-plane" {
                &["--set", policies]
            } else {
                &[]
            };
            helm.run(&[&first, &place[..], settings].concat())?;
        }
        Ok(Self(helm))
    }

    pub fn uninstall(&self) -> anyhow::Result<()> {
        for name in ["control-plane", "karmada-crds"] {
            self.0.run(&["uninstall", name, "--namespace", NAMESPACE])?;
        }
        Ok(())
    }
}

/// For each component its kubeconfig, as failoverctl prints it: the component's own token, and nothing else.
pub async fn hand_over_kubeconfigs(control_plane: &ControlPlane, host: &Client) -> anyhow::Result<()> {
    let failoverctl = Failoverctl::of(control_plane, Vec::new())?;
    let namespace = Namespace {
        metadata: named(NAMESPACE),
        ..Namespace::default()
    };
    Api::all(host.clone())
        .create(&PostParams::default(), &namespace)
        .await?;
    let secrets: Api<Secret> = Api::namespaced(host.clone(), NAMESPACE);
    for component in COMPONENTS {
        let kubeconfig = tokio::task::block_in_place(|| failoverctl.succeed(&["kubeconfig", component]))?;
        let secret = Secret {
            metadata: named(format!("{component}-kubeconfig")),
            string_data: Some([("kubeconfig".to_owned(), kubeconfig)].into()),
            ..Secret::default()
        };
        secrets.create(&PostParams::default(), &secret).await?;
    }
    Ok(())
}

fn named(name: impl Display) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_string()),
        ..ObjectMeta::default()
    }
}

/// The umbrella on the host cluster.
pub struct OnHost {
    helm: Helm,
    values: String,
}

impl OnHost {
    /// Installs all components, one replica each, every one on ports of its own, as all run on this machine.
    pub fn install(binaries: &Binaries, host: &Member, pace: &Pace, folder: &Path) -> anyhow::Result<Self> {
        let values = folder.join("values.json");
        std::fs::write(&values, values_of(pace)?.to_string())?;
        let on_host = Self {
            helm: Helm::new(binaries, host.kubeconfig(Identity::Admin))?,
            values: values.display().to_string(),
        };
        // All charts within a minute: helm waits until every Deployment is available.
        on_host.change("install", &["--wait", "--timeout", "60s"])?;
        Ok(on_host)
    }

    /// Installs or upgrades with these flags beside the values.
    pub fn change(&self, verb: &str, flags: &[&str]) -> anyhow::Result<()> {
        let chart = chart("karmada-failover").display().to_string();
        let first = [
            verb,
            "karmada-failover",
            &chart,
            "--namespace",
            NAMESPACE,
            "--values",
            &self.values,
        ];
        self.helm.run(&[&first, flags].concat())?;
        Ok(())
    }

    /// Goes back to the state before the last change.
    pub fn roll_back(&self) -> anyhow::Result<()> {
        let arguments = [
            "rollback",
            "karmada-failover",
            "--namespace",
            NAMESPACE,
            "--wait",
            "--timeout",
            "60s",
        ];
        self.helm.run(&arguments)?;
        Ok(())
    }

    pub fn uninstall(&self) -> anyhow::Result<()> {
        let arguments = ["uninstall", "karmada-failover", "--namespace", NAMESPACE, "--wait"];
        self.helm.run(&arguments)?;
        Ok(())
    }
}

fn values_of(pace: &Pace) -> anyhow::Result<Value> {
    let mut values = json!({
        "global": {"karmada": {"kubeconfigSecretSuffix": "-kubeconfig"}, "featureGates": {"Failover": true}},
        "control-plane": {"enabled": false},
    });
    for component in COMPONENTS {
        values[component] = json!({"replicas": 1, "ports": {"admin": free_port()?}});
    }
    let seconds = |count: u32| format!("{count}s");
    values["cluster-health-controller"]["settings"] = json!({
        "clusterStatusUpdateFrequency": seconds(pace.probe_seconds),
        "clusterSuccessThreshold": seconds(pace.threshold_seconds),
        "clusterFailureThreshold": seconds(pace.threshold_seconds),
    });
    values["eviction-queue"]["settings"] =
        json!({"resourceEvictionRate": pace.evictions_per_second, "leaderGrace": "1s"});
    values["eviction-queue"]["ports"]["grpc"] = json!(free_port()?);
    Ok(values)
}
