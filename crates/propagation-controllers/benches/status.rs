//! How soon what a member shows is on the binding, with 10,000 bindings.
//!
//! Under simulated time, with a control plane and members that take 10 ms an answer. Objects in members change their
//! status one after the other, while twenty others change a second. The last line says
//! - `status`: seconds until the binding shows it, the 99th percentile;
//! - `status_hang`: by how many milliseconds that gets later when one more member hangs with Works of its own.

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
use fleet::{NAMESPACE, fleet, member, place, put_config, size, start};
use kube_sandbox::{Effect, Match};
use serde_json::{Value, json};
use test_bench::statistics::p99;
use test_bench::{Bench, paused};

const MEMBERS: usize = 3;
const ANSWER_TIME: Duration = Duration::from_millis(10);
/// How exact a time is.
const LOOK_EVERY: Duration = Duration::from_millis(5);
const OTHERS_A_SECOND: usize = 20;
/// Templates that only the hanging member has.
const HANGING_WORKS: usize = 50;

fn name(number: usize) -> String {
    format!("front-{number:05}")
}

fn binding(bench: &Bench, number: usize) -> Value {
    let name = format!("{}-service", name(number));
    let found = bench
        .plane()
        .get("work.karmada.io/v1alpha2", "ResourceBinding", Some(NAMESPACE), &name);
    found.unwrap_or_else(|| panic!("no binding {name}"))
}

/// The member's load balancer has given it this address.
fn show(bench: &Bench, number: usize, address: &str) {
    let sandbox = bench.member(&member(number % MEMBERS));
    let mut service = sandbox
        .sandbox()
        .get("v1", "Service", Some(NAMESPACE), &name(number))
        .unwrap();
    service["status"] = json!({"loadBalancer": {"ingress": [{"ip": address}]}});
    sandbox.sandbox().put(service).unwrap();
}

async fn seen_after(bench: &Bench, number: usize, address: &str) -> f64 {
    let since = bench.clock.now();
    show(bench, number, address);
    loop {
        let binding = binding(bench, number);
        let shown = &binding["status"]["aggregatedStatus"][0]["status"]["loadBalancer"]["ingress"][0]["ip"];
        if shown == address {
            return bench.clock.now().duration_since(since).as_secs_f64();
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn main() {
    paused(async {
        let (services, samples) = (size(10_000), size(1_000));
        let bench = fleet(MEMBERS + 1);
        bench.put(
            json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
            "metadata": {"namespace": NAMESPACE, "name": "services"},
            "spec": {"resourceSelectors": [{"apiVersion": "v1", "kind": "Service"}]}}),
        );
        let _propagation = start(&bench, KitFlags::default()).await;
        bench.until(60).await;
        for number in 0..services {
            bench.put(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": NAMESPACE, "name": name(number)},
                "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}));
        }
        bench.until(300).await;
        for number in 0..services {
            let mut placed = binding(&bench, number);
            placed["spec"]["clusters"] = json!([{"name": member(number % MEMBERS)}]);
            let mut placed = bench.put(placed);
            placed["status"]["schedulerObservedGeneration"] = placed["metadata"]["generation"].clone();
            bench.put(placed);
        }
        let hanging = member(MEMBERS);
        (0..HANGING_WORKS).for_each(|number| put_config(&bench, number, "none"));
        bench.until(600).await;
        (0..HANGING_WORKS).for_each(|number| place(&bench, number, std::slice::from_ref(&hanging)));
        bench.until(1_200).await;
        for faults in std::iter::once(bench.plane().faults())
            .chain((0..=MEMBERS).map(|number| bench.member(&member(number)).faults()))
        {
            faults.inject(Match::any(), Effect::Latency(ANSWER_TIME));
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
        let mut latest = Vec::new();
        for (round, hangs) in [false, true].into_iter().enumerate() {
            if hangs {
                bench.member(&hanging).hang();
            }
            // There is as much to do for that member in both cases; in one of them it is never done.
            (0..HANGING_WORKS).for_each(|number| put_config(&bench, number, &format!("hangs: {hangs}")));
            tokio::time::sleep(Duration::from_secs(20)).await;
            latest.push(p99(seen(&bench, services, samples, round).await));
        }
        let (without, with) = (latest[0], latest[1]);
        let later = ((with - without) * 1e3).round();
        println!(
            "{services} bindings, {samples} changes in members: on the binding after {without:.3} s, the 99th percentile, \
             {with:.3} s with one more member that hangs"
        );
        println!("{}", json!({"status": without, "status_hang": later}));
    });
}

/// Seconds from each change in a member until its binding shows it; addresses are those of the round.
async fn seen(bench: &Bench, services: usize, samples: usize, round: usize) -> Vec<f64> {
    let mut times = Vec::new();
    for sample in 0..samples {
        // Others, beginning from the far end.
        for other in 0..OTHERS_A_SECOND {
            let number = services - 1 - (sample * OTHERS_A_SECOND + other) % (services / 2);
            show(bench, number, &format!("10.1{round}.{}.{other}", sample % 250));
        }
        let address = format!("10.{round}.{}.1", sample % 250);
        times.push(seen_after(bench, sample % (services / 2), &address).await);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    times
}
