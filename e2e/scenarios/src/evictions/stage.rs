//! The control plane, the two replicas of each component, and what is done to them.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use api_types::cluster::Cluster;
use api_types::names::namespace;
use api_types::work::{Binding, BindingKind};
use controller_kit::leader::lease_name;
use e2e_harness::{ControlPlane, Process, eventually};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use karmada_failover::story::objects;
use karmada_failover::story::scenario::ObjectName;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::certificates::Certificates;
use crate::components::{SHORT_LEASES, furnish, start_as, stop_components};
use crate::failoverctl::Failoverctl;
use crate::telling::say;

/// How many workloads there are on `m1`.
pub const WORKLOADS: usize = 60;
/// Evictions a second.
pub const RATE: f64 = 4.0;
const CLUSTERS: [&str; 4] = ["m1", "m2", "m3", "m4"];
/// A change of leaders, or what takes a few evictions.
const SOON: Duration = Duration::from_secs(60);

/// The name of the n-th workload: in this order they leave.
pub fn workload(n: usize) -> String {
    format!("config-{n:03}")
}

pub struct Stage {
    pub client: Client,
    failoverctl: Failoverctl,
    /// The taint managers, then the queues; of each the first one leads at first.
    managers: Vec<Process>,
    queues: Vec<Process>,
    /// Dropped last.
    control_plane: ControlPlane,
}

impl Stage {
    pub async fn set() -> anyhow::Result<Self> {
        let control_plane = ControlPlane::start().await?;
        let client = control_plane.client().await?;
        let bindings = (0..WORKLOADS).map(binding);
        let given = CLUSTERS.iter().map(|name| cluster(name)).chain(bindings).collect();
        furnish(&client, &[], given).await?;
        for name in CLUSTERS {
            is_ready(&client, name).await?;
        }
        let certificates = Certificates::write(control_plane.folder().path())?;
        let mut stage = Self {
            failoverctl: Failoverctl::of(&control_plane, certificates.operator)?,
            managers: Vec::new(),
            queues: Vec::new(),
            client,
            control_plane,
        };
        for replica in ["a", "b"] {
            let own = [
                format!("--resource-eviction-rate={RATE}"),
                "--leader-grace=1s".to_owned(),
                "--queue-bind-address=127.0.0.1:0".to_owned(),
            ];
            let queue = stage.start("eviction-queue", replica, [&own, &certificates.queue[..]].concat())?;
            stage.queues.push(queue);
            let manager = stage.start("taint-manager", replica, certificates.taint_manager.clone())?;
            stage.managers.push(manager);
            // Who comes first leads.
            for controller in ["evictionQueue", "taintManager", "evictor"] {
                stage.leader(controller).await?;
            }
        }
        Ok(stage)
    }

    fn start(&self, program: &'static str, replica: &str, flags: Vec<String>) -> anyhow::Result<Process> {
        let name = format!("{program}-{replica}");
        start_as(&self.control_plane, &name, (program, flags), &SHORT_LEASES)
    }

    /// Who holds the Lease of a controller.
    async fn leader(&self, controller: &str) -> anyhow::Result<String> {
        let leases = Api::<Lease>::namespaced(self.client.clone(), namespace::SYSTEM);
        let name = lease_name(controller);
        let what = format!("somebody to lead {controller}");
        let holder = eventually(&what, SOON, async || {
            let lease = leases.get(&name).await.map_err(|error| error.to_string())?;
            let holder = lease.spec.and_then(|spec| spec.holder_identity);
            holder
                .filter(|holder| !holder.is_empty())
                .ok_or_else(|| "nobody does".to_owned())
        });
        Ok(holder.await?)
    }

    async fn another_leads(&self, controller: &str, than: &str) -> anyhow::Result<()> {
        eventually(&format!("another one to lead {controller}"), SOON, async || {
            let holder = self.leader(controller).await.map_err(|error| error.to_string())?;
            if holder == than { Err(holder) } else { Ok(()) }
        })
        .await?;
        Ok(())
    }

    pub async fn m1_fails(&self) -> anyhow::Result<()> {
        say("m1 fails, with 60 workloads");
        let taint = json!({"key": "cluster.karmada.io/not-ready", "effect": "NoExecute", "timeAdded": now()});
        let patch = json!({"spec": {"taints": [taint]}});
        objects::patch(&self.client, &ObjectName::cluster("m1"), &patch).await
    }

    async fn left(&self) -> anyhow::Result<usize> {
        let bindings = Api::<Binding>::namespaced_with(self.client.clone(), "default", &BindingKind::Namespaced);
        let list = bindings
            .list(&ListParams::default())
            .await
            .context("cannot list the bindings")?;
        Ok(list
            .items
            .iter()
            .filter(|binding| !binding.spec.graceful_eviction_tasks.is_empty())
            .count())
    }

