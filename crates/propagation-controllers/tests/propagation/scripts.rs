//! Kinds that scripts of ResourceInterpreterCustomizations speak for.

use kube_sandbox::{Effect, Match, Verb};
use rstest::rstest;
use serde_json::{Value, json};

use crate::world::{World, edit, limited};

const CRD: &str = "apiextensions.k8s.io/v1";
pub const WIDGETS: &str = "example.io/v1";

pub fn definition() -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    json!({"apiVersion": CRD, "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.io"},
        "spec": {"group": "example.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema, "subresources": {"status": {}}}]}})
}

pub fn scripts() -> Value {
    json!({
        "replicaResource": "function GetReplicas(o) return o.spec.size, {resourceRequest = {cpu = '250m'}} end",
        "replicaRevision": "function ReviseReplica(o, n) o.spec.size = n return o end",
        "retention": "function Retain(d, o) d.spec.token = o.spec.token return d end",
        "statusReflection": "function ReflectStatus(o) if o.status == nil then return {} end return {phase = o.status.phase, size = o.status.size} end",
        "statusAggregation": r"
            function AggregateStatus(d, items)
              d.status = {size = 0}
              for _, item in ipairs(items) do
                if item.status ~= nil and item.status.size ~= nil then d.status.size = d.status.size + item.status.size end
              end
              return d
            end",
        "healthInterpretation": "function InterpretHealth(o) return o.status ~= nil and o.status.phase == 'Running' end",
        "dependencyInterpretation": r"
            function GetDependencies(o)
              return {{apiVersion = 'v1', kind = 'ConfigMap', namespace = o.metadata.namespace, name = o.spec.settings}}
            end",
    })
}

pub fn customization(world: &World, name: &str, scripts: Value) {
    let scripts = scripts.as_object().unwrap().iter();
    let scripts: Value = scripts
        .map(|(field, source)| (field.clone(), json!({"luaScript": source})))
        .collect();
    world.put(
        json!({"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
        "metadata": {"name": name},
        "spec": {"target": {"apiVersion": WIDGETS, "kind": "Widget"}, "customizations": scripts}}),
    );
}

/// The scripts with some of them in other words.
pub fn with(more: Value) -> Value {
    let mut all = scripts();
    for (field, source) in more.as_object().unwrap() {
        all[field] = source.clone();
    }
    all
}

/// A widget of size 3 that needs settings; scripts and policy for it, members m1 and m2.
pub async fn widgets() -> World {
    let mut world = World::new(&["m1", "m2"]);
    for server in [
        world.control_plane(),
        world.member("m1").sandbox(),
        world.member("m2").sandbox(),
    ] {
        server.create(definition()).unwrap();
    }
    customization(&world, "widgets", scripts());
    world.propagate(WIDGETS, "Widget", json!({"propagateDeps": true}));
    world.put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": "settings"}, "data": {"k": "v"}}));
    world.put(
        json!({"apiVersion": WIDGETS, "kind": "Widget", "metadata": {"namespace": "shop", "name": "gear"},
        "spec": {"size": 3, "settings": "settings", "labels": {}, "list": []}}),
    );
    world.start().await;
    world
}

async fn running() -> World {
    let world = widgets().await;
    world.schedule("gear-widget", &[("m1", 1), ("m2", 2)]);
    world.settle().await;
    for (cluster, size) in [("m1", 1), ("m2", 2)] {
        report(&world, cluster, json!({"phase": "Running", "size": size}));
    }
    world.settle().await;
    world
}

/// What the member's own controller would say.
fn report(world: &World, cluster: &str, status: Value) {
    edit(
        world.member(cluster).sandbox(),
        WIDGETS,
        "Widget",
        Some("shop"),
        "gear",
        |widget| widget["status"] = status,
    );
}

fn health(world: &World, cluster: &str) -> Value {
    world.item("gear-widget", cluster)["health"].clone()
}

#[tokio::test(start_paused = true)]
async fn scripts_speak_at_every_step() {
    limited(async {
        let world = widgets().await;
        let spec = world.binding("gear-widget").unwrap()["spec"].clone();
        assert_eq!(spec["replicas"], 3);
        assert_eq!(spec["replicaRequirements"]["resourceRequest"], json!({"cpu": "250m"}));

        world.schedule("gear-widget", &[("m1", 1), ("m2", 2)]);
        world.settle().await;
        let on = |cluster: &str| world.on(cluster, WIDGETS, "Widget", "gear").unwrap()["spec"].clone();
        assert_eq!(
            on("m2"),
            json!({"size": 2, "settings": "settings", "labels": {}, "list": []})
        );
        assert!(
            world.on("m2", "v1", "ConfigMap", "settings").is_some(),
            "what it needs came along"
        );
        assert_eq!(health(&world, "m2"), "Unhealthy", "there, and not at work yet");

        for (cluster, size) in [("m1", 1), ("m2", 2)] {
            report(
                &world,
                cluster,
                json!({"phase": "Running", "size": size, "secret": "x"}),
            );
        }
        edit(
            world.member("m1").sandbox(),
            WIDGETS,
            "Widget",
            Some("shop"),
            "gear",
            |widget| widget["spec"]["token"] = json!("t"),
        );
        world.settle().await;
        assert_eq!(health(&world, "m1"), "Healthy");
        assert_eq!(
            world.item("gear-widget", "m2")["status"],
            json!({"phase": "Running", "size": 2})
        );
        let template = world
            .control_plane()
            .get(WIDGETS, "Widget", Some("shop"), "gear")
            .unwrap();
        assert_eq!(template["status"], json!({"size": 3}));

        world.edit(WIDGETS, "Widget", Some("shop"), "gear", |widget| {
            widget["spec"]["color"] = json!("red");
        });
        world.settle().await;
        assert_eq!(
            (&on("m1")["color"], &on("m1")["token"]),
            (&json!("red"), &json!("t")),
            "the member's own stays"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_changed_script_is_asked_at_once_and_one_that_is_gone_no_more() {
    limited(async {
        let world = running().await;
        world.forget_writes();
        world.pass(600_000).await;
        assert_eq!(world.writes(), [], "at rest nothing is written");

        customization(
            &world,
            "widgets",
            with(json!({"healthInterpretation": "function InterpretHealth(o) return o.status.size > 1 end"})),
        );
        world.settle().await;
        assert_eq!(
            (health(&world, "m1"), health(&world, "m2")),
            (json!("Unhealthy"), json!("Healthy"))
        );

        world
            .delete(
                "config.karmada.io/v1alpha1",
                "ResourceInterpreterCustomization",
                None,
                "widgets",
            )
            .await;
        world.settle().await;
        assert_eq!(
            health(&world, "m1"),
            "Healthy",
            "without a rule it works once it is there"
        );
    })
    .await;
}

// C112 (karmada#6600): an error of the interpreter is not "unhealthy", not "nothing needed", not "no replicas".
#[tokio::test(start_paused = true)]
async fn a_script_that_fails_leaves_all_as_it_is() {
    limited(async {
        let world = running().await;
        let before = world.binding("gear-widget").unwrap()["spec"].clone();
        let fails = |function: &str| format!("function {function}(o)\n  return o.nothing.there\nend");
        customization(
            &world,
            "widgets",
            with(json!({"healthInterpretation": fails("InterpretHealth"), "dependencyInterpretation": fails("GetDependencies"),
                "replicaResource": fails("GetReplicas"), "replicaRevision": fails("ReviseReplica"), "statusAggregation": fails("AggregateStatus")})),
        );
        world.pass(600_000).await;
        assert_eq!(world.binding("gear-widget").unwrap()["spec"], before);
        assert!(world.on("m1", "v1", "ConfigMap", "settings").is_some(), "what it needs stays");
        assert_eq!(health(&world, "m1"), "Unknown");
        let told = world.events_from("work-status-controller");
        let words = "InterpretHealthFailed: cannot judge the health of Widget shop/gear: ResourceInterpreterCustomization widgets, \
            healthInterpretation: line 2: attempt to index field 'nothing' (a nil value)";
        assert!(told.iter().any(|said| said.contains(words)), "{told:?}");
        let template = world.control_plane().get(WIDGETS, "Widget", Some("shop"), "gear").unwrap();
        assert_eq!(template["status"], json!({"size": 3}));
        let said = world.condition("gear-widget", "FullyApplied");
        let message = said["message"].as_str().unwrap();
        let words = "replicaRevision: line 2: attempt to index field 'nothing'";
        assert!(said["status"] == "False" && message.contains("cluster m1: ") && message.contains(words), "{said}");

        customization(&world, "widgets", scripts());
        world.settle().await;
        assert_eq!(health(&world, "m1"), "Healthy");
        assert_eq!(world.condition("gear-widget", "FullyApplied")["status"], "True");
    })
    .await;
}

/// Where the words of a script that fails stand on the binding.
fn said(world: &World, field: &str) -> String {
    let words = match field {
        "replicaRevision" => world.condition("gear-widget", "FullyApplied"),
        "retention" => return world.item("gear-widget", "m1")["appliedMessage"].to_string(),
        _ => world.condition("gear-widget", "Interpreted"),
    };
    assert_ne!(words["status"], "True", "{words}");
    words["message"].to_string()
}

// A script that loops, takes memory, fails or returns what it may not: people read why on the binding, and nobody waits.
#[rstest]
#[case::health(
    "healthInterpretation",
    "InterpretHealth",
    "cluster m1: cannot judge the health of Widget shop/gear: ",
    "boolean"
)]
#[case::reflection(
    "statusReflection",
    "ReflectStatus",
    "cluster m1: cannot reflect the status of Widget shop/gear: ",
    "table"
)]
#[case::aggregation(
    "statusAggregation",
    "AggregateStatus",
    "cannot aggregate the status of Widget shop/gear: ",
    "table"
)]
#[case::replicas(
    "replicaResource",
    "GetReplicas",
    "cannot count the replicas of Widget shop/gear: ",
    "number"
)]
#[case::revision(
    "replicaRevision",
    "ReviseReplica",
    "cluster m1: cannot revise the replicas of Widget shop/gear: ",
    "table"
)]
#[case::retention(
    "retention",
    "Retain",
    "cannot retain what the member keeps of Widget shop/gear: ",
    "table"
)]
#[case::dependencies(
    "dependencyInterpretation",
    "GetDependencies",
    "cannot find the dependencies of Widget shop/gear: ",
    "list"
)]
#[tokio::test(start_paused = true)]
async fn a_script_of_bad_behaviour_has_words_and_keeps_nobody_waiting(
    #[case] field: &str,
    #[case] function: &str,
    #[case] asked: &str,
    #[case] wanted: &str,
    #[values(
        ("while true do pcall(function() while true do end end) end", " takes more than "),
        ("local s = 'x' while true do s = s .. s end", " needs more than 32 MiB of memory"),
        ("error('broken')", " line 1: broken"),
        ("return 'text'", " returned a string, not a "),
    )]
    (body, words): (&str, &str),
) {
    limited(async {
        let world = widgets().await;
        world.schedule("gear-widget", &[("m1", 3)]);
        world.settle().await;
        report(&world, "m1", json!({"phase": "Running", "size": 3}));
        world.settle().await;
        assert!(
            world.condition("gear-widget", "Interpreted").is_null(),
            "nothing is said of what is fine"
        );
        let script = json!({field: format!("function {function}(o) {body} end")});
        customization(&world, "widgets", with(script));
        world.propagate("apps/v1", "Deployment", json!({}));
        world.deployment("web", 1);
        world.settle().await;
        world.schedule("web-deployment", &[("m1", 1)]);
        world.pass(3_000).await;
        assert_eq!(world.item("web-deployment", "m1")["health"], "Healthy");
        world.pass(20_000).await;
        let said_of = said(&world, field);
        let by = format!("ResourceInterpreterCustomization widgets, {field}:");
        assert!(
            said_of.contains(asked) && said_of.contains(&by) && said_of.contains(words),
            "{said_of}"
        );
        assert!(
            !words.contains(" not a ") || said_of.contains(&format!("not a {wanted}")),
            "{said_of}"
        );
        assert!(world.on("m1", WIDGETS, "Widget", "gear").is_some());
        if !words.contains("more than") {
            world.forget_writes();
            world.pass(600_000).await;
            let again: Vec<_> = world
                .writes()
                .into_iter()
                .filter(|write| write.resource != "events")
                .collect();
            assert_eq!(again, [], "what is said is not said again");
        }

        customization(&world, "widgets", scripts());
        world.pass(60_000).await;
        assert_eq!(health(&world, "m1"), "Healthy");
        assert_eq!(world.condition("gear-widget", "FullyApplied")["status"], "True");
        assert_ne!(world.condition("gear-widget", "Interpreted")["status"], "False");
    })
    .await;
}

