//! How many writes a move costs: 300 ConfigMaps leave a failed member, and the member comes back.
//!
//! All controllers of one process, on the sandbox under simulated time; what counts is the API server's own log of
//! writes, from the failure until all is at rest again, Events included and renewals of Leases left out. The last line
//! says, for each moved ConfigMap: `all`, the writes; `binding`, those of the evictor on bindings. And `idle`: how many
//! writes changed nothing, refused ones left out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark counts as a test, and what it prints is its result"
)]

#[path = "../tests/common/mod.rs"]
mod common;
mod moving;

use std::collections::BTreeMap;
use std::time::Duration;

use common::{World, simulate};
use karmada_failover::story::example::Pace;
use kube_sandbox::WriteRecord;
use moving::workloads::config_map;
use moving::{Standing, home, standing};
use serde_json::{Value, json};

const WORKLOADS: usize = 300;
/// Who takes clusters out of bindings.
const EVICTOR: &str = "evictor";
/// Controllers, each as a process of its own, so that its writes are known.
const ALONE: [&str; 8] = [
    "binding",
    "bindingStatus",
    EVICTOR,
    "execution",
    "gracefulEviction",
    "scheduler",
    "taintManager",
    "workStatus",
];

const PACE: Pace = Pace {
    probe_seconds: 10,
    threshold_seconds: 30,
    add_on_match_seconds: 60,
    remove_on_mismatch_seconds: 60,
    evictions_per_second: 100.0,
};

fn is_counted(write: &WriteRecord) -> bool {
    write.resource != "leases"
}

/// Writes by what they wrote, for people.
fn breakdown(writes: &[WriteRecord]) -> BTreeMap<String, usize> {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for write in writes {
        let part = write
            .subresource
            .as_deref()
            .map_or(String::new(), |part| format!("/{part}"));
        let outcome = if write.changed {
            String::new()
        } else {
            format!(" ({}, nothing changed)", write.code)
        };
        *kinds
            .entry(format!(
                "{:?} {}{part}{outcome} by {}",
                write.verb, write.resource, write.client
            ))
            .or_default() += 1;
    }
    kinds
}

/// Events by reason and writer, for people; each as often as it was published.
fn events(world: &World) -> BTreeMap<String, u64> {
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    for event in world.plane().list("v1", "Event") {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = format!(
            "{} on {} by {}",
            text(&event["reason"]),
            text(&event["involvedObject"]["kind"]),
            text(&event["source"]["component"])
        );
        *reasons.entry(name).or_default() += event["count"].as_u64().unwrap_or(1);
    }
    reasons
}

#[allow(clippy::cast_precision_loss, reason = "counts of hundreds")]
fn a_workload(count: usize) -> f64 {
    count as f64 / WORKLOADS as f64
}

fn main() {
    simulate(|| async {
        let world = moving::world(&PACE, "v1", "ConfigMap");
        let mut processes = Vec::new();
        for controller in ALONE {
            processes.push(world.run(controller, &[&format!("--controllers={controller}")]).await);
        }
        let others = ALONE.map(|controller| format!("-{controller}")).join(",");
        processes.push(world.run("others", &[&format!("--controllers=*,{others}")]).await);
        tokio::time::sleep(Duration::from_secs(120)).await;
        (0..WORKLOADS).for_each(|number| world.create(config_map(number)));
        tokio::time::sleep(Duration::from_secs(300)).await;
        let home = home(&world, WORKLOADS).await;

        let events_before = events(&world);
        world.plane().faults().reset_counts();
        world.member(home).stop();
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert_eq!(
            standing(&world, home).await,
            Standing { there: 0, leaving: 0 },
            "all have moved"
        );
        world.member(home).resume();
        tokio::time::sleep(Duration::from_secs(900)).await;

        let writes: Vec<WriteRecord> = world.plane().faults().writes().into_iter().filter(is_counted).collect();
        for (what, count) in breakdown(&writes) {
            println!("{:8.3}  {what}", a_workload(count));
        }
        for (reason, count) in events(&world) {
            let new = count - events_before.get(&reason).copied().unwrap_or(0);
            println!("{:8.3}  Event {reason}", a_workload(usize::try_from(new).unwrap()));
        }
        let idle = writes.iter().filter(|write| !write.changed && write.code < 300).count();
        let eviction = |write: &&WriteRecord| {
            write.client == EVICTOR && write.resource == "resourcebindings" && write.subresource.is_none()
        };
        let evictions = writes.iter().filter(eviction).count();
        println!(
            "{}",
            json!({"all": a_workload(writes.len()), "binding": a_workload(evictions), "idle": idle})
        );
        world.finish(processes).await;
    });
}
