//! Secrets of members that cannot be read or used: those who have them are named, and nobody else is kept waiting.

use std::sync::Arc;

use controller_kit::telemetry::Recording;
use controller_kit::{ConnectMember, MemberError, MemberTarget};
use kube_sandbox::{Effect, Match};
use parking_lot::Mutex;
use serde_json::json;

use crate::world::{World, limited};

/// A ConfigMap on m1 and m2.
async fn config_on_both(world: &World) {
    world.propagate("v1", "ConfigMap", json!({}));
    world.put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": "c"}, "data": {"k": "v"}}));
    world.settle().await;
    world.schedule("c-configmap", &[("m1", 0), ("m2", 0)]);
    world.settle().await;
}

fn value_on(world: &World, cluster: &str) -> Option<String> {
    let config = world.on(cluster, "v1", "ConfigMap", "c")?;
    config["data"]["k"].as_str().map(str::to_owned)
}

fn change_config(world: &World, value: &str) {
    world.edit("v1", "ConfigMap", Some("shop"), "c", |config| {
        config["data"]["k"] = json!(value);
    });
}

#[tokio::test(start_paused = true)]
async fn a_namespace_of_secrets_that_cannot_be_read_keeps_nobody_waiting() {
    limited(async {
        let mut world = World::new(&["m1", "m2"]);
        let log = Recording::start("warn", &world.clock).unwrap();
        world.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "locked"}}));
        world.put(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "locked", "name": "m1"},
            "data": {"token": "dG9rZW4="}}),
        );
        world.edit("cluster.karmada.io/v1alpha1", "Cluster", None, "m1", |cluster| {
            cluster["spec"]["secretRef"]["namespace"] = json!("locked");
        });
        let forbidden = Effect::Error {
            code: 403,
            reason: "Forbidden".into(),
            message: "no".into(),
        };
        let faults = world.control_plane().faults();
        let locked = faults.inject(Match::any().resource("secrets").namespace("locked"), forbidden);
        world.start().await;
        config_on_both(&world).await;
        assert_eq!(
            (value_on(&world, "m1"), value_on(&world, "m2")),
            (None, Some("v".to_owned()))
        );
        world.pass(20_000).await;
        let named = |line: &String| {
            line.contains("cluster m1: secret locked/m1, which spec.secretRef names, could not be read")
                && line.contains("HTTP 403: no")
        };
        assert!(log.lines().iter().any(named), "{:#?}", log.lines());

        // One that is no longer Ready is left alone meanwhile, and served again when it is.
        world.ready("m2", "False");
        world.settle().await;
        change_config(&world, "new");
        world.settle().await;
        assert_eq!(value_on(&world, "m2").as_deref(), Some("v"));
        world.ready("m2", "True");
        world.settle().await;
        assert_eq!(value_on(&world, "m2").as_deref(), Some("new"));

        faults.remove(locked);
        world.pass(400_000).await;
        assert_eq!(value_on(&world, "m1").as_deref(), Some("new"));
    })
    .await;
}

// A token that cannot stand in a header must not end the process, as the making of a client would.
#[tokio::test(start_paused = true)]
async fn a_token_of_two_lines_is_named_and_the_others_go_on() {
    limited(async {
        let mut world = World::new(&["m1", "m2"]);
        let log = Recording::start("warn", &world.clock).unwrap();
        let with_token = |token: &str| {
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "karmada-cluster", "name": "m1"},
                "data": {"token": token}})
        };
        world.put(with_token("YQpi"));
        world.start().await;
        config_on_both(&world).await;
        assert_eq!(
            (value_on(&world, "m1"), value_on(&world, "m2")),
            (None, Some("v".to_owned()))
        );
        let named = |line: &String| {
            line.contains("token in secret karmada-cluster/m1 (spec.secretRef of cluster m1) has blanks, line breaks")
        };
        assert!(log.lines().iter().any(named), "{:#?}", log.lines());
        world.put(with_token("YQo="));
        world.settle().await;
        assert_eq!(
            value_on(&world, "m1").as_deref(),
            Some("v"),
            "a line end at the end is a slip"
        );
    })
    .await;
}

