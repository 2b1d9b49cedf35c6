//! What a kubelet serves of Pods that run as processes: their logs, as `kubectl logs` asks for them, and ways to their ports, as
//! `failoverctl` takes one to the queue. It is kwok once more, which is given the logs in the form in which a container's runtime
//! keeps them.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use controller_kit::Clock;
use e2e_harness::{ControlPlane, Identity, Launch, Member, Process, Tool, eventually, free_port};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use test_bench::{Authority, Of};

use super::charts::NAMESPACE;

/// No node has this name: the nodes are the other one's, that plays the cluster's kubelets.
const NOBODYS: &str = "--manage-single-node=nobodys";
/// Of the process and its folder.
const NAME: &str = "kubelet";
const SERVES_WITHIN: Duration = Duration::from_secs(30);

/// It serves until it is dropped.
pub struct Kubelet {
    _process: Process,
    /// The Pods whose logs it has.
    pods: Vec<String>,
}

impl Kubelet {
    /// With the logs that the processes of this cluster's Pods have written until now.
    pub async fn start(control_plane: &ControlPlane, cluster: &Member) -> anyhow::Result<Self> {
        let folder = control_plane.folder().path();
        let own = folder.join(NAME);
        fs::create_dir_all(&own)?;
        let client = cluster.client().await?;
        let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
        let ours = ListParams::default().labels("app.kubernetes.io/part-of=karmada-failover");
        // kwok does nothing without a stage.
        let mut config = vec![json!({
            "apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": "none"},
            "spec": {
                "resourceRef": {"apiGroup": "v1", "kind": "Node"},
                "selector": {"matchLabels": {"no": "node"}},
                "next": {},
            },
        })];
        let mut names = Vec::new();
        let found = pods.list(&ours).await?.into_iter();
        for pod in found.filter(|pod| pod.metadata.deletion_timestamp.is_none()) {
            let name = pod.name_any();
            let written = fs::read_to_string(folder.join(format!("{name}.log")));
            let kept = own.join(format!("{name}.log"));
            fs::write(&kept, as_kept(&written.with_context(|| format!("the log of {name}"))?)?)?;
            config.push(json!({
                "apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Logs",
                "metadata": {"namespace": NAMESPACE, "name": name},
                "spec": {"logs": [{"logsFile": kept}]},
            }));
            config.push(json!({
                "apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "PortForward",
                "metadata": {"namespace": NAMESPACE, "name": name},
                "spec": {"forwards": ports(&pod).map(as_forward).collect::<Vec<_>>()},
            }));
            names.push(name);
        }
        ensure!(!names.is_empty(), "no Pod of ours runs on {}", cluster.name());
        let documents: Vec<String> = config.iter().map(Value::to_string).collect();
        let config = own.join("config.yaml");
        fs::write(&config, documents.join("\n---\n"))?;
        let (certificate, key) = Authority::new(NAME).issue(NAME, Of::Server).write(&own, NAME);
        let port = free_port()?;
        let kwok = Launch::new(NAME, control_plane.binaries().path(Tool::Kwok))
            .arg(format!(
                "--kubeconfig={}",
                cluster.kubeconfig(Identity::Admin).display()
            ))
            .arg(format!("--config={}", config.display()))
            .args([NOBODYS, "--node-lease-duration-seconds=0"])
            .arg(format!("--server-address=127.0.0.1:{port}"))
            .arg(format!("--tls-cert-file={}", certificate.display()))
            .arg(format!("--tls-private-key-file={}", key.display()))
            .env("HOME", &own);
        let process = Process::start(control_plane.folder(), kwok)?;
        is_at(&Api::all(client), port).await?;
        let served = Self {
            _process: process,
            pods: names,
        };
        eventually("a Pod's log to be served", SERVES_WITHIN, async || {
            let log = pods.logs(served.pod(), &Default::default()).await;
            match log.map_err(|error| error.to_string())? {
                log if log.is_empty() => Err("it is empty".to_owned()),
                _ => Ok(()),
            }
        })
        .await?;
        Ok(served)
    }

    /// One of the Pods.
    pub fn pod(&self) -> &str {
        &self.pods[0]
    }
}

/// Lets the API server ask there for what is on the nodes of its cluster.
async fn is_at(nodes: &Api<Node>, port: u16) -> anyhow::Result<()> {
    let patch = json!({"status": {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }});
    for node in nodes.list(&ListParams::default()).await? {
        nodes
            .patch_status(&node.name_any(), &PatchParams::default(), &Patch::Merge(&patch))
            .await?;
    }
    Ok(())
}

fn ports(pod: &Pod) -> impl Iterator<Item = i32> {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let ports = containers.flat_map(|container| container.ports.iter().flatten());
    ports.map(|port| port.container_port)
}

/// A Pod's port is that of its process.
fn as_forward(port: i32) -> Value {
    json!({"ports": [port], "target": {"address": "127.0.0.1", "port": port}})
}

/// Lines as a container's runtime writes them to a file.
fn as_kept(log: &str) -> anyhow::Result<String> {
    let now = Clock::system().now();
    let mut kept = String::new();
    for line in log.lines() {
        writeln!(kept, "{now:.9} stdout F {line}")?;
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_kept_with_a_time() {
        let kept = as_kept("a b\n\nc\n").unwrap();
        let lines: Vec<Vec<&str>> = kept.lines().map(|line| line.splitn(4, ' ').collect()).collect();
        assert_eq!(lines.len(), 3, "{kept}");
        assert_eq!(lines[0][1..], ["stdout", "F", "a b"]);
        assert_eq!(lines[1][3], "");
        assert!(lines[2][0].ends_with('Z') && lines[2][0].contains('T'), "{kept}");
    }
}
