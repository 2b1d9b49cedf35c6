//! Templates of kinds that are only known when the process runs.

use kube_sandbox::{Effect, Match, Sandbox, Verb};
use rstest::rstest;
use serde_json::{Value, json};

use crate::world::{World, delete, limited};

const CRD: &str = "apiextensions.k8s.io/v1";

/// A definition that serves some of its versions; the last one stores.
fn definition(versions: &[(&str, bool)]) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let last = versions.len() - 1;
    let versions: Vec<Value> = versions
        .iter()
        .enumerate()
        .map(|(number, (name, served))| json!({"name": name, "served": served, "storage": number == last, "schema": schema}))
        .collect();
    json!({"apiVersion": CRD, "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.io"},
        "spec": {"group": "example.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"}, "versions": versions}})
}

fn widget(api_version: &str, size: i32) -> Value {
    json!({"apiVersion": api_version, "kind": "Widget", "metadata": {"namespace": "shop", "name": "gear"}, "spec": {"size": size}})
}

/// The size of the widget in a member.
fn size_on(world: &World, cluster: &str) -> Option<Value> {
    let object = world.on(cluster, "example.io/v1", "Widget", "gear")?;
    Some(object["spec"]["size"].clone())
}

fn select(world: &World, name: &str, api_version: &str) {
    world.policy(
        name,
        json!({"resourceSelectors": [{"apiVersion": api_version, "kind": "Widget"}],
        "placement": {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}}),
    );
}

/// A widget on m1, of a kind that came after the start and after its policy.
async fn running_widget() -> World {
    let mut world = World::new(&["m1", "m2"]);
    world.start().await;
    select(&world, "widgets", "example.io/v1");
    world.pass(120_000).await;
    for server in [
        world.control_plane(),
        world.member("m1").sandbox(),
        world.member("m2").sandbox(),
    ] {
        server.create(definition(&[("v1", true)])).unwrap();
    }
    world.pass(15_000).await;
    world.put(widget("example.io/v1", 3));
    world.settle().await;
    world.schedule("gear-widget", &[("m1", 0)]);
    world.settle().await;
    assert_eq!(size_on(&world, "m1"), Some(json!(3)));
    world
}

