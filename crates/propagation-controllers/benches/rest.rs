//! 10,000 Works on three members at rest: what an hour of it costs.
//!
//! Through all controllers of propagation under simulated time, with the flags that they have by themselves. The last line says
//! how many `writes` and `lists` there were, of the control plane and of the members together, Leases left out.

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
use fleet::{fleet, member, place, put_config, size, start};
use kube_sandbox::{Faults, Match, Verb};
use serde_json::json;
use test_bench::paused;

const MEMBERS: usize = 3;

fn main() {
    paused(async {
        let configs = size(10_000) / MEMBERS + 1;
        let bench = fleet(MEMBERS);
        let _propagation = start(&bench, KitFlags::default()).await;
        bench.until(60).await;
        (0..configs).for_each(|number| put_config(&bench, number, "blue"));
        bench.until(300).await;
        let members: Vec<String> = (0..MEMBERS).map(member).collect();
        (0..configs).for_each(|number| place(&bench, number, &members));
        bench.until(1_200).await;
        let works = bench.plane().list("work.karmada.io/v1alpha1", "Work");
        let applied = works
            .iter()
            .filter(|work| work["status"]["manifestStatuses"][0]["health"] == "Healthy")
            .count();
        assert!(applied >= configs * MEMBERS, "all are applied: {applied}");

        let servers: Vec<Faults> = std::iter::once(bench.plane().faults())
            .chain(members.iter().map(|name| bench.member(name).faults()))
            .collect();
        servers.iter().for_each(Faults::reset_counts);
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        // Nobody else writes: what the members' own controllers do for a ConfigMap is nothing.
        let written = |faults: &Faults| {
            let writes = faults.writes();
            writes.iter().filter(|write| write.resource != "leases").count()
        };
        let writes: usize = servers.iter().map(written).sum();
        let lists: u64 = servers
            .iter()
            .map(|faults| faults.count(&Match::any().verb(Verb::List)))
            .sum();
        let watches: u64 = servers
            .iter()
            .map(|faults| faults.count(&Match::any().verb(Verb::Watch)))
            .sum();
        println!(
            "{} Works, an hour of rest: {writes} writes and {lists} lists; {watches} watches opened anew",
            configs * MEMBERS
        );
        println!("{}", json!({"writes": writes, "lists": lists}));
    });
}
