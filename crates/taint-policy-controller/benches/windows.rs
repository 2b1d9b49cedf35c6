//! How exactly windows end, from a changed condition to the written taint, with an API server that takes its time.
//!
//! Simulated: 100 clusters fail at moments of their own, under policies of ten different windows. The last line says
//! the longest delay in seconds as `{"value": …}`; a taint that comes early makes it infinite, which is null.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark counts as a test, and what it prints is its result"
)]

#[path = "../tests/taints/bench.rs"]
#[allow(dead_code, reason = "the tests need more of it")]
mod bench;

use std::time::Duration;

use bench::Bench;
use jiff::Timestamp;
use serde_json::json;
use test_bench::paused;

const CLUSTERS: u64 = 100;
const POLICIES: u64 = 10;

/// Seconds of the window of a cluster's policy.
fn window(cluster: u64) -> u64 {
    1 + (cluster % POLICIES) * 37
}

/// The millisecond at which a cluster fails.
fn fails_at(cluster: u64) -> u64 {
    60_000 + (cluster * 7_919) % 300_000
}

fn main() {
    paused(async {
        let names: Vec<String> = (0..CLUSTERS).map(|n| format!("m{n:03}")).collect();
        let bench = Bench::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
        for policy in 0..POLICIES {
            let members: Vec<&String> = names
                .iter()
                .skip(usize::try_from(policy).unwrap())
                .step_by(10)
                .collect();
            let spec = json!({
                "targetCluster": {"clusterNames": members},
                "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}],
                "taintsToAdd": [{"key": "k", "effect": "NoExecute", "addOnMatchSeconds": window(policy)}]
            });
            bench.put_policy(&format!("p{policy}"), &spec);
        }
        for name in &names {
            bench.set_ready(name, "True").await;
        }
        let _taints = bench.start_taints("taints-0").await;
        bench.plane().faults().seeded_latency(7, Duration::from_millis(40));
        let mut failures: Vec<u64> = (0..CLUSTERS).collect();
        failures.sort_by_key(|cluster| fails_at(*cluster));
        let mut failed: Vec<(u64, Timestamp)> = Vec::new();
        for cluster in failures {
            bench.until_millis(fails_at(cluster)).await;
            bench
                .set_ready(&names[usize::try_from(cluster).unwrap()], "False")
                .await;
            failed.push((cluster, bench.clock.now()));
        }
        bench.until(800).await;
        let writes = bench.plane().faults().writes();
        let delays = failed.iter().map(|(cluster, since)| {
            let name = &names[usize::try_from(*cluster).unwrap()];
            let of_cluster = writes
                .iter()
                .filter(|w| w.client == "taints" && w.resource == "clusters" && w.name.as_ref() == Some(name));
            // The first opens the window, the second adds the taint.
            let added = of_cluster
                .filter(|w| w.code == 200)
                .nth(1)
                .expect("a taint is added")
                .at;
            added
                .duration_since(*since + Duration::from_secs(window(*cluster)))
                .as_secs_f64()
        });
        let delays: Vec<f64> = delays.collect();
        let early = delays.iter().filter(|delay| **delay < 0.0).count();
        let latest = delays.iter().copied().fold(0.0, f64::max);
        println!("{} taints, {early} early, the latest after {latest:.3} s", delays.len());
        println!("{}", json!({"value": if early == 0 { latest } else { f64::INFINITY }}));
    });
}
