//! The queue over a real loopback socket, with 100,000 entries of 100 tainted clusters: how many entries a second a
//! producer can publish, and how long a page of 1,000 of the list takes.
//!
//! Client and server share one thread, and what counts is the time that it had of the processor: other programs on the
//! machine do not count, the client's part does. The last line says `published`, entries a second, the median of several
//! snapshots; and `page`, the 99th percentile in milliseconds, of first pages (which take the snapshot of all entries) or
//! of those that follow, whichever is worse.

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
use controller_kit::{Clock, KitFlags, Process};
use eviction_queue::{Flags, controllers};
use eviction_queue_api::Channel;
use eviction_queue_api::v1::queue_inspection_client::QueueInspectionClient;
use eviction_queue_api::{QueueClient, v1};
use serde_json::json;
use test_bench::cpu_time::of_this_process as cpu_time;
use test_bench::statistics::{median, p99};

const PAGE: u32 = 1_000;
const SNAPSHOTS: usize = 5;
/// Lists of which only the first page is read, so that the 99th percentile is one of many.
const FIRST_PAGES: usize = 200;
/// Lists that are read to the end.
const WHOLE_LISTS: usize = 5;

/// One page, and how many milliseconds it took.
async fn page(service: &mut QueueInspectionClient<Channel>, page_token: String) -> (f64, String) {
    let request = v1::ListEntriesRequest {
        page_size: PAGE,
        page_token,
        ..Default::default()
    };
    let began = cpu_time();
    let page = service.list_entries(request).await.unwrap().into_inner();
    let took = (cpu_time() - began).as_secs_f64() * 1e3;
    assert_eq!(page.entries.len(), usize::try_from(PAGE).unwrap());
    (took, page.next_page_token)
}

async fn measure() -> serde_json::Value {
    let clock = Clock::system();
    let plane = control_plane(&clock);
    let flags = Flags {
        // Nothing leaves: what is ready stays so.
        resource_eviction_rate: 0.0,
        leader_grace: Duration::ZERO,
        queue_bind_address: "127.0.0.1:0".parse().unwrap(),
        ..Flags::default()
    };
    let queue = Process::builder("eviction-queue", plane.client())
        .clock(clock)
        .identity("q")
        .flags(KitFlags::default())
        .controllers(controllers(flags))
        .start()
        .await
        .unwrap();
    let client = QueueClient::by_lease(plane.observer(), "karmada-system", "bench");
    let call = |mut service: QueueInspectionClient<_>| async move { service.get_status(v1::GetStatusRequest {}).await };
    client.inspect(Duration::from_secs(30), call).await.unwrap();

    let entries = entries(&plane);
    let mut rates = Vec::new();
    for round in 0..SNAPSHOTS {
        let keep = if round == 0 { &entries[..0] } else { &entries[..] };
        // Each snapshot finds an empty queue.
        publish(&client, &[], i64::try_from(2 * round).unwrap()).await;
        let began = cpu_time();
        publish(&client, keep, i64::try_from(2 * round + 1).unwrap()).await;
        let took = (cpu_time() - began).as_secs_f64();
        if !keep.is_empty() {
            #[allow(clippy::cast_precision_loss, reason = "thousands")]
            rates.push(keep.len() as f64 / took);
        }
    }
    println!("published a second: {rates:.0?}");

    let mut service = client.inspection().await.unwrap();
    let (mut first, mut others) = (Vec::new(), Vec::new());
    for list in 0..FIRST_PAGES {
        let (took, mut next) = page(&mut service, String::new()).await;
        first.push(took);
        while list < WHOLE_LISTS && !next.is_empty() {
            let (took, token) = page(&mut service, next).await;
            others.push(took);
            next = token;
        }
    }
    let (first, others) = (p99(first), p99(others));
    println!("P99 of first pages {first:.3} ms, of the others {others:.3} ms");
    queue.stop().await;
    json!({"published": median(rates), "page": first.max(others)})
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let said = runtime.block_on(measure());
    println!("{said}");
}
