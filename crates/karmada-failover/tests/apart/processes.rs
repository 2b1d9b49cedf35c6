//! One process for each component of a story.

use clap::Parser;
use controller_kit::{KitFlags, Process, Running};
use karmada_failover::components::ComponentFlags;
use karmada_failover::story::scenario::Scenario;

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
