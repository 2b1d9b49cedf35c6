//! What `failoverctl plan` says beforehand, move by move against what the controllers then do.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

#[path = "common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use api_types::failover::FailoverRecord;
use clap::Parser;
use common::{World, simulate};
use controller_kit::Mode;
use failoverctl::Cli;
use failoverctl::control_plane::ControlPlane;
use failoverctl::run::{Answer, Surroundings, answer};
use jiff::Timestamp;
use karmada_failover::story::example::{self, Pace};
use kube::Api;
use kube_sandbox::rules::Settings;
use rstest::rstest;
use serde_json::{Value, json};

const PACE: Pace = Pace {
    probe_seconds: 10,
    threshold_seconds: 30,
    add_on_match_seconds: 60,
    remove_on_mismatch_seconds: 60,
    evictions_per_second: 0.5,
};
const LONG: Duration = Duration::from_secs(900);
const MEMBERS: [&str; 4] = ["member1", "member2", "member3", "member4"];

/// An application with this placement.
fn create(world: &World, name: &str, placement: &Value, tolerated: Option<&str>) {
    let mut deployment = example::deployment();
    deployment["metadata"]["name"] = json!(name);
    world.create(deployment);
    let mut policy = example::propagation_policy();
    policy["metadata"]["name"] = json!(name);
    policy["spec"]["resourceSelectors"][0]["name"] = json!(name);
    policy["spec"]["placement"] = placement.clone();
    if let Some(seconds) = tolerated {
        policy["spec"]["placement"]["clusterTolerations"] =
            json!([{"operator": "Exists", "tolerationSeconds": seconds.parse::<i64>().ok()}]);
    }
    world.create(policy);
}

fn only(name: &str) -> Value {
    json!({"clusterAffinity": {"clusterNames": [name]}})
}

/// On this cluster first, with another group of clusters to go to.
fn first_on(home: &str) -> Value {
    json!({"clusterAffinities": [
        {"affinityName": "home", "clusterNames": [home]},
        {"affinityName": "away", "clusterNames": ["member3", "member4"]},
    ]})
}

async fn world() -> World {
    world_in(Mode::Standalone).await
}

async fn world_in(mode: Mode) -> World {
    let world = World::in_mode(mode, &MEMBERS, Settings::exact(PACE.evictions_per_second));
    world.create_example(&PACE);
    for number in 0..4 {
        create(&world, &format!("app-{number}"), &first_on("member1"), None);
    }
    create(&world, "later", &first_on("member1"), Some("20"));
    create(&world, "pinned", &only("member1"), None);
    create(&world, "tolerant", &only("member1"), Some("for ever"));
    world
}

const APPS: [&str; 8] = [
    "nginx", "app-0", "app-1", "app-2", "app-3", "later", "pinned", "tolerant",
];

fn key(app: &str) -> String {
    format!("default/{app}-deployment")
}

/// Until every copy is healthy.
async fn placed(world: &World) {
    placed_all(world, &APPS).await;
}

async fn placed_all(world: &World, apps: &[&str]) {
    for app in apps {
        let key = key(app);
        world
            .wait_for(&format!("{app} placed"), LONG, || async {
                let binding = world.binding(&key).await?;
                let copies = binding.spec.clusters.len();
                let healthy = binding
                    .status?
                    .aggregated_status
                    .iter()
                    .filter(|item| item.health.is_some())
                    .count();
                (copies > 0 && healthy == copies).then_some(())
            })
            .await;
    }
}

async fn ask(world: &World, args: &[&str]) -> Answer {
    let cli = Cli::try_parse_from([&["failoverctl", "-o", "json"], args].concat()).unwrap();
    let around = Surroundings {
        network: Some(world.network.clone()),
        ..Surroundings::plain(world.clock.clone())
    };
    let control_plane = ControlPlane::new(world.client(), api_types::names::namespace::SYSTEM);
    answer(&cli, &control_plane, &around).await.unwrap()
}

async fn ask_json(world: &World, args: &[&str]) -> Value {
    serde_json::from_str(&ask(world, args).await.text).unwrap()
}

/// Clusters with their replicas.
type Places = BTreeMap<String, i64>;

/// Binding, when it left, and where it is afterwards; in the order in which they left.
async fn what_happened(world: &World, moves: usize) -> Vec<(String, Timestamp, Places)> {
    let records = world
        .wait_for("the moves", LONG, || async {
            let api: Api<FailoverRecord> = Api::all(world.client());
            let records = api.list(&Default::default()).await.unwrap().items;
            (records.len() >= moves).then_some(records)
        })
        .await;
    let mut happened = Vec::new();
    for record in records {
        let key = format!("default/{}", record.spec.binding.name);
        let binding = world.binding(&key).await.unwrap();
        let places = binding
            .spec
            .clusters
            .iter()
            .map(|target| (target.name.clone(), i64::from(target.replicas)));
        let released = record
            .spec
            .released_at
            .as_ref()
            .map_or(record.spec.evicted_at.0, |at| at.0);
        happened.push((key, released, places.collect()));
    }
    happened.sort_by_key(|(_, at, _)| *at);
    happened
}

