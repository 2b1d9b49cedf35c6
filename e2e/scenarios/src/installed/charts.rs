//! The charts, installed by helm as docs/install.md says: those of the control plane with its kubeconfig, those of the
//! components on a host cluster.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use e2e_harness::{Binaries, ControlPlane, Helm, Identity, Member, eventually, free_port};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use karmada_failover::story::example::Pace;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

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

/// For each component its kubeconfig: the token that the control plane has made for it, and nothing else.
pub async fn hand_over_kubeconfigs(control_plane: &ControlPlane, host: &Client) -> anyhow::Result<()> {
    let there: Api<Secret> = Api::namespaced(control_plane.client().await?, NAMESPACE);
    let namespace = Namespace {
        metadata: named(NAMESPACE),
        ..Namespace::default()
    };
    Api::all(host.clone())
        .create(&PostParams::default(), &namespace)
        .await?;
    let here: Api<Secret> = Api::namespaced(host.clone(), NAMESPACE);
    for component in COMPONENTS {
        let name = format!("{component}-token");
        let what = format!("a token in {name}");
        let data = eventually(&what, Duration::from_secs(30), async || {
            let secret = there.get(&name).await.map_err(|error| error.to_string())?;
            let data = secret.data.unwrap_or_default();
            if data.contains_key("token") && data.contains_key("ca.crt") {
                Ok(data)
            } else {
                Err(format!("it has {:?}", data.keys()))
            }
        })
        .await?;
        let token = String::from_utf8(data["token"].0.clone()).context("a token")?;
        let kubeconfig = kubeconfig(control_plane.api().endpoint(), &token, &data["ca.crt"]);
        let secret = Secret {
            metadata: named(format!("{component}-kubeconfig")),
            string_data: Some([("kubeconfig".to_owned(), kubeconfig.to_string())].into()),
            ..Secret::default()
        };
        here.create(&PostParams::default(), &secret).await?;
    }
    Ok(())
}

fn named(name: impl Display) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_string()),
        ..ObjectMeta::default()
    }
}

/// JSON, which is YAML.
fn kubeconfig(server: &str, token: &str, ca: &ByteString) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "control-plane",
        "clusters": [{"name": "control-plane", "cluster": {"server": server, "certificate-authority-data": ca}}],
        "users": [{"name": "component", "user": {"token": token}}],
        "contexts": [{"name": "control-plane", "context": {"cluster": "control-plane", "user": "component"}}],
    })
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