// A status that is no object would be refused by the API server, and with it what else is said of the Work.
#[rstest]
#[case::by_the_script(true, "ReflectStatus returned a list, not an object")]
#[case::by_the_member(false, "its status is a list, not an object")]
#[tokio::test(start_paused = true)]
async fn a_status_that_is_no_object_is_told_and_the_work_is_applied(#[case] scripted: bool, #[case] words: &str) {
    limited(async {
        let world = widgets().await;
        let mut all = scripts();
        all["statusReflection"] = json!("function ReflectStatus(o) return {{phase = 'Running'}} end");
        all["healthInterpretation"] = json!("function InterpretHealth(o) return true end");
        if !scripted {
            all.as_object_mut().unwrap().remove("statusReflection");
        }
        customization(&world, "widgets", all);
        let member = world.member("m1");
        let server = member.sandbox();
        let mut there = world
            .control_plane()
            .get(WIDGETS, "Widget", Some("shop"), "gear")
            .unwrap();
        there["metadata"] = json!({"namespace": "shop", "name": "gear"});
        there["status"] = json!([{"phase": "Running"}]);
        server
            .put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}))
            .unwrap();
        server.put(there).unwrap();
        world.edit_binding("gear-widget", |binding| {
            binding["spec"]["conflictResolution"] = json!("Overwrite");
        });
        world.edit(
            "policy.karmada.io/v1alpha1",
            "PropagationPolicy",
            Some("shop"),
            "widget",
            |policy| {
                policy["spec"]["conflictResolution"] = json!("Overwrite");
            },
        );
        world.settle().await;
        world.schedule("gear-widget", &[("m1", 3)]);
        world.settle().await;
        let item = world.item("gear-widget", "m1");
        assert_eq!((&item["applied"], &item["health"]), (&json!(true), &json!("Healthy")));
        let said = world.condition("gear-widget", "Interpreted");
        assert_eq!(said["reason"], "ReflectStatusFailed");
        assert!(said["message"].as_str().unwrap().contains(words), "{said}");
        assert_eq!(world.condition("gear-widget", "FullyApplied")["status"], "True");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn scripts_that_do_not_count_are_told() {
    limited(async {
        let world = running().await;
        customization(&world, "zz-second", json!({"healthInterpretation": "function InterpretHealth(o) return false end"}));
        world.settle().await;
        assert_eq!(health(&world, "m1"), "Healthy", "the first by name counts");
        customization(&world, "broken", json!({"retention": "function Retain(d, o)\n  return d..\nend"}));
        world.settle().await;
        let told = world.events_from("resource-interpreter");
        let about = |name: &str| -> Vec<&String> {
            told.iter().filter(|said| said.starts_with(&format!("ResourceInterpreterCustomization {name} "))).collect()
        };
        assert_eq!(
            about("zz-second"),
            ["ResourceInterpreterCustomization zz-second ScriptShadowed: healthInterpretation for example.io/v1 Widget is not used: \
                widgets has one, too, and comes first by name; remove one of the two"]
        );
        assert_eq!(
            about("broken"),
            ["ResourceInterpreterCustomization broken ScriptInvalid: retention cannot be used: line 3: unexpected symbol near 'end'; \
                until it is mended, objects of the kind are not interpreted in this respect"]
        );
        assert_eq!(about("widgets").len(), 1, "its retention does not count: broken comes first by name");
    })
    .await;
}

