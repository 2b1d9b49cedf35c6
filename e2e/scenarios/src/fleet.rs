//! A real control plane, real members, and each component as its own process: the theatre of the stories.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use e2e_harness::{ControlPlane, Identity, Launch, Member, Process, Programs, eventually};
use eviction_queue_api::QueueClient;
use karmada_failover::story::example::{self, MemberEntry, Pace};
use karmada_failover::story::scenario::MemberState;
use karmada_failover::story::{Sources, Theatre, objects};
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};

/// The components, each as its own process, with the flags that are theirs alone.
fn components(pace: &Pace) -> Vec<(&'static str, Vec<String>)> {
    vec![
        ("cluster-health-controller", pace.health_flags()),
        ("taint-policy-controller", Vec::new()),
        ("taint-manager", Vec::new()),
        (
            "eviction-queue",
            [pace.queue_flags(), vec!["--queue-bind-address=127.0.0.1:0".to_owned()]].concat(),
        ),
        ("scheduler", Vec::new()),
        ("graceful-eviction-controller", Vec::new()),
        ("propagation-controllers", Vec::new()),
    ]
}

/// The control plane, its members and our processes.
pub struct Fleet {
    /// The control plane.
    pub control_plane: ControlPlane,
    members: Vec<Member>,
    processes: Vec<Process>,
}

impl Fleet {
    /// Starts member1, member2 and member3, puts the fleet's objects there, and starts every component with the given
    /// flags beside its own.
    pub async fn start(pace: &Pace, flags: &[&str]) -> anyhow::Result<Self> {
        let control_plane = ControlPlane::start().await?;
        let (first, second, third) = tokio::try_join!(
            control_plane.start_member("member1"),
            control_plane.start_member("member2"),
            control_plane.start_member("member3"),
        )?;
        let mut fleet = Self {
            control_plane,
            members: vec![first, second, third],
            processes: Vec::new(),
        };
        fleet.furnish(pace).await?;
        let programs = Programs::find()?;
        for (name, own) in components(pace) {
            let launch = Launch::new(name, programs.path(name)?)
                .args(["--feature-gates=Failover=true", "--admin-bind-address=127.0.0.1:0"])
                .arg(format!(
                    "--kubeconfig={}",
                    fleet.control_plane.kubeconfig(Identity::Admin).display()
                ))
                .args(own)
                .args(flags.iter().copied());
            fleet
                .processes
                .push(Process::start(fleet.control_plane.folder(), launch)?);
        }
        Ok(fleet)
    }

    /// CRDs, namespaces, members and taint policies.
    async fn furnish(&self, pace: &Pace) -> anyhow::Result<()> {
        let client = self.control_plane.client().await?;
        let crds = api_types::crds();
        for crd in &crds {
            Api::all(client.clone()).create(&PostParams::default(), crd).await?;
        }
        eventually("the CRDs to be served", Duration::from_secs(30), async || {
            let groups = client.list_api_groups().await.map_err(|error| error.to_string())?;
            for crd in &crds {
                let version = format!("{}/{}", crd.spec.group, crd.spec.versions[0].name);
                if !groups.groups.iter().any(|group| group.name == crd.spec.group) {
                    return Err(format!("{} is not served", crd.spec.group));
                }
                let resources = client
                    .list_api_group_resources(&version)
                    .await
                    .map_err(|error| error.to_string())?;
                if !resources
                    .resources
                    .iter()
                    .any(|resource| resource.name == crd.spec.names.plural)
                {
                    return Err(format!("{} is not served", crd.name_any()));
                }
            }
            Ok(())
        })
        .await?;
        for object in example::namespaces() {
            objects::create(&client, object).await?;
        }
        for member in &self.members {
            let entry = MemberEntry {
                name: member.name().to_owned(),
                endpoint: member.api().endpoint().to_owned(),
                token: member.api().token(Identity::Admin).to_owned(),
                ca_bundle: Some(member.api().ca_bundle().to_owned()),
            };
            for object in example::member(&entry) {
                objects::create(&client, object).await?;
            }
        }
        for object in example::taint_policies(pace) {
            objects::create(&client, object).await?;
        }
        Ok(())
    }

    /// What an observer looks at. The queue is found by its Lease, as its clients do.
    pub async fn sources(&self) -> anyhow::Result<Sources> {
        let client = self.control_plane.client().await?;
        let mut members = Vec::new();
        for member in &self.members {
            members.push((member.name().to_owned(), member.client().await?));
        }
        let queue = QueueClient::by_lease(client.clone(), api_types::names::namespace::SYSTEM, "observer");
        let address = eventually(
            "the eviction queue to say where it listens",
            Duration::from_secs(30),
            async || queue.address().await.map_err(|error| error.to_string()),
        )
        .await?;
        let address: SocketAddr = address
            .parse()
            .with_context(|| format!("the queue's address {address:?}"))?;
        ensure!(
            address.ip() == Ipv4Addr::LOCALHOST,
            "the queue listens on {address} without TLS"
        );
        Ok(Sources {
            control_plane: client,
            members,
            queue,
        })
    }

    /// A member.
    pub fn member(&self, name: &str) -> anyhow::Result<&Member> {
        self.members
            .iter()
            .find(|member| member.name() == name)
            .ok_or_else(|| anyhow!("there is no member {name}"))
    }

    fn member_mut(&mut self, name: &str) -> anyhow::Result<&mut Member> {
        self.members
            .iter_mut()
            .find(|member| member.name() == name)
            .ok_or_else(|| anyhow!("there is no member {name}"))
    }

    /// The process of a component.
    pub fn process_mut(&mut self, component: &str) -> anyhow::Result<&mut Process> {
        let found = self.processes.iter_mut().find(|process| process.name() == component);
        found.ok_or_else(|| anyhow!("there is no process {component}"))
    }

    /// Every component still runs, and ends in order when asked to.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        for process in &mut self.processes {
            process.must_run()?;
        }
        for process in &mut self.processes {
            let status = process.stop(Duration::from_secs(12)).await?;
            ensure!(
                status.success(),
                "{} ended with {status} when it was asked to end:\n{}",
                process.name(),
                process.log_tail()
            );
        }
        Ok(())
    }
}

impl Theatre for Fleet {
    async fn control_plane(&mut self) -> anyhow::Result<Client> {
        Ok(self.control_plane.client().await?)
    }

    async fn set_member(&mut self, name: &str, to: MemberState) -> anyhow::Result<()> {
        let member = self.member_mut(name)?;
        match to {
            MemberState::Up => member.start_apiserver().await?,
            MemberState::Stopped => member.stop_apiserver()?,
            MemberState::Hanging => return Err(anyhow!("{name} is a real server, and is not made to hang")),
        }
        Ok(())
    }
}
