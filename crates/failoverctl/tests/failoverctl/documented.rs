//! The pages about the output name every field that the JSON documents have.

use std::collections::BTreeSet;

use serde_json::Value;

const PAGES: [&str; 4] = [
    include_str!("../../../../docs/failoverctl.md"),
    include_str!("../../../../docs/lint.md"),
    include_str!("../../../../docs/drain.md"),
    include_str!("../../../../docs/checks.md"),
];

/// Every kind of document that the program prints.
const KINDS: [&str; 20] = [
    "BindingExplanation",
    "Check",
    "ClusterExplanation",
    "DrainResult",
    "DumpResult",
    "EntryDetails",
    "EntryList",
    "FailoverPlan",
    "HandbackResult",
    "LintReport",
    "MoveHistory",
    "OrderResult",
    "PauseChange",
    "PauseList",
    "PolicyExplanation",
    "QueueChange",
    "RecentList",
    "Resumption",
    "Status",
    "UndrainResult",
];

fn fields(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                into.insert(name.clone());
                fields(value, into);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| fields(item, into)),
        _ => {}
    }
}

#[test]
fn every_field_is_documented() {
    let snapshots = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/failoverctl/snapshots");
    let mut names = BTreeSet::new();
    let mut kinds = BTreeSet::new();
    for file in std::fs::read_dir(snapshots).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let Some((_, body)) = text.split_once("\n---\n") else {
            continue;
        };
        if let Ok(document) = serde_json::from_str(body) {
            let document: Value = document;
            kinds.extend(document["kind"].as_str().map(str::to_owned));
            fields(&document, &mut names);
        }
    }
    for kind in KINDS {
        assert!(
            kinds.contains(kind),
            "no golden file has a JSON document of kind {kind}"
        );
    }
    let missing: Vec<&String> = names
        .iter()
        .filter(|name| !PAGES.iter().any(|page| page.contains(&format!("`{name}`"))))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/failoverctl.md and docs/lint.md do not name {missing:?}"
    );
}
