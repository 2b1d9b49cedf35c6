//! Where a scenario is played: what every fleet, simulated or real, can be made to do.

use std::future::Future;
use std::time::Duration;

use anyhow::anyhow;
use kube::Client;
use serde_json::json;

use super::example::{self, MemberEntry};
use super::line::Line;
use super::objects;
use super::scenario::{Action, Ending, MemberState, Network};

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
            let client = theatre.control_plane().await?;
            objects::edit_taints(&client, cluster, |taints| {
                if !taints
                    .iter()
                    .any(|taint| taint["key"] == **key && taint["effect"] == **effect)
                {
                    taints.push(added.clone());
                }
            })
            .await
        }
        Action::Untaint { cluster, key, effect } => {
            let client = theatre.control_plane().await?;
            objects::edit_taints(&client, cluster, |taints| {
                taints.retain(|taint| taint["key"] != **key || taint["effect"] != **effect);
            })
            .await
        }
    }
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
