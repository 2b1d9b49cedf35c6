//! Kinds of ours under versions that are one minor apart: in an upgrade the newer kinds come first, and components of both versions
//! read and write them. So what is recorded in `recorded.txt` stays, nothing becomes required, and no value is taken away.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use api_types::crds;
use serde_json::Value;

const RECORDED: &str = include_str!("recorded.txt");
const OURS: &str = "failover.karmada.io";

#[test]
fn what_is_recorded_of_our_kinds_stays_and_what_is_new_is_recorded() {
    let now = lines();
    let recorded: Vec<&str> = RECORDED.lines().collect();
    let missing: Vec<&&str> = recorded
        .iter()
        .filter(|line| !now.iter().any(|now| now == **line))
        .collect();
    assert!(
        missing.is_empty(),
        "components of the version before rest on these; what is no longer required may go, the rest stays: {missing:#?}"
    );
    let new: Vec<&String> = now.iter().filter(|line| !recorded.contains(&line.as_str())).collect();
    let demands: Vec<&&String> = new.iter().filter(|line| line.ends_with(" required")).collect();
    assert!(
        demands.is_empty() || RECORDED.is_empty(),
        "components of the version before do not write these: they cannot be required: {demands:#?}"
    );
    assert!(
        new.is_empty(),
        "these are new: add the lines to recorded.txt, and nothing else: {new:#?}"
    );
}

/// A line for each field, with its type; for each that is required; for each value that is taken.
fn lines() -> Vec<String> {
    let mut lines = Vec::new();
    for crd in crds() {
        let crd = serde_json::to_value(crd).unwrap();
        if crd["spec"]["group"] != OURS {
            continue;
        }
        for version in crd["spec"]["versions"].as_array().unwrap() {
            let root = format!(
                "{}/{}",
                crd["spec"]["names"]["kind"].as_str().unwrap(),
                version["name"].as_str().unwrap()
            );
            walk(&mut lines, &root, &version["schema"]["openAPIV3Schema"]);
        }
    }
    lines
}

fn walk(lines: &mut Vec<String>, path: &str, schema: &Value) {
    if let Some(kind) = schema["type"].as_str() {
        let format = schema["format"].as_str().map(|format| format!(" {format}"));
        lines.push(format!("{path}: {kind}{}", format.unwrap_or_default()));
    }
    let texts = |list: &Value| -> Vec<String> {
        let items = list.as_array().into_iter().flatten();
        items.map(|item| item.as_str().unwrap_or("null").to_owned()).collect()
    };
    lines.extend(texts(&schema["enum"]).iter().map(|value| format!("{path} = {value}")));
    lines.extend(
        texts(&schema["required"])
            .iter()
            .map(|field| format!("{path}.{field} required")),
    );
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        walk(lines, &format!("{path}.{name}"), field);
    }
    for (under, step) in [("items", "[]"), ("additionalProperties", "{}")] {
        if schema[under].is_object() {
            walk(lines, &format!("{path}{step}"), &schema[under]);
        }
    }
}