    /// Waits until so many have left.
    pub async fn have_left(&self, count: usize) -> anyhow::Result<()> {
        eventually(&format!("{count} workloads to leave m1"), SOON, async || {
            let left = self.left().await.map_err(|error| error.to_string())?;
            if left >= count {
                Ok(())
            } else {
                Err(format!("{left} have"))
            }
        })
        .await?;
        Ok(())
    }

    pub async fn the_taint_manager_is_killed(&mut self) -> anyhow::Result<()> {
        say("the taint manager is killed with leases in hand");
        let leader = self.leader("taintManager").await?;
        self.managers[0].must_run()?;
        self.managers[0].kill()?;
        self.another_leads("taintManager", &leader).await
    }

    pub async fn the_leader_of_the_queue_sleeps(&mut self) -> anyhow::Result<()> {
        say("the queue's leader is suspended, until another one leads");
        let leader = self.leader("evictionQueue").await?;
        self.queues[0].pause()?;
        self.another_leads("evictionQueue", &leader).await?;
        let left = self.left().await?;
        self.have_left(left + 6).await?;
        say("it wakes up, sees that its time is over, and ends");
        self.queues[0].resume()?;
        let status = self.queues[0].wait(SOON).await?;
        ensure!(!status.success(), "a lost Lease is no orderly end: {status}");
        Ok(())
    }

    pub async fn an_operator_pauses(&self) -> anyhow::Result<()> {
        say("an operator pauses everything, and nothing leaves any more");
        self.failoverctl.run(&[
            "pause",
            "--scope=all",
            "--reason=looking into it",
            "--name=look",
            "--yes",
        ])?;
        let status = self.failoverctl.json(&["status"])?;
        ensure!(status["regime"]["name"] == "Paused", "{status:#}");
        // What had been released a moment before may be on its way.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let left = self.left().await?;
        tokio::time::sleep(Duration::from_secs(5)).await;
        ensure!(self.left().await? == left, "workloads leave in spite of the pause");
        self.failoverctl.run(&["resume", "look", "--yes"])?;
        self.have_left(left + 1).await
    }

    pub async fn an_operator_keeps_one(&self) -> anyhow::Result<()> {
        say("an operator keeps the last workload where it is, until all others have left");
        let last = format!("default/{}", workload(WORKLOADS - 1));
        self.failoverctl
            .run(&["queue", "drop", &last, "--reason=not this one", "--yes"])?;
        self.have_left(WORKLOADS - 1).await?;
        let entry = self.failoverctl.run(&["queue", "show", &last])?;
        ensure!(entry.contains("not this one"), "{entry}");
        self.failoverctl.run(&["queue", "undrop", &last, "--yes"])?;
        Ok(())
    }

    /// What an operator reads afterwards.
    pub fn tell_of_the_end(&self) -> anyhow::Result<()> {
        say(&self.failoverctl.run(&["status"])?);
        say(&self.failoverctl.run(&["queue", "recent", "--limit=5"])?);
        say(&self.failoverctl.run(&["history", "--limit=5"])?);
        Ok(())
    }

    /// Those who still run end in order.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        let (manager, queue) = (self.managers.remove(1), self.queues.remove(1));
        stop_components(vec![manager, queue]).await
    }
}

/// What a healthy member would have reported.
async fn is_ready(client: &Client, name: &str) -> anyhow::Result<()> {
    let ready = json!({"type": "Ready", "status": "True", "reason": "ClusterReady", "message": "", "lastTransitionTime": now()});
    let enabled = json!([{"groupVersion": "v1", "resources": [{"name": "configmaps", "kind": "ConfigMap"}]}]);
    let patch = json!({"status": {"conditions": [ready], "apiEnablements": enabled}});
    Api::<Cluster>::all(client.clone())
        .patch_status(name, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .with_context(|| format!("cannot make {name} ready"))?;
    Ok(())
}

fn cluster(name: &str) -> Value {
    json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
        "spec": {"syncMode": "Push", "apiEndpoint": format!("https://{name}.example.com")},
    })
}

/// As a scheduler would leave it: the ConfigMap is on `m1` alone, and may be on any other.
fn binding(n: usize) -> Value {
    let name = workload(n);
    json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"namespace": "default", "name": name},
        "spec": {
            "resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": name},
            "clusters": [{"name": "m1"}], "placement": {"clusterAffinity": {}},
        },
    })
}

fn now() -> String {
    let now = controller_kit::Clock::system().now().as_second();
    Timestamp::from_second(now).unwrap_or_default().to_string()
}
