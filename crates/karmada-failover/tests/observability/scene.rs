//! The worked example, run by processes of their own, as operators see it.

use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use controller_kit::telemetry::{Span, Traces};
use controller_kit::{OwnMember, Process, Running};
use karmada_failover::story::expect::{BINDING, placement};
use kube_sandbox::MemberOptions;
use parking_lot::Mutex;

use crate::common::World;
use crate::metrics::PACE;

pub const SOON: Duration = Duration::from_secs(1_800);

/// The processes, by name, and the controllers of each.
pub const PROCESSES: [(&str, &str); 5] = [
    ("taint-manager", "taintManager,evictor"),
    ("application-failover-controller", "applicationFailover"),
    ("eviction-queue", "evictionQueue"),
    ("graceful-eviction-controller", "gracefulEviction"),
    (
        "the-others",
        "*,-taintManager,-evictor,-applicationFailover,-evictionQueue,-gracefulEviction",
    ),
];

/// Spans, and who told them.
pub type Told = Arc<Mutex<Vec<(&'static str, Span)>>>;

/// Starts the processes.
pub async fn start(world: &World, told: &Told) -> Vec<Running> {
    let mut running = Vec::new();
    for (name, controllers) in PROCESSES {
        let told = told.clone();
        let traces = Traces::to(move |span| told.lock().push((name, span)));
        let controllers = format!("--controllers={controllers}");
        running.push(world.run_telling(traces, world.roads(), name, &[&controllers]).await);
    }
    running
}

/// Where nginx is, when nothing of it is on its way any more.
async fn at_rest(world: &World, wanted: &[(&str, i32)]) -> Option<()> {
    let binding = world.binding(BINDING).await?;
    let wanted = wanted
        .iter()
        .map(|(name, replicas)| ((*name).to_owned(), *replicas))
        .collect();
    (placement(&binding) == wanted && binding.spec.graceful_eviction_tasks.is_empty()).then_some(())
}

/// nginx runs on member1 and member2.
pub async fn begin(world: &World) {
    world.create_example(&PACE);
    let placed = || at_rest(world, &[("member1", 1), ("member2", 2)]);
    world.wait_for("nginx on member1 and member2", SOON, placed).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
}

/// member1 fails, and nginx moves to member2.
pub async fn fail(world: &World) {
    world.fleet.member("member1").unwrap().stop();
    let moved = || at_rest(world, &[("member2", 3)]);
    world.wait_for("nginx on member2 alone", SOON, moved).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
}

/// The binding of nginx, as logs and spans name it.
pub fn binding() -> String {
    BINDING.to_owned()
}

/// Makes a Pull member, `pull`, and starts its agent.
pub async fn run_agent(world: &World, flags: &[&str]) -> Running {
    let pull = world.fleet.add_member(MemberOptions::new("pull", world.now()));
    let cli = agent::cli::Cli::try_parse_from(["agent", "--cluster-name=pull"].iter().chain(flags)).unwrap();
    Process::builder("agent", world.plane().client_named("agent"))
        .clock(world.clock.clone())
        .identity("agent")
        .flags(cli.kit)
        .members(Arc::new(OwnMember::new(pull.sandbox().client_named("agent"))))
        .controllers(agent::controllers(cli.flags))
        .start()
        .await
        .unwrap()
}
