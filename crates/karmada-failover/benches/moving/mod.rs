//! What the benchmarks of many workloads that move have in common: where they are, and how many still are.

use api_types::work::{Binding, BindingKind};
use karmada_failover::story::example;
use karmada_failover::story::example::Pace;
use kube::Api;
use serde_json::json;

use crate::common::World;

pub mod workloads;

pub use workloads::{MEMBERS, NAMESPACE, policy};

/// A fleet in which every workload of a kind runs on one member, whichever.
pub fn world(pace: &Pace, api_version: &str, kind: &str) -> World {
    let world = World::with_rate(&MEMBERS, pace.evictions_per_second);
    world.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}));
    example::taint_policies(pace)
        .into_iter()
        .for_each(|policy| world.create(policy));
    world.create(policy(api_version, kind));
    world
}

/// How many bindings are on a member, and how many leave some cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Those that have the member in their result.
    pub there: usize,
    /// Those with a task.
    pub leaving: usize,
}

/// How it stands with a member.
pub async fn standing(world: &World, member: &str) -> Standing {
    let api: Api<Binding> = Api::namespaced_with(world.client(), NAMESPACE, &BindingKind::Namespaced);
    let bindings = api.list(&Default::default()).await.unwrap().items;
    let is_there = |binding: &&Binding| binding.spec.clusters.iter().any(|target| target.name == member);
    let leaves = |binding: &&Binding| !binding.spec.graceful_eviction_tasks.is_empty();
    Standing {
        there: bindings.iter().filter(is_there).count(),
        leaving: bindings.iter().filter(leaves).count(),
    }
}

/// The member on which all of so many workloads are.
pub async fn home(world: &World, workloads: usize) -> &'static str {
    let mut standings = Vec::new();
    for member in MEMBERS {
        standings.push((standing(world, member).await.there, member));
    }
    standings.sort_unstable();
    let (there, home) = standings[MEMBERS.len() - 1];
    assert_eq!(there, workloads, "they stand together: {standings:?}");
    home
}