fn drop_definition(server: &Sandbox) -> impl Future<Output = ()> {
    delete(server, CRD, "CustomResourceDefinition", None, "widgets.example.io")
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_came_later_travels_moves_and_goes_with_its_definition() {
    limited(async {
        let world = running_widget().await;
        assert!(world.work("m1", "Widget", "gear").is_some());
        let widget = world
            .control_plane()
            .get("example.io/v1", "Widget", Some("shop"), "gear")
            .unwrap();
        assert_eq!(
            widget["metadata"]["annotations"]["propagationpolicy.karmada.io/name"],
            "widgets"
        );
        assert_eq!(world.item("gear-widget", "m1")["applied"], true);

        world.edit("example.io/v1", "Widget", Some("shop"), "gear", |widget| {
            widget["spec"]["size"] = json!(4);
        });
        world.settle().await;
        assert_eq!(size_on(&world, "m1"), Some(json!(4)));

        // It moves.
        world.evict("gear-widget", "m1", "Gracefully", &[("m2", 0)]);
        world.settle().await;
        assert_eq!(
            (size_on(&world, "m1"), size_on(&world, "m2")),
            (Some(json!(4)), Some(json!(4)))
        );
        world.drop_tasks("gear-widget");
        world.settle().await;
        assert_eq!((size_on(&world, "m1"), size_on(&world, "m2")), (None, Some(json!(4))));

        // Its kind goes, and all objects with it.
        drop_definition(world.control_plane()).await;
        world.pass(60_000).await;
        assert!(world.binding("gear-widget").is_none());
        assert_eq!(size_on(&world, "m2"), None);

        // And comes again.
        world.control_plane().create(definition(&[("v1", true)])).unwrap();
        world.pass(15_000).await;
        world.put(self::widget("example.io/v1", 5));
        world.settle().await;
        world.schedule("gear-widget", &[("m1", 0)]);
        world.settle().await;
        assert_eq!(size_on(&world, "m1"), Some(json!(5)));
    })
    .await;
}

// A definition that went while nobody looked: whether its object was meant to go is not known, so its copies stay, and a
// person is told.
#[tokio::test(start_paused = true)]
async fn a_kind_that_went_while_nobody_looked_takes_nothing_along() {
    limited(async {
        let mut world = running_widget().await;
        world.stop().await;
        drop_definition(world.control_plane()).await;
        world.pass(10_000).await;
        world.start().await;
        world.pass(60_000).await;
        assert_eq!(size_on(&world, "m1"), Some(json!(3)));
        let told = world.events_from("binding-controller");
        let words = "ResourceBinding gear-widget SyncWorkFailed: Works are neither made nor changed: the API server does not serve Widget (example.io/v1)";
        assert!(told.iter().any(|said| said == words), "{told:?}");
        world.delete("work.karmada.io/v1alpha2", "ResourceBinding", Some("shop"), "gear-widget").await;
        world.settle().await;
        assert_eq!(size_on(&world, "m1"), None, "a person's word");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_is_one_in_all_versions_of_its_kind() {
    limited(async {
        let world = running_widget().await;
        for server in [world.control_plane(), world.member("m1").sandbox()] {
            server.put(definition(&[("v1", true), ("v2", true)])).unwrap();
        }
        select(&world, "widgets-v2", "example.io/v2");
        world.pass(60_000).await;
        let claimed_by = || {
            let widget = world
                .control_plane()
                .get("example.io/v2", "Widget", Some("shop"), "gear")
                .unwrap();
            widget["metadata"]["annotations"]["propagationpolicy.karmada.io/name"].clone()
        };
        assert_eq!(claimed_by(), "widgets", "the claim that holds is kept");
        world.forget_writes();
        world.pass(60_000).await;
        assert_eq!(world.writes(), [], "two policies do not fight over it");

        // The old version is no longer served. That takes nothing away, and the other policy takes over.
        world
            .control_plane()
            .put(definition(&[("v1", false), ("v2", true)]))
            .unwrap();
        world.pass(60_000).await;
        assert_eq!(size_on(&world, "m1"), Some(json!(3)));
        let binding = world.binding("gear-widget").unwrap();
        assert_eq!(binding["spec"]["resource"]["apiVersion"], "example.io/v2");
        assert_eq!(claimed_by(), "widgets-v2");
        world.edit("example.io/v2", "Widget", Some("shop"), "gear", |widget| {
            widget["spec"]["size"] = json!(7);
        });
        world.settle().await;
        assert_eq!(size_on(&world, "m1"), Some(json!(7)));
    })
    .await;
}

// argo-cd#18480, C120; karmada#6600, C112: what an API server cannot say now is not "no".
#[rstest]
#[case::lists(Match::any().verb(Verb::List).resource("widgets"))]
#[case::everything_but_members(Match::any().verb(Verb::Other))]
#[tokio::test(start_paused = true)]
async fn a_kind_that_cannot_be_read_loses_nothing(#[case] when: Match) {
    limited(async {
        let mut world = running_widget().await;
        world.stop().await;
        let faults = world.control_plane().faults();
        let fault = faults.inject(
            when.client("propagation"),
            Effect::Error {
                code: 503,
                reason: "ServiceUnavailable".to_owned(),
                message: "etcd".to_owned(),
            },
        );
        world.start_only("detector,dependencies,binding,bindingStatus").await;
        world.pass(120_000).await;
        assert!(world.binding("gear-widget").is_some());
        assert_eq!(size_on(&world, "m1"), Some(json!(3)));
        faults.remove(fault);
        world.delete("example.io/v1", "Widget", Some("shop"), "gear").await;
        world.pass(120_000).await;
        assert!(
            world
                .work("m1", "Widget", "gear")
                .is_none_or(|work| work["metadata"]["deletionTimestamp"].is_string())
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_template_of_cluster_scope_has_a_binding_of_cluster_scope() {
    limited(async {
        let mut world = World::new(&["m1", "m2"]);
        world.start().await;
        world.put(json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy", "metadata": {"name": "roles"},
            "spec": {"resourceSelectors": [{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "reader"}],
                "placement": {"clusterAffinity": {"clusterNames": ["m1"]}}}}));
        // One of a namespace does not reach it.
        world.policy("roles", json!({"resourceSelectors": [{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}]}));
        world.put(json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reader"},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}));
        world.settle().await;
        let (api_version, kind, name) = ("work.karmada.io/v1alpha2", "ClusterResourceBinding", "reader-clusterrole");
        world.edit(api_version, kind, None, name, |binding| binding["spec"]["clusters"] = json!([{"name": "m1"}]));
        world.settle().await;
        let role_on = |cluster: &str| {
            let member = world.member(cluster);
            member.sandbox().get("rbac.authorization.k8s.io/v1", "ClusterRole", None, "reader")
        };
        assert!(role_on("m1").is_some() && role_on("m2").is_none());
        let binding = world.control_plane().get(api_version, kind, None, name).unwrap();
        assert_eq!(binding["status"]["aggregatedStatus"][0]["applied"], true);
        assert_eq!(binding["metadata"]["finalizers"], json!(["karmada.io/cluster-resource-binding-controller"]));
        world.delete("rbac.authorization.k8s.io/v1", "ClusterRole", None, "reader").await;
        world.settle().await;
        assert!(role_on("m1").is_none());
        assert!(world.control_plane().get(api_version, kind, None, name).is_none());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn only_kinds_that_somebody_wants_are_read_and_some_never() {
    limited(async {
        let mut world = World::new(&["m1"]);
        world.start().await;
        let lists = |plural: &str| {
            let asked = Match::any().verb(Verb::List).resource(plural).client("propagation");
            world.control_plane().faults().count(&asked)
        };
        assert_eq!((lists("configmaps"), lists("deployments")), (0, 0));
        world.propagate("v1", "ConfigMap", json!({}));
        world.propagate("v1", "Event", json!({}));
        world.settle().await;
        assert_eq!((lists("configmaps"), lists("deployments"), lists("events")), (1, 0, 0));
    })
    .await;
}

// A template that is too large for a Work has words, and others go on.
#[tokio::test(start_paused = true)]
async fn a_template_that_is_too_large_has_words_and_others_go_on() {
    limited(async {
        let mut world = World::new(&["m1", "m2"]);
        world.propagate("v1", "ConfigMap", json!({}));
        world.start().await;
        let map = |name: &str, size: usize| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": name}, "data": {"k": "x".repeat(size)}})
        };
        world.put(map("large", 1_048_000));
        world.put(map("small", 10));
        world.settle().await;
        world.control_plane().faults().inject(
            Match::any().verb(Verb::Create).resource("works").namespace("karmada-es-m1"),
            Effect::Error {
                code: 413,
                reason: "RequestEntityTooLarge".to_owned(),
                message: "etcdserver: request is too large".to_owned(),
            },
        );
        world.schedule("large-configmap", &[("m1", 0)]);
        world.schedule("small-configmap", &[("m2", 0)]);
        world.settle().await;
        assert!(world.on("m2", "v1", "ConfigMap", "small").is_some());
        assert!(world.on("m1", "v1", "ConfigMap", "large").is_none());
        let told = world.events_from("binding-controller");
        let words = "make the template smaller";
        assert!(told.iter().any(|said| said.contains("large-configmap") && said.contains(words)), "{told:?}");
        let said = world.condition("large-configmap", "FullyApplied");
        let message = said["message"].as_str().unwrap();
        assert!(said["status"] == "False" && message.contains("the Work for cluster m1 (") && message.contains(words), "{said}");
        assert_eq!(world.condition("small-configmap", "FullyApplied")["status"], "True");
        world.forget_writes();
        world.pass(600_000).await;
        let again = world.writes().iter().filter(|write| write.resource == "resourcebindings").count();
        assert_eq!(again, 0, "what is said already is not said again");
        world.control_plane().faults().clear();
        world.pass(1_000_000).await;
        assert!(world.on("m1", "v1", "ConfigMap", "large").is_some());
        assert_eq!(world.condition("large-configmap", "FullyApplied")["status"], "True");
    })
    .await;
}

// A policy selects it in one version, and workloads need it in two: nobody undoes what another wrote.
#[tokio::test(start_paused = true)]
async fn an_object_that_is_needed_in_several_versions_is_one() {
    limited(async {
        let world = running_widget().await;
        for server in [world.control_plane(), world.member("m1").sandbox(), world.member("m2").sandbox()] {
            server.put(definition(&[("v1beta1", true), ("v1", true)])).unwrap();
        }
        let script = "
            function GetDependencies(o)
              local version = 'example.io/v1'
              if o.metadata.name == 'web' then version = 'example.io/v1beta1' end
              return {{apiVersion = version, kind = 'Widget', namespace = o.metadata.namespace, name = 'gear'}}
            end";
        world.put(json!({"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization", "metadata": {"name": "gears"},
            "spec": {"target": {"apiVersion": "apps/v1", "kind": "Deployment"}, "customizations": {"dependencyInterpretation": {"luaScript": script}}}}));
        world.propagate("apps/v1", "Deployment", json!({"propagateDeps": true}));
        for name in ["web", "api"] {
            world.deployment(name, 1);
        }
        world.pass(60_000).await;
        for name in ["web-deployment", "api-deployment"] {
            world.schedule(name, &[("m2", 1)]);
        }
        world.pass(60_000).await;
        let is_at_rest = async |stage: &str| {
            let binding = world.binding("gear-widget").unwrap();
            assert_eq!(binding["spec"]["resource"]["apiVersion"], "example.io/v1", "{stage}");
            assert_eq!(binding["spec"]["requiredBy"].as_array().map(Vec::len), Some(2), "{stage}");
            assert_eq!(size_on(&world, "m2"), Some(json!(3)), "{stage}");
            world.forget_writes();
            world.pass(60_000).await;
            assert_eq!(world.writes(), [], "{stage}");
        };
        is_at_rest("with its policy").await;
        world.delete("policy.karmada.io/v1alpha1", "PropagationPolicy", Some("shop"), "widgets").await;
        world.pass(60_000).await;
        is_at_rest("without").await;
        // It goes when neither version is named any more.
        world.propagate("apps/v1", "Deployment", json!({"propagateDeps": false}));
        world.pass(60_000).await;
        assert!(size_on(&world, "m2").is_none());
    })
    .await;
}
