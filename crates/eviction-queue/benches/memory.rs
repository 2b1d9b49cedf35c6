//! The queue as a process of its own that holds 100,000 entries of 100 tainted clusters, on an API server that this
//! process serves on loopback.
//!
//! The last line says
//! - `memory`: what the process has in memory, in MiB, the most of several looks;
//! - `growth`: by how many per cent it is more after a day's worth of churn than after the first round;
//! - `start`: seconds from its start until it is ready and leads. It lists Clusters and pauses only;
//! - `scrape`: milliseconds that a scrape takes, the median of several, and `series`: how many it has.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark counts as a test, and what it prints is its result"
)]

mod big_queue;

use std::time::Duration;

use big_queue::{control_plane, entries, publish};
use controller_kit::Clock;
use eviction_queue_api::v1::queue_inspection_client::QueueInspectionClient;
use eviction_queue_api::{QueueClient, v1};
use failover_core::eviction::queue::Published;
use serde_json::{Value, json};
use test_bench::usage::Looks;
use test_bench::{OwnProcess, Program, free_address};
use tokio::time::Instant;

const ROUNDS: usize = 6;

/// Reads the whole list, as `failoverctl` does.
async fn list(client: &QueueClient) -> usize {
    let mut service = client.inspection().await.unwrap();
    let (mut read, mut page_token) = (0, String::new());
    loop {
        let request = v1::ListEntriesRequest {
            page_size: 1_000,
            page_token,
            ..Default::default()
        };
        let page = service.list_entries(request).await.unwrap().into_inner();
        read += page.entries.len();
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return read;
        }
    }
}

/// The producer comes anew with other versions of a tenth of its entries, and without another tenth; then with all.
async fn churn(client: &QueueClient, entries: &mut [Published], round: usize) {
    let tenth = entries.len() / 10;
    for entry in entries.iter_mut().skip(round * tenth).take(tenth) {
        entry.versions.binding_generation += 1;
    }
    let without = [&entries[..round * tenth], &entries[(round + 1) * tenth..]].concat();
    publish(client, &without, i64::try_from(2 * round + 1).unwrap()).await;
    publish(client, entries, i64::try_from(2 * round + 2).unwrap()).await;
    assert_eq!(list(client).await, entries.len());
}

async fn measure() -> Value {
    let clock = Clock::system();
    let plane = control_plane(&clock);
    let served = plane.serve_http("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let program = Program {
        file: env!("CARGO_BIN_EXE_eviction-queue"),
        command: &[],
    };
    let address = format!("--queue-bind-address={}", free_address());
    let began = Instant::now();
    let process = OwnProcess::start(program, &served, &["--resource-eviction-rate=0", &address]);
    process.ready().await;
    let client = QueueClient::by_lease(plane.observer(), "karmada-system", "bench");
    let call = |mut service: QueueInspectionClient<_>| async move { service.get_status(v1::GetStatusRequest {}).await };
    client.inspect(Duration::from_secs(60), call).await.unwrap();
    let start = began.elapsed().as_secs_f64();
    println!("leads after {start:.2} s with {:.1} MiB", process.resident().mib);

    let mut entries = entries(&plane);
    publish(&client, &entries, 0).await;
    println!("with {} entries: {:.1} MiB", entries.len(), process.resident().mib);
    let mut looks = Looks::default();
    for round in 0..ROUNDS {
        churn(&client, &mut entries, round).await;
        looks.take(&format!("after round {round} of churn"), process.resident());
    }
    let (scrape, series) = process.scrape();
    json!({
        "memory": looks.most(), "growth": looks.growth(), "start": start, "scrape": scrape, "series": series,
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