// Ignored, they would make the member seem not to answer.
#[tokio::test(start_paused = true)]
async fn headers_that_no_proxy_gets_are_refused_in_words_and_the_others_go_on() {
    limited(async {
        let mut world = World::new(&["m1", "m2"]);
        let log = Recording::start("warn", &world.clock).unwrap();
        world.edit("cluster.karmada.io/v1alpha1", "Cluster", None, "m1", |cluster| {
            cluster["spec"]["proxyURL"] = json!("https://proxy.example:3128");
            cluster["spec"]["proxyHeader"] = json!({"authorization": "Basic x"});
        });
        world.start().await;
        config_on_both(&world).await;
        assert_eq!(
            (value_on(&world, "m1"), value_on(&world, "m2")),
            (None, Some("v".to_owned()))
        );
        let named = |line: &String| line.contains("cluster m1: spec.proxyHeader can be sent to http proxies only");
        assert!(log.lines().iter().any(named), "{:#?}", log.lines());
        world.edit("cluster.karmada.io/v1alpha1", "Cluster", None, "m1", |cluster| {
            cluster["spec"]["proxyHeader"] = json!(null);
        });
        world.settle().await;
        assert_eq!(value_on(&world, "m1").as_deref(), Some("v"));
    })
    .await;
}

/// Notes who is forgotten.
struct Forgetful<M> {
    roads: M,
    forgotten: Mutex<Vec<String>>,
}

impl<M: ConnectMember> ConnectMember for Forgetful<M> {
    fn connect(&self, target: &MemberTarget) -> Result<kube::Client, MemberError> {
        self.roads.connect(target)
    }

    fn forget(&self, member: &str) {
        self.forgotten.lock().push(member.to_owned());
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_kept_of_a_member_whose_cluster_is_gone() {
    limited(async {
        let mut world = World::new(&["m1", "m2"]);
        let members = Arc::new(Forgetful {
            roads: world.roads(),
            forgotten: Mutex::default(),
        });
        world.start_reaching("*", members.clone()).await;
        world.settle().await;
        assert_eq!(*members.forgotten.lock(), Vec::<String>::new());
        world.delete("cluster.karmada.io/v1alpha1", "Cluster", None, "m1").await;
        world.settle().await;
        let mut forgotten = members.forgotten.lock().clone();
        forgotten.dedup();
        assert_eq!(forgotten, ["m1"]);
    })
    .await;
}

/// Answers 401 to whoever comes with another token than the one that counts.
struct Doorkeeper<M> {
    roads: M,
    expired: kube_sandbox::Sandbox,
    token: Mutex<String>,
}

impl<M: ConnectMember> ConnectMember for Doorkeeper<M> {
    fn connect(&self, target: &MemberTarget) -> Result<kube::Client, MemberError> {
        if target.token.as_deref() == Some(self.token.lock().as_str()) {
            self.roads.connect(target)
        } else {
            Ok(self.expired.client())
        }
    }
}

// A token that has expired: the member's word, and as soon as the Secret holds a new one that one is used.
#[tokio::test(start_paused = true)]
async fn a_new_token_is_used_as_soon_as_it_is_there() {
    limited(async {
        let mut world = World::new(&["m1", "m2"]);
        let clock = world.clock.clone();
        let expired = kube_sandbox::Sandbox::new(kube_sandbox::SandboxOptions::new(Arc::new(move || clock.now())));
        let unauthorized = Effect::Error {
            code: 401,
            reason: "Unauthorized".into(),
            message: "Unauthorized".into(),
        };
        expired.faults().inject(Match::any(), unauthorized);
        let members = Arc::new(Doorkeeper {
            roads: world.roads(),
            expired,
            token: Mutex::new("second".to_owned()),
        });
        let set_token = |world: &World, token: &str| {
            let token = if token == "second" { "c2Vjb25k" } else { "dGhpcmQ=" };
            for name in ["m1", "m2"] {
                world.put(
                    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "karmada-cluster", "name": name},
                    "data": {"token": token}}),
                );
            }
        };
        let log = Recording::start("debug", &world.clock).unwrap();
        world.start_reaching("*", members.clone()).await;
        config_on_both(&world).await;
        // Long enough for every wait to have become long.
        world.pass(3_600_000).await;
        assert_eq!(value_on(&world, "m1"), None);
        let message = world.item("c-configmap", "m1")["appliedMessage"].clone();
        assert!(message.as_str().unwrap().ends_with("HTTP 401: Unauthorized"), "{message}");
        set_token(&world, "second");
        world.pass(1_000).await;
        assert_eq!(
            (value_on(&world, "m1").as_deref(), value_on(&world, "m2").as_deref()),
            (Some("v"), Some("v"))
        );
        let lines = log.lines();
        assert!(
            !lines.iter().any(|line| line.contains("second") || line.contains("c2Vjb25k")),
            "secrets are never logged"
        );
    })
    .await;
}
