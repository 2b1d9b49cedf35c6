//! Watches: from a version, from the present, selectors, bookmarks, ends.

use e2e_conformance::{Scenario, delete, get, meanwhile, merge, post};
use serde_json::json;

use super::widget::{widget, widgets};
use super::{config_map, config_maps};

pub fn scenario() -> Scenario {
    let labelled =
        |name: &str, label: &str| json!({"metadata": {"name": name, "labels": {"l": label}}, "data": {"k": name}});
    Scenario::new(
        "watches",
        vec![
            post("first", config_maps(""), &labelled("a", "in")).save("first", "/metadata/resourceVersion"),
            post("second", config_maps(""), &labelled("b", "out")),
            merge("changed", config_maps("/a"), &json!({"data": {"k": "changed"}})),
            merge(
                "moved out",
                config_maps("/a"),
                &json!({"metadata": {"labels": {"l": "out"}}}),
            ),
            merge(
                "moved in",
                config_maps("/b"),
                &json!({"metadata": {"labels": {"l": "in"}}}),
            ),
            merge(
                "nothing changed",
                config_maps("/b"),
                &json!({"metadata": {"labels": {"l": "in"}}}),
            ),
            delete("deleted", config_maps("/b")),
            get(
                "from a version",
                config_maps("?watch=1&resourceVersion=%{first}&timeoutSeconds=1"),
            ),
            get(
                "from a version, selected",
                config_maps("?watch=true&resourceVersion=%{first}&labelSelector=l%3Din&timeoutSeconds=1"),
            ),
            get(
                "one name",
                config_maps("?watch=1&resourceVersion=%{first}&fieldSelector=metadata.name%3Db&timeoutSeconds=1"),
            ),
            get(
                "one object",
                "/api/v1/namespaces/%{ns}/configmaps/a?watch=1&resourceVersion=%{first}&timeoutSeconds=1",
            ),
            get(
                "the old path",
                "/api/v1/watch/namespaces/%{ns}/configmaps?resourceVersion=%{first}&timeoutSeconds=1",
            ),
            get("from the present", config_maps("?watch=1&timeoutSeconds=1")),
            get(
                "from any version",
                config_maps("?watch=1&resourceVersion=0&timeoutSeconds=1"),
            ),
            get(
                "from any version, with bookmarks",
                config_maps("?watch=1&resourceVersion=0&allowWatchBookmarks=true&timeoutSeconds=1"),
            ),
            get(
                "from the present, with bookmarks",
                config_maps("?watch=1&allowWatchBookmarks=true&timeoutSeconds=1"),
            ),
            get(
                "initial events",
                config_maps(
                    "?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
                ),
            ),
            get(
                "initial events from a version",
                config_maps(
                    "?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=%{first}",
                ),
            ),
            get(
                "initial events without bookmarks",
                config_maps("?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
            ),
            get(
                "no initial events",
                config_maps(
                    "?watch=1&timeoutSeconds=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=%{first}",
                ),
            ),
            get(
                "initial events without a match",
                config_maps("?watch=1&sendInitialEvents=true"),
            ),
            get(
                "a match without initial events",
                config_maps("?watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=0"),
            ),
            get(
                "an exact match",
                config_maps("?watch=1&sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=0"),
            ),
            get(
                "from a version that is no number",
                config_maps("?watch=1&resourceVersion=abc"),
            ),
            get(
                "from before the history",
                config_maps("?watch=1&resourceVersion=1&timeoutSeconds=1"),
            ),
            get("with a bad selector", config_maps("?watch=1&labelSelector=%3D")),
            get(
                "with a limit",
                config_maps("?watch=1&limit=1&resourceVersion=%{first}&timeoutSeconds=1"),
            ),
            get("of what is not there", "/api/v1/namespaces/%{ns}/nothing?watch=1"),
            get(
                "metadata only",
                config_maps("?watch=1&resourceVersion=%{first}&timeoutSeconds=1"),
            )
            .accept("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"),
            get(
                "as a table",
                config_maps("?watch=1&resourceVersion=%{first}&timeoutSeconds=1"),
            )
            .accept("application/json;as=Table;v=v1;g=meta.k8s.io"),
            get(
                "a bookmark before the end",
                config_maps("?watch=1&resourceVersion=%{first}&allowWatchBookmarks=true&timeoutSeconds=4"),
            ),
            post("a widget", widgets(""), &widget("w", &json!({"color": "red"})))
                .save("widget", "/metadata/resourceVersion"),
            meanwhile(
                "live",
                get("", widgets("?watch=1&resourceVersion=%{widget}&timeoutSeconds=2")),
                vec![
                    post("", widgets(""), &widget("x", &json!({"color": "blue"}))),
                    merge("", widgets("/x"), &json!({"spec": {"color": "red"}})),
                    merge("", widgets("/x"), &json!({"spec": {"color": "red"}})),
                    merge("", widgets("/x/status"), &json!({"status": {"replicas": 3}})),
                    merge(
                        "",
                        widgets("/x"),
                        &json!({"metadata": {"finalizers": ["example.com/hold"]}}),
                    ),
                    delete("", widgets("/x")),
                    merge("", widgets("/x"), &json!({"metadata": {"finalizers": null}})),
                ],
            ),
            meanwhile(
                "live, by a field",
                get(
                    "",
                    widgets("?watch=1&resourceVersion=%{widget}&fieldSelector=spec.color%3Dblue&timeoutSeconds=2"),
                ),
                vec![
                    merge("", widgets("/w"), &json!({"spec": {"color": "blue"}})),
                    merge("", widgets("/w"), &json!({"spec": {"color": "green"}})),
                ],
            ),
            meanwhile(
                "live, in all namespaces",
                get(
                    "",
                    "/api/v1/configmaps?watch=1&resourceVersion=0&labelSelector=live&timeoutSeconds=2",
                ),
                vec![post(
                    "",
                    config_maps(""),
                    &json!({"metadata": {"name": "live", "labels": {"live": ""}}}),
                )],
            ),
            post("unseen", config_maps(""), &config_map("unseen")),
        ],
    )
}
