//! JSON patch, merge patch and strategic merge patch.

use e2e_conformance::{Scenario, get, http, json_patch, merge, post, strategic};
use http::Method;
use serde_json::json;

use super::widget::{widget, widgets};
use super::{config_map, config_maps};

pub fn scenario() -> Scenario {
    let deployments = |tail: &str| format!("/apis/apps/v1/namespaces/%{{ns}}/deployments{tail}");
    Scenario::new(
        "patches",
        vec![
            post("create", config_maps(""), &config_map("a")).save("first", "/metadata/resourceVersion"),
            merge(
                "merge",
                config_maps("/a"),
                &json!({"data": {"key": null, "other": "1"}}),
            ),
            merge("merge nothing", config_maps("/a"), &json!({})),
            merge(
                "merge what is there",
                config_maps("/a"),
                &json!({"data": {"other": "1"}}),
            ),
            merge(
                "merge in a dry run",
                config_maps("/a?dryRun=All"),
                &json!({"data": {"other": "2"}}),
            ),
            merge(
                "merge onto an old version",
                config_maps("/a"),
                &json!({"metadata": {"resourceVersion": "%{first}"}}),
            ),
            merge(
                "merge another name",
                config_maps("/a"),
                &json!({"metadata": {"name": "b"}}),
            ),
            merge(
                "merge another namespace",
                config_maps("/a"),
                &json!({"metadata": {"namespace": "b"}}),
            ),
            merge(
                "merge another uid",
                config_maps("/a"),
                &json!({"metadata": {"uid": "b"}}),
            ),
            merge("merge another kind", config_maps("/a"), &json!({"kind": "Secret"})),
            merge("merge a wrong type", config_maps("/a"), &json!({"data": {"other": 1}})),
            merge("merge an unknown field", config_maps("/a"), &json!({"dta": {}})),
            merge(
                "merge an unknown field, strictly",
                config_maps("/a?fieldValidation=Strict"),
                &json!({"dta": {}}),
            ),
            http("merge a list", Method::PATCH, config_maps("/a"), "[]").content_type("application/merge-patch+json"),
            http("merge half an object", Method::PATCH, config_maps("/a"), "{")
                .content_type("application/merge-patch+json"),
            http("a patch of no kind", Method::PATCH, config_maps("/a"), "{}"),
            json_patch(
                "replace",
                config_maps("/a"),
                &json!([{"op": "replace", "path": "/data/other", "value": "2"}]),
            ),
            json_patch(
                "add and remove",
                config_maps("/a"),
                &json!([
                {"op": "add", "path": "/data/new", "value": "n"}, {"op": "remove", "path": "/data/other"}]),
            ),
            json_patch(
                "test holds",
                config_maps("/a"),
                &json!([
                {"op": "test", "path": "/data/new", "value": "n"}, {"op": "copy", "from": "/data/new", "path": "/data/copy"}]),
            ),
            json_patch(
                "test fails",
                config_maps("/a"),
                &json!([{"op": "test", "path": "/data/new", "value": "9"}]),
            ),
            json_patch(
                "remove nothing",
                config_maps("/a"),
                &json!([{"op": "remove", "path": "/data/zz"}]),
            ),
            json_patch(
                "into nothing",
                config_maps("/a"),
                &json!([{"op": "add", "path": "/metadata/labels/x", "value": "y"}]),
            ),
            json_patch(
                "an unknown operation",
                config_maps("/a"),
                &json!([{"op": "burn", "path": "/data"}]),
            ),
            json_patch("no list", config_maps("/a"), &json!({})),
            json_patch("an empty list", config_maps("/a"), &json!([])),
            get("after all", config_maps("/a")),
            post(
                "a deployment",
                deployments(""),
                &json!({"metadata": {"name": "d", "finalizers": ["example.com/a"]}, "spec": {
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [
                    {"name": "c", "image": "nginx:1", "ports": [{"containerPort": 80}], "env": [{"name": "E", "value": "1"}]}]}}}}),
            ),
            strategic(
                "a container more",
                deployments("/d"),
                &json!({"spec": {"template": {"spec": {"containers": [{"name": "s", "image": "x"}]}}}}),
            ),
            strategic(
                "a variable",
                deployments("/d"),
                &json!({"spec": {"template": {"spec": {"containers": [
                {"name": "c", "env": [{"name": "F", "value": "2"}]}]}}}}),
            ),
            strategic(
                "delete a container",
                deployments("/d"),
                &json!({"spec": {"template": {"spec": {"containers": [
                {"name": "s", "$patch": "delete"}]}}}}),
            ),
            strategic(
                "replace the containers",
                deployments("/d"),
                &json!({"spec": {"template": {"spec": {"containers": [
                {"$patch": "replace"}, {"name": "r", "image": "y:1"}]}}}}),
            ),
            strategic(
                "a new order",
                deployments("/d"),
                &json!({"spec": {"template": {"spec": {
                "$setElementOrder/containers": [{"name": "z"}, {"name": "r"}],
                "containers": [{"name": "z", "image": "z:1"}]}}}}),
            ),
            strategic(
                "retain keys",
                deployments("/d"),
                &json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
            ),
            strategic(
                "a finalizer more",
                deployments("/d"),
                &json!({"metadata": {"finalizers": ["example.com/b"]}}),
            ),
            strategic(
                "a finalizer less",
                deployments("/d"),
                &json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}),
            ),
            strategic(
                "a key is missing",
                deployments("/d"),
                &json!({"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}}),
            ),
            strategic(
                "an unknown directive",
                deployments("/d"),
                &json!({"spec": {"$patch": "burn"}}),
            ),
            strategic("nothing", deployments("/d"), &json!({})),
            post(
                "a widget",
                widgets(""),
                &widget("w", &json!({"color": "red", "parts": [{"name": "a"}], "tags": ["x"]})),
            ),
            merge(
                "merge lists",
                widgets("/w"),
                &json!({"spec": {"parts": [{"name": "b"}]}}),
            ),
            merge("merge a null", widgets("/w"), &json!({"spec": {"replicas": null}})),
            merge(
                "merge a null into what is required",
                widgets("/w"),
                &json!({"spec": {"color": null}}),
            ),
            merge(
                "merge strictly",
                widgets("/w?fieldValidation=Strict"),
                &json!({"spec": {"nope": "b"}}),
            ),
            json_patch(
                "patch a widget",
                widgets("/w"),
                &json!([{"op": "add", "path": "/spec/tags/-", "value": "y"}]),
            ),
            json_patch(
                "patch a widget wrongly",
                widgets("/w"),
                &json!([{"op": "test", "path": "/spec/color", "value": "blue"}]),
            ),
            strategic(
                "no strategy for widgets",
                widgets("/w"),
                &json!({"spec": {"color": "blue"}}),
            ),
        ],
    )
}
