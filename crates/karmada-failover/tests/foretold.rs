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
use failoverctl::Cli;
use failoverctl::control_plane::ControlPlane;
use failoverctl::run::{Answer, Surroundings, answer};
use jiff::Timestamp;
use karmada_failover::story::example::{self, Pace};
use kube::Api;
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

/// On member1 first, with another group of clusters to go to.
fn first_on_member1() -> Value {
    json!({"clusterAffinities": [
        {"affinityName": "home", "clusterNames": ["member1"]},
        {"affinityName": "away", "clusterNames": ["member3", "member4"]},
    ]})
}

async fn world() -> World {
    let world = World::new(&MEMBERS);
    world.create_example(&PACE);
    for number in 0..4 {
        create(&world, &format!("app-{number}"), &first_on_member1(), None);
    }
    create(&world, "later", &first_on_member1(), Some("20"));
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
    for app in APPS {
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
