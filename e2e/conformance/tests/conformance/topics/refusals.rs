//! Requests that are refused, and the bodies that say why.

use e2e_conformance::{Scenario, delete, get, http, merge, post, put};
use http::Method;
use serde_json::json;

use super::{config_map, config_maps};

pub fn scenario() -> Scenario {
    Scenario::new(
        "refusals",
        vec![
            post(
                "a name with bad letters",
                config_maps(""),
                &json!({"metadata": {"name": "A_"}}),
            ),
            post(
                "a name that is too long",
                config_maps(""),
                &json!({"metadata": {"name": "a".repeat(254)}}),
            ),
            post("no name", config_maps(""), &json!({"metadata": {}})),
            post("no metadata", config_maps(""), &json!({"data": {}})),
            post(
                "another namespace",
                config_maps(""),
                &json!({"metadata": {"name": "x", "namespace": "other"}}),
            ),
            post(
                "another kind",
                config_maps(""),
                &json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "x"}}),
            ),
            post(
                "another version",
                config_maps(""),
                &json!({"kind": "ConfigMap", "apiVersion": "v2", "metadata": {"name": "x"}}),
            ),
            post(
                "another group",
                config_maps(""),
                &json!({"kind": "ConfigMap", "apiVersion": "apps/v1", "metadata": {"name": "x"}}),
            ),
            http("half an object", Method::POST, config_maps(""), "{"),
            http("no body", Method::POST, config_maps(""), ""),
            http("a list", Method::POST, config_maps(""), "[]"),
            http("a string", Method::POST, config_maps(""), "\"x\""),
            http(
                "yaml",
                Method::POST,
                config_maps(""),
                "metadata:\n  name: yaml\ndata: {k: v}\n",
            )
            .content_type("application/yaml"),
            http("an unknown media type", Method::POST, config_maps(""), "{}").content_type("text/plain"),
            get("no answer type that we have", config_maps("")).accept("text/plain"),
            post(
                "a number for a string",
                config_maps(""),
                &json!({"metadata": {"name": "x"}, "data": {"a": 1}}),
            ),
            post(
                "a string for a map",
                config_maps(""),
                &json!({"metadata": {"name": "x"}, "data": "a"}),
            ),
            post(
                "a number for a name",
                config_maps(""),
                &json!({"metadata": {"name": 1}}),
            ),
            post(
                "an unknown field, strictly",
                config_maps("?fieldValidation=Strict"),
                &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "dta": {}, "more": 1}),
            ),
            post(
                "an unknown field with a warning",
                config_maps("?fieldValidation=Warn"),
                &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "warned"}, "dta": {}}),
            ),
            post(
                "an unknown field, ignored",
                config_maps("?fieldValidation=Ignore"),
                &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ignored"}, "dta": {}}),
            ),
            post(
                "an unknown rule for fields",
                config_maps("?fieldValidation=Perhaps"),
                &config_map("x"),
            ),
            post(
                "a namespace that is not there",
                "/api/v1/namespaces/nowhere/configmaps",
                &config_map("x"),
            ),
            get(
                "a list in a namespace that is not there",
                "/api/v1/namespaces/nowhere/configmaps",
            ),
            post(
                "bad labels",
                config_maps(""),
                &json!({"metadata": {"name": "x", "labels": {"a b": "c", "d": "-"}}}),
            ),
            post(
                "a long label",
                config_maps(""),
                &json!({"metadata": {"name": "x", "labels": {"a": "b".repeat(64)}}}),
            ),
            post(
                "a label with a bad prefix",
                config_maps(""),
                &json!({"metadata": {"name": "x", "labels": {"A_/b": "c"}}}),
            ),
            post(
                "a bad annotation",
                config_maps(""),
                &json!({"metadata": {"name": "x", "annotations": {"a b": "c"}}}),
            ),
            post(
                "a bad key of data",
                config_maps(""),
                &json!({"metadata": {"name": "x"}, "data": {"a/b": "c"}}),
            ),
            post(
                "a finalizer without a domain",
                config_maps(""),
                &json!({"metadata": {"name": "x", "finalizers": ["simple"]}}),
            ),
            post(
                "a bad finalizer",
                config_maps(""),
                &json!({"metadata": {"name": "x", "finalizers": ["example.com/-"]}}),
            ),
            post(
                "an owner without a uid",
                config_maps(""),
                &json!({"metadata": {"name": "x", "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}]}}),
            ),
            post(
                "two controllers",
                config_maps(""),
                &json!({"metadata": {"name": "x", "ownerReferences": [
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1", "controller": true},
                {"apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": "2", "controller": true}]}}),
            ),
            post("create at a name", config_maps("/x"), &config_map("x")),
            put("replace the collection", config_maps(""), &config_map("x")),
            http("patch the collection", Method::PATCH, config_maps(""), "{}")
                .content_type("application/merge-patch+json"),
            put("replace without a body", config_maps("/x"), &json!(null)),
            get("an unknown resource", "/api/v1/nothing"),
            get(
                "an unknown resource in a namespace",
                "/api/v1/namespaces/%{ns}/nothing/x",
            ),
            get("an unknown version", "/apis/apps/v7/deployments"),
            get("an unknown group", "/apis/nope/v1/nothing"),
            get("an unknown path", "/nowhere"),
            get("a path that is too long", config_maps("/a/b/c")),
            get("an unknown subresource", config_maps("/a/status")),
            get("a cluster resource in a namespace", "/api/v1/namespaces/%{ns}/nodes"),
            post("create in no namespace", "/api/v1/configmaps", &config_map("x")),
            get("one object in no namespace", "/api/v1/configmaps/x"),
            delete("delete what is not there", config_maps("/none")),
            merge("patch what is not there", config_maps("/none"), &json!({})),
            http(
                "options of a delete that are none",
                Method::DELETE,
                config_maps("/none"),
                "{",
            ),
            http(
                "a delete with an unknown policy",
                Method::DELETE,
                config_maps("/ignored?propagationPolicy=Maybe"),
                "",
            ),
            http(
                "a delete with a negative grace",
                Method::DELETE,
                config_maps("/ignored?gracePeriodSeconds=-1"),
                "",
            ),
            post(
                "a namespace with a dot",
                "/api/v1/namespaces",
                &json!({"metadata": {"name": "n.1"}}),
            ),
            post(
                "a namespace with capitals",
                "/api/v1/namespaces",
                &json!({"metadata": {"name": "N"}}),
            ),
            delete("a namespace that stays", "/api/v1/namespaces/default"),
            http(
                "a method that nobody knows",
                Method::from_bytes(b"BREW").unwrap(),
                config_maps("/x"),
                "",
            ),
        ],
    )
}
