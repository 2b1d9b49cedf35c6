//! What a workload needs goes where it goes.

use controller_kit::KitFlags;
use kube_sandbox::{Effect, Match, Verb};
use rstest::rstest;
use serde_json::{Value, json};

use crate::world::{World, limited};

fn config_map(world: &World, name: &str, value: &str) {
    world.put(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": name}, "data": {"k": value}}),
    );
}

fn workload(world: &World, name: &str, map: &str) {
    world.put(json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": "shop", "name": name, "labels": {"app": name}},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": "nginx", "envFrom": [{"configMapRef": {"name": map}}]}]}}}}));
}

/// Whether a member has the map.
fn has(world: &World, cluster: &str, name: &str) -> bool {
    world.on(cluster, "v1", "ConfigMap", name).is_some()
}

fn required_by(world: &World, binding: &str) -> Value {
    world
        .binding(binding)
        .map(|binding| binding["spec"]["requiredBy"].clone())
        .unwrap_or_default()
}

/// `web` on m1, which needs the ConfigMap `settings`.
async fn running() -> World {
    let mut world = World::new(&["m1", "m2"]);
    world.start().await;
    world.propagate("apps/v1", "Deployment", json!({"propagateDeps": true}));
    config_map(&world, "settings", "1");
    config_map(&world, "unneeded", "1");
    workload(&world, "web", "settings");
    world.settle().await;
    assert!(world.binding("settings-configmap").is_none(), "it is not placed yet");
    world.schedule("web-deployment", &[("m1", 1)]);
    world.settle().await;
    assert!(has(&world, "m1", "settings") && !has(&world, "m2", "settings"));
    assert!(!has(&world, "m1", "unneeded"));
    world
}

