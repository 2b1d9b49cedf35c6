//! The taint manager and the evictor as a process of their own, on the big fleet: 100 clusters and 100,000 bindings of
//! 3 KB, each on three of them, on an API server that this process serves on loopback, with a queue.
//!
//! The last line says
//! - `memory`: what the process has in memory, in MiB, the most of several looks while one cluster is tainted;
//! - `growth`: by how many per cent it is more after a day's worth of churn than after the first round;
//! - `start`: seconds from its start until it is ready and the queue knows what it publishes, less those that the same
//!   client takes to list and read the same bindings;
//! - `verdicts`: milliseconds for all verdicts of a cluster that is tainted, the median of several;
//! - `judged`: how many bindings were judged for it, for each that is on the cluster;
//! - `scrape`: milliseconds that a scrape takes, the median of several, and `series`: how many it has.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark counts as a test, and what it prints is its result"
)]

use std::sync::Arc;
use std::time::Duration;

use api_types::work::{Binding, BindingKind};
use controller_kit::{Clock, KitFlags, Process, Running};
use eviction_queue::Flags;
use kube::api::{Api, ListParams};
use kube::config::Kubeconfig;
use kube_sandbox::{Sandbox, SandboxOptions, Served};
use serde_json::json;
use test_bench::statistics::median;
use test_bench::usage::Looks;
use test_bench::{BigFleet, OwnProcess, Program};
use tokio::time::Instant;

const FLEET: BigFleet = BigFleet::WHOLE;
/// The cluster that is tainted when the process starts.
const TAINTED: usize = 0;
const ROUNDS: usize = 6;
/// Bindings that change in a round of churn.
const CHANGED: usize = 10_000;
/// Bindings that go and come in a round of churn.
const REPLACED: usize = 2_000;
/// As informers list.
const PAGE: u32 = 500;

fn control_plane(clock: &Clock) -> Sandbox {
    let now = clock.clone();
    let plane = Sandbox::new(SandboxOptions::new(Arc::new(move || now.now())));
    for crd in api_types::crds() {
        plane.apply_crd(serde_json::to_value(crd).unwrap()).unwrap();
    }
    plane
        .put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}}))
        .unwrap();
    FLEET.store(&plane);
    plane
}

async fn queue(plane: &Sandbox, clock: &Clock) -> Running {
    let flags = Flags {
        // Nothing moves: it is the fleet's size that is looked at.
        resource_eviction_rate: 0.0,
        queue_bind_address: "127.0.0.1:0".parse().unwrap(),
        ..Flags::default()
    };
    Process::builder("eviction-queue", plane.client_named("eviction-queue"))
        .clock(clock.clone())
        .identity("q")
        .flags(KitFlags::default())
        .controllers(eviction_queue::controllers(flags))
        .start()
        .await
        .unwrap()
}

/// How long the same client takes to list and read all bindings, page by page as informers do.
async fn bare_list(served: &Served) -> Duration {
    let kubeconfig = Kubeconfig::from_yaml(&served.kubeconfig()).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default())
        .await
        .unwrap();
    let client = kube::Client::try_from(config).unwrap();
    let api: Api<Binding> = Api::all_with(client, &BindingKind::Namespaced);
    let began = Instant::now();
    let mut params = ListParams::default().limit(PAGE);
    let mut read = 0;
    loop {
        let page = api.list(&params).await.unwrap();
        read += page.items.len();
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => break,
        }
    }
    assert_eq!(read, FLEET.bindings);
    began.elapsed()
}

