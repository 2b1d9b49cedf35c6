//! What a move costs and how fast it is on real API servers, and what the fleet costs at rest: 300 ConfigMaps leave a member
//! that is tainted, 100 a second. All controllers run in one process, `karmada-failover run`, with the flags that they have
//! by default; the control plane and three members are real. `KARMADA_FAILOVER_BIN_DIR` names the folder of another program
//! than the one that cargo has built for this: `cargo xtask bench` measures what is shipped.
//!
//! The last line says
//! - `cost`: milliseconds of the processor that the process had for a move, from the taint until the last old copy is gone
//!   and nothing is asked for any more;
//! - `memory`: what the process has in memory, in MiB, the most of several looks;
//! - `off_rate`: by how many per cent the evictions of a second, from the first one to the last, are off the rate;
//! - `replaced`: seconds from an eviction until another cluster is chosen, the 99th percentile;
//! - `requests`: what the process asks for in a minute of rest, of all four API servers by their own logs, beside renewals of
//!   Leases, looks at how a member is, and watches that are opened anew when they have lasted five minutes;
//! - `renewals`: how often the Lease that is renewed most often is renewed in a minute;
//! - `idle`: per cent of a processor that the process has at rest.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark counts as a test, and what it prints is its result"
)]

#[path = "../moving/workloads.rs"]
mod workloads;

mod stage;

use std::time::Duration;

use anyhow::ensure;
use e2e_harness::{available, renewals_a_minute};
use serde_json::{Value, json};
use stage::{Stage, is_work, told};
use test_bench::usage::Looks;

const WORKLOADS: usize = 300;
const EVICTIONS_PER_SECOND: f64 = 100.0;
const REST: Duration = Duration::from_secs(60);

async fn measure() -> anyhow::Result<Value> {
    let stage = Stage::set().await?;
    let mut looks = Looks::default();
    let home = stage.place().await?;
    stage.is_at_rest().await?;
    looks.take("all are placed", stage.resident());

    let (before, asked_before) = (stage.cpu_time(), stage.mark()?);
    let moves = stage.all_leave(home).await?;
    looks.take("all have left", stage.resident());
    stage.is_at_rest().await?;
    let cost = (stage.cpu_time() - before).as_secs_f64() * 1e3 / f64::from(u32::try_from(WORKLOADS)?);
    for (what, count) in told(&stage.asked_since(&asked_before)?) {
        println!("{count:6}  {what}");
    }
    ensure!(
        moves.evicted() == WORKLOADS,
        "only {} were seen to leave",
        moves.evicted()
    );
    let (rate, replaced) = (
        moves.rate().unwrap_or(0.0),
        moves.until_placed().unwrap_or(f64::INFINITY),
    );
    println!("{WORKLOADS} moves: {cost:.2} ms each, {rate:.2} a second, another cluster after {replaced:.3} s");

    let (before, asked_before) = (stage.cpu_time(), stage.mark()?);
    tokio::time::sleep(REST).await;
    let idle = (stage.cpu_time() - before).as_secs_f64() / REST.as_secs_f64() * 100.0;
    let asked = stage.asked_since(&asked_before)?;
    looks.take("at rest", stage.resident());
    for (what, count) in told(&asked) {
        println!("{count:6}  {what}");
    }
    let requests = asked.iter().flat_map(|(_, requests)| requests);
    let requests = requests.filter(|request| is_work(request)).count();
    let renewals = asked.iter().map(|(_, requests)| renewals_a_minute(requests));
    let renewals = renewals.fold(0.0, f64::max);
    stage.stop().await?;
    Ok(json!({
        "cost": cost,
        "memory": looks.most(),
        "off_rate": (rate / EVICTIONS_PER_SECOND - 1.0).abs() * 100.0,
        "replaced": replaced,
        "requests": requests,
        // A request comes a moment after it was sent, one sooner than another.
        "renewals": (renewals * 10.0).round() / 10.0,
        "idle": idle,
    }))
}

fn main() -> anyhow::Result<()> {
    if available("moves on real API servers").is_none() {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let said = runtime.block_on(measure())?;
    println!("{said}");
    Ok(())
}
