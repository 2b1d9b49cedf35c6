//! How many bindings a second the scheduler places, with 100 clusters, on one thread.
//!
//! The last line says, each in bindings a second of the processor's time,
//! - `function`: the decision alone, of the strategy that takes longest;
//! - `controller`: the whole controller, under simulated time: from the bindings' being there until the place of the last is
//!   written and told, without what the API server of the same thread takes for its answers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a benchmark counts as a test, and what it prints is its result"
)]

use std::time::Duration;

use api_types::cluster::Cluster;
use api_types::work::Binding;
use controller_kit::KitFlags;
use jiff::Timestamp;
use kube::Api;
use scheduler::{Flags, controllers};
use scheduler_filters::schedule::StartFrom;
use scheduler_filters::{Fleet, Plugins, Rules, Scheduling, schedule};
use serde_json::{Value, json};
use test_bench::cpu_time::of_this_thread as cpu_time;
use test_bench::{Bench, paused};

const CLUSTERS: usize = 100;
const REGIONS: usize = 10;
/// Bindings of each strategy.
const BINDINGS: usize = 1_000;
/// Kinds that a cluster serves, beside the one that is placed.
const KINDS: usize = 150;
const LONG_AGO: &str = "2025-06-01T00:00:00Z";

fn cluster(number: usize) -> Value {
    let mut served: Vec<Value> = (0..KINDS)
        .map(|kind| {
            json!({"groupVersion": format!("group{:02}.example.com/v1", kind / 5), "resources": [
                {"name": format!("things{kind}"), "kind": format!("Thing{kind}")},
            ]})
        })
        .collect();
    served.push(json!({"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}));
    // Every tenth has a taint that some tolerate.
    let taints = if number.is_multiple_of(10) {
        json!([{"key": "gpu", "effect": "NoSchedule"}, {"key": "old", "effect": "PreferNoSchedule"}])
    } else {
        json!([])
    };
    json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": format!("member-{number:03}"), "labels": {"tier": if number.is_multiple_of(4) { "silver" } else { "gold" }}},
        "spec": {"syncMode": "Push", "region": format!("r{}", number % REGIONS), "zones": ["a"], "provider": "p", "taints": taints},
        "status": {
            "conditions": [{"type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": LONG_AGO}],
            "apiEnablements": served,
            "resourceSummary": {
                "allocatable": {"cpu": "400", "memory": "1600Gi", "pods": "11000"},
                "allocated": {"cpu": format!("{}", 100 + number), "memory": "800Gi", "pods": format!("{}", 2_000 + 13 * number)},
            },
        },
    })
}

/// What placements ask for, each by its name.
fn strategies() -> Vec<(&'static str, Value)> {
    let divided = |more: Value| {
        let mut scheduling = json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"});
        for (field, value) in more.as_object().unwrap() {
            scheduling[field] = value.clone();
        }
        scheduling
    };
    let groups =
        |field: &str, min: usize, max: usize| json!({"spreadByField": field, "minGroups": min, "maxGroups": max});
    let weights: Vec<Value> = (0..REGIONS)
        .map(|number| {
            let region = json!({"fieldSelector": {"matchExpressions": [
                {"key": "region", "operator": "In", "values": [format!("r{number}")]},
            ]}});
            json!({"targetCluster": region, "weight": 1 + number % 7})
        })
        .collect();
    let dynamic = json!({"weightPreference": {"dynamicWeight": "AvailableReplicas"}});
    let aggregated = json!({"replicaDivisionPreference": "Aggregated"});
    let of = |scheduling: Value, constraints: Value| {
        json!({
            "clusterAffinity": {"labelSelector": {"matchLabels": {"tier": "gold"}}},
            "clusterTolerations": [{"key": "gpu", "operator": "Exists"}],
            "replicaScheduling": scheduling, "spreadConstraints": constraints,
        })
    };
    vec![
        (
            "Duplicated",
            of(json!({"replicaSchedulingType": "Duplicated"}), json!([])),
        ),
        (
            "static weights",
            of(
                divided(json!({"weightPreference": {"staticWeightList": weights}})),
                json!([]),
            ),
        ),
        ("dynamic weights", of(divided(dynamic.clone()), json!([]))),
        ("Aggregated", of(divided(aggregated.clone()), json!([]))),
        (
            "three of the clusters",
            of(divided(dynamic.clone()), json!([groups("cluster", 3, 3)])),
        ),
        (
            "two of the regions",
            of(
                divided(dynamic),
                json!([groups("region", 2, 3), groups("cluster", 2, 6)]),
            ),
        ),
        (
            "Aggregated in regions",
            of(
                divided(aggregated),
                json!([groups("region", 2, 2), groups("cluster", 2, 8)]),
            ),
        ),
    ]
}

/// A new binding.
fn binding(strategy: usize, number: usize, placement: &Value) -> Value {
    let name = format!("web-{strategy}-{number:05}");
    json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {
            "namespace": "default", "name": format!("{name}-deployment"),
            "labels": {"propagationpolicy.karmada.io/permanent-id": "p"},
        },
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name, "uid": format!("uid-{name}")},
            "replicas": 10 + number % 90, "placement": placement, "schedulerName": "default-scheduler",
            "replicaRequirements": {"resourceRequest": {"cpu": "500m", "memory": "512Mi"}},
        },
    })
}

