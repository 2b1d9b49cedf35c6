//! How exact the rate of evictions is: ten simulated minutes with more than enough in the queue, through the whole
//! service over gRPC, at 0.5/s and at 100/s, with 1 and with 64 consumers that complete each lease at once.
//!
//! The last line says `deviation`, the worst of the four runs in per cent of what the rate gives in ten minutes (a run
//! that is off by one eviction at most counts as exact), and `burst`: how many evictions more there were in any stretch
//! of time than the rate gives in it; what the queue promises is never more than 1.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark counts as a test, and what it prints is its result"
)]

#[path = "../tests/queue/world.rs"]
#[allow(dead_code, reason = "the tests need more of it")]
mod world;

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use test_bench::paused;
use world::{Evictions, Producer, World, evict};

const SECONDS: u32 = 600;

/// When leases were released that ended in an eviction.
fn releases(rate: f64, consumers: usize) -> Vec<Timestamp> {
    paused(async move {
        let world = World::new();
        let _queue = world.queue("q", world.flags(rate)).await;
        let wanted = rate * f64::from(SECONDS) * 1.1 / 2.0;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "tens of thousands"
        )]
        let on_each = wanted.ceil() as usize;
        let entries = ["m1", "m2"]
            .iter()
            .flat_map(|cluster| world.entries_of(cluster, on_each));
        let _producer = Producer::publish(&world, entries.collect()).await;
        let evictions = Evictions::default();
        let all = futures::future::join_all((0..consumers).map(|_| evict(&world, evictions.clone())));
        let _ = tokio::time::timeout(Duration::from_secs(SECONDS.into()), all).await;
        evictions.times()
    })
}

/// Off the rate in per cent; what is off by one eviction at most is not off.
fn deviation(rate: f64, evictions: usize) -> f64 {
    let expected = rate * f64::from(SECONDS);
    let off = (as_f64(evictions) - expected).abs();
    if off <= 1.0 { 0.0 } else { off / expected * 100.0 }
}

/// The most evictions above the rate in any stretch of time: the largest, over all pairs of evictions, of how many there
/// were from one to the other, less what the rate gives in the time between them.
fn burst(rate: f64, times: &[Timestamp]) -> f64 {
    let ahead = |index: usize| {
        let since = times[index].duration_since(times[0]).as_secs_f64();
        as_f64(index) - rate * since
    };
    let mut least = f64::INFINITY;
    let mut most: f64 = 0.0;
    for index in 0..times.len() {
        least = least.min(ahead(index));
        most = most.max(ahead(index) - least + 1.0);
    }
    most
}

#[allow(clippy::cast_precision_loss, reason = "tens of thousands")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

fn main() {
    let (mut worst, mut largest): (f64, f64) = (0.0, 0.0);
    for rate in [0.5, 100.0] {
        for consumers in [1, 64] {
            let times = releases(rate, consumers);
            let (deviation, burst) = (deviation(rate, times.len()), burst(rate, &times));
            println!(
                "{rate}/s, {consumers} consumers: {} evictions, {deviation:.3} % off, burst {burst:.6}",
                times.len()
            );
            (worst, largest) = (worst.max(deviation), largest.max(burst));
        }
    }
    // Leases are told to the nanosecond: what is more than that is more.
    println!(
        "{}",
        json!({"deviation": worst, "burst": (largest * 1e6).round() / 1e6})
    );
}
