//! Deletion: finalizers, owners and what they own, whole collections, namespaces.

use e2e_conformance::{Scenario, delete, delete_with, get, kubectl, merge, post, put};
use serde_json::{Value, json};

use super::config_maps;
use super::widget::{widget, widgets};

pub fn scenario() -> Scenario {
    let held = |name: &str| json!({"metadata": {"name": name, "finalizers": ["example.com/x", "example.com/y"]}});
    let owned = |name: &str, owner: &str| -> Value {
        json!({"metadata": {"name": name, "labels": {"owned": ""}, "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": format!("%{{{owner}}}"), "controller": true, "blockOwnerDeletion": true}]}})
    };
    let simple = |name: &str| json!({"metadata": {"name": name}});
    Scenario::new(
        "deletion",
        vec![
            post("held", config_maps(""), &held("a")),
            delete("marked", config_maps("/a")),
            delete("marked again", config_maps("/a")),
            get("still there", config_maps("/a")),
            post("create it meanwhile", config_maps(""), &simple("a")),
            merge("change it meanwhile", config_maps("/a"), &json!({"data": {"k": "v"}})),
            merge("a new finalizer", config_maps("/a"), &json!({"metadata": {"finalizers": ["example.com/x", "example.com/y", "example.com/z"]}})),
            merge("no deletion any more", config_maps("/a"), &json!({"metadata": {"deletionTimestamp": null}})),
            merge("one finalizer less", config_maps("/a"), &json!({"metadata": {"finalizers": ["example.com/y"]}})),
            merge("the last finalizer in a dry run", config_maps("/a?dryRun=All"), &json!({"metadata": {"finalizers": []}})),
            merge("the last finalizer", config_maps("/a"), &json!({"metadata": {"finalizers": null}})),
            get("gone", config_maps("/a")),
            post("held widget", widgets(""), &json!({"apiVersion": "conformance.example.com/v1", "kind": "Widget", "metadata": {"name": "w", "finalizers": ["example.com/x"]}, "spec": {"color": "red"}})).save("w", "/metadata/resourceVersion"),
            delete("mark a widget", widgets("/w")).save("w", "/metadata/resourceVersion"),
            put("let it go", widgets("/w"), &json!({"apiVersion": "conformance.example.com/v1", "kind": "Widget", "metadata": {"name": "w", "resourceVersion": "%{w}"}, "spec": {"color": "red"}})),
            get("widget gone", widgets("/w")),
            post("another widget", widgets(""), &widget("v", &json!({"color": "red"}))),
            delete_with("delete a widget in a dry run", widgets("/v"), &json!({"dryRun": ["All"]})),
            delete("delete a widget", widgets("/v?gracePeriodSeconds=0")),
            // Owners.
            post("owner", config_maps(""), &simple("owner")).save("owner", "/metadata/uid"),
            post("owned", config_maps(""), &owned("owned", "owner")),
            delete_with("delete the owner", config_maps("/owner"), &json!({"propagationPolicy": "Background"})),
            get("the owned goes", config_maps("/owned")).until(404),
            post("parent", config_maps(""), &simple("parent")).save("parent", "/metadata/uid"),
            post("child", config_maps(""), &owned("child", "parent")),
            delete_with("orphan the child", config_maps("/parent"), &json!({"propagationPolicy": "Orphan"})),
            get("the parent goes", config_maps("/parent")).until(404),
            get("the child stays", config_maps("/child")),
            post("head", config_maps(""), &simple("head")).save("head", "/metadata/uid"),
            post("hand", config_maps(""), &owned("hand", "head")),
            delete_with("in the foreground", config_maps("/head"), &json!({"propagationPolicy": "Foreground"})),
            get("the head goes", config_maps("/head")).until(404),
            get("the hand went first", config_maps("/hand")),
            post("owned by nobody", config_maps(""), &json!({"metadata": {"name": "nobody", "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "uid": "11111111-2222-4333-8444-555555555555"}]}})),
            get("it goes as well", config_maps("/nobody")).until(404),
            post("first of two owners", config_maps(""), &simple("two")).save("two", "/metadata/uid"),
            post("second of two owners", config_maps(""), &simple("owner")).save("owner", "/metadata/uid"),
            post("owned by two", config_maps(""), &json!({"metadata": {"name": "both", "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "two", "uid": "%{two}"},
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "%{owner}"}]}})),
            delete("delete one of them", config_maps("/two")),
            kubectl("it forgets that owner", "wait --for=jsonpath={.metadata.ownerReferences[0].name}=owner cm/both -n %{ns} --timeout=20s", ""),
            get("it stays", config_maps("/both")),
            // Collections.
            post("first of a group", config_maps(""), &json!({"metadata": {"name": "g1", "labels": {"group": ""}}})),
            post("second of a group", config_maps(""), &json!({"metadata": {"name": "g2", "labels": {"group": ""}, "finalizers": ["example.com/x"]}})),
            delete_with("a collection in a dry run", config_maps("?labelSelector=group"), &json!({"dryRun": ["All"]})),
            delete("a collection", config_maps("?labelSelector=group")),
            get("what is left of it", config_maps("?labelSelector=group")),
            delete("a collection with a bad selector", config_maps("?labelSelector=%3D")),
            delete("an empty collection", widgets("")),
            delete("options and a body", config_maps("?labelSelector=none&propagationPolicy=Foreground")),
            // Namespaces.
            post("a namespace", "/api/v1/namespaces", &json!({"metadata": {"name": "deletion-inner", "labels": {"a": "b"}}})),
            post("something in it", "/api/v1/namespaces/deletion-inner/configmaps", &held("a")),
            delete("delete the namespace", "/api/v1/namespaces/deletion-inner"),
            post("create in it", "/api/v1/namespaces/deletion-inner/configmaps", &simple("b")),
            kubectl("its content is marked", "wait --for=jsonpath={.metadata.deletionGracePeriodSeconds}=0 cm/a -n deletion-inner --timeout=20s", ""),
            merge("let its content go", "/api/v1/namespaces/deletion-inner/configmaps/a", &json!({"metadata": {"finalizers": null}})),
            get("the namespace goes", "/api/v1/namespaces/deletion-inner").until(404),
        ],
    )
}
