//! What is answered when the history is gone: 410, as a code and as an event.

use e2e_conformance::{Scenario, compact, get, merge, post};
use serde_json::json;

use super::widget::{widget, widgets};

pub fn scenario() -> Scenario {
    Scenario::new(
        "compaction",
        vec![
            post("one", widgets(""), &widget("a", &json!({"color": "red"}))),
            post("two", widgets(""), &widget("b", &json!({"color": "red"}))),
            merge("a change", widgets("/a"), &json!({"spec": {"color": "blue"}})),
            compact("compaction"),
            get(
                "a list of long ago",
                widgets("?resourceVersion=1&resourceVersionMatch=Exact"),
            ),
            get("a page of long ago", widgets("?resourceVersion=1&limit=1")),
            get(
                "a watch from long ago",
                widgets("?watch=1&resourceVersion=1&timeoutSeconds=1"),
            ),
            get(
                "a watch of one from long ago",
                widgets("?watch=1&resourceVersion=1&timeoutSeconds=1&fieldSelector=metadata.name%3Da"),
            ),
            get(
                "a list not older than then",
                widgets("?resourceVersion=1&resourceVersionMatch=NotOlderThan"),
            ),
            get("a list of now", widgets("")),
        ],
    )
}
