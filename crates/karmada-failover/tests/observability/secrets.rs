//! What is secret is told nowhere: neither tokens of members nor data of Secrets that are propagated show up in a log line, an
//! object that has no need of them, a metric or a dump. Of the tokens of the queue's callers `crates/eviction-queue/tests/access/secrecy.rs` says the same.

use std::time::Duration;

use clap::Parser;
use controller_kit::Running;
use controller_kit::telemetry::{Recording, ask_every_time};
use failoverctl::control_plane::ControlPlane;
use failoverctl::run::{Surroundings, answer};
use kube_sandbox::{Effect, Match};
use serde_json::{Value, json};

use crate::common::{World, simulate};
use crate::scene;

/// What was planted, as it is and as Secrets hold it.
const PLANTED: [&str; 6] = [
    "planted-in-member",
    "cGxhbnRlZC1pbi1tZW1iZXI",
    "planted-in-vain",
    "cGxhbnRlZC1pbi12YWlu",
    "planted-in-an-application",
    "cGxhbnRlZC1pbi1hbi1hcHBsaWNhdGlvbg",
];

fn secret(name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"namespace": "karmada-cluster", "name": name}, "data": data,
    })
}

/// Every object of the control plane that may carry no secret, as text: no Secret, and no Work, which carries an application.
fn stored(world: &World) -> Vec<String> {
    let kinds = [
        ("v1", "Event"),
        ("v1", "Namespace"),
        ("coordination.k8s.io/v1", "Lease"),
        ("cluster.karmada.io/v1alpha1", "Cluster"),
        ("work.karmada.io/v1alpha2", "ResourceBinding"),
        ("policy.karmada.io/v1alpha1", "PropagationPolicy"),
        ("policy.karmada.io/v1alpha1", "ClusterTaintPolicy"),
        ("failover.karmada.io/v1alpha1", "FailoverRecord"),
    ];
    let objects = kinds
        .iter()
        .flat_map(|(version, kind)| world.plane().list(version, kind));
    objects.map(|object| object.to_string()).collect()
}

fn no_secret_in(where_: &str, texts: &[String]) {
    for text in texts {
        for planted in PLANTED {
            assert!(!text.contains(planted), "{where_} tells {planted}: {text}");
        }
    }
}

#[test]
fn no_token_of_a_member_is_told() {
    ask_every_time();
    simulate(|| async {
        let world = World::new(&["member1", "member2", "member3"]);
        let log = Recording::start("debug,kube_client=debug,tower=debug,hyper=debug", &world.clock).unwrap();
        for name in ["member1", "member2"] {
            // planted-in-member
            world.put(secret(name, &json!({"token": "cGxhbnRlZC1pbi1tZW1iZXI="})));
        }
        let process = world.run("all-in-one", &["--log-level=debug"]).await;
        world.create(json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "odd"},
            "spec": {
                "syncMode": "Push", "apiEndpoint": "http://member3.sandbox",
                "secretRef": {"namespace": "karmada-cluster", "name": "odd"},
            },
        }));
        scene::begin(&world).await;
        // Credentials that cannot be used are complained about, and not shown: no UTF-8 and a line's end in a token, a
        // bundle that is none.
        for data in [
            json!({"token": "cGxhbnRlZC1pbi12YWluCnRva2Vu"}),
            json!({"token": "/3BsYW50ZWQtaW4tdmFpbg==", "caBundle": "cGxhbnRlZC1pbi12YWlu"}),
            json!({"planted-in-vain-is-a-key-of-the-secret": "cGxhbnRlZC1pbi12YWlu"}),
        ] {
            world.put(secret("odd", &data));
            tokio::time::sleep(Duration::from_secs(120)).await;
        }
        scene::fail(&world).await;
        nothing_is_told(&world, &log, &process).await;
        let works = world.plane().list("work.karmada.io/v1alpha1", "Work");
        no_secret_in("a Work", &works.iter().map(ToString::to_string).collect::<Vec<_>>());
        world.finish(vec![process]).await;
    });
}

/// Neither by the log, nor by objects, metrics or a dump.
async fn nothing_is_told(world: &World, log: &Recording, process: &Running) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dump.jsonl");
    let cli = failoverctl::Cli::try_parse_from(["failoverctl", "dump", "-f", file.to_str().unwrap()]).unwrap();
    let mut around = Surroundings::plain(world.clock.clone());
    around.network = Some(world.network.clone());
    answer(&cli, &ControlPlane::new(world.client(), "karmada-system"), &around)
        .await
        .unwrap();
    let lines = log.lines();
    assert!(lines.len() > 100, "{}", lines.len());
    no_secret_in("the log", &lines);
    no_secret_in("an object", &stored(world));
    no_secret_in("/metrics", &[process.metrics().render()]);
    no_secret_in("the dump", &[std::fs::read_to_string(&file).unwrap()]);
}

// It goes to one member, and is refused by another.
#[test]
fn no_data_of_a_secret_that_is_propagated_is_told() {
    ask_every_time();
    simulate(|| async {
        let world = World::new(&["member1", "member2"]);
        let log = Recording::start("debug,kube_client=debug,tower=debug,hyper=debug", &world.clock).unwrap();
        let process = world.run("all-in-one", &["--log-level=debug"]).await;
        let refused = Effect::Error {
            code: 422,
            reason: "Invalid".to_owned(),
            message: "Secret \"keys\" is invalid: not here".to_owned(),
        };
        let member2 = world.fleet.member("member2").unwrap();
        member2
            .sandbox()
            .faults()
            .inject(Match::writes().resource("secrets"), refused);
        world.create(json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": {"namespace": "default", "name": "keys"},
            "data": {"key": "cGxhbnRlZC1pbi1hbi1hcHBsaWNhdGlvbg=="},
        }));
        world.create(json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
            "metadata": {"namespace": "default", "name": "keys"},
            "spec": {
                "resourceSelectors": [{"apiVersion": "v1", "kind": "Secret", "name": "keys"}],
                "placement": {"clusterAffinity": {"clusterNames": ["member1", "member2"]}},
            },
        }));
        scene::begin(&world).await;
        let copy = world
            .fleet
            .member("member1")
            .unwrap()
            .sandbox()
            .get("v1", "Secret", Some("default"), "keys");
        assert_eq!(copy.unwrap()["data"]["key"], "cGxhbnRlZC1pbi1hbi1hcHBsaWNhdGlvbg==");
        let told = stored(&world);
        assert!(
            told.iter().any(|object| object.contains("not here")),
            "that it is refused is told in the member's words"
        );
        scene::fail(&world).await;
        nothing_is_told(&world, &log, &process).await;
        world.finish(vec![process]).await;
    });
}
