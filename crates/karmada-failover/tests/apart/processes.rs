//! One process for each component of a story.

use api_types::cluster::Cluster;
use clap::Parser;
use controller_kit::{KitFlags, OwnMember, Process, Running};
use karmada_failover::components::ComponentFlags;
use karmada_failover::story::scenario::Scenario;
use kube::Api;
use kube::api::DeleteParams;

use crate::COMPONENTS;
use crate::common::World;
use crate::log::Log;

#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    kit: KitFlags,
    #[command(flatten)]
    components: ComponentFlags,
}

/// Starts a component with `more` flags; what it asks for is noted.
pub async fn start(
    world: &World,
    scenario: &Scenario,
    component: &str,
    round: &str,
    log: &Log,
    more: &[&str],
) -> Running {
    let controllers = COMPONENTS.iter().find(|(name, _)| *name == component);
    let (name, controllers) = controllers.unwrap();
    let flags = [
        "x".to_owned(),
        "--feature-gates=Failover=true".to_owned(),
        "--admin-bind-address=0".to_owned(),
        // Records of moves go when their time is over.
        "--record-retention=1m".to_owned(),
        format!("--controllers={controllers}"),
        format!("--resource-eviction-rate={}", scenario.pace.evictions_per_second),
        format!(
            "--secondary-resource-eviction-rate={}",
            scenario.reduced_evictions_per_second
        ),
    ];
    let more = more.iter().map(|flag| (*flag).to_owned());
    let flags = flags.into_iter().chain(scenario.pace.health_flags()).chain(more);
    let flags = Flags::try_parse_from(flags).unwrap();
    Process::builder(name, log.noting(world.fleet.control_plane().client_named(component)))
        .clock(world.clock.clone())
        .identity(format!("{component}-{round}"))
        .flags(flags.kit)
        .controllers(flags.components.controllers_within(&world.network))
        .members(world.roads())
        .start()
        .await
        .unwrap()
}

/// Leaves a member to its agent: the control plane is told of it by nobody else.
pub async fn leave_to_its_agent(world: &World, member: &str) {
    let clusters = Api::<Cluster>::all(world.client());
    clusters.delete(member, &DeleteParams::default()).await.unwrap();
}

/// Starts the agent of a member.
pub async fn start_agent(world: &World, member: &str, round: &str) -> Running {
    let flags = agent::Flags {
        cluster_name: member.to_owned(),
        ..agent::Flags::default()
    };
    let identity = format!("agent-{round}");
    let own = world.member(member).sandbox().client_named(&identity);
    Process::builder("agent", world.plane().client_named("agent"))
        .clock(world.clock.clone())
        .identity(identity)
        .flags(KitFlags::default())
        .members(std::sync::Arc::new(OwnMember::new(own)))
        .controllers(agent::controllers(flags))
        .start()
        .await
        .unwrap()
}
