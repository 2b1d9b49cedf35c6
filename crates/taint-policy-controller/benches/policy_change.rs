//! What the edit of one policy costs, from the stored policy to the last write: 1,000 Clusters under 50 policies, of
//! which every tenth has failed and carries the taint whose value is edited.
//!
//! Through the whole controller, with the API server that answers it, on one thread: time of the processor, for what
//! happens in simulated time takes none. Nothing but what has to be written may be written, or the number is infinite,
//! which is null. The last line says it in milliseconds as `{"value": …}`.

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

use api_types::taint_policy::ClusterTaintPolicy;
use bench::Bench;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use test_bench::cpu_time::of_this_thread as cpu_time;
use test_bench::paused;
use test_bench::statistics::median;

const CLUSTERS: usize = 1_000;
const FAILED: usize = CLUSTERS / 10;
const POLICIES: usize = 50;
/// How often the policy is edited; the median counts.
const EDITS: usize = 5;

fn spec(policy: usize, value: &str) -> Value {
    json!({
        "matchConditions": [{"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}],
        "taintsToAdd": [{
            "key": format!("example.com/trouble-{policy:02}"), "value": value, "effect": "NoExecute",
            "addOnMatchSeconds": 10 + policy,
        }],
    })
}

/// A fleet in which all windows have fired.
async fn settled() -> (Bench, controller_kit::Running) {
    let bench = Bench::new(&[]);
    for policy in 0..POLICIES {
        bench.put_policy(&format!("policy-{policy:02}"), &spec(policy, "before"));
    }
    for number in 0..CLUSTERS {
        let name = format!("member-{number:04}");
        bench.put(json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"syncMode": "Push"}
        }));
        bench
            .set_ready(&name, if number % 10 == 0 { "False" } else { "True" })
            .await;
    }
    let taints = bench.start_taints("taints-0").await;
    bench.until(600).await;
    (bench, taints)
}

/// Edits one policy and waits until long after the last write. The time that this took, and how many writes.
async fn edit(bench: &Bench, round: usize) -> (Duration, Vec<String>) {
    let written = bench.all_writes("taints").len();
    let api = Api::<ClusterTaintPolicy>::all(bench.plane().observer());
    let patch = Patch::Merge(json!({"spec": spec(7, &format!("edited-{round}"))}));
    let began = cpu_time();
    api.patch("policy-07", &PatchParams::default(), &patch).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    (cpu_time() - began, bench.all_writes("taints").split_off(written))
}

fn main() {
    paused(async {
        let (bench, _taints) = settled().await;
        let mut times = Vec::new();
        let mut needless = 0;
        for round in 0..EDITS {
            let (time, writes) = edit(&bench, round).await;
            times.push(time.as_secs_f64() * 1e3);
            let to = |kind: &str| writes.iter().filter(|write| write.contains(kind)).count();
            let (clusters, policies, events) = (to(" clusters "), to(" clustertaintpolicies "), to(" events "));
            println!(
                "edit {round}: {:.1} ms; {clusters} Clusters, {policies} policies, {events} events",
                times[round]
            );
            assert_eq!(clusters + policies + events, writes.len());
            assert!(clusters >= FAILED && policies >= 1, "the edit has not arrived");
            needless += clusters - FAILED + policies - 1 + events.saturating_sub(FAILED);
        }
        println!("{needless} writes that nobody needs");
        println!(
            "{}",
            json!({"value": if needless == 0 { median(times) } else { f64::INFINITY }})
        );
    });
}
