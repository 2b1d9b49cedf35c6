//! How long an operator waits for an answer at the big fleet: the program itself, as a process, against an API server and an
//! eviction queue that this process serves on loopback. 100 clusters, 100,000 bindings, and a queue that holds an entry for each.
//!
//! The last line says, each in milliseconds and the median of several runs,
//! - `status`: `failoverctl status`;
//! - `explain`: `failoverctl explain binding`, the longer of one that is well and one that is queued;
//! - `cluster`: `failoverctl explain cluster` of one that has been left;
//! - `policy`: `failoverctl explain policy` of one that matches every cluster.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark counts as a test, and what it prints is its result"
)]

#[path = "../../eviction-queue/benches/big_queue/mod.rs"]
#[allow(dead_code, reason = "each benchmark uses its part")]
mod big_queue;

use std::path::Path;
use std::time::Duration;

use big_queue::{entries, publish};
use controller_kit::{Clock, KitFlags, Process};
use eviction_queue::Flags;
use eviction_queue_api::{QueueClient, v1};
use kube_sandbox::{Sandbox, SandboxOptions};
use serde_json::{Value, json};
use test_bench::BigFleet;
use tokio::time::Instant;

const RUNS: usize = 11;

/// The big fleet, whose clusters are all tainted, and what an operator reads beside it.
fn control_plane(clock: &Clock) -> Sandbox {
    let now = clock.clone();
    let plane = Sandbox::new(SandboxOptions::new(std::sync::Arc::new(move || now.now())));
    for crd in api_types::crds() {
        plane.apply_crd(json!(crd)).unwrap();
    }
    for namespace in ["karmada-system", "default"] {
        plane
            .put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}))
            .unwrap();
    }
    BigFleet::WHOLE.store(&plane);
    let taints =
        json!([{"key": "cluster.karmada.io/not-ready", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]);
    for number in 0..BigFleet::WHOLE.clusters {
        plane.put(BigFleet::WHOLE.cluster(number, &taints)).unwrap();
    }
    plane
        .put(json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": {"name": "down"},
            "spec": {
                "addOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False", "Unknown"]}],
                "taints": [{"key": "cluster.karmada.io/not-ready", "effect": "NoExecute"}]}}))
        .unwrap();
    plane
}

/// How long the program takes, the median of several runs.
async fn median(kubeconfig: &Path, words: &[&str]) -> f64 {
    let mut took = Vec::new();
    // The first one finds cold caches.
    for run in 0..=RUNS {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_failoverctl"));
        command.arg("--kubeconfig").arg(kubeconfig).args(words);
        let began = Instant::now();
        let output = command.output().await.unwrap();
        let time = began.elapsed();
        // A fleet that is tainted altogether is a problem, and an answer.
        let code = output.status.code().unwrap();
        assert!(code <= 1, "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        if run > 0 {
            took.push(time);
        }
    }
    took.sort();
    println!("{words:?}: {:?} to {:?}", took[0], took[RUNS - 1]);
    took[RUNS / 2].as_secs_f64() * 1_000.0
}

async fn measure() -> Value {
    let clock = Clock::system();
    let plane = control_plane(&clock);
    let served = plane.serve_http("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let flags = Flags {
        leader_grace: Duration::ZERO,
        queue_bind_address: "127.0.0.1:0".parse().unwrap(),
        ..Flags::default()
    };
    let queue = Process::builder("eviction-queue", plane.client_named("queue"))
        .flags(KitFlags::default().with_feature_gates("Failover=true"))
        .controllers(eviction_queue::controllers(flags))
        .clock(clock)
        .identity("queue-0")
        .start()
        .await
        .unwrap();
    let client = QueueClient::by_lease(plane.observer(), "karmada-system", "bench");
    let within = Duration::from_secs(60);
    client
        .inspect(within, async |mut service| {
            service.get_status(v1::GetStatusRequest {}).await
        })
        .await
        .unwrap();
    publish(&client, &entries(&plane), 0).await;

    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), served.kubeconfig()).unwrap();
    let status = median(file.path(), &["status"]).await;
    let mut explain: f64 = 0.0;
    for binding in [
        "team-000/workload-000000-deployment",
        "team-042/workload-000042-deployment",
    ] {
        explain = explain.max(median(file.path(), &["explain", "binding", binding]).await);
    }
    let cluster = median(file.path(), &["explain", "cluster", "member-001"]).await;
    let policy = median(file.path(), &["explain", "policy", "down"]).await;
    queue.stop().await;
    json!({"status": status, "explain": explain, "cluster": cluster, "policy": policy})
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let said = runtime.block_on(measure());
    println!("{said}");
}
