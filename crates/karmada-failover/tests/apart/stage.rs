//! Where the stories are played: one process for each component.

use std::time::Duration;

use clap::Parser;
use controller_kit::{KitFlags, Process, Running};
use karmada_failover::components::ComponentFlags;
use karmada_failover::story::print::Printer;
use karmada_failover::story::scenario::{Fare, MemberState, Network, Scenario};
use karmada_failover::story::theatre::{Roads, set_simulated_workload};
use karmada_failover::story::{Observer, Sources, Theatre, script};
use kube::Client;

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

/// A world for a story, in which nothing runs yet.
pub fn world(scenario: &Scenario) -> World {
    let world = World::with_rate(&scenario.every_member(), scenario.pace.evictions_per_second);
    scenario.given.iter().for_each(|object| world.create(object.clone()));
    world
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

/// Plays a story with the processes that run. Nothing may come out wrong.
pub async fn play(world: &World, scenario: &Scenario) {
    let mut observer = Observer::start_asking_every(
        Duration::from_secs(5),
        Sources {
            control_plane: world.client(),
            members: world
                .fleet
                .members()
                .iter()
                .map(|member| (member.name().to_owned(), member.client()))
                .collect(),
            queue: world.queue(),
        },
    );
    let mut stage = Stage {
        world,
        roads: Roads::default(),
    };
    let problems = script::play(scenario, &mut stage, &mut observer, &Printer::silent())
        .await
        .unwrap();
    assert!(problems.is_empty(), "{}: {problems:#?}", scenario.name);
}

struct Stage<'a> {
    world: &'a World,
    roads: Roads,
}

impl Theatre for Stage<'_> {
    async fn control_plane(&mut self) -> anyhow::Result<Client> {
        Ok(self.world.client())
    }

    async fn set_member(&mut self, name: &str, to: MemberState) -> anyhow::Result<()> {
        self.roads.set_member(name, to);
        self.roads.lay(&self.world.fleet);
        Ok(())
    }

    async fn set_network(&mut self, to: Network) -> anyhow::Result<()> {
        self.roads.set_network(to);
        self.roads.lay(&self.world.fleet);
        Ok(())
    }

    async fn set_workload(&mut self, member: &str, name: &str, to: Fare) -> anyhow::Result<()> {
        set_simulated_workload(&self.world.fleet, member, name, to)
    }
}
