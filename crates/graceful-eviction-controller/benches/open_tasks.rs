//! 10,000 bindings with open tasks: what it costs to judge them all, whether that writes anything, and how soon a task goes.
//!
//! Through the whole controller with the API server that answers it, on one thread, under simulated time. The last line
//! says
//! - `pass`: milliseconds of the processor for one pass over all bindings, the median of several: a Cluster changes that
//!   matters to every one of them and changes no verdict;
//! - `idle`: writes during these passes and the hour after them;
//! - `latest`: the longest time in seconds from an event that lets a task go until it is gone, with an API server that
//!   takes its time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark counts as a test, and what it prints is its result"
)]

use std::time::Duration;

use api_types::work::{Binding, BindingKind};
use controller_kit::KitFlags;
use graceful_eviction_controller::{Flags, controllers};
use kube::Api;
use kube::api::Patch;
use serde_json::{Value, json};
use test_bench::statistics::median;
use test_bench::{Bench, cpu_time, paused};

const COMPONENT: &str = "graceful-eviction-controller";
const BINDINGS: usize = 10_000;
const PASSES: usize = 9;
/// Tasks that are let go one after the other, to see how long each takes.
const LET_GO: usize = 1_000;

fn put_cluster(bench: &Bench, name: &str, ready: &str, taints: &Value) {
    let condition =
        json!({"type": "Ready", "status": ready, "reason": "R", "message": "", "lastTransitionTime": bench.started});
    bench.put(json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
        "spec": {"syncMode": "Push", "taints": taints}, "status": {"conditions": [condition]},
    }));
}

fn name(number: usize) -> String {
    format!("web-{number:05}-deployment")
}

fn copy(health: &str, available: i64) -> Value {
    json!({"clusterName": "member2", "applied": true, "health": health,
        "status": {"replicas": 3, "availableReplicas": available, "readyReplicas": available, "updatedReplicas": 3}})
}

/// Left member1; on member2 the new copy is not healthy yet.
fn put_binding(bench: &Bench, number: usize) {
    let task = json!({
        "fromCluster": "member1", "purgeMode": "Gracefully", "replicas": 3, "reason": "TaintUntolerated",
        "producer": "TaintManager", "creationTimestamp": bench.started, "clustersBeforeFailover": ["member1"],
        "message": "taint cluster.karmada.io/not-ready:NoExecute is not tolerated",
    });
    let condition = json!({"type": "Scheduled", "status": "True", "reason": "R", "message": "", "lastTransitionTime": bench.started});
    bench.put(json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"namespace": "default", "name": name(number)},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": format!("web-{number:05}")},
            "replicas": 3, "replicaRequirements": {}, "clusters": [{"name": "member2", "replicas": 3}],
            "placement": {"clusterAffinity": {"clusterNames": ["member1", "member2"]},
                "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}},
            "gracefulEvictionTasks": [task],
        },
        "status": {"schedulerObservedGeneration": 1, "conditions": [condition], "aggregatedStatus": [copy("Unhealthy", 1)]},
    }));
}

/// One look at every binding, in milliseconds of the processor.
async fn pass(bench: &Bench, ready: &str) -> f64 {
    let taints = json!([{"key": "down", "effect": "NoExecute", "timeAdded": bench.started}]);
    put_cluster(bench, "member1", ready, &taints);
    let began = cpu_time::of_this_thread();
    tokio::time::sleep(Duration::from_secs(60)).await;
    (cpu_time::of_this_thread() - began).as_secs_f64() * 1e3
}

/// Lets one task go, and says how long that took.
async fn let_go(bench: &Bench, number: usize) -> f64 {
    let bindings: Api<Binding> = Api::namespaced_with(bench.client(), "default", &BindingKind::Namespaced);
    let status = json!({"status": {"aggregatedStatus": [copy("Healthy", 3)]}});
    let patch = Patch::Merge(status);
    bindings
        .patch_status(&name(number), &Default::default(), &patch)
        .await
        .unwrap();
    let since = bench.clock.now();
    loop {
        let binding = bindings.get(&name(number)).await.unwrap();
        if binding.spec.graceful_eviction_tasks.is_empty() {
            return bench.clock.now().duration_since(since).as_secs_f64();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn main() {
    paused(async {
        let bench = Bench::new(&[]);
        put_cluster(&bench, "member2", "True", &json!([]));
        let taints = json!([{"key": "down", "effect": "NoExecute", "timeAdded": bench.started}]);
        put_cluster(&bench, "member1", "False", &taints);
        (0..BINDINGS).for_each(|number| put_binding(&bench, number));
        let _graceful = bench
            .process(COMPONENT, "g", KitFlags::default())
            .controllers(controllers(Flags::default()))
            .start()
            .await
            .unwrap();
        bench.until(120).await;
        let written = bench.writes(COMPONENT).len();
        assert!(written >= BINDINGS, "each says what it waits for: {written}");

        let mut passes = Vec::new();
        for number in 0..PASSES {
            passes.push(pass(&bench, if number % 2 == 0 { "True" } else { "False" }).await);
        }
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        let idle = bench.writes(COMPONENT).len() - written;
        let pass = median(passes);

        bench.plane().faults().seeded_latency(7, Duration::from_millis(40));
        let mut latest: f64 = 0.0;
        for number in 0..LET_GO {
            latest = latest.max(let_go(&bench, number).await);
        }
        println!(
            "{BINDINGS} bindings: {pass:.1} ms a pass, {idle} writes at rest, the latest task went after {latest:.3} s"
        );
        println!("{}", json!({"pass": pass, "idle": idle, "latest": latest}));
    });
}
