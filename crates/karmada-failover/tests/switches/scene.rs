//! What these tests look at again and again.

use std::time::Duration;

use clap::Parser;
use controller_kit::Running;
use failoverctl::Cli;
use failoverctl::control_plane::ControlPlane;
use failoverctl::run::{Surroundings, answer};
use karmada_failover::story::example::Pace;
use karmada_failover::story::expect::{BINDING, placement};

use crate::common::World;

pub const PACE: Pace = Pace {
    probe_seconds: 10,
    threshold_seconds: 30,
    add_on_match_seconds: 60,
    remove_on_mismatch_seconds: 60,
    evictions_per_second: 0.5,
};

/// Longer than any window of the story.
pub const LONG: Duration = Duration::from_secs(900);

/// Until nginx runs on both members and its binding shows it.
pub async fn placed(world: &World) {
    world
        .wait_for("nginx placed", LONG, || async {
            let status = world.binding(BINDING).await?.status?;
            (status
                .aggregated_status
                .iter()
                .filter(|item| item.health.is_some())
                .count()
                == 2)
                .then_some(())
        })
        .await;
}

/// Whether nginx moved to member2, and the old copy was let go.
pub async fn moved(world: &World) -> Option<()> {
    let binding = world.binding(BINDING).await?;
    let copies = placement(&binding);
    (copies.len() == 1 && copies.get("member2") == Some(&3) && binding.spec.graceful_eviction_tasks.is_empty())
        .then_some(())
}

/// The effects of the taints of a cluster.
pub async fn effects(world: &World, cluster: &str) -> Vec<String> {
    let mut effects: Vec<String> = world
        .cluster(cluster)
        .await
        .spec
        .taints
        .into_iter()
        .map(|taint| taint.effect)
        .collect();
    effects.sort();
    effects
}

/// What `failoverctl status` says.
pub async fn status(world: &World) -> String {
    let cli = Cli::try_parse_from(["failoverctl", "status"]).unwrap();
    let around = Surroundings {
        network: Some(world.network.clone()),
        ..Surroundings::plain(world.clock.clone())
    };
    let control_plane = ControlPlane::new(world.client(), api_types::names::namespace::SYSTEM);
    answer(&cli, &control_plane, &around).await.unwrap().text
}

/// Whether the process selects the controller, as its metrics say.
pub fn is_enabled(process: &Running, controller: &str) -> Option<f64> {
    process
        .metrics()
        .value("failover_controller_enabled", &[("controller", controller)])
}

/// Ends a process as it would end for a change of its flags.
pub async fn replaced(process: Running) {
    assert_eq!(process.stop().await, controller_kit::Ended::Stopped);
}
