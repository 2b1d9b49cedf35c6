//! A member that never rests, for a day: what is made and dropped at each of its returns is dropped for good.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

#[allow(dead_code, reason = "shared with the tests of cluster health, which need more of it")]
#[path = "../health/bench.rs"]
mod bench;

use std::time::Duration;

use api_types::cluster::Cluster;
use api_types::work::{Binding, BindingKind};
use controller_kit::KitFlags;
use kube::api::{Api, DeleteParams};
use kube_sandbox::Verb;
use serde_json::{Value, json};
use test_bench::{Footprint, Heap, assert_flat, heap, held_to_its_end, paused};

use bench::Bench;

#[global_allocator]
static HEAP: Heap = heap();

/// Rounds in an hour.
const HOUR: u64 = 3;
/// After so many hours everything was listed anew once (`--relist-interval`), which has a series of its own.
const FIRST_HOURS: u64 = 3;

/// One round: the member stops and returns, and others of its troubles follow; twenty minutes.
async fn round(bench: &Bench, number: u64) {
    let started = bench.clock.now();
    let until = async |second: u64| {
        let due = started + Duration::from_secs(second);
        tokio::time::sleep(Duration::try_from(due.duration_since(bench.clock.now())).unwrap_or_default()).await;
    };
    bench.member("m1").stop();
    until(90).await;
    bench.member("m1").resume();
    until(200).await;
    // Another token, as it is renewed every so often, and one that is lost for a while.
    bench.put(
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "m1", "namespace": "karmada-cluster"},
        "stringData": {"token": format!("token-{}", number % 3)}}),
    );
    until(300).await;
    let secrets: Api<k8s_openapi::api::core::v1::Secret> = Api::namespaced(bench.client(), "karmada-cluster");
    secrets.delete("m2", &DeleteParams::default()).await.unwrap();
    until(400).await;
    bench.put_secret("m2");
    until(500).await;
    bench.member("m2").hang();
    until(600).await;
    bench.member("m2").resume();
    // It leaves, and joins anew under its name.
    until(700).await;
    let clusters: Api<Cluster> = Api::all(bench.client());
    clusters.delete("m2", &DeleteParams::default()).await.unwrap();
    until(800).await;
    bench.put_cluster("m2");
    visit(bench, number, until).await;
}

/// Some come that were never here before, and never will be again; they are deleted while a binding names them.
async fn visit(bench: &Bench, round: u64, until: impl AsyncFn(u64)) {
    let visitors: Vec<String> = (0..4)
        .map(|n| format!("visitor-{n}-of-round-{round:04}-under-a-long-name-ok"))
        .collect();
    for visitor in &visitors {
        bench.put(
            json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": visitor},
            "spec": {"syncMode": "Push", "apiEndpoint": "http://m1.sandbox",
                     "secretRef": {"namespace": "karmada-cluster", "name": "m1"}}}),
        );
    }
    let name = format!("of-round-{round}");
    let named: Vec<Value> = visitors.iter().map(|visitor| json!({"name": visitor})).collect();
    bench.put(
        json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "namespace": "default"},
                 "clusters": named}}),
    );
    until(900).await;
    let clusters: Api<Cluster> = Api::all(bench.client());
    for visitor in &visitors {
        assert_eq!(bench.ready(visitor).await.0, "True");
        clusters.delete(visitor, &DeleteParams::default()).await.unwrap();
    }
    until(1_000).await;
    for visitor in &visitors {
        let waits = bench.cluster(visitor).await;
        assert_eq!(waits.condition("DeletionBlocked").unwrap().reason, "NamedByBindings");
    }
    let bindings = Api::<Binding>::namespaced_with(bench.client(), "default", &BindingKind::Namespaced);
    bindings.delete(&name, &DeleteParams::default()).await.unwrap();
    until(1_200).await;
}

/// Lets the world flap for some hours, and then tells how many bytes the process held at the end.
async fn flap(hours: u64) -> usize {
    let bench = Bench::new(&["m1", "m2"]);
    // As seldom as the monitor of the reporter's Lease allows, or the day is spent with renewals.
    let leases = KitFlags {
        leader_elect_lease_duration: Duration::from_secs(35),
        leader_elect_renew_deadline: Duration::from_secs(30),
        leader_elect_retry_period: Duration::from_secs(20),
        ..KitFlags::default()
    };
    let process = bench.start_as("health-0", leases).await;
    let mut at_first = None;
    let mut asked = Vec::new();
    for number in 0..hours * HOUR {
        bench.plane().faults().reset_counts();
        bench.member("m1").faults().reset_counts();
        round(&bench, number).await;
        let counts = bench.plane().faults().counts();
        let watches = counts.iter().filter(|((verb, _), _)| *verb == Verb::Watch);
        asked.push(watches.map(|(_, count)| count).sum::<u64>() + bench.requests());
        for name in ["m1", "m2"] {
            assert_eq!(bench.ready(name).await.0, "True", "{name} after round {number}");
        }
        if number + 1 == FIRST_HOURS * HOUR {
            at_first = Some(Footprint::of(&bench, &process));
        }
    }
    let grown = Footprint::of(&bench, &process).changes_since(&at_first.unwrap());
    assert_eq!(grown, [""; 0]);
    if hours > FIRST_HOURS {
        let (first, last) = (&asked[3..12], &asked[asked.len() - 9..]);
        assert!(
            last.iter().sum::<u64>() <= first.iter().sum::<u64>() + 9,
            "no more is asked than at first: {first:?}, {last:?}"
        );
    }
    held_to_its_end(&HEAP, process).await
}

#[test]
fn a_day_of_flapping_leaves_nothing_behind() {
    let after_the_first_hours = paused(flap(FIRST_HOURS));
    let after_a_day = paused(flap(24));
    assert_flat("cluster health", after_the_first_hours, after_a_day);
}
