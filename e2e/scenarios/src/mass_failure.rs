//! Much of the fleet fails at once, on a real control plane with each component as its own process. The members are
//! simulated: twelve real ones are more than a machine can run.

use std::time::Duration;

use anyhow::{anyhow, ensure};
use e2e_harness::{ControlPlane, Process, available};
use karmada_failover::story::example::MemberEntry;
use karmada_failover::story::print::{Output, Printer};
use karmada_failover::story::scenario::{MemberState, Network, Scenario, mass_failure};
use karmada_failover::story::{Line, Observer, Sources, Theatre, script};
use kube::Client;

use crate::components::{components, furnish, queue_of, start_components, stop_components};
use crate::failoverctl::Failoverctl;
use crate::grpcurl::Grpcurl;
use crate::simulated_members::SimulatedMembers;
use crate::telling::watch_rules;

/// Tells the story; whether it came out right.
pub async fn tell() -> anyhow::Result<bool> {
    if available("mass failure on real API servers").is_none() {
        return Ok(true);
    }
    let scenario = mass_failure::fast();
    let mut stage = Stage::set(&scenario).await?;
    let client = stage.control_plane.client().await?;
    let mut observer = Observer::start(Sources {
        control_plane: client.clone(),
        members: stage.members.clients()?,
        queue: queue_of(&client).await?,
    });
    let rules = watch_rules(&client, scenario.highest_rate());
    let printer = Printer::new(Output::Text);
    let mut problems = script::play(&scenario, &mut stage, &mut observer, &printer).await?;
    problems.extend(stage.unexplained());
    if stage.seen_waiting == 0 {
        problems.push("grpcurl has seen no entry wait".to_owned());
    }
    let evictions = rules.evictions().len();
    problems.extend(rules.finish().iter().map(ToString::to_string));
    let summary = script::summary(&observer, evictions, problems);
    printer.summary(&summary)?;
    drop(observer);
    stop_components(stage.processes).await?;
    Ok(summary.ok)
}

struct Stage {
    control_plane: ControlPlane,
    members: SimulatedMembers,
    processes: Vec<Process>,
    failoverctl: Failoverctl,
    /// What `failoverctl status` said of each regime that lets nothing go.
    status: Vec<(String, String)>,
    /// How many entries grpcurl has seen waiting then.
    seen_waiting: usize,
}

impl Stage {
    async fn set(scenario: &Scenario) -> anyhow::Result<Self> {
        let control_plane = ControlPlane::start().await?;
        let members = SimulatedMembers::start(&scenario.every_member()).await?;
        let known = members.entries(scenario.members.iter().map(String::as_str))?;
        furnish(&control_plane.client().await?, &known, scenario.given.clone()).await?;
        let components = components(scenario.pace.health_flags(), scenario.queue_flags());
        let processes = start_components(&control_plane, components, &[])?;
        Ok(Self {
            failoverctl: Failoverctl::of(&control_plane, Vec::new())?,
            control_plane,
            members,
            processes,
            status: Vec::new(),
            seen_waiting: 0,
        })
    }

    /// What an operator would ask who has no failoverctl: the services, the status, and the entries that wait.
    async fn ask_queue(&self) -> anyhow::Result<usize> {
        let queue = queue_of(&self.control_plane.client().await?).await?;
        let grpcurl = Grpcurl::of(&self.control_plane, queue.address().await?.clone())?;
        let services = grpcurl.list()?;
        ensure!(services.contains("QueueInspection"), "grpcurl list: {services}");
        let status = grpcurl.ask("GetStatus")?;
        ensure!(status.is_object(), "GetStatus: {status}");
        let entries = grpcurl.ask("ListEntries")?;
        Ok(entries["entries"].as_array().map_or(0, Vec::len))
    }

    /// The brakes that `failoverctl status` did not explain in one line.
    fn unexplained(&self) -> Vec<String> {
        let wanted = [
            ("Halted", "4 of 6 clusters are faulty (66.7 %)"),
            ("AllFaulty", "6 of 6 clusters are faulty (100.0 %)"),
        ];
        let is_explained = |regime: &str, why: &str| {
            let texts = self.status.iter().filter(|(told, _)| told == regime);
            let mut lines = texts.flat_map(|(_, text)| text.lines());
            lines.any(|line| line.starts_with("Evictions") && line.contains(regime) && line.contains(why))
        };
        let missing = wanted.iter().filter(|(regime, why)| !is_explained(regime, why));
        missing
            .map(|(regime, why)| format!("failoverctl status did not say {regime}, {why}: {:?}", self.status))
            .collect()
    }
}

impl Theatre for Stage {
    async fn control_plane(&mut self) -> anyhow::Result<Client> {
        Ok(self.control_plane.client().await?)
    }

    async fn set_member(&mut self, name: &str, to: MemberState) -> anyhow::Result<()> {
        self.members.set_member(name, to);
        Ok(())
    }

    async fn set_network(&mut self, to: Network) -> anyhow::Result<()> {
        self.members.set_network(to);
        Ok(())
    }

    fn entry(&self, member: &str) -> anyhow::Result<MemberEntry> {
        self.members.entry(member)
    }

    async fn hear(&mut self, line: &Line) -> anyhow::Result<Duration> {
        if let Some(regime) = line.regime.as_ref().filter(|_| line.evictions_per_second == Some(0.0)) {
            // What a person on call would type.
            let asked = tokio::task::block_in_place(|| self.failoverctl.run(&["status"]));
            let text = asked.map_err(|error| anyhow!("{regime}: {error:#}"))?;
            self.status.push((regime.clone(), text));
            self.seen_waiting = self.seen_waiting.max(self.ask_queue().await?);
        }
        Ok(Duration::ZERO)
    }
}
