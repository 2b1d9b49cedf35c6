//! A real control plane, real members, and each component as its own process: the theatre of the stories.

use anyhow::anyhow;
use api_types::names::namespace;
use controller_kit::Clock;
use e2e_harness::{ControlPlane, Identity, Member, Process};
use eviction_queue_api::{ConnectionFlags, QueueClient};
use karmada_failover::story::example::{self, MemberEntry, Pace};
use karmada_failover::story::scenario::MemberState;
use karmada_failover::story::{Sources, Theatre};
use kube::Client;
use serde_json::Value;

use crate::components::{components, furnish, queue_of, start_components, stop_components};

/// The control plane, its members and our processes.
pub struct Fleet {
    /// The control plane.
    pub control_plane: ControlPlane,
    members: Vec<Member>,
    processes: Vec<Process>,
    /// How people call the queue; in the clear without.
    queue: Option<ConnectionFlags>,
}

impl Fleet {
    /// Starts member1, member2 and member3, puts the fleet's objects there, and starts every component with the given
    /// flags beside its own.
    pub async fn start(pace: &Pace, flags: &[&str]) -> anyhow::Result<Self> {
        let members = ["member1", "member2", "member3"].map(str::to_owned);
        Self::start_with(&members, pace, example::taint_policies(pace), flags).await
    }

    /// The same with these members, and other objects than the usual policies.
    pub async fn start_with(
        members: &[String],
        pace: &Pace,
        given: Vec<Value>,
        flags: &[&str],
    ) -> anyhow::Result<Self> {
        let control_plane = ControlPlane::start().await?;
        let start = async |name: &String| control_plane.start_member(name).await;
        let mut started = Vec::new();
        for pair in members.chunks(2) {
            let second = async {
                match pair.get(1) {
                    Some(name) => start(name).await.map(Some),
                    None => Ok(None),
                }
            };
            let (first, second) = tokio::try_join!(start(&pair[0]), second)?;
            started.extend([Some(first), second].into_iter().flatten());
        }
        let mut fleet = Self::of(control_plane, started, Vec::new());
        let entries: Vec<MemberEntry> = fleet.members.iter().map(entry).collect();
        let client = fleet.control_plane.client().await?;
        furnish(&client, &entries, given).await?;
        let components = components(pace.health_flags(), pace.queue_flags());
        fleet.processes = start_components(&fleet.control_plane, components, flags)?;
        Ok(fleet)
    }

    /// One that was made otherwise.
    pub fn of(control_plane: ControlPlane, members: Vec<Member>, processes: Vec<Process>) -> Self {
        Self {
            control_plane,
            members,
            processes,
            queue: None,
        }
    }

    /// Whose queue is called so.
    pub fn calling_the_queue(mut self, flags: ConnectionFlags) -> Self {
        self.queue = Some(flags);
        self
    }

    /// What an observer looks at. The queue is found by its Lease, as its clients do.
    pub async fn sources(&self) -> anyhow::Result<Sources> {
        let client = self.control_plane.client().await?;
        let mut members = Vec::new();
        for member in &self.members {
            members.push((member.name().to_owned(), member.client().await?));
        }
        let queue = match &self.queue {
            Some(flags) => QueueClient::by_lease(client.clone(), namespace::SYSTEM, "observer")
                .secured(flags.security(&Clock::system())),
            None => queue_of(&client).await?,
        };
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

    /// Lines of the components' logs with these words, each with the component's name.
    pub fn logged(&self, words: &str) -> anyhow::Result<Vec<String>> {
        let mut found = Vec::new();
        for process in &self.processes {
            let log = std::fs::read_to_string(process.log())?;
            let lines = log.lines().filter(|line| line.contains(words));
            found.extend(lines.map(|line| format!("{}: {line}", process.name())));
        }
        Ok(found)
    }

    /// The components end in order; the control plane stays.
    pub async fn stop_components(&mut self) -> anyhow::Result<()> {
        stop_components(std::mem::take(&mut self.processes)).await
    }

    /// Every component still runs, and ends in order when asked to.
    pub async fn stop(self) -> anyhow::Result<()> {
        stop_components(self.processes).await
    }
}

/// What the control plane is told of a member.
pub fn entry(member: &Member) -> MemberEntry {
    MemberEntry {
        name: member.name().to_owned(),
        endpoint: member.api().endpoint().to_owned(),
        token: member.api().token(Identity::Admin).to_owned(),
        ca_bundle: Some(member.api().ca_bundle().to_owned()),
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
