//! Lists: selectors, pages, versions.

use e2e_conformance::{Scenario, delete, get, merge, post};
use serde_json::json;

use super::widget::{widget, widgets};
use super::{config_map, config_maps};

pub fn scenario() -> Scenario {
    let mut operations = vec![get("empty", config_maps(""))];
    for (i, name) in ["one", "two", "three", "four", "five"].into_iter().enumerate() {
        let parity = if i % 2 == 0 { "even" } else { "odd" };
        let labels = json!({"parity": parity, "sort": "number", name: ""});
        let object = json!({"metadata": {"name": name, "labels": labels}, "data": {"i": i.to_string()}});
        operations.push(post(name, config_maps(""), &object).save(name, "/metadata/resourceVersion"));
    }
    for (name, selector) in [
        ("a label is there", "sort"),
        ("a label is not there", "!one"),
        ("equal", "parity=even"),
        ("equal, with two signs", "parity==even"),
        ("unequal", "parity!=even"),
        ("one of several", "parity+in+(even,none)"),
        ("none of several", "parity+notin+(even,none)"),
        ("two demands", "parity=even,one"),
        ("greater", "parity%3E1"),
        ("an empty value", "one="),
        ("a lone sign", "%3D"),
        ("a bad key", "a+b"),
        ("an open bracket", "a+in+(b"),
        ("a bad value", "a=b+c"),
    ] {
        operations.push(get(name, config_maps(&format!("?labelSelector={selector}"))));
    }
    for (name, selector) in [
        ("by name", "metadata.name%3Done"),
        ("by namespace", "metadata.namespace%3Dlists"),
        ("by another name", "metadata.name!%3Done"),
        ("by a field that cannot be selected", "data.i%3D1"),
        ("a field selector without a sign", "metadata.name"),
    ] {
        operations.push(get(name, config_maps(&format!("?fieldSelector={selector}"))));
    }
    operations.extend([
        get("the first page", config_maps("?limit=2")).save("second", "/metadata/continue"),
        post("created between pages", config_maps(""), &config_map("between")),
        merge(
            "changed between pages",
            config_maps("/two"),
            &json!({"data": {"i": "changed"}}),
        ),
        delete("deleted between pages", config_maps("/three")),
        get("the second page", config_maps("?limit=2&continue=%{second}")).save("third", "/metadata/continue"),
        get("the last page", config_maps("?limit=2&continue=%{third}")),
        get("the rest at once", config_maps("?continue=%{second}")),
        get("a page with a selector", config_maps("?limit=1&labelSelector=sort")),
        get("a page that is larger than all", config_maps("?limit=500")),
        get("a page of exactly all", config_maps("?limit=5")),
        get("a limit of zero", config_maps("?limit=0")),
        get("a negative limit", config_maps("?limit=-1")),
        get("a limit that is no number", config_maps("?limit=x")),
        get("a token that is none", config_maps("?limit=1&continue=zzz")),
        get(
            "a token with a version",
            config_maps("?limit=1&continue=%{second}&resourceVersion=%{five}"),
        ),
        get("any version", config_maps("?resourceVersion=0")),
        get("any version with a limit", config_maps("?resourceVersion=0&limit=2")),
        get(
            "not older than",
            config_maps("?resourceVersion=%{five}&resourceVersionMatch=NotOlderThan"),
        ),
        get(
            "exactly",
            config_maps("?resourceVersion=%{five}&resourceVersionMatch=Exact"),
        ),
        get(
            "exactly, in pages",
            config_maps("?resourceVersion=%{five}&resourceVersionMatch=Exact&limit=2"),
        ),
        get(
            "exactly zero",
            config_maps("?resourceVersion=0&resourceVersionMatch=Exact"),
        ),
        get(
            "a version with a limit alone",
            config_maps("?resourceVersion=%{five}&limit=3"),
        ),
        get("from the future", config_maps("?resourceVersion=99999999")),
        get("a version that is no number", config_maps("?resourceVersion=abc")),
        get(
            "an unknown match",
            config_maps("?resourceVersionMatch=Foo&resourceVersion=1"),
        ),
        get("a match without a version", config_maps("?resourceVersionMatch=Exact")),
        get("initial events of a list", config_maps("?sendInitialEvents=true")),
        get("in all namespaces", "/api/v1/configmaps?labelSelector=sort%3Dnumber"),
        get(
            "in all namespaces by name",
            "/api/v1/configmaps?fieldSelector=metadata.name%3Done,metadata.namespace%3Dlists",
        ),
        post("a widget", widgets(""), &widget("w", &json!({"color": "red"}))),
        post("a blue widget", widgets(""), &widget("v", &json!({"color": "blue"}))),
        get("widgets", widgets("")),
        get("a page of widgets", widgets("?limit=1")).save("next", "/metadata/continue"),
        get("the other widget", widgets("?limit=1&continue=%{next}")),
        get("by a selectable field", widgets("?fieldSelector=spec.color%3Dred")),
        get("by another value of it", widgets("?fieldSelector=spec.color!%3Dred")),
        get(
            "by a field that is not selectable",
            widgets("?fieldSelector=spec.code%3Dred"),
        ),
        get("no widgets", widgets("?labelSelector=none")),
        get(
            "secrets by type",
            "/api/v1/namespaces/%{ns}/secrets?fieldSelector=type%3DOpaque",
        ),
    ]);
    Scenario::new("lists", operations)
}