/// The same as it was foretold.
fn foretold(plan: &Value) -> Vec<(String, Timestamp, Places)> {
    let moves = plan["moves"].as_array().unwrap().iter();
    moves
        .map(|one| {
            let places = one["result"].as_array().unwrap().iter();
            let places = places.map(|place| {
                (
                    place["name"].as_str().unwrap().to_owned(),
                    place["replicas"].as_i64().unwrap_or(0),
                )
            });
            (
                one["binding"].as_str().unwrap().to_owned(),
                one["leavesAt"].as_str().unwrap().parse().unwrap(),
                places.collect(),
            )
        })
        .collect()
}

/// The same bindings in the same order to the same places, and at the same times but for `late` at most.
fn compare(foretold: &[(String, Timestamp, Places)], happened: &[(String, Timestamp, Places)], late: f64) {
    let moves = |all: &[(String, Timestamp, Places)]| -> Vec<(String, Places)> {
        all.iter()
            .map(|(binding, _, places)| (binding.clone(), places.clone()))
            .collect()
    };
    assert_eq!(moves(foretold), moves(happened));
    for ((binding, planned, _), (_, at, _)) in foretold.iter().zip(happened) {
        let late_by = at.duration_since(*planned).as_secs_f64();
        assert!(
            (-1.0..=late).contains(&late_by),
            "{binding} left {late_by} s after {planned}"
        );
    }
}

#[test]
fn a_drain_goes_as_it_was_foretold() {
    simulate(|| async {
        let world = world().await;
        let process = world.run("all", &[]).await;
        placed(&world).await;
        // The queue has led for a while, as a plan takes it.
        world.until(60).await;
        let plan = ask_json(&world, &["plan", "--drain", "member1"]).await;
        let foretold = foretold(&plan);
        assert_eq!(foretold.len(), 6, "{plan:#}");
        let drained = ask_json(&world, &["drain", "member1", "--yes"]).await;
        assert_eq!(drained["state"], "OnlyHeld", "{drained:#}");
        compare(&foretold, &what_happened(&world, foretold.len()).await, 5.0);
        let held: Vec<&Value> = drained["held"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| &entry["binding"])
            .collect();
        assert_eq!(held, [&json!(key("pinned"))]);
        let remaining: Vec<(&Value, &Value)> = plan["remaining"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (&one["binding"], &one["word"]))
            .collect();
        assert_eq!(remaining, [(&json!(key("pinned")), &json!("NoTarget"))]);
        assert_eq!(plan["staying"][0]["binding"], json!(key("tolerant")));
        let ended = ask_json(&world, &["undrain", "member1", "--yes"]).await;
        assert_eq!(ended["abandons"][0]["binding"], json!(key("pinned")));
        world
            .wait_for("the entry to be abandoned", LONG, || async {
                let left = ask_json(&world, &["queue", "list"]).await;
                (left["total"] == 0).then_some(())
            })
            .await;
        // What it left is drained, too: to the end, old copies and all.
        let emptied = ask_json(&world, &["drain", "member2", "--yes"]).await;
        assert_eq!(
            (&emptied["state"], &emptied["oldCopies"]),
            (&json!("Done"), &json!(0)),
            "{emptied:#}"
        );
        let nginx = world.binding(&key("nginx")).await.unwrap();
        assert!(nginx.spec.task(&"member2".into()).is_none() && nginx.spec.target(&"member2".into()).is_none());
        // Done is said when the member has nothing of it any more, not when its task has gone.
        let left: Vec<Value> = world.member("member2").sandbox().list("apps/v1", "Deployment");
        assert_eq!(left, [Value::Null; 0], "they run on member2 still");
        world.finish(vec![process]).await;
    });
}

#[test]
fn a_failure_goes_as_it_was_foretold() {
    simulate(|| async {
        let world = world().await;
        let flags = PACE.health_flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let process = world.run("all", &flags).await;
        placed(&world).await;
        let plan = ask_json(&world, &["plan", "--fail", "member1"]).await;
        world.member("member1").stop();
        let gone = world
            .wait_for("Ready to be lost", LONG, || async {
                let cluster = world.cluster("member1").await;
                (!cluster.is_ready()).then(|| world.clock.now())
            })
            .await;
        // What was known while all was well: as if Ready were lost at that moment.
        let plan = &plan;
        let planned_at: Timestamp = plan["asOf"].as_str().unwrap().parse().unwrap();
        let later = gone.duration_since(planned_at);
        let foretold: Vec<_> = foretold(plan)
            .into_iter()
            .map(|(binding, at, places)| (binding, at + later, places))
            .collect();
        assert_eq!(foretold.len(), 6, "{plan:#}");
        compare(&foretold, &what_happened(&world, foretold.len()).await, 6.0);
        world.finish(vec![process]).await;
    });
}

