//! Create, read, replace: versions, preconditions, names, dry runs, writes that change nothing.

use e2e_conformance::{Scenario, delete_with, get, merge, post, put};
use serde_json::json;

use super::{config_map, config_maps};

pub fn scenario() -> Scenario {
    Scenario::new(
        "objects",
        vec![
            post("create", config_maps(""), &config_map("a"))
                .save("uid", "/metadata/uid")
                .save("first", "/metadata/resourceVersion"),
            get("read", config_maps("/a")),
            get("read from the cache", config_maps("/a?resourceVersion=0")),
            get("read not older than", config_maps("/a?resourceVersion=%{first}")),
            get("read from the future", config_maps("/a?resourceVersion=99999999")),
            get("read what is not there", config_maps("/none")),
            post("create again", config_maps(""), &config_map("a")),
            post("create without kind and version", config_maps(""), &json!({"metadata": {"name": "bare"}})),
            post("create with a version", config_maps(""), &json!({"metadata": {"name": "x", "resourceVersion": "5"}})),
            post(
                "create with what the server sets",
                config_maps(""),
                &json!({"metadata": {"name": "set", "uid": "u", "creationTimestamp": "2000-01-01T00:00:00Z", "generation": 7,
                    "deletionTimestamp": "2000-01-01T00:00:00Z", "deletionGracePeriodSeconds": 3, "selfLink": "/x"}}),
            ),
            post("generate a name", config_maps(""), &json!({"metadata": {"generateName": "gen-"}})),
            post("a name beside a prefix", config_maps(""), &json!({"metadata": {"generateName": "gen-", "name": "given"}})),
            post("generate in a dry run", config_maps("?dryRun=All"), &json!({"metadata": {"generateName": "gen-"}})),
            post("create in a dry run", config_maps("?dryRun=All"), &config_map("dry")),
            get("nothing of a dry run", config_maps("/dry")),
            post("a dry run of what is there", config_maps("?dryRun=All"), &config_map("a")),
            post("a dry run of another kind", config_maps("?dryRun=Some"), &config_map("dry")),
            post("empty fields", config_maps(""), &json!({
                "metadata": {"name": "empty", "labels": {}, "annotations": {}, "finalizers": [], "ownerReferences": []},
                "data": {}, "binaryData": {}})),
            post("nulls", config_maps(""), &json!({"metadata": {"name": "nulls", "labels": null, "annotations": {"a": ""}}, "data": null})),
            post("an empty entry", config_maps(""), &json!({"metadata": {"name": "entry"}, "data": {"k": ""}})),
            put("replace", config_maps("/a"), &json!({"metadata": {"name": "a", "resourceVersion": "%{first}", "labels": {"x": "y"}}, "data": {"key": "2"}}))
                .save("second", "/metadata/resourceVersion"),
            put("replace an older version", config_maps("/a"), &json!({"metadata": {"name": "a", "resourceVersion": "%{first}"}})),
            put("replace with the same", config_maps("/a"), &json!({"metadata": {"name": "a", "resourceVersion": "%{second}", "labels": {"x": "y"}}, "data": {"key": "2"}})),
            put("replace unconditionally", config_maps("/a"), &json!({"metadata": {"name": "a"}, "data": {"key": "3"}})),
            put("replace in a dry run", config_maps("/a?dryRun=All"), &json!({"metadata": {"name": "a"}, "data": {"key": "4"}})),
            get("unchanged by the dry run", config_maps("/a")),
            put("replace with the right uid", config_maps("/a"), &json!({"metadata": {"name": "a", "uid": "%{uid}"}, "data": {"key": "5"}})),
            put("replace with a wrong uid", config_maps("/a"), &json!({"metadata": {"name": "a", "uid": "other"}})),
            put("replace with another name", config_maps("/a"), &json!({"metadata": {"name": "b"}})),
            put("replace without a name", config_maps("/a"), &json!({"metadata": {}})),
            put("replace with another namespace", config_maps("/a"), &json!({"metadata": {"name": "a", "namespace": "other"}})),
            put("replace what is not there", config_maps("/none"), &config_map("none")),
            put("a version that is no number", config_maps("/a"), &json!({"metadata": {"name": "a", "resourceVersion": "abc"}})),
            put("other times and generations", config_maps("/a"), &json!({"metadata": {"name": "a", "creationTimestamp": "2000-01-01T00:00:00Z", "generation": 9}})),
            merge("make it immutable", config_maps("/a"), &json!({"immutable": true, "data": {"key": "6"}})),
            merge("change what is immutable", config_maps("/a"), &json!({"data": {"key": "7"}})),
            merge("make it mutable again", config_maps("/a"), &json!({"immutable": false})),
            merge("label what is immutable", config_maps("/a"), &json!({"metadata": {"labels": {"l": "m"}}})),
            delete_with("delete another uid", config_maps("/a"), &json!({"preconditions": {"uid": "other"}})),
            delete_with("delete another version", config_maps("/a"), &json!({"preconditions": {"resourceVersion": "%{second}"}})),
            delete_with("delete in a dry run", config_maps("/a"), &json!({"dryRun": ["All"]})),
            delete_with("delete", config_maps("/a"), &json!({"preconditions": {"uid": "%{uid}"}})),
            get("gone", config_maps("/a")),
            post("create anew", config_maps(""), &config_map("a")),
        ],
    )
}
