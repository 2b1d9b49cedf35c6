//! The demo's shorter stories with each component as its own process, on a real control plane and three real members.

use anyhow::{Context as _, ensure};
use e2e_harness::available;
use karmada_failover::story::print::{Output, Printer};
use karmada_failover::story::scenario::{Fare, MemberState, Scenario};
use karmada_failover::story::{Observer, Theatre, script};
use kube::Client;

use crate::failoverctl::Failoverctl;
use crate::fleet::Fleet;
use crate::telling::watch_rules;

/// Tells a story; whether it came out right.
pub async fn tell(scenario: Scenario) -> anyhow::Result<bool> {
    if available(&format!("{} on real API servers", scenario.name)).is_none() {
        return Ok(true);
    }
    let fleet = Fleet::start_with(&scenario.members, &scenario.pace, scenario.given.clone(), &[]).await?;
    let mut observer = Observer::start(fleet.sources().await?);
    let rules = watch_rules(&fleet.control_plane.client().await?, scenario.highest_rate());
    let printer = Printer::new(Output::Text);
    let mut operated = Operated {
        failoverctl: Failoverctl::of(&fleet.control_plane, Vec::new())?,
        fleet,
    };
    let mut problems = script::play(&scenario, &mut operated, &mut observer, &printer).await?;
    let evictions = rules.evictions().len();
    problems.extend(rules.finish().iter().map(ToString::to_string));
    let summary = script::summary(&observer, evictions, problems);
    printer.summary(&summary)?;
    drop(observer);
    operated.fleet.stop().await?;
    Ok(summary.ok)
}

/// A fleet whose operator has failoverctl.
struct Operated {
    fleet: Fleet,
    failoverctl: Failoverctl,
}

impl Operated {
    fn type_in(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let text = tokio::task::block_in_place(|| self.failoverctl.run(arguments))?;
        ensure!(!text.is_empty(), "failoverctl {} said nothing", arguments.join(" "));
        crate::telling::say(&text);
        Ok(())
    }
}

impl Theatre for Operated {
    async fn control_plane(&mut self) -> anyhow::Result<Client> {
        Theatre::control_plane(&mut self.fleet).await
    }

    async fn set_member(&mut self, name: &str, to: MemberState) -> anyhow::Result<()> {
        self.fleet.set_member(name, to).await
    }

    async fn set_workload(&mut self, member: &str, name: &str, to: Fare) -> anyhow::Result<()> {
        let member = self.fleet.member(member)?;
        let is_told = member.set_pods_ready("default", name, to == Fare::Well).await;
        is_told.with_context(|| format!("cannot make {name} {to:?}"))
    }

    async fn set_cpus(&mut self, member: &str, cpus: u32) -> anyhow::Result<()> {
        Ok(self.fleet.member(member)?.set_cpus(cpus).await?)
    }

    async fn explain(&mut self, binding: &str) -> anyhow::Result<Option<String>> {
        tokio::task::block_in_place(|| self.failoverctl.run(&["explain", "binding", binding])).map(Some)
    }

    async fn drain(&mut self, cluster: &str) -> anyhow::Result<()> {
        self.type_in(&["drain", cluster, "--yes"])
    }

    async fn undrain(&mut self, cluster: &str) -> anyhow::Result<()> {
        self.type_in(&["undrain", cluster, "--yes"])
    }
}
