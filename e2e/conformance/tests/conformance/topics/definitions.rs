//! Definitions of kinds: accepted, refused, changed, deleted with their objects.

use e2e_conformance::{Operation, Scenario, delete, get, merge, post};
use serde_json::{Value, json};

const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn definition(plural: &str, spec: &Value) -> Value {
    let kind = format!("{}{}", plural[..1].to_uppercase(), plural[1..].trim_end_matches('s'));
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.defs.example.com")},
        "spec": {"group": "defs.example.com", "scope": "Cluster", "names": {"plural": plural, "kind": kind}},
    });
    for (key, value) in spec.as_object().unwrap() {
        definition["spec"][key] = value.clone();
    }
    definition
}

fn schema(schema: &Value) -> Value {
    json!({"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]})
}

fn refused(name: &'static str, in_spec: Value) -> Operation {
    let whole = json!({"type": "object", "properties": {"spec": in_spec}});
    post(
        name,
        format!("{PATH}?dryRun=All"),
        &definition("tries", &schema(&whole)),
    )
}

pub fn scenario() -> Scenario {
    let good =
        json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}});
    let gears = |tail: &str| format!("/apis/defs.example.com/v1/gears{tail}");
    let two_versions = json!({"versions": [
        {"name": "v1beta1", "served": true, "storage": false, "schema": {"openAPIV3Schema": good}, "deprecated": true},
        {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": good}},
        {"name": "v2", "served": false, "storage": false, "schema": {"openAPIV3Schema": good}}]});
    let mut name = definition("tries", &schema(&good));
    name["metadata"]["name"] = "wrong.defs.example.com".into();
    let mut no_group = definition("tries", &schema(&good));
    no_group["spec"]["group"] = "".into();
    Scenario::new(
        "definitions",
        vec![
            post(
                "in a dry run",
                format!("{PATH}?dryRun=All"),
                &definition("tries", &schema(&good)),
            ),
            post("another name", format!("{PATH}?dryRun=All"), &name),
            post("no group", format!("{PATH}?dryRun=All"), &no_group),
            post(
                "no versions",
                format!("{PATH}?dryRun=All"),
                &definition("tries", &json!({})),
            ),
            post(
                "no schema",
                format!("{PATH}?dryRun=All"),
                &definition(
                    "tries",
                    &json!({"versions": [{"name": "v1", "served": true, "storage": true}]}),
                ),
            ),
            post(
                "two storage versions",
                format!("{PATH}?dryRun=All"),
                &definition(
                    "tries",
                    &json!({"versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": good}},
                {"name": "v2", "served": true, "storage": true, "schema": {"openAPIV3Schema": good}}]}),
                ),
            ),
            post(
                "an unknown scope",
                format!("{PATH}?dryRun=All"),
                &definition(
                    "tries",
                    &json!({"scope": "Galaxy", "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": good}}]}),
                ),
            ),
            refused("no type", json!({"properties": {"a": {"type": "string"}}})),
            refused("an unknown type", json!({"type": "thing"})),
            refused("a bad pattern", json!({"type": "string", "pattern": "("})),
            refused(
                "a map list without keys",
                json!({"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}}),
            ),
            refused("a list without items", json!({"type": "array"})),
            refused("a default of another type", json!({"type": "string", "default": 1})),
            refused(
                "a rule that does not compile",
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": [{"rule": "self.b == 1"}]}),
            ),
            refused(
                "a rule that is no bool",
                json!({"type": "string", "x-kubernetes-validations": [{"rule": "self"}]}),
            ),
            refused(
                "a rule without text",
                json!({"type": "string", "x-kubernetes-validations": [{"rule": ""}]}),
            ),
            refused(
                "a rule of great cost",
                json!({"type": "array", "items": {"type": "array", "items": {"type": "string"}}, "x-kubernetes-validations": [{"rule": "self.all(x, x.all(y, self.all(z, z.all(w, w == y))))"}]}),
            ),
            refused(
                "unique items",
                json!({"type": "array", "uniqueItems": true, "items": {"type": "string"}}),
            ),
            refused(
                "properties beside additional ones",
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
            ),
            post("gears", PATH, &definition("gears", &two_versions)),
            get("gears are served", gears("")).until(200),
            get("gears are established", format!("{PATH}/gears.defs.example.com")),
            post("the same name", PATH, &definition("gears", &two_versions)),
            post(
                "a gear",
                gears(""),
                &json!({"apiVersion": "defs.example.com/v1", "kind": "Gear", "metadata": {"name": "g"}, "spec": {"a": "b"}}),
            ),
            get("the gear by its old version", "/apis/defs.example.com/v1beta1/gears/g"),
            get("a version that is not served", "/apis/defs.example.com/v2/gears/g"),
            get(
                "gears without a namespace",
                "/apis/defs.example.com/v1/namespaces/default/gears",
            ),
            get("the group", "/apis/defs.example.com"),
            get("its resources", "/apis/defs.example.com/v1"),
            get("no subresource status", gears("/g/status")),
            merge("no generation of a status", gears("/g"), &json!({"status": {"x": 1}})),
            merge(
                "a new column",
                format!("{PATH}/gears.defs.example.com"),
                &json!({"metadata": {"labels": {"a": "b"}}}),
            ),
            merge(
                "another scope",
                format!("{PATH}/gears.defs.example.com"),
                &json!({"spec": {"scope": "Namespaced"}}),
            ),
            merge(
                "another group",
                format!("{PATH}/gears.defs.example.com"),
                &json!({"spec": {"group": "other.example.com"}}),
            ),
            merge(
                "another kind",
                format!("{PATH}/gears.defs.example.com"),
                &json!({"spec": {"names": {"kind": "Cog"}}}),
            ),
            delete("delete gears", format!("{PATH}/gears.defs.example.com")),
            get("their definition goes", format!("{PATH}/gears.defs.example.com")).until(404),
            get("gears go", gears("")).until(404),
            delete("delete what is not there", format!("{PATH}/none.defs.example.com")),
        ],
    )
}