fn taint(plane: &Sandbox, number: usize) {
    let taints = json!([{"key": "example.com/lost", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]);
    plane.put(FLEET.cluster(number, &taints)).unwrap();
}

fn heal(plane: &Sandbox, number: usize) {
    plane.put(FLEET.cluster(number, &json!([]))).unwrap();
}

#[allow(clippy::cast_precision_loss, reason = "counts of thousands")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

async fn published(process: &OwnProcess, clusters: usize) {
    let wanted = as_f64(clusters * FLEET.bindings_on_a_cluster());
    process.until_metric("taint_manager_published_entries", wanted).await;
}

/// What a day brings: bindings change, go and come; a cluster fails and recovers.
async fn churn(plane: &Sandbox, process: &OwnProcess, round: usize) {
    for number in 0..CHANGED {
        let health = if round.is_multiple_of(2) {
            "Unhealthy"
        } else {
            "Healthy"
        };
        plane
            .put(FLEET.binding_in_state((round * CHANGED + number) % FLEET.bindings, health))
            .unwrap();
    }
    let bindings: Api<Binding> = Api::all_with(plane.observer(), &BindingKind::Namespaced);
    for number in 0..REPLACED {
        let binding = FLEET.binding((round * REPLACED + number) % FLEET.bindings);
        let text = |field: &str| binding["metadata"][field].as_str().unwrap().to_owned();
        let api: Api<Binding> = Api::namespaced_with(
            bindings.clone().into_client(),
            &text("namespace"),
            &BindingKind::Namespaced,
        );
        let free = kube::api::Patch::Merge(json!({"metadata": {"finalizers": []}}));
        api.patch(&text("name"), &Default::default(), &free).await.unwrap();
        api.delete(&text("name"), &Default::default()).await.unwrap();
        plane.put(binding).unwrap();
    }
    let other = 1 + round % (FLEET.clusters - 1);
    taint(plane, other);
    published(process, 2).await;
    heal(plane, other);
    published(process, 1).await;
}

/// Waits until no verdict is made any more: after the start every binding is looked at once.
async fn at_rest(process: &OwnProcess) {
    let judged = || process.metric("taint_manager_verdicts_total");
    let mut before = f64::NAN;
    while (judged() - before).abs() >= 0.5 || before.is_nan() {
        before = judged();
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}

/// Time and number of the verdicts of one more cluster that is tainted: milliseconds, and judged for each affected.
async fn verdicts(plane: &Sandbox, process: &OwnProcess, number: usize) -> (f64, f64) {
    let seconds = || process.metric("taint_manager_cluster_judged_seconds_sum");
    let judged = || process.metric("taint_manager_verdicts_total");
    at_rest(process).await;
    let (before, judged_before) = (seconds(), judged());
    taint(plane, number);
    published(process, 2).await;
    let taken = (
        (seconds() - before) * 1e3,
        (judged() - judged_before) / as_f64(FLEET.bindings_on_a_cluster()),
    );
    heal(plane, number);
    published(process, 1).await;
    taken
}

async fn measure() -> serde_json::Value {
    let clock = Clock::system();
    let plane = control_plane(&clock);
    taint(&plane, TAINTED);
    let queue = queue(&plane, &clock).await;
    let served = plane.serve_http("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let listed = bare_list(&served).await;
    println!("a bare list takes {:.2} s", listed.as_secs_f64());

    let program = Program {
        file: env!("CARGO_BIN_EXE_taint-manager"),
        command: &[],
    };
    let began = Instant::now();
    let process = OwnProcess::start(program, &served, &["--feature-gates=Failover=true"]);
    published(&process, 1).await;
    process.ready().await;
    let ready = began.elapsed();
    println!("ready after {:.2} s", ready.as_secs_f64());
    let start = (ready.as_secs_f64() - listed.as_secs_f64()).max(0.0);

    let (mut times, mut judged): (Vec<f64>, f64) = (Vec::new(), 0.0);
    for number in 0..5 {
        let (milliseconds, ratio) = verdicts(&plane, &process, 10 + number).await;
        println!("verdicts of a cluster: {milliseconds:.2} ms, {ratio:.3} judged for each affected");
        times.push(milliseconds);
        judged = judged.max(ratio);
    }

    let mut looks = Looks::default();
    for round in 0..ROUNDS {
        churn(&plane, &process, round).await;
        looks.take(&format!("after round {round} of churn"), process.resident());
    }
    let (scrape, series) = process.scrape();
    drop(process);
    queue.stop().await;
    json!({
        "memory": looks.most(), "growth": looks.growth(), "start": start,
        "verdicts": median(times), "judged": judged, "scrape": scrape, "series": series,
    })
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let said = runtime.block_on(measure());
    println!("{said}");
}
