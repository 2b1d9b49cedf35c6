//! Where a scenario is played: what every fleet, simulated or real, can be made to do.

use std::future::Future;
use std::time::Duration;

use anyhow::anyhow;
use api_types::cluster::effect;
use api_types::names::taint;
use kube::Client;
use kube_sandbox::{Behaviour, Who};
use serde_json::{Value, json};

use super::example::{self, MemberEntry};
use super::line::Line;
use super::objects;
use super::scenario::{Action, Ending, Fare, MemberState, Network};

/// A fleet that can be acted on.
pub trait Theatre {
    /// A client of the control plane with all rights, as a person has it.
    fn control_plane(&mut self) -> impl Future<Output = anyhow::Result<Client>>;

    /// Changes how a member's API server can be reached; its workloads run on.
    fn set_member(&mut self, name: &str, to: MemberState) -> impl Future<Output = anyhow::Result<()>>;

    /// Changes the way from the control plane to all members.
    fn set_network(&mut self, to: Network) -> impl Future<Output = anyhow::Result<()>> {
        async move { Err(anyhow!("the network of this fleet cannot be made {to:?}")) }
    }

    /// Changes how the pods of a Deployment in `default` fare on one member.
    fn set_workload(&mut self, member: &str, name: &str, to: Fare) -> impl Future<Output = anyhow::Result<()>> {
        async move { Err(anyhow!("{name} on {member} of this fleet cannot be made {to:?}")) }
    }

    /// Changes how many CPUs the nodes of a member have together.
    fn set_cpus(&mut self, member: &str, cpus: u32) -> impl Future<Output = anyhow::Result<()>> {
        async move { Err(anyhow!("{member} of this fleet cannot be given {cpus} CPUs")) }
    }

    /// What `failoverctl explain binding` prints; nothing where nobody has failoverctl.
    fn explain(&mut self, _binding: &str) -> impl Future<Output = anyhow::Result<Option<String>>> {
        async { Ok(None) }
    }

    /// Drains a cluster as a person does who has only kubectl: by its taint.
    fn drain(&mut self, cluster: &str) -> impl Future<Output = anyhow::Result<()>> {
        async move {
            let client = self.control_plane().await?;
            taint_once(
                &client,
                cluster,
                json!({"key": taint::DRAIN, "effect": effect::NO_EXECUTE}),
            )
            .await
        }
    }

    /// Takes a drain back.
    fn undrain(&mut self, cluster: &str) -> impl Future<Output = anyhow::Result<()>> {
        async move {
            let client = self.control_plane().await?;
            untaint(&client, cluster, taint::DRAIN, effect::NO_EXECUTE).await
        }
    }

    /// What the control plane is told of a member that joins.
    fn entry(&self, member: &str) -> anyhow::Result<MemberEntry> {
        Err(anyhow!("no member can join this fleet, not even {member}"))
    }

    /// Stops a component and starts it again.
    fn restart(&mut self, component: &str, how: Ending) -> impl Future<Output = anyhow::Result<()>> {
        async move { Err(anyhow!("{component} of this fleet cannot be restarted ({how:?})")) }
    }

    /// Hears every line when it is told, and may disturb the play. Returns how much longer the play may take for it.
    fn hear(&mut self, _line: &Line) -> impl Future<Output = anyhow::Result<Duration>> {
        async { Ok(Duration::ZERO) }
    }
}

