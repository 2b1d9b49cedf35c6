//! Custom objects: pruning, defaults, shape, rules.

use e2e_conformance::{Operation, Scenario, get, http, merge, post, put};
use http::Method;
use serde_json::{Value, json};

use super::widget::{widget, widgets};

/// A spec that is refused, or not.
fn tried(name: &'static str, spec: Value) -> Operation {
    post(name, widgets("?dryRun=All"), &widget("w", &spec))
}

pub fn scenario() -> Scenario {
    let mut operations = vec![
        post(
            "pruned and completed",
            widgets(""),
            &widget(
                "w1",
                &json!({
            "color": "red", "unknown": 1, "note": null, "parts": [{"name": "a", "unknown": {"x": 1}}],
            "free": {"any": {"thing": [1, null]}}, "nested": {"nope": 1}}),
            ),
        )
        .save("first", "/metadata/resourceVersion"),
        post(
            "unknown fields, strictly",
            widgets("?fieldValidation=Strict"),
            &widget(
                "w",
                &json!({"color": "red", "unknown": 1, "parts": [{"name": "a", "more": 1}]}),
            ),
        ),
        post(
            "unknown fields with a warning",
            widgets("?fieldValidation=Warn&dryRun=All"),
            &widget("w", &json!({"color": "red", "unknown": 1})),
        ),
        http(
            "a field twice, strictly",
            Method::POST,
            widgets("?fieldValidation=Strict&dryRun=All"),
            r#"{"apiVersion":"conformance.example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"color":"red","color":"blue"}}"#,
        ),
        post(
            "unknown metadata",
            widgets(""),
            &json!({"apiVersion": "conformance.example.com/v1", "kind": "Widget", "metadata": {"name": "meta", "unknown": 1}, "spec": {"color": "red"}, "extra": 1}),
        ),
        post(
            "a wrong type in metadata",
            widgets(""),
            &json!({"apiVersion": "conformance.example.com/v1", "kind": "Widget", "metadata": {"name": "x", "labels": {"a": 1}}, "spec": {"color": "red"}}),
        ),
        post(
            "a status at birth",
            widgets(""),
            &json!({"apiVersion": "conformance.example.com/v1", "kind": "Widget", "metadata": {"name": "born", "generation": 7}, "spec": {"color": "red"}, "status": {"replicas": 3}}),
        ),
        tried("another color", json!({"color": "pink"})),
        tried("no color", json!({})),
        tried("a number for a string", json!({"color": 1})),
        tried("null for a string", json!({"color": null})),
        tried("a string for a number", json!({"color": "red", "replicas": "1"})),
        tried("a fraction for a number", json!({"color": "red", "replicas": 1.5})),
        tried(
            "a whole fraction for a number",
            json!({"color": "red", "replicas": 2.0}),
        ),
        tried("too great", json!({"color": "red", "replicas": 11})),
        tried("too small", json!({"color": "red", "replicas": -1})),
        tried("not of int32", json!({"color": "red", "low": 3_000_000_000_i64})),
        tried("a bad pattern", json!({"color": "red", "code": "A1"})),
        tried("too long", json!({"color": "red", "code": "abcdef"})),
        tried("too short", json!({"color": "red", "code": "a"})),
        tried("exclusive minimum", json!({"color": "red", "share": 0})),
        tried("no multiple", json!({"color": "red", "share": 0.3})),
        tried("a time", json!({"color": "red", "at": "2026-01-01T00:00:00Z"})),
        tried("no time", json!({"color": "red", "at": "yesterday"})),
        tried(
            "too many items",
            json!({"color": "red", "parts": [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}]}),
        ),
        tried(
            "a key twice",
            json!({"color": "red", "parts": [{"name": "a"}, {"name": "a"}]}),
        ),
        tried("no key", json!({"color": "red", "parts": [{"size": 1}]})),
        tried("a wrong item", json!({"color": "red", "parts": ["a"]})),
        tried("a string for a list", json!({"color": "red", "parts": "a"})),
        tried("a member twice", json!({"color": "red", "tags": ["a", "b", "a"]})),
        tried(
            "a map with a wrong value",
            json!({"color": "red", "limits": {"a": 0, "b": "x"}}),
        ),
        tried(
            "too many entries",
            json!({"color": "red", "limits": {"a": 1, "b": 1, "c": 1}}),
        ),
        tried("neither", json!({"color": "red", "either": {}})),
        tried("both", json!({"color": "red", "either": {"a": "1", "b": "2"}})),
        tried("either", json!({"color": "red", "either": {"a": "1"}})),
        tried("an int or string: string", json!({"color": "red", "port": "http"})),
        tried("an int or string: int", json!({"color": "red", "port": 80})),
        tried("an int or string: bool", json!({"color": "red", "port": true})),
        tried("an int or string: object", json!({"color": "red", "port": {}})),
        tried("a rule", json!({"color": "red", "low": 3, "high": 2})),
        tried(
            "a rule with an expression as message",
            json!({"color": "red", "low": 3, "high": 200}),
        ),
        tried(
            "two things at once",
            json!({"color": "pink", "replicas": 11, "low": 3, "high": 2}),
        ),
        tried(
            "an embedded object",
            json!({"color": "red", "embedded": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "x": 1}, "more": true}}),
        ),
        tried(
            "an embedded object without a kind",
            json!({"color": "red", "embedded": {"more": true}}),
        ),
        post(
            "no spec",
            widgets(""),
            &json!({"apiVersion": "conformance.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}),
        ),
        post("a string for the spec", widgets(""), &widget("w", &json!("x"))),
        post(
            "no kind",
            widgets(""),
            &json!({"metadata": {"name": "w"}, "spec": {"color": "red"}}),
        ),
        post(
            "another kind",
            widgets(""),
            &json!({"apiVersion": "conformance.example.com/v1", "kind": "Other", "metadata": {"name": "w"}, "spec": {"color": "red"}}),
        ),
        post(
            "another version",
            widgets(""),
            &json!({"apiVersion": "conformance.example.com/v2", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"color": "red"}}),
        ),
        http("half an object", Method::POST, widgets(""), "{"),
        http(
            "yaml",
            Method::POST,
            widgets(""),
            "apiVersion: conformance.example.com/v1\nkind: Widget\nmetadata: {name: yaml}\nspec: {color: red}\n",
        )
        .content_type("application/yaml"),
        post("a bad name", widgets(""), &widget("W_", &json!({"color": "red"}))),
        post(
            "a simple finalizer",
            widgets("?dryRun=All"),
            &json!({"apiVersion": "conformance.example.com/v1", "kind": "Widget", "metadata": {"name": "w", "finalizers": ["simple"]}, "spec": {"color": "red"}}),
        ),
        post(
            "generate a name",
            widgets(""),
            &json!({"apiVersion": "conformance.example.com/v1", "kind": "Widget", "metadata": {"generateName": "gen-"}, "spec": {"color": "red"}}),
        ),
        put(
            "replace without a version",
            widgets("/w1"),
            &widget("w1", &json!({"color": "red"})),
        ),
        put(
            "replace an old version",
            widgets("/w1"),
            &json!({"apiVersion": "conformance.example.com/v1", "kind": "Widget", "metadata": {"name": "w1", "resourceVersion": "1"}, "spec": {"color": "red"}}),
        ),
        put(
            "replace",
            widgets("/w1"),
            &json!({"apiVersion": "conformance.example.com/v1", "kind": "Widget", "metadata": {"name": "w1", "resourceVersion": "%{first}"}, "spec": {"color": "red", "parts": [{"name": "a"}]}}),
        ),
    ];
    operations.extend([
        merge(
            "set what is fixed",
            widgets("/w1"),
            &json!({"spec": {"fixed": "a", "low": 1}}),
        ),
        merge("change what is fixed", widgets("/w1"), &json!({"spec": {"fixed": "b"}})),
        merge("take away what stays", widgets("/w1"), &json!({"spec": {"low": null}})),
        merge(
            "shrink a part",
            widgets("/w1"),
            &json!({"spec": {"parts": [{"name": "a", "size": 3}]}}),
        ),
        merge(
            "another part may be small",
            widgets("/w1"),
            &json!({"spec": {"parts": [{"name": "b", "size": 3}]}}),
        ),
        merge(
            "grow a part",
            widgets("/w1"),
            &json!({"spec": {"parts": [{"name": "b", "size": 9}, {"name": "a", "size": 1}]}}),
        ),
        merge("the same spec", widgets("/w1"), &json!({"spec": {"fixed": "a"}})),
        merge(
            "only a label",
            widgets("/w1"),
            &json!({"metadata": {"labels": {"a": "b"}}}),
        ),
        merge(
            "a generation of one's own",
            widgets("/w1"),
            &json!({"metadata": {"generation": 77}}),
        ),
        get("after all", widgets("/w1")),
        get("no such subresource", widgets("/w1/nope")),
        get("what is not there", widgets("/none")),
    ]);
    Scenario::new("custom-objects", operations)
}
