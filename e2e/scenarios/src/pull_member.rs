//! A Pull member on real API servers: its agent is a process of its own that has, on both servers, exactly the rights
//! that it prints, checked by RBAC. The agent is killed: its member becomes Unknown and its workload moves. It is started
//! again: the member becomes Ready, and the old copy goes.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use api_types::cluster::{Cluster, condition};
use api_types::names::namespace;
use api_types::work::{Binding, BindingKind, Work};
use controller_kit::api_errors;
use e2e_harness::{ApiServer, ControlPlane, Identity, Launch, Member, Process, Programs, available, eventually};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use karmada_failover::story::example::{self, MemberEntry, Pace};
use karmada_failover::story::objects;
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::accounts;
use crate::clusters::{self, SOON};
use crate::components::{SHORT_LEASES, components, furnish, start_components, stop_components};
use crate::telling::{came_out_right, say, watch_rules};

const PACE: Pace = Pace::FAST;
/// The member's Lease is renewed every second, and stale after six.
const SHORT_MEMBER_LEASE: &str = "--cluster-lease-duration=4s";
const GRACE: Duration = Duration::from_secs(6);
/// The longest that an old copy may outlive its agent's return.
const REMOVED_WITHIN: Duration = Duration::from_secs(15);

/// Tells the story; whether it came out right.
pub async fn tell() -> anyhow::Result<bool> {
    if available("a Pull member on real API servers").is_none() {
        return Ok(true);
    }
    let mut stage = Stage::set().await?;
    let rules = watch_rules(&stage.client, PACE.evictions_per_second);
    stage.the_member_has_joined().await?;
    stage.the_agent_reaches_nothing_else().await?;
    stage.the_workload_runs_on_both().await?;
    stage.the_agent_is_killed().await?;
    stage.the_workload_has_moved().await?;
    stage.the_agent_returns().await?;
    stage.nothing_was_refused()?;
    stop_components(stage.processes).await?;
    came_out_right(rules)
}

struct Stage {
    client: Client,
    /// What the agent's own credentials reach on the control plane.
    as_agent: Client,
    member1: Client,
    member2: Client,
    /// The agent is the last of them.
    processes: Vec<Process>,
    _members: [Member; 2],
    /// Dropped last.
    _control_plane: ControlPlane,
}

impl Stage {
    async fn set() -> anyhow::Result<Self> {
        let control_plane = ControlPlane::start().await?;
        let (first, second) = tokio::try_join!(
            control_plane.start_member("member1"),
            control_plane.start_member("member2")
        )?;
        let client = control_plane.client().await?;
        let entry = MemberEntry {
            name: "member2".to_owned(),
            endpoint: second.api().endpoint().to_owned(),
            token: second.api().token(Identity::Admin).to_owned(),
            ca_bundle: Some(second.api().ca_bundle().to_owned()),
        };
        furnish(&client, &[entry], example::taint_policies(&PACE)).await?;
        let mut health = PACE.health_flags();
        health.extend([
            "--cluster-monitor-period=1s".to_owned(),
            format!("--cluster-monitor-grace-period={}s", GRACE.as_secs()),
        ]);
        let needed = components(health, PACE.queue_flags());
        let mut processes = start_components(&control_plane, needed, &SHORT_LEASES)?;

        let program = Programs::find()?.path("agent")?;
        give_rights(&client, &program, "control-plane").await?;
        give_rights(&first.client().await?, &program, "member").await?;
        let folder = control_plane.folder();
        let own = folder.path().join("agent-control-plane.kubeconfig");
        let in_member = folder.path().join("agent-member1.kubeconfig");
        std::fs::write(&own, kubeconfig_of(control_plane.api(), "member1-agent").await?)?;
        std::fs::write(&in_member, kubeconfig_of(first.api(), "agent").await?)?;
        let launch = Launch::new("agent", program)
            .args([
                "--cluster-name=member1",
                "--admin-bind-address=127.0.0.1:0",
                SHORT_MEMBER_LEASE,
            ])
            .arg(format!("--karmada-kubeconfig={}", own.display()))
            .arg(format!("--member-kubeconfig={}", in_member.display()))
            .args(PACE.health_flags())
            .args(SHORT_LEASES);
        processes.push(Process::start(folder, launch)?);
        Ok(Self {
            client,
            as_agent: client_of(&own).await?,
            member1: first.client().await?,
            member2: second.client().await?,
            processes,
            _members: [first, second],
            _control_plane: control_plane,
        })
    }

    fn agent(&mut self) -> anyhow::Result<&mut Process> {
        self.processes.last_mut().ok_or_else(|| anyhow!("there is no agent"))
    }

