//! Simulated members on loopback, for stories with more members than a machine can run for real: the control plane and
//! the components are real, a member is a sandbox that serves HTTP.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::anyhow;
use controller_kit::Clock;
use karmada_failover::story::example::MemberEntry;
use karmada_failover::story::scenario::{MemberState, Network};
use karmada_failover::story::theatre::Roads;
use kube::{Client, Config};
use kube_sandbox::{Fleet, Served};

/// The members and the ways to them.
pub struct SimulatedMembers {
    fleet: Fleet,
    servers: BTreeMap<String, Served>,
    roads: Roads,
}

impl SimulatedMembers {
    /// Starts members of these names, each on a port of its own.
    pub async fn start(names: &[&str]) -> anyhow::Result<Self> {
        let clock = Clock::system();
        let now: kube_sandbox::Now = Arc::new(move || clock.now());
        let fleet = Fleet::start(&now, names);
        let (_, servers) = fleet.serve_http().await?;
        Ok(Self {
            fleet,
            servers,
            roads: Roads::default(),
        })
    }

    /// What the control plane is told of a member.
    pub fn entry(&self, name: &str) -> anyhow::Result<MemberEntry> {
        let served = self
            .servers
            .get(name)
            .ok_or_else(|| anyhow!("there is no member {name}"))?;
        Ok(MemberEntry {
            name: name.to_owned(),
            endpoint: served.url(),
            token: "token".to_owned(),
            ca_bundle: None,
        })
    }

    /// The same of each of these.
    pub fn entries<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> anyhow::Result<Vec<MemberEntry>> {
        names.into_iter().map(|name| self.entry(name)).collect()
    }

    /// A client of each.
    pub fn clients(&self) -> anyhow::Result<Vec<(String, Client)>> {
        let clients = self.servers.iter().map(|(name, served)| {
            let client = Client::try_from(Config::new(served.url().parse()?))?;
            Ok((name.clone(), client))
        });
        clients.collect()
    }

    /// Changes how one can be reached.
    pub fn set_member(&mut self, name: &str, to: MemberState) {
        self.roads.set_member(name, to);
        self.roads.lay(&self.fleet);
    }

    /// Changes how all can be reached.
    pub fn set_network(&mut self, to: Network) {
        self.roads.set_network(to);
        self.roads.lay(&self.fleet);
    }
}
