//! The pages about the output name every field that the JSON documents have.

use std::collections::BTreeSet;

use serde_json::Value;

const PAGES: [&str; 4] = [
    include_str!("../../../../docs/failoverctl.md"),
    include_str!("../../../../docs/lint.md"),
    include_str!("../../../../docs/drain.md"),
    include_str!("../../../../docs/checks.md"),
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
    let mut documents = 0;
    for file in std::fs::read_dir(snapshots).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let Some((_, body)) = text.split_once("\n---\n") else {
            continue;
        };
        if let Ok(document) = serde_json::from_str(body) {
            documents += 1;
            fields(&document, &mut names);
        }
    }
    assert!(documents >= 8, "the golden files have JSON documents of every kind");
    let missing: Vec<&String> = names
        .iter()
        .filter(|name| !PAGES.iter().any(|page| page.contains(&format!("`{name}`"))))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/failoverctl.md and docs/lint.md do not name {missing:?}"
    );
}