/// Does one thing to the fleet; a wait is waited.
///
/// # Errors
/// When the fleet cannot do it, or its API server refuses it.
pub async fn perform(theatre: &mut impl Theatre, action: &Action) -> anyhow::Result<()> {
    match action {
        Action::Member { name, to } => theatre.set_member(name, *to).await,
        Action::Network(to) => theatre.set_network(*to).await,
        Action::Workload { member, name, to } => theatre.set_workload(member, name, *to).await,
        Action::Cpus { member, cpus } => theatre.set_cpus(member, *cpus).await,
        Action::Restart { component, how } => theatre.restart(component, *how).await,
        Action::Wait(time) => {
            tokio::time::sleep(*time).await;
            Ok(())
        }
        Action::Join { name } => {
            let entry = theatre.entry(name)?;
            let client = theatre.control_plane().await?;
            for object in example::member(&entry) {
                objects::create(&client, object).await?;
            }
            Ok(())
        }
        Action::Create(object) => objects::create(&theatre.control_plane().await?, object.clone()).await,
        Action::Patch { object, patch } => objects::patch(&theatre.control_plane().await?, object, patch).await,
        Action::Reschedule { binding } => objects::reschedule(&theatre.control_plane().await?, binding).await,
        Action::Delete(object) => objects::delete(&theatre.control_plane().await?, object).await,
        Action::Put(object) => objects::put(&theatre.control_plane().await?, object).await,
        Action::Taint {
            cluster,
            key,
            value,
            effect,
            time_added,
        } => {
            let mut added = json!({"key": key, "value": value, "effect": effect});
            if let Some(time) = time_added {
                added["timeAdded"] = json!(time);
            }
            taint_once(&theatre.control_plane().await?, cluster, added).await
        }
        Action::Untaint { cluster, key, effect } => {
            untaint(&theatre.control_plane().await?, cluster, key, effect).await
        }
        Action::Drain { cluster } => theatre.drain(cluster).await,
        Action::Undrain { cluster } => theatre.undrain(cluster).await,
    }
}

/// Puts a taint on a Cluster that has none of its key and effect.
async fn taint_once(client: &Client, cluster: &str, added: Value) -> anyhow::Result<()> {
    objects::edit_taints(client, cluster, |taints| {
        let is_there = |taint: &Value| taint["key"] == added["key"] && taint["effect"] == added["effect"];
        if !taints.iter().any(is_there) {
            taints.push(added.clone());
        }
    })
    .await
}

async fn untaint(client: &Client, cluster: &str, key: &str, effect: &str) -> anyhow::Result<()> {
    objects::edit_taints(client, cluster, |taints| {
        taints.retain(|taint| taint["key"] != *key || taint["effect"] != *effect);
    })
    .await
}

/// How long the pods of a simulated workload take to be ready after they were mended.
const READY_AFTER: Duration = Duration::from_secs(1);

/// Makes the pods of a workload on a member of a simulated fleet fare so.
///
/// # Errors
/// When there is no such member.
pub fn set_simulated_workload(fleet: &kube_sandbox::Fleet, member: &str, name: &str, to: Fare) -> anyhow::Result<()> {
    let member = simulated(fleet, member)?;
    let behaviour = match to {
        Fare::Well => Behaviour::ReadyAfter(READY_AFTER),
        Fare::Ill => Behaviour::NeverReady,
    };
    member.behave(Who::Name(name.to_owned()), behaviour);
    Ok(())
}

/// Gives the node of a member of a simulated fleet so many CPUs.
///
/// # Errors
/// When there is no such member.
pub fn set_simulated_cpus(fleet: &kube_sandbox::Fleet, member: &str, cpus: u32) -> anyhow::Result<()> {
    simulated(fleet, member)?.set_cpu_cores(cpus);
    Ok(())
}

fn simulated(fleet: &kube_sandbox::Fleet, member: &str) -> anyhow::Result<kube_sandbox::Member> {
    fleet
        .member(member)
        .ok_or_else(|| anyhow!("there is no member {member}"))
}

/// How the members of a simulated fleet are to be reached: what was said of each, and of the way to all of them.
#[derive(Clone, Debug, Default)]
pub struct Roads {
    members: std::collections::BTreeMap<String, MemberState>,
    network: Network,
}

impl Roads {
    /// How one member is to be reached.
    #[must_use]
    pub fn to(&self, member: &str) -> MemberState {
        match self.network {
            Network::Cut => MemberState::Hanging,
            Network::Whole => self.members.get(member).copied().unwrap_or_default(),
        }
    }

    /// Says it of one member.
    pub fn set_member(&mut self, name: &str, to: MemberState) {
        self.members.insert(name.to_owned(), to);
    }

    /// Says it of the way to all of them.
    pub fn set_network(&mut self, to: Network) {
        self.network = to;
    }

    /// Makes every member of a simulated fleet so.
    pub fn lay(&self, fleet: &kube_sandbox::Fleet) {
        for member in fleet.members() {
            match self.to(member.name()) {
                MemberState::Up => member.resume(),
                MemberState::Stopped => member.stop(),
                MemberState::Hanging => member.hang(),
            }
        }
    }
}
