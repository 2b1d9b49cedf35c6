//! The releases of the charts: those of the control plane, changed with its kubeconfig, and the one of the components on a
//! host cluster, with the values of the story.

use std::path::{Path, PathBuf};

use controller_kit::Mode;
use e2e_harness::{Binaries, ControlPlane, Helm, Identity, Member, free_port};
use k8s_openapi::api::core::v1::Namespace;
use karmada_failover::story::example::Pace;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::component_names::hosted;

/// The namespace of everything.
pub const NAMESPACE: &str = "karmada-system";
/// How long helm waits for what it installed: all charts are there within a minute.
pub const WAIT: [&str; 3] = ["--wait", "--timeout", "60s"];

/// Where a chart is.
pub fn chart(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts").join(name)
}

/// What goes to the control plane's API server, where it is standalone.
pub struct OnControlPlane {
    helm: Helm,
}

impl OnControlPlane {
    /// After it was installed.
    pub fn of(binaries: &Binaries, control_plane: &ControlPlane) -> anyhow::Result<Self> {
        Ok(Self {
            helm: Helm::new(binaries, control_plane.kubeconfig(Identity::Admin))?,
        })
    }

    /// Takes the default policies away: the story has some at its own pace.
    pub fn leave_policies_to_the_story(&self) -> anyhow::Result<()> {
        let off = "policies.notReadyNoSchedule=false,policies.unreachableNoSchedule=false";
        let chart = chart("control-plane").display().to_string();
        let upgrade = ["upgrade", "control-plane", &chart, "--namespace", NAMESPACE];
        let kept = ["--reset-then-reuse-values", "--set", off];
        self.helm.run(&[upgrade.as_slice(), &kept].concat())?;
        Ok(())
    }

    /// The release of the kinds goes, which the page leaves where it is.
    pub fn release_kinds(&self) -> anyhow::Result<()> {
        self.helm
            .run(&["uninstall", "karmada-crds", "--namespace", NAMESPACE])?;
        Ok(())
    }
}

/// The namespace, for a host cluster that has none yet.
pub fn namespace() -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
}

/// From now on it takes restricted Pods only: of others helm waits in vain.
pub async fn take_restricted_pods_only(cluster: &Client) -> anyhow::Result<()> {
    let namespaces: Api<Namespace> = Api::all(cluster.clone());
    let label = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
    namespaces
        .patch(NAMESPACE, &PatchParams::default(), &Patch::Merge(&label))
        .await?;
    Ok(())
}

/// The umbrella on the host cluster.
pub struct OnHost {
    helm: Helm,
    values: Vec<String>,
    ports: Ports,
}

/// Where components listen that somebody calls.
#[derive(Clone, Copy)]
pub struct Ports {
    /// The eviction queue.
    pub queue: u16,
    /// The webhook, where it is one of the components.
    pub webhook: u16,
}

impl OnHost {
    /// With one replica of each component, every one on ports of its own, as all run on this machine. `folder` keeps the
    /// values.
    pub fn of(binaries: &Binaries, host: &Member, mode: Mode, pace: &Pace, folder: &Path) -> anyhow::Result<Self> {
        let ports = Ports {
            queue: free_port()?,
            webhook: free_port()?,
        };
        let own = folder.join("values.json");
        std::fs::write(&own, values_of(mode, pace, ports)?.to_string())?;
        let preset = chart("karmada-failover").join("values-beside.yaml");
        let values = mode.is_beside().then_some(preset).into_iter().chain([own]);
        let values = values.map(|file| format!("--values={}", file.display())).collect();
        Ok(Self {
            helm: Helm::new(binaries, host.kubeconfig(Identity::Admin))?,
            values,
            ports,
        })
    }

    /// Where its components listen.
    pub fn ports(&self) -> Ports {
        self.ports
    }

    /// Installs or upgrades with these flags beside the values.
    pub fn change(&self, verb: &str, flags: &[&str]) -> anyhow::Result<()> {
        self.helm.run(&self.arguments(verb, flags))?;
        Ok(())
    }

    /// What helm says when it refuses to install this.
    pub fn refused(&self) -> anyhow::Result<String> {
        Ok(self.helm.refused(&self.arguments("install", &[]))?)
    }

    fn arguments<'a>(&'a self, verb: &'a str, flags: &[&'a str]) -> Vec<&'a str> {
        let first = [verb, "karmada-failover", UMBRELLA, "--namespace", NAMESPACE];
        let values = self.values.iter().map(String::as_str);
        first.into_iter().chain(values).chain(flags.iter().copied()).collect()
    }
}

const UMBRELLA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../charts/karmada-failover");

fn values_of(mode: Mode, pace: &Pace, ports: Ports) -> anyhow::Result<Value> {
    let mut values = json!({});
    for component in hosted(mode) {
        values[component] = json!({"replicas": 1, "ports": {"admin": free_port()?}});
    }
    for caller in ["taint-manager", "application-failover-controller"] {
        values[caller]["queue"] = json!({"port": ports.queue});
    }
    let queue = &mut values["eviction-queue"];
    queue["settings"] = json!({"resourceEvictionRate": pace.evictions_per_second, "leaderGrace": "1s"});
    queue["ports"]["grpc"] = json!(ports.queue);
    if mode == Mode::Standalone {
        values["global"] = json!({
            "karmada": {"kubeconfigSecretSuffix": "-kubeconfig"}, "featureGates": {"Failover": true},
        });
        values["control-plane"] = json!({"enabled": false});
        values["cluster-health-controller"]["settings"] = probing(pace);
        let webhook = &mut values["webhook"];
        webhook["enabled"] = json!(true);
        webhook["ports"]["https"] = json!(ports.webhook);
        webhook["tls"] = json!({"extraAddresses": ["127.0.0.1"]});
    }
    Ok(values)
}

/// Settings of who probes members, at this pace.
pub fn probing(pace: &Pace) -> Value {
    let seconds = |count: u32| format!("{count}s");
    json!({
        "clusterStatusUpdateFrequency": seconds(pace.probe_seconds),
        "clusterSuccessThreshold": seconds(pace.threshold_seconds),
        "clusterFailureThreshold": seconds(pace.threshold_seconds),
    })
}
