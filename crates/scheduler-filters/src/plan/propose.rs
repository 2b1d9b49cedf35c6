//! The proposal put into the world.

use std::collections::BTreeSet;

use api_types::ClusterName;
use api_types::cluster::{Cluster, condition, effect};
use api_types::conditions::{self, Say};
use api_types::names::taint;
use failover_core::eviction::cause::to_the_second;
use failover_core::taint_policy::TaintId;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::input::{BadProposal, Proposal, World};
use super::outcome::{PlannedTaint, TaintedBy};
use crate::feasibility::{ACCEPT_FEWER_COPIES, FewerCopies};

/// The world as the proposal makes it.
pub(super) struct Proposed {
    pub(super) world: World,
    /// The clusters as they are without it: the rate before the beginning is theirs.
    pub(super) before: Vec<Cluster>,
    /// The clusters that fail or are drained.
    pub(super) clusters: BTreeSet<ClusterName>,
    /// Names of the proposed policies.
    pub(super) policies: BTreeSet<String>,
    /// The taints that it adds itself.
    pub(super) taints: Vec<PlannedTaint>,
}

pub(super) fn into_world(mut world: World, proposal: &Proposal, now: Timestamp) -> Result<Proposed, BadProposal> {
    let Proposal {
        failing,
        draining,
        policies,
    } = proposal;
    if failing.is_empty() && draining.is_empty() && policies.is_empty() {
        return Err(BadProposal::Nothing);
    }
    let named = failing.iter().chain(draining.keys());
    let exists = |name: &&ClusterName| world.clusters.iter().any(|cluster| cluster.cluster_name() == **name);
    if let Some(missing) = named.clone().find(|name| !exists(name)) {
        return Err(BadProposal::NoSuchCluster(missing.clone()));
    }
    let clusters = named.cloned().collect();
    let before = world.clusters.clone();
    let mut taints = Vec::new();
    for cluster in &mut world.clusters {
        let name = cluster.cluster_name();
        if failing.contains(&name) {
            fail(cluster, now);
        }
        if let Some(fewer_copies) = draining.get(&name) {
            taints.extend(drain(cluster, *fewer_copies, now));
        }
    }
    let policies = put_in_force(&mut world, proposal, now)?;
    Ok(Proposed {
        world,
        before,
        clusters,
        policies,
        taints,
    })
}

/// Ready becomes False; one that is not True already stays as it is, with the windows that run since then.
fn fail(cluster: &mut Cluster, now: Timestamp) {
    let already = cluster
        .condition(condition::READY)
        .is_some_and(|ready| ready.status != "True");
    if already {
        return;
    }
    let say = Say {
        type_: condition::READY,
        status: "False",
        reason: "ClusterNotReachable",
        message: "as planned",
    };
    let conditions = &mut cluster.status.get_or_insert_default().conditions;
    conditions::set(conditions, say, None, to_the_second(now));
}

/// The taint as `failoverctl drain` adds it; nothing when the cluster is drained so already.
fn drain(cluster: &mut Cluster, fewer_copies: FewerCopies, now: Timestamp) -> Option<PlannedTaint> {
    let wanted = drain_taint(fewer_copies, now);
    let id = TaintId::of(&wanted);
    let value = wanted.value.clone().unwrap_or_default();
    match cluster.spec.taints.iter_mut().find(|taint| TaintId::of(taint) == id) {
        Some(present) => {
            present.value = wanted.value;
            present.time_added = present.time_added.take().or(wanted.time_added);
            None
        }
        None => {
            let at = wanted.time_added.as_ref().map_or(now, |time| time.0);
            cluster.spec.taints.push(wanted);
            Some(PlannedTaint {
                cluster: cluster.cluster_name(),
                id,
                value,
                at,
                by: TaintedBy::Drain,
            })
        }
    }
}

/// The taint by which a person drains a cluster from `now` on.
#[must_use]
pub fn drain_taint(fewer_copies: FewerCopies, now: Timestamp) -> Taint {
    Taint {
        key: taint::DRAIN.to_owned(),
        effect: effect::NO_EXECUTE.to_owned(),
        value: (fewer_copies == FewerCopies::AcceptedIfOneIsHealthy).then(|| ACCEPT_FEWER_COPIES.to_owned()),
        time_added: Some(Time(to_the_second(now))),
    }
}

/// The names of the policies that are in force now. One that takes another's place keeps its UID, and so its windows, as an
/// edit would; a new one has existed since now.
fn put_in_force(world: &mut World, proposal: &Proposal, now: Timestamp) -> Result<BTreeSet<String>, BadProposal> {
    let mut names = BTreeSet::new();
    for policy in &proposal.policies {
        let name = policy.metadata.name.clone().unwrap_or_default();
        if name.is_empty() {
            return Err(BadProposal::Policies(
                "a proposed ClusterTaintPolicy has no name".to_owned(),
            ));
        }
        if !names.insert(name.clone()) {
            return Err(BadProposal::Policies(format!(
                "ClusterTaintPolicy {name} is proposed twice"
            )));
        }
        let mut policy = policy.clone();
        let known = world
            .policies
            .iter()
            .position(|other| other.metadata.name.as_ref() == Some(&name));
        let meta = &mut policy.metadata;
        if let Some(present) = known.map(|at| &world.policies[at]) {
            let changed = i64::from(present.spec != policy.spec);
            meta.uid = present.metadata.uid.clone();
            meta.creation_timestamp = present.metadata.creation_timestamp.clone();
            meta.generation = Some(present.metadata.generation.unwrap_or(0) + changed);
        } else {
            meta.uid = Some(format!("proposed/{name}"));
            meta.creation_timestamp = Some(Time(to_the_second(now)));
            meta.generation = Some(1);
        }
        match known {
            Some(at) => world.policies[at] = policy,
            None => world.policies.push(policy),
        }
    }
    Ok(names)
}