/// Two members fail at once: each is left as it was foretold, and by turns where both have somebody to release. What is on
/// both and nowhere else may go has no place, as it was foretold, too.
#[test]
fn two_failures_go_as_they_were_foretold() {
    simulate(|| async {
        let world = world().await;
        let on_member2 = ["other-0", "other-1", "other-2"];
        for app in on_member2 {
            create(&world, app, &first_on("member2"), None);
        }
        let flags = PACE.health_flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let process = world.run("all", &flags).await;
        placed(&world).await;
        placed_all(&world, &on_member2).await;
        let plan = ask_json(&world, &["plan", "--fail", "member1,member2"]).await;
        let failing = ["member1", "member2"];
        for name in failing {
            world.member(name).stop();
        }
        let mut gone = Vec::new();
        for name in failing {
            let at = world
                .wait_for("Ready to be lost", LONG, || async {
                    let cluster = world.cluster(name).await;
                    let ready = cluster.condition("Ready")?.last_transition_time.0;
                    (!cluster.is_ready()).then_some(ready)
                })
                .await;
            gone.push(at);
        }
        let apart = gone[0].duration_since(gone[1]).abs().as_secs_f64();
        assert!(
            apart <= 1.0,
            "they are lost {apart} s apart, and the plan takes that for one moment"
        );
        let planned_at: Timestamp = plan["asOf"].as_str().unwrap().parse().unwrap();
        let later = gone[0].duration_since(planned_at);
        let foretold: Vec<_> = foretold(&plan)
            .into_iter()
            .map(|(binding, at, places)| (binding, at + later, places))
            .collect();
        assert_eq!(foretold.len(), 8, "{plan:#}");
        compare(&foretold, &what_happened(&world, foretold.len()).await, 6.0);
        let of = |list: &Value, binding: &str, cluster: &str| -> Vec<(Value, Value)> {
            let pairs = list.as_array().unwrap().iter();
            let pairs = pairs.map(|one| (one[binding].clone(), one[cluster].clone()));
            let mut pairs: Vec<(Value, Value)> = pairs.collect();
            pairs.sort_by_key(|(binding, cluster)| format!("{binding} {cluster}"));
            pairs
        };
        let left = ask_json(&world, &["queue", "list", "--state", "held"]).await;
        let held = of(&left["entries"], "binding", "cluster");
        assert_eq!(of(&plan["remaining"], "binding", "from"), held, "{left:#}");
        assert_eq!(held.len(), 3, "nginx on both, and what is pinned: {left:#}");
        world.finish(vec![process]).await;
    });
}

/// That a stock Karmada is there is seen by how its Clusters are served.
fn served_by_stock(world: &World) {
    world
        .plane()
        .apply_crd(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "apiservices.apiregistration.k8s.io"},
            "spec": {
                "group": "apiregistration.k8s.io", "scope": "Cluster",
                "names": {"kind": "APIService", "plural": "apiservices", "singular": "apiservice"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                }],
            },
        }))
        .unwrap();
    world.put(json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1alpha1.cluster.karmada.io"},
        "spec": {
            "service": {"name": "karmada-aggregated-apiserver", "namespace": "karmada-system"},
            "group": "cluster.karmada.io", "version": "v1alpha1", "groupPriorityMinimum": 2000, "versionPriority": 10,
        },
    }));
}

/// A policy that is not in force yet, from a file as it would be applied, beside a stock Karmada in stock's form.
#[rstest]
#[case::standalone(Mode::Standalone)]
#[case::beside(Mode::Beside)]
fn a_policy_goes_as_it_was_foretold(#[case] mode: Mode) {
    simulate(|| async {
        let world = world_in(mode).await;
        if mode.is_beside() {
            served_by_stock(&world);
        }
        let process = world.run("all", &[]).await;
        placed(&world).await;
        // The queue has led for a while, as a plan takes it.
        world.until(60).await;
        let policy = world.company.object(json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": {"name": "evacuate"},
            "spec": {
                "targetCluster": {"clusterNames": ["member1"]},
                "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["True"]}],
                "taintsToAdd": [{
                    "key": "example.com/evacuate", "effect": "NoExecute", "addOnMatchSeconds": 30, "removeOnMismatchSeconds": 30,
                }],
            },
        }));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), policy.to_string()).unwrap();
        let plan = ask_json(&world, &["plan", "--policy", file.path().to_str().unwrap()]).await;
        let foretold = foretold(&plan);
        assert_eq!(foretold.len(), 6, "{plan:#}");
        assert_eq!(ask_json(&world, &["status"]).await["mode"], mode.name());
        world.plane().create(policy).unwrap();
        compare(&foretold, &what_happened(&world, foretold.len()).await, 5.0);
        let held = ask_json(&world, &["queue", "list", "--state", "held"]).await;
        assert_eq!(held["entries"][0]["binding"], json!(key("pinned")), "{held:#}");
        assert_eq!(plan["remaining"][0]["binding"], json!(key("pinned")));
        assert_eq!(plan["staying"][0]["binding"], json!(key("tolerant")));
        world.finish(vec![process]).await;
    });
}
