//! Objects without a namespace: a definition goes to the members by a ClusterPropagationPolicy, and then its objects can.

use serde_json::{Value, json};

use crate::world::{MEMBERS, World, condition};

pub fn definition(plural: &str, kind: &str, color: Value) -> Value {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"color": color}},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.io")},
        "spec": {"group": "example.io", "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema}}]}})
}

pub fn painted(kind: &str, namespace: &str, name: &str, color: &str) -> Value {
    json!({"apiVersion": "example.io/v1", "kind": kind, "metadata": {"namespace": namespace, "name": name},
        "spec": {"color": color}})
}

pub async fn a_definition_brings_its_objects(world: &World) {
    let widgets = world
        .spread(definition("widgets", "Widget", json!({"type": "string"})), json!({}))
        .await;
    world
        .plane
        .until(&widgets.template, "is served", |crd| {
            condition(crd, "Established")["status"] == "True"
        })
        .await;
    // The objects come first: the member says that it lacks the kind, and is asked again when the definition is there.
    let widget = world.spread(painted("Widget", "scope", "one", "red"), json!({})).await;
    world.place(&widget, &MEMBERS.map(|name| (name, 0))).await;
    for name in MEMBERS {
        world
            .refused(&widget, name, "does not serve Widget of example.io/v1")
            .await;
    }
    world.place(&widgets, &MEMBERS.map(|name| (name, 0))).await;
    for name in MEMBERS {
        world.applied(&widgets, name).await;
        world.applied(&widget, name).await;
        world
            .member(name)
            .merge_status(&widget.template, json!({"seen": name}))
            .await;
        world
            .item(&widget, name, "its status", |item| item["status"]["seen"] == name)
            .await;
    }
    // A new version of the definition follows; the objects stay.
    let label = json!({"metadata": {"labels": {"version": "2"}}});
    world.plane.merge(&widgets.template, label).await;
    for name in MEMBERS {
        let follows = |crd: &Value| crd["metadata"]["labels"]["version"] == "2";
        world.member(name).until(&widgets.template, "follows", follows).await;
        world.applied(&widgets, name).await;
        assert!(world.member(name).has(&widget.template).await);
    }
    // On fewer clusters: it leaves the others, and its objects with it there.
    world.place(&widget, &[("m1", 0)]).await;
    world.place(&widgets, &[("m1", 0)]).await;
    world.m2.until_gone(&widgets.template).await;
    world.plane.until_gone(&widgets.work("m2")).await;
    assert!(world.m1.has(&widget.template).await);
}