/// The same as after an eviction: it lost one of two clusters.
fn evicted(mut binding: Value) -> Value {
    binding["spec"]["clusters"] = json!([{"name": "member-001", "replicas": 5}]);
    binding["spec"]["gracefulEvictionTasks"] = json!([{
        "fromCluster": "member-002", "purgeMode": "Gracefully", "replicas": 5, "reason": "TaintUntolerated",
        "producer": "TaintManager", "creationTimestamp": LONG_AGO,
    }]);
    binding
}

/// Bindings a second of the processor's time.
#[expect(clippy::cast_precision_loss, reason = "thousands")]
fn rate(bindings: usize, took: Duration) -> f64 {
    bindings as f64 / took.as_secs_f64()
}

/// The slowest strategy's rate; each is printed.
fn function() -> f64 {
    let fleet: Fleet = (0..CLUSTERS)
        .map(|number| serde_json::from_value::<Cluster>(cluster(number)).unwrap())
        .collect();
    let plugins = Plugins::default();
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut slowest = f64::INFINITY;
    for (place, (name, placement)) in strategies().iter().enumerate() {
        let bindings: Vec<Binding> = (0..BINDINGS)
            .map(|number| {
                let new = binding(place, number, placement);
                let stored = if number.is_multiple_of(2) { new } else { evicted(new) };
                serde_json::from_value(stored).unwrap()
            })
            .collect();
        let began = cpu_time();
        for binding in &bindings {
            let decision = schedule(&Scheduling {
                binding,
                fleet: &fleet,
                plugins: &plugins,
                rules: Rules::default(),
                start: StartFrom::GroupInUse,
                now,
            });
            assert!(decision.is_ok(), "{name}: {decision:?}");
        }
        let rate = rate(BINDINGS, cpu_time() - began);
        println!("{name}: {rate:.0} bindings/s by the function alone");
        slowest = slowest.min(rate);
    }
    slowest
}

/// Of the whole controller, all strategies together.
fn controller() -> f64 {
    let mut found = 0.0;
    paused(async {
        let bench = Bench::new(&[]);
        (0..CLUSTERS).for_each(|number| drop(bench.put(cluster(number))));
        let _process = bench
            .process("scheduler", "s", KitFlags::default())
            .controllers(controllers(Flags::default()))
            .start()
            .await
            .unwrap();
        bench.until(1).await;
        for (place, (_, placement)) in strategies().iter().enumerate() {
            (0..BINDINGS).for_each(|number| drop(bench.put(binding(place, number, placement))));
        }
        let all = BINDINGS * strategies().len();
        bench.plane().measure_by(cpu_time);
        let began = cpu_time();
        // Nothing waits for a time: when it is over all is done.
        bench.until(60).await;
        let with_server = cpu_time() - began;
        let took = with_server - bench.plane().worked();
        let bindings: Api<Binding> = Api::all_with(bench.client(), &api_types::work::BindingKind::Namespaced);
        let stored = bindings.list(&Default::default()).await.unwrap().items;
        let placed = stored.iter().filter(|binding| {
            let says = binding.condition("Scheduled");
            says.is_some_and(|says| says.status == "True") && !binding.spec.clusters.is_empty()
        });
        assert_eq!(placed.count(), all, "every binding has a place");
        let writes = bench.writes("scheduler").len();
        found = rate(all, took);
        println!(
            "{all} new bindings through the controller: {found:.0} bindings/s, {writes} writes; {:.0}/s with the work of the API server",
            rate(all, with_server)
        );
    });
    found
}

fn main() {
    let (function, controller) = (function(), controller());
    println!("{}", json!({"function": function, "controller": controller}));
}