// C112 (karmada#6600): what was not read yet is not "there are none".
#[tokio::test(start_paused = true)]
async fn nothing_is_interpreted_before_the_scripts_were_read() {
    limited(async {
        let mut world = running().await;
        let before = world.binding("gear-widget").unwrap()["spec"].clone();
        world.stop().await;
        let refusal = Effect::Error {
            code: 500,
            reason: "InternalError".to_owned(),
            message: "etcd".to_owned(),
        };
        let faults = world.control_plane().faults();
        let lists = Match::any()
            .verb(Verb::List)
            .resource("resourceinterpretercustomizations")
            .client("propagation");
        let fault = faults.inject(lists, refusal);
        world.put(
            json!({"apiVersion": WIDGETS, "kind": "Widget", "metadata": {"namespace": "shop", "name": "new"},
            "spec": {"size": 2, "settings": "settings"}}),
        );
        world.start().await;
        world.pass(120_000).await;
        assert!(world.binding("new-widget").is_none());
        assert_eq!(world.binding("gear-widget").unwrap()["spec"], before);
        assert!(world.on("m1", "v1", "ConfigMap", "settings").is_some());

        world.control_plane().faults().remove(fault);
        world.pass(120_000).await;
        assert_eq!(world.binding("new-widget").unwrap()["spec"]["replicas"], 2);
        assert_eq!(health(&world, "m1"), "Healthy");
    })
    .await;
}

// A status that a script cannot reflect does not hide that the object is not healthy any more.
#[tokio::test(start_paused = true)]
async fn health_counts_where_the_status_cannot_be_reflected() {
    limited(async {
        let world = running().await;
        let reflect = "function ReflectStatus(o) if o.status.phase ~= 'Running' then error('odd phase') end return {phase = o.status.phase, size = o.status.size} end";
        customization(&world, "widgets", with(json!({"statusReflection": reflect})));
        world.settle().await;
        assert_eq!(health(&world, "m1"), "Healthy");
        report(&world, "m1", json!({"phase": "Failed", "size": 0}));
        world.settle().await;
        assert_eq!(health(&world, "m1"), "Unhealthy");
        let status = world.item("gear-widget", "m1")["status"].clone();
        assert_eq!(status, json!({"phase": "Running", "size": 1}), "it stays as it was");
        let events = world.control_plane().list("v1", "Event");
        let told = events.iter().filter(|event| event["reason"] == "ReflectStatusFailed");
        assert!(told.count() > 0);
        report(&world, "m1", json!({"phase": "Running", "size": 2}));
        world.settle().await;
        assert_eq!(world.item("gear-widget", "m1")["status"], json!({"phase": "Running", "size": 2}));
    })
    .await;
}
