//! A storm: 5,000 workloads leave a failed member at 200 a second, all controllers on.
//!
//! On the sandbox under simulated time, so what counts is how long the controllers let things wait, not how fast the
//! machine is. Ideal is the time that the rate alone asks for. The last line says: `evicted`, the time from the first
//! eviction to the last over the ideal; `cleared`, the time from the first eviction until every workload is healthy
//! elsewhere and no task is left, over the ideal; and `conflicts`, how many per cent of the writes on bindings met a newer
//! version and had to be made again.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark counts as a test, and what it prints is its result"
)]

#[path = "../tests/common/mod.rs"]
mod common;
mod moving;

use std::time::Duration;

use common::{World, simulate};
use karmada_failover::story::example::Pace;
use kube_sandbox::{Verb, WriteRecord};
use moving::{NAMESPACE, home, standing};
use serde_json::{Value, json};
use tokio::time::Instant;

/// A debug build shows that the storm ends, with a twentieth of it.
const WORKLOADS: usize = if cfg!(debug_assertions) { 250 } else { 5_000 };
const CONFLICT: u16 = 409;

const PACE: Pace = Pace {
    probe_seconds: 10,
    threshold_seconds: 30,
    add_on_match_seconds: 60,
    remove_on_mismatch_seconds: 60,
    evictions_per_second: 200.0,
};

/// How often is looked, in simulated time.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Longer than anything that ends well.
const GIVE_UP_AFTER: Duration = Duration::from_secs(1_800);

fn deployment(number: usize) -> Value {
    let name = format!("web-{number:04}");
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": NAMESPACE, "name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}},
        },
    })
}

/// When the first left, when the last had, and when all was over.
struct Storm {
    began: Instant,
    evicted: Instant,
    cleared: Instant,
}

async fn watch(world: &World, home: &str) -> Storm {
    let start = Instant::now();
    // A look reads every binding: none is worth it before somebody may go.
    while !has_to_be_left(world, home) {
        assert!(start.elapsed() < GIVE_UP_AFTER, "{home} is not tainted");
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let (mut began, mut evicted) = (None, None);
    while start.elapsed() < GIVE_UP_AFTER {
        let now = Instant::now();
        let standing = standing(world, home).await;
        if standing.there < WORKLOADS && began.is_none() {
            // It began after the last look.
            began = now.checked_sub(LOOK_EVERY);
        }
        if standing.there == 0 && evicted.is_none() {
            evicted = Some(now);
        }
        if let (Some(began), Some(evicted), 0) = (began, evicted, standing.leaving) {
            return Storm {
                began,
                evicted,
                cleared: now,
            };
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    panic!("the storm does not end: {:?}", standing(world, home).await);
}

fn has_to_be_left(world: &World, cluster: &str) -> bool {
    let stored = world
        .plane()
        .get("cluster.karmada.io/v1alpha1", "Cluster", None, cluster);
    let taints = stored.and_then(|stored| stored["spec"]["taints"].as_array().cloned());
    taints
        .unwrap_or_default()
        .iter()
        .any(|taint| taint["effect"] == "NoExecute")
}

/// Per cent of the writes on bindings that met a newer version.
fn conflicts(writes: &[WriteRecord]) -> f64 {
    let is_of_binding = |write: &&WriteRecord| write.resource == "resourcebindings" && write.verb != Verb::Create;
    let all = writes.iter().filter(is_of_binding).count();
    let met = writes
        .iter()
        .filter(is_of_binding)
        .filter(|write| write.code == CONFLICT)
        .count();
    percent(met, all)
}

#[expect(clippy::cast_precision_loss, reason = "counts of thousands")]
fn percent(part: usize, of: usize) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}

fn main() {
    simulate(|| async {
        let world = moving::world(&PACE, "apps/v1", "Deployment");
        let process = world.run("all-in-one", &[]).await;
        tokio::time::sleep(Duration::from_secs(120)).await;
        (0..WORKLOADS).for_each(|number| world.create(deployment(number)));
        tokio::time::sleep(Duration::from_secs(600)).await;
        let home = home(&world, WORKLOADS).await;

        world.plane().faults().reset_counts();
        world.member(home).stop();
        let storm = watch(&world, home).await;
        #[expect(clippy::cast_precision_loss, reason = "counts of thousands")]
        let ideal = WORKLOADS as f64 / PACE.evictions_per_second;
        let of_ideal = |end: Instant| end.duration_since(storm.began).as_secs_f64() / ideal;
        println!(
            "{}",
            json!({
                "evicted": of_ideal(storm.evicted),
                "cleared": of_ideal(storm.cleared),
                "conflicts": conflicts(&world.plane().faults().writes()),
            })
        );
        world.finish(vec![process]).await;
    });
}