    /// Waits until Ready of member1 says this; how long that took.
    async fn ready_is(&self, status: &str, reason: &str) -> anyhow::Result<Duration> {
        let start = Instant::now();
        let clusters = Api::<Cluster>::all(self.client.clone());
        eventually(&format!("member1 to be {status}, {reason}"), SOON, async || {
            let cluster = clusters.get("member1").await.map_err(|error| error.to_string())?;
            match cluster.condition("Ready") {
                Some(ready) if ready.status == status && ready.reason == reason => Ok(()),
                found => Err(format!("{found:?}")),
            }
        })
        .await?;
        Ok(start.elapsed())
    }

    async fn the_member_has_joined(&self) -> anyhow::Result<()> {
        self.ready_is("True", "ClusterReady").await?;
        let cluster = Api::<Cluster>::all(self.client.clone()).get("member1").await?;
        ensure!(cluster.spec.sync_mode.as_str() == "Pull", "{:?}", cluster.spec);
        let clusters = Api::<Cluster>::all(self.client.clone());
        eventually("member1 to be described, member2 to be Ready", SOON, async || {
            let read = async |name| clusters.get(name).await.map_err(|error| error.to_string());
            let (first, second) = (read("member1").await?, read("member2").await?);
            let status = first.status.unwrap_or_default();
            let cores = status
                .resource_summary
                .and_then(|summary| summary.allocatable.get("cpu").cloned());
            let is_described = status.kubernetes_version.is_some()
                && status.node_summary.is_some_and(|nodes| nodes.ready_num == 1)
                && cores.is_some_and(|cores| cores.0 == "32")
                && status.api_enablements.iter().any(|api| api.group_version == "apps/v1");
            if is_described && second.is_ready() {
                Ok(())
            } else {
                Err(format!(
                    "described: {is_described}, member2: {:?}",
                    second.condition("Ready")
                ))
            }
        })
        .await?;
        say("member1 has joined by its agent, and is Ready");
        Ok(())
    }

    /// With the agent's credentials: other members, their Works, Secrets.
    async fn the_agent_reaches_nothing_else(&self) -> anyhow::Result<()> {
        let client = || self.as_agent.clone();
        let (all, clusters) = (ListParams::default(), Api::<Cluster>::all(client()));
        clusters.get("member1").await.context("its own Cluster")?;
        let refused = [
            ("all Clusters", clusters.list(&all).await.map(drop)),
            ("another Cluster", clusters.get("member2").await.map(drop)),
            ("all Works", Api::<Work>::all(client()).list(&all).await.map(drop)),
            (
                "Works of another member",
                Api::<Work>::namespaced(client(), "karmada-es-member2")
                    .list(&all)
                    .await
                    .map(drop),
            ),
            (
                "Secrets of members",
                Api::<Secret>::namespaced(client(), "karmada-cluster")
                    .list(&all)
                    .await
                    .map(drop),
            ),
        ];
        for (what, answer) in refused {
            let Err(kube::Error::Api(status)) = answer else {
                return Err(anyhow!("the agent may read {what}: {answer:?}"));
            };
            ensure!(status.code == 403, "{what}: {status:?}");
        }
        say("its credentials reach no other member, no other member's Works, and no Secret");
        Ok(())
    }

    async fn the_workload_runs_on_both(&self) -> anyhow::Result<()> {
        objects::create(&self.client, example::deployment()).await?;
        objects::create(&self.client, example::propagation_policy()).await?;
        let bindings = self.bindings();
        eventually("nginx to run 1:2", SOON, async || {
            let binding = bindings
                .get("nginx-deployment")
                .await
                .map_err(|error| error.to_string())?;
            let items = binding
                .status
                .map(|status| status.aggregated_status)
                .unwrap_or_default();
            let healthy = items.iter().filter(|item| json!(item)["health"] == "Healthy").count();
            let (first, second) = (ready_replicas(&self.member1).await, ready_replicas(&self.member2).await);
            if healthy == 2 && (first, second) == (Some(1), Some(2)) {
                Ok(())
            } else {
                Err(format!("{healthy} healthy, {first:?}:{second:?} ready"))
            }
        })
        .await?;
        say("nginx runs 1:2, and the agent has reported its part");
        Ok(())
    }