#[tokio::test(start_paused = true)]
async fn what_a_workload_needs_follows_it_and_its_changes() {
    limited(async {
        let world = running().await;
        let note = world.binding("web-deployment").unwrap()["metadata"]["annotations"]["resourcebinding.karmada.io/dependencies"].clone();
        assert_eq!(
            note.as_str(),
            Some(r#"[{"apiVersion":"v1","kind":"ConfigMap","namespace":"shop","name":"settings"}]"#)
        );
        config_map(&world, "settings", "2");
        world.settle().await;
        assert_eq!(world.on("m1", "v1", "ConfigMap", "settings").unwrap()["data"]["k"], "2");
        world.schedule("web-deployment", &[("m2", 1)]);
        world.settle().await;
        assert!(!has(&world, "m1", "settings") && has(&world, "m2", "settings"));

        // Another one instead, which comes later than the workload that names it.
        workload(&world, "web", "later");
        world.settle().await;
        assert!(!has(&world, "m2", "settings"));
        assert!(world.binding("settings-configmap").is_none(), "nobody needs it");
        config_map(&world, "later", "1");
        world.settle().await;
        assert!(has(&world, "m2", "later"));
        // What was told twice is counted in its Event.
        world.pass(60_000).await;
        world.forget_writes();
        world.pass(3_600_000).await;
        assert_eq!(world.writes(), []);

        // The workload goes, and with it what it needs.
        world.delete("apps/v1", "Deployment", Some("shop"), "web").await;
        world.settle().await;
        assert!(!has(&world, "m2", "later") && world.binding("later-configmap").is_none());
        assert!(world.works().iter().all(|work| work["spec"]["workload"]["manifests"][0]["kind"] == "Namespace"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn several_workloads_share_an_object_and_let_it_go_one_by_one() {
    limited(async {
        let mut world = running().await;
        workload(&world, "api", "settings");
        world.settle().await;
        world.schedule("api-deployment", &[("m2", 1)]);
        world.settle().await;
        assert!(has(&world, "m1", "settings") && has(&world, "m2", "settings"));
        assert_eq!(
            required_by(&world, "settings-configmap"),
            json!([{"namespace": "shop", "name": "api-deployment", "clusters": [{"name": "m2", "replicas": 1}]},
                {"namespace": "shop", "name": "web-deployment", "clusters": [{"name": "m1", "replicas": 1}]}])
        );
        // One goes while nobody looks.
        world.stop().await;
        world.delete("apps/v1", "Deployment", Some("shop"), "api").await;
        world.start().await;
        world.settle().await;
        assert!(has(&world, "m1", "settings") && !has(&world, "m2", "settings"));
        // The other one's policy carries nothing along any more.
        world.propagate("apps/v1", "Deployment", json!({"propagateDeps": false}));
        world.settle().await;
        assert!(!has(&world, "m1", "settings") && world.binding("settings-configmap").is_none());
        assert!(world.deployment_on("m1", "web").is_some());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn policies_that_differ_are_told() {
    limited(async {
        let world = running().await;
        world.policy("overwrite", json!({"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "api"}],
            "propagateDeps": true, "conflictResolution": "Overwrite", "placement": {"clusterAffinity": {"clusterNames": ["m2"]}}}));
        workload(&world, "api", "settings");
        world.settle().await;
        world.schedule("api-deployment", &[("m2", 1)]);
        world.settle().await;
        assert_eq!(world.binding("settings-configmap").unwrap()["spec"]["conflictResolution"], "Overwrite");
        let told = world.events_from("dependencies-distributor");
        let words = "shop/web-deployment say";
        assert!(told.iter().any(|said| said.contains("DependencyPolicyConflict") && said.contains(words)), "{told:?}");
    })
    .await;
}

// karmada#6600, PR#6599, PR#6612, C112: an error of the interpreter, and what is not read yet, leave everything as it is.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_interpreted_leaves_everything_as_it_is() {
    limited(async {
        let mut world = running().await;
        let before = required_by(&world, "settings-configmap");
        let script = "function GetDependencies(desiredObj) error('not today') end";
        world.put(json!({"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization", "metadata": {"name": "broken"},
            "spec": {"target": {"apiVersion": "apps/v1", "kind": "Deployment"}, "customizations": {"dependencyInterpretation": {"luaScript": script}}}}));
        world.settle().await;
        assert_eq!(required_by(&world, "settings-configmap"), before);
        assert!(world.events("web").contains(&"GetDependenciesFailed".to_owned()));

        // The same after a restart, with templates that cannot be listed.
        for plural in ["deployments", "configmaps"] {
            world.stop().await;
            let faults = world.control_plane().faults();
            let refusal = Effect::Error {
                code: 500,
                reason: "InternalError".to_owned(),
                message: "etcd".to_owned(),
            };
            let fault = faults.inject(Match::any().verb(Verb::List).resource(plural).client("propagation"), refusal);
            world.start().await;
            world.pass(120_000).await;
            assert_eq!(required_by(&world, "settings-configmap"), before);
            assert!(has(&world, "m1", "settings"));
            faults.remove(fault);
        }
        world.delete("config.karmada.io/v1alpha1", "ResourceInterpreterCustomization", None, "broken").await;
        workload(&world, "web", "unneeded");
        world.pass(60_000).await;
        assert!(has(&world, "m1", "unneeded") && !has(&world, "m1", "settings"), "an answer without it removes it");
    })
    .await;
}

// What the evictor writes keeps the object where the old copy still needs it (karmada's gap G8).
#[tokio::test(start_paused = true)]
async fn an_old_copy_keeps_what_it_needs() {
    limited(async {
        let world = running().await;
        world.edit_binding("settings-configmap", |binding| {
            binding["spec"]["gracefulEvictionTasks"] = json!([{"fromCluster": "m1", "purgeMode": "Gracefully",
                "reason": "TaintUntolerated", "producer": "DependencyMirror", "creationTimestamp": "2026-01-01T00:00:00Z"}]);
        });
        world.evict("web-deployment", "m1", "Gracefully", &[("m2", 1)]);
        world.settle().await;
        assert!(has(&world, "m1", "settings") && has(&world, "m2", "settings"));
        // The workload needs it no more; its old copy still does.
        workload(&world, "web", "unneeded");
        world.settle().await;
        assert!(has(&world, "m1", "settings") && !has(&world, "m2", "settings"));
        world.edit_binding("settings-configmap", |binding| binding["spec"]["gracefulEvictionTasks"] = json!([]));
        world.settle().await;
        assert!(!has(&world, "m1", "settings") && world.binding("settings-configmap").is_none());
    })
    .await;
}

fn names_another(world: &World) {
    workload(world, "web", "unneeded");
}

fn carries_nothing_along(world: &World) {
    world.propagate("apps/v1", "Deployment", json!({"propagateDeps": false}));
}

// Graceful eviction lets a mirror go whose owners nobody names: the old copy drains for longer than that takes.
#[rstest]
#[case::names_another(names_another)]
#[case::carries_nothing_along(carries_nothing_along)]
#[tokio::test(start_paused = true)]
async fn an_old_copy_keeps_what_its_template_needs_no_more_while_it_drains(#[case] change: fn(&World)) {
    limited(async {
        let world = running().await;
        let now = world.clock.now().round(jiff::Unit::Second).unwrap().to_string();
        world.edit_binding("settings-configmap", |binding| {
            binding["spec"]["gracefulEvictionTasks"] = json!([{"fromCluster": "m1", "purgeMode": "Gracefully",
                "reason": "TaintUntolerated", "producer": "DependencyMirror", "creationTimestamp": now}]);
        });
        world.evict("web-deployment", "m1", "Gracefully", &[("m2", 1)]);
        let suppress = |suppress: bool| {
            world.edit_binding("web-deployment", |binding| {
                let task = &mut binding["spec"]["gracefulEvictionTasks"][0];
                task["creationTimestamp"] = json!(now);
                task["suppressDeletion"] = json!(suppress);
            });
            world.scheduled("web-deployment");
        };
        suppress(true);
        let (component, flags) = (
            "graceful-eviction-controller",
            KitFlags::default().with_feature_gates("Failover=true"),
        );
        let controllers = graceful_eviction_controller::controllers(graceful_eviction_controller::Flags::default());
        let graceful = world
            .process(component, component, flags)
            .controllers(controllers)
            .start()
            .await
            .unwrap();
        world.settle().await;
        change(&world);
        world.settle().await;
        world.scheduled("web-deployment");
        world.pass(600_000).await;
        assert!(world.deployment_on("m1", "web").is_some());
        assert!(has(&world, "m1", "settings") && !has(&world, "m2", "settings"));

        // It has drained.
        suppress(false);
        world.pass(60_000).await;
        assert!(world.deployment_on("m1", "web").is_none());
        assert!(!has(&world, "m1", "settings") && world.binding("settings-configmap").is_none());
        graceful.stop().await;
    })
    .await;
}

// Nobody else removes the finalizer by which stock sees to what is attached.
#[rstest]
#[case::still_carried_along(true)]
#[case::carried_along_no_more(false)]
#[tokio::test(start_paused = true)]
async fn a_binding_that_stock_kept_for_what_is_attached_can_go(#[case] carried: bool) {
    limited(async {
        let world = running().await;
        world.edit_binding("web-deployment", |binding| {
            let finalizers = binding["metadata"]["finalizers"].as_array_mut().unwrap();
            finalizers.push(json!("karmada.io/binding-dependencies-distributor"));
        });
        world.propagate("apps/v1", "Deployment", json!({"propagateDeps": carried}));
        world.settle().await;
        world.delete("apps/v1", "Deployment", Some("shop"), "web").await;
        world.settle().await;
        assert_eq!(world.binding("web-deployment"), None);
        assert!(!has(&world, "m1", "settings") && world.binding("settings-configmap").is_none());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_with_a_policy_of_its_own_goes_by_that_too() {
    limited(async {
        let world = running().await;
        world.policy(
            "settings",
            json!({"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}],
            "placement": {"clusterAffinity": {"clusterNames": ["m2"]}}}),
        );
        world.settle().await;
        world.edit_binding("settings-configmap", |binding| {
            binding["spec"]["clusters"] = json!([{"name": "m2"}]);
        });
        world.settle().await;
        assert!(has(&world, "m1", "settings") && has(&world, "m2", "settings"));
        world.delete("apps/v1", "Deployment", Some("shop"), "web").await;
        world.settle().await;
        assert!(!has(&world, "m1", "settings") && has(&world, "m2", "settings"));
    })
    .await;
}
