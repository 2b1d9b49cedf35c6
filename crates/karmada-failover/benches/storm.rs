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

use common::simulate;
use jiff::Timestamp;
use karmada_failover::story::example::Pace;
use kube_sandbox::{Verb, WriteRecord};
use moving::{NAMESPACE, home, standing};
use serde_json::{Value, json};

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

/// From the failure until the taint that makes workloads leave, and some more.
const BEFORE_THE_FIRST: Duration = Duration::from_secs(150);
/// Longer than anything that ends well, over the ideal.
const GIVE_UP_AFTER: f64 = 10.0;

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

/// When the first left, when the last had, and when all was over, off the API server's log of writes: of each move a
/// FailoverRecord is made when the cluster is out of the binding, and closed when the new copy is healthy and the task gone.
struct Storm {
    began: Timestamp,
    evicted: Timestamp,
    cleared: Timestamp,
}

impl Storm {
    fn of(writes: &[WriteRecord]) -> Self {
        let of_records: Vec<&WriteRecord> = writes
            .iter()
            .filter(|write| write.resource == "failoverrecords" && write.changed)
            .collect();
        let made = || of_records.iter().filter(|write| write.verb == Verb::Create);
        assert_eq!(made().count(), WORKLOADS, "each left once");
        let at = |write: &&&WriteRecord| write.at;
        Self {
            began: made().map(|write| write.at).min().unwrap(),
            evicted: made().map(|write| write.at).max().unwrap(),
            cleared: of_records.iter().max_by_key(at).unwrap().at,
        }
    }

    /// How much longer than the ideal it took until then.
    fn of_ideal(&self, end: Timestamp) -> f64 {
        end.duration_since(self.began).as_secs_f64() / ideal()
    }
}

/// Seconds that the rate alone asks for.
#[expect(clippy::cast_precision_loss, reason = "counts of thousands")]
fn ideal() -> f64 {
    WORKLOADS as f64 / PACE.evictions_per_second
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
        tokio::time::sleep(BEFORE_THE_FIRST + Duration::from_secs_f64(GIVE_UP_AFTER * ideal())).await;
        let left = standing(&world, home).await;
        assert_eq!((left.there, left.leaving), (0, 0), "the storm does not end");
        let writes = world.plane().faults().writes();
        let storm = Storm::of(&writes);
        println!(
            "{}",
            json!({
                "evicted": storm.of_ideal(storm.evicted),
                "cleared": storm.of_ideal(storm.cleared),
                "conflicts": conflicts(&writes),
            })
        );
        world.finish(vec![process]).await;
    });
}
