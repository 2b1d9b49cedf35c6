//! What is secret is told nowhere: the tokens of members show up in no log line, no object, no metric and no dump. Of the
//! tokens of the queue's callers `crates/eviction-queue/tests/access/secrecy.rs` says the same.

use std::time::Duration;

use clap::Parser;
use controller_kit::telemetry::{Recording, ask_every_time};
use failoverctl::control_plane::ControlPlane;
use failoverctl::run::{Surroundings, answer};
use serde_json::{Value, json};

use crate::common::{World, simulate};
use crate::scene;

/// What was planted, as it is and as Secrets hold it.
const PLANTED: [&str; 4] = [
    "planted-in-member",
    "cGxhbnRlZC1pbi1tZW1iZXI",
    "planted-in-vain",
    "cGxhbnRlZC1pbi12YWlu",
];

fn secret(name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"namespace": "karmada-cluster", "name": name}, "data": data,
    })
}

/// Every object of the control plane that is no Secret, as text.
fn stored(world: &World) -> Vec<String> {
    let kinds = [
        ("v1", "Event"),
        ("v1", "Namespace"),
        ("coordination.k8s.io/v1", "Lease"),
        ("cluster.karmada.io/v1alpha1", "Cluster"),
        ("work.karmada.io/v1alpha2", "ResourceBinding"),
        ("work.karmada.io/v1alpha1", "Work"),
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
        no_secret_in("an object", &stored(&world));
        no_secret_in("/metrics", &[process.metrics().render()]);
        no_secret_in("the dump", &[std::fs::read_to_string(&file).unwrap()]);
        world.finish(vec![process]).await;
    });
}