    async fn the_agent_is_killed(&mut self) -> anyhow::Result<()> {
        // Read before the end: the agent makes a Lease anew that somebody took away, and nobody would do it after that.
        let renewed = eventually("member1's Lease to be renewed", SOON, async || {
            let renewed = clusters::renewed_at(&self.client, namespace::CLUSTER, "member1").await;
            renewed.map_err(|error| format!("{error:#}"))
        })
        .await?;
        let agent = self.agent()?;
        agent.must_run()?;
        agent.kill()?;
        self.ready_is("Unknown", "ClusterStatusUnknown").await?;
        let unknown = clusters::condition_is(&self.client, "member1", condition::READY, &["Unknown"]).await?;
        let after = clusters::not_before(&unknown, renewed, GRACE)?;
        say(&format!(
            "the agent is killed: member1 is Unknown {after:.1} s after its last sign of life"
        ));
        Ok(())
    }

    async fn the_workload_has_moved(&self) -> anyhow::Result<()> {
        let bindings = self.bindings();
        eventually("nginx to have moved", SOON, async || {
            let binding = bindings
                .get("nginx-deployment")
                .await
                .map_err(|error| error.to_string())?;
            let spec = json!({"clusters": binding.spec.clusters, "tasks": binding.spec.graceful_eviction_tasks});
            let moved = json!({"clusters": [{"name": "member2", "replicas": 3}], "tasks": []});
            let ready = ready_replicas(&self.member2).await;
            if spec == moved && ready == Some(3) {
                Ok(())
            } else {
                Err(format!("{spec}, {ready:?} ready"))
            }
        })
        .await?;
        ensure!(
            ready_replicas(&self.member1).await == Some(1),
            "nobody else may take the old copy away"
        );
        say("nginx runs on member2 alone; the old copy waits for the agent");
        Ok(())
    }

    async fn the_agent_returns(&mut self) -> anyhow::Result<()> {
        self.agent()?.start_again()?;
        let took = self.ready_is("True", "ClusterReady").await?;
        say(&format!(
            "the agent is started again: member1 is Ready after {:.1} s",
            took.as_secs_f64()
        ));
        let deployments = Api::<Deployment>::namespaced(self.member1.clone(), "default");
        eventually("the old copy to go", REMOVED_WITHIN, async || {
            match deployments.get_opt("nginx").await {
                Ok(None) => Ok(()),
                Ok(Some(_)) => Err("it is still there".to_owned()),
                Err(error) => Err(error.to_string()),
            }
        })
        .await?;
        say("the old copy is gone");
        Ok(())
    }

    /// Whatever the agent has asked for in its life, it had the right to.
    fn nothing_was_refused(&mut self) -> anyhow::Result<()> {
        let agent = self.agent()?;
        agent.must_run()?;
        let log = std::fs::read_to_string(agent.log())?;
        let refusals: Vec<&str> = log.lines().filter(|line| line.contains("forbidden")).collect();
        ensure!(refusals.is_empty(), "the agent lacks rights: {refusals:#?}");
        Ok(())
    }

    fn bindings(&self) -> Api<Binding> {
        Api::namespaced_with(self.client.clone(), "default", &BindingKind::Namespaced)
    }
}

async fn ready_replicas(member: &Client) -> Option<i32> {
    let deployments = Api::<Deployment>::namespaced(member.clone(), "default");
    let deployment = deployments.get_opt("nginx").await.ok()??;
    deployment.status?.ready_replicas
}

/// Applies what the agent prints, as a person would with kubectl.
async fn give_rights(client: &Client, program: &PathBuf, place: &str) -> anyhow::Result<()> {
    let printed = Command::new(program)
        .arg("--cluster-name=member1")
        .arg(format!("--print-rights={place}"))
        .output()?;
    ensure!(printed.status.success(), "{printed:?}");
    let list: Value = serde_json::from_slice(&printed.stdout)?;
    for object in list["items"].as_array().into_iter().flatten() {
        match objects::create(client, object.clone()).await {
            Err(error) if is_there(&error) => {}
            other => other?,
        }
    }
    Ok(())
}

fn is_there(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<kube::Error>()
        .or_else(|| error.chain().find_map(|cause| cause.downcast_ref()))
        .is_some_and(api_errors::is_already_exists)
}

/// A kubeconfig of a service account in `karmada-system`.
async fn kubeconfig_of(server: &ApiServer, account: &str) -> anyhow::Result<String> {
    let token = accounts::token(server, namespace::SYSTEM, account).await?;
    Ok(accounts::kubeconfig(server, &token).to_string())
}

async fn client_of(kubeconfig: &PathBuf) -> anyhow::Result<Client> {
    let mut config =
        Config::from_custom_kubeconfig(Kubeconfig::read_from(kubeconfig)?, &KubeConfigOptions::default()).await?;
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}
