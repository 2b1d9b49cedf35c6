//! How soon a template's change is in all members, and what a member that hangs costs the others.
//!
//! Under simulated time, with a control plane and members that take 10 ms an answer. The last line says
//! - `reach`: seconds from a change of a template until a member has it, the 99th percentile over 100 members and many
//!   changes;
//! - `hang`: by how many milliseconds that gets later when one more member hangs with Works of its own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark counts as a test, and what it prints is its result"
)]

mod fleet;

use std::time::Duration;

use controller_kit::KitFlags;
use fleet::{config, fleet, member, place, put_config, start, written_at};
use kube_sandbox::{Effect, Match};
use serde_json::json;
use test_bench::statistics::p99;
use test_bench::{Bench, paused};

const MEMBERS: usize = 100;
/// Templates that only the hanging member has.
const HANGING_WORKS: usize = 50;
const ANSWER_TIME: Duration = Duration::from_millis(10);

fn changes() -> usize {
    fleet::size(40)
}

/// Seconds from each change until each member has it.
async fn reaches(bench: &Bench) -> Vec<f64> {
    let mut all = Vec::new();
    for change in 0..changes() {
        for number in 0..MEMBERS {
            bench.member(&member(number)).faults().reset_counts();
        }
        let since = bench.clock.now();
        put_config(bench, 0, &format!("colour {change}"));
        tokio::time::sleep(Duration::from_secs(20)).await;
        for number in 0..MEMBERS {
            let name = member(number);
            let there = bench
                .member(&name)
                .sandbox()
                .get("v1", "ConfigMap", Some(fleet::NAMESPACE), &config(0));
            assert_eq!(there.unwrap()["data"]["value"], format!("colour {change}"), "on {name}");
            let at = written_at(bench, &name, since).expect("it has been written");
            all.push(at.duration_since(since).as_secs_f64());
        }
    }
    all
}

fn main() {
    paused(async {
        let bench = fleet(MEMBERS + 1);
        let _propagation = start(&bench, KitFlags::default()).await;
        bench.until(60).await;
        (0..=HANGING_WORKS).for_each(|number| put_config(&bench, number, "none"));
        bench.until(120).await;
        let healthy: Vec<String> = (0..MEMBERS).map(member).collect();
        let hanging = member(MEMBERS);
        place(&bench, 0, &healthy);
        (1..=HANGING_WORKS).for_each(|number| place(&bench, number, std::slice::from_ref(&hanging)));
        bench.until(300).await;

        for faults in std::iter::once(bench.plane().faults())
            .chain((0..=MEMBERS).map(|number| bench.member(&member(number)).faults()))
        {
            faults.inject(Match::any(), Effect::Latency(ANSWER_TIME));
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
        let mut latest = Vec::new();
        for hangs in [false, true] {
            if hangs {
                bench.member(&hanging).hang();
            }
            // There is as much to do for that member in both cases; in one of them it is never done.
            (1..=HANGING_WORKS).for_each(|number| put_config(&bench, number, &format!("hangs: {hangs}")));
            tokio::time::sleep(Duration::from_secs(20)).await;
            latest.push(p99(reaches(&bench).await));
        }
        let (without, with) = (latest[0], latest[1]);
        let later = ((with - without) * 1e3).round();
        println!(
            "{} changes on {MEMBERS} members: {without:.3} s to the 99th percentile, {with:.3} s with one more that hangs",
            changes()
        );
        println!("{}", json!({"reach": without, "hang": later}));
    });
}
