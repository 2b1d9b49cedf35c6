//! The controller asks for what its chart allows, and for nothing else: every request of a full life is noted and held
//! against the rights, and every right is needed.

use std::collections::BTreeSet;
use std::path::Path;

use application_failover_controller::{Flags, controllers};
use controller_kit::Process;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube_sandbox::{Effect, Match};
use serde_json::{Value, json};

use super::log::{Asked, Log, covers};
use super::scene::{CLIENT, Scene, after};
use test_bench::paused;

/// The rights of the chart, each with the namespace in which it counts.
fn rights() -> Vec<(Option<String>, PolicyRule)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../charts/control-plane/rbac/application-failover-controller.yaml");
    let objects: Vec<Value> = serde_saphyr::from_multiple(&std::fs::read_to_string(file).unwrap()).unwrap();
    let roles = objects.into_iter().filter(|object| object["rules"].is_array());
    roles
        .flat_map(|role| {
            let namespace = role["metadata"]["namespace"].as_str().map(str::to_owned);
            let rules: Vec<PolicyRule> = serde_json::from_value(role["rules"].clone()).unwrap();
            rules.into_iter().map(move |rule| (namespace.clone(), rule))
        })
        .collect()
}

fn allows((namespace, rule): &(Option<String>, PolicyRule), asked: &Asked) -> bool {
    let is_there = match (namespace, asked) {
        (None, _) => true,
        (Some(namespace), Asked::Resource { namespace: asked, .. }) => Some(namespace) == asked.as_ref(),
        (Some(_), Asked::Path { .. }) => false,
    };
    is_there && covers(rule, asked)
}

/// Every user may ask what is served.
fn is_discovery(asked: &Asked) -> bool {
    matches!(asked, Asked::Path { verb, path } if verb == "get" && (path.starts_with("/api") || path == "/version"))
}

#[test]
fn a_whole_life_needs_these_rights_and_no_others() {
    paused(async {
        let scene = Scene::new(&["m1", "m2"]);
        scene.binding("web", &["m1"], json!({"failover": after(60)}));
        scene.cluster_binding("reader", &["m1"], json!({"failover": after(60)}));
        let log = Log::default();
        let start = |identity: &'static str| {
            let client = log.noting(scene.plane.client_named(CLIENT));
            Process::builder(CLIENT, client)
                .clock(scene.clock.clone())
                .identity(identity)
                .controllers(controllers(Flags::default(), scene.way()))
                .start()
        };
        let _queue = scene.queue("queue-0", 1.0).await;
        let controller = start("controller-0").await.unwrap();
        scene.until(20).await;
        let ours = || Match::writes().client(CLIENT);
        for (round, health) in [(1, "Unhealthy"), (2, "Healthy"), (3, "Unhealthy"), (4, "Unhealthy")] {
            // Of the first tries some are refused because somebody else was faster.
            scene.plane.faults().inject_times(ours(), 0, 2, Effect::Conflict);
            scene.health("default/web", &[("m1", health)]).await;
            scene.health("reader", &[("m1", "Unhealthy")]).await;
            scene.until(20 + round * 100).await;
        }
        // What is told twice is counted in its Event.
        for round in 0..2 {
            let spoilt = json!({"failover.karmada.io/health-clock": "nonsense"});
            scene
                .patch("default/web", json!({"metadata": {"annotations": spoilt}}))
                .await;
            scene.until(450 + round * 50).await;
        }
        controller.stop().await;
        let _next = start("controller-1").await.unwrap();
        scene.until(1_000).await;

        let (rights, all) = (rights(), BTreeSet::from_iter(log.all()));
        let mut used = BTreeSet::new();
        for asked in &all {
            match rights.iter().position(|right| allows(right, asked)) {
                Some(right) => {
                    used.insert(right);
                }
                None => assert!(is_discovery(asked), "it asked for {asked:?}"),
            }
        }
        for (index, right) in rights.iter().enumerate() {
            assert!(used.contains(&index), "nobody needs this right: {right:?}");
            for verb in &right.1.verbs {
                let only = PolicyRule {
                    verbs: vec![verb.clone()],
                    ..right.1.clone()
                };
                assert!(
                    all.iter().any(|asked| covers(&only, asked)),
                    "nobody needs {verb} of {right:?}"
                );
            }
        }
    });
}
