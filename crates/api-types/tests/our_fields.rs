//! The list of our fields is whole: what our CRDs have and stock's have not, field by field.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;

use api_types::our_fields;
use serde_json::Value;

/// `GROUP/VERSION KIND FIELD`, for what has no fields of its own.
type Fields = BTreeSet<String>;

/// As recorded of stock Karmada.
fn stocks() -> Fields {
    let mut fields = Fields::new();
    let mut kinds = Vec::new();
    for line in include_str!("stock_fields.txt").lines() {
        if let Some(field) = line.strip_prefix("  ") {
            fields.extend(kinds.iter().map(|kind| format!("{kind} {field}")));
        } else if let Some((api_version, names)) = line.split_once(' ').filter(|_| !line.starts_with('#')) {
            kinds = names.split(' ').map(|kind| format!("{api_version} {kind}")).collect();
        }
    }
    fields
}

/// As our CRDs of Karmada's kinds have them.
fn ours() -> Fields {
    let mut fields = Fields::new();
    for crd in api_types::crds() {
        let spec = serde_json::to_value(&crd.spec).unwrap();
        let (group, kind) = (spec["group"].as_str().unwrap(), spec["names"]["kind"].as_str().unwrap());
        if group == "failover.karmada.io" {
            continue;
        }
        for version in spec["versions"].as_array().unwrap() {
            let of = format!("{group}/{} {kind} ", version["name"].as_str().unwrap());
            for part in ["spec", "status"] {
                let schema = &version["schema"]["openAPIV3Schema"]["properties"][part];
                collect(&format!("{of}{part}"), schema, &mut fields);
            }
        }
    }
    fields
}

fn collect(path: &str, schema: &Value, fields: &mut Fields) {
    if schema.is_null() {
        return;
    }
    if schema["items"].is_object() {
        return collect(path, &schema["items"], fields);
    }
    match schema["properties"].as_object() {
        Some(properties) => {
            for (name, schema) in properties {
                collect(&format!("{path}.{name}"), schema, fields);
            }
        }
        None => drop(fields.insert(path.to_owned())),
    }
}

/// As the list has them.
fn listed() -> Fields {
    let parts = |field: our_fields::OurField| {
        let path = format!("{} {} {}", field.api_version, field.kind, field.field);
        match field.parts {
            [] => vec![path],
            parts => parts.iter().map(|part| format!("{path}.{part}")).collect(),
        }
    };
    our_fields::all().flat_map(parts).collect()
}

#[test]
fn what_our_crds_have_and_stocks_have_not_is_the_list() {
    let (ours, stocks) = (ours(), stocks());
    let added: Fields = ours.difference(&stocks).cloned().collect();
    let listed = listed();
    let missing: Vec<&String> = added.difference(&listed).collect();
    let wrong: Vec<&String> = listed.difference(&added).collect();
    assert!(
        missing.is_empty() && wrong.is_empty(),
        "not in the list: {missing:#?}; in the list, but no field of ours that stock lacks: {wrong:#?}"
    );
}

/// A field of which stock has a part is no row: what the check says of it would be wrong beside stock.
#[test]
fn stock_has_no_part_of_a_field_in_the_list() {
    let stocks = stocks();
    for field in our_fields::all() {
        let path = format!("{} {} {}.", field.api_version, field.kind, field.field);
        let shared: Vec<&String> = stocks.iter().filter(|stocks| stocks.starts_with(&path)).collect();
        assert!(shared.is_empty(), "{shared:?}");
    }
}

/// A record that lost a kind's fields would let ours pass for stock's, or the other way round.
#[test]
fn the_record_has_every_field_that_stock_shares_with_us() {
    let (ours, stocks) = (ours(), stocks());
    let of_others: Vec<&String> = stocks.difference(&ours).collect();
    assert!(of_others.is_empty(), "our CRDs drop what stock keeps: {of_others:#?}");
}
