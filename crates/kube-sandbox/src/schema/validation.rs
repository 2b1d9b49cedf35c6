//! Shape validation with the messages of the real server (kube-openapi's validator and apiextensions' list types).

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::Value;

use super::{child_path, flag};
use crate::status::{FieldError, FieldErrorKind};

struct Context<'a> {
    patterns: &'a BTreeMap<String, Regex>,
    errors: Vec<FieldError>,
}

/// Everything that is wrong with the shape of `object`, in the order of the fields.
pub(super) fn validate(
    object: &Value,
    old: Option<&Value>,
    schema: &Value,
    patterns: &BTreeMap<String, Regex>,
) -> Vec<FieldError> {
    let mut context = Context {
        patterns,
        errors: Vec::new(),
    };
    context.node(object, old, schema, "");
    context.errors
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_i64() || n.is_u64() => "integer",
        Value::Number(n) if n.as_f64().is_some_and(|f| f.fract() == 0.0) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "<nil>" } else { path }
}

impl Context<'_> {
    fn invalid(&mut self, path: &str, value: &Value, what: &str) {
        // `x in body should …`, where x is the path: the wording of kube-openapi.
        let detail = format!("{path} in body {what}");
        self.errors
            .push(FieldError::invalid(shown(path), value.clone(), detail));
    }

    fn node(&mut self, value: &Value, old: Option<&Value>, schema: &Value, path: &str) {
        // Ratcheting: an unchanged part is not validated again.
        if old == Some(value) {
            return;
        }
        if value.is_null() && flag(schema, "nullable") {
            return;
        }
        let fits = self.type_fits(value, schema, path);
        match value {
            _ if !fits => {}
            Value::Object(map) => self.object(map, value, old, schema, path),
            Value::Array(items) => self.array(items, value, old, schema, path),
            Value::String(text) => self.string(text, value, schema, path),
            Value::Number(number) => self.number(number, value, schema, path),
            _ => {}
        }
        if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
            && !allowed.contains(value)
        {
            self.errors
                .push(FieldError::not_supported(shown(path), value.clone(), allowed));
        }
        if fits {
            self.combinations(value, old, schema, path);
        }
    }

    fn type_fits(&mut self, value: &Value, schema: &Value, path: &str) -> bool {
        let actual = json_type(value);
        if flag(schema, "x-kubernetes-int-or-string") {
            if actual == "integer" || actual == "string" {
                return true;
            }
            self.type_error(path, "integer,string", actual);
            return false;
        }
        let Some(expected) = schema.get("type").and_then(Value::as_str) else {
            return true;
        };
        if expected == actual || (expected == "number" && actual == "integer") {
            return true;
        }
        self.type_error(path, expected, actual);
        false
    }

    fn type_error(&mut self, path: &str, expected: &str, actual: &str) {
        self.errors.push(FieldError::new(
            FieldErrorKind::TypeInvalid,
            shown(path),
            Some(actual.into()),
            format!("{path} in body must be of type {expected}: {actual:?}"),
        ));
    }

    fn object(
        &mut self,
        map: &serde_json::Map<String, Value>,
        value: &Value,
        old: Option<&Value>,
        schema: &Value,
        path: &str,
    ) {
        if let Some(required) = schema.get("required").and_then(Value::as_array) {
            for name in required.iter().filter_map(Value::as_str) {
                if !map.contains_key(name) {
                    self.errors.push(FieldError::required(&child_path(path, name), ""));
                }
            }
        }
        let count = map.len() as u64;
        if let Some(most) = schema.get("maxProperties").and_then(Value::as_u64)
            && count > most
        {
            self.too_many(path, count, most);
        }
        if let Some(least) = schema.get("minProperties").and_then(Value::as_u64)
            && count < least
        {
            self.invalid(path, value, &format!("should have at least {least} properties"));
        }
        let properties = schema.get("properties");
        for (key, child) in map {
            let before = old.and_then(|o| o.get(key));
            if let Some(property) = properties.and_then(|p| p.get(key)) {
                self.node(child, before, property, &child_path(path, key));
            } else if let Some(inner @ Value::Object(_)) = schema.get("additionalProperties") {
                self.node(child, before, inner, &child_path(path, key));
            }
        }
    }

    fn too_many(&mut self, path: &str, actual: u64, most: u64) {
        let noun = if most == 1 { "item" } else { "items" };
        self.errors.push(FieldError::new(
            FieldErrorKind::TooMany,
            shown(path),
            Some(actual.into()),
            format!("must have at most {most} {noun}"),
        ));
    }

    fn array(&mut self, items: &[Value], value: &Value, old: Option<&Value>, schema: &Value, path: &str) {
        let count = items.len() as u64;
        if let Some(most) = schema.get("maxItems").and_then(Value::as_u64)
            && count > most
        {
            self.too_many(path, count, most);
        }
        if let Some(least) = schema.get("minItems").and_then(Value::as_u64)
            && count < least
        {
            self.invalid(path, value, &format!("should have at least {least} items"));
        }
        let list_type = schema
            .get("x-kubernetes-list-type")
            .and_then(Value::as_str)
            .unwrap_or("atomic");
        let keys: Vec<&str> = schema
            .get("x-kubernetes-list-map-keys")
            .and_then(Value::as_array)
            .map(|k| k.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        if let Some(inner) = schema.get("items") {
            for (i, item) in items.iter().enumerate() {
                let before = if list_type == "map" {
                    old.and_then(|o| same_key(o, item, &keys))
                } else {
                    None
                };
                self.node(item, before, inner, &format!("{path}[{i}]"));
            }
        }
        match list_type {
            "set" => self.unique(items, path, Clone::clone),
            "map" => self.unique(items, path, |item| {
                // The message shows the keys only, like the real server.
                Value::Object(
                    keys.iter()
                        .filter_map(|k| Some(((*k).to_owned(), item.get(*k)?.clone())))
                        .collect(),
                )
            }),
            _ => {}
        }
    }

    fn unique(&mut self, items: &[Value], path: &str, identity: impl Fn(&Value) -> Value) {
        let mut seen = BTreeSet::new();
        let mut reported = BTreeSet::new();
        for (i, item) in items.iter().enumerate() {
            let id = identity(item);
            let text = id.to_string();
            if !seen.insert(text.clone()) && reported.insert(text) {
                self.errors.push(FieldError::new(
                    FieldErrorKind::Duplicate,
                    &format!("{path}[{i}]"),
                    Some(id),
                    String::new(),
                ));
            }
        }
    }

    fn string(&mut self, text: &str, value: &Value, schema: &Value, path: &str) {
        let length = text.chars().count() as u64;
        if let Some(most) = schema.get("maxLength").and_then(Value::as_u64)
            && length > most
        {
            let noun = if most == 1 { "byte" } else { "bytes" };
            self.errors.push(FieldError::new(
                FieldErrorKind::TooLong,
                shown(path),
                None,
                format!("may not be more than {most} {noun}"),
            ));
        }
        if let Some(least) = schema.get("minLength").and_then(Value::as_u64)
            && length < least
        {
            self.invalid(path, value, &format!("should be at least {least} chars long"));
        }
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
            && self.patterns.get(pattern).is_some_and(|p| !p.is_match(text))
        {
            self.invalid(path, value, &format!("should match '{pattern}'"));
        }
        if let Some(format) = schema.get("format").and_then(Value::as_str)
            && !format_fits(format, text)
        {
            self.errors.push(FieldError::new(
                FieldErrorKind::TypeInvalid,
                shown(path),
                Some(value.clone()),
                format!("{path} in body must be of type {format}: {text:?}"),
            ));
        }
    }

    fn number(&mut self, number: &serde_json::Number, value: &Value, schema: &Value, path: &str) {
        let Some(actual) = number.as_f64() else { return };
        let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
        let text = |name: &str| bound(name).map(|n| n.to_string()).unwrap_or_default();
        if let Some(most) = bound("maximum") {
            if flag(schema, "exclusiveMaximum") && actual >= most {
                self.invalid(path, value, &format!("should be less than {}", text("maximum")));
            } else if actual > most {
                self.invalid(
                    path,
                    value,
                    &format!("should be less than or equal to {}", text("maximum")),
                );
            }
        }
        if let Some(least) = bound("minimum") {
            if flag(schema, "exclusiveMinimum") && actual <= least {
                self.invalid(path, value, &format!("should be greater than {}", text("minimum")));
            } else if actual < least {
                self.invalid(
                    path,
                    value,
                    &format!("should be greater than or equal to {}", text("minimum")),
                );
            }
        }
        if let Some(step) = bound("multipleOf")
            && step > 0.0
            && (actual / step).fract() != 0.0
        {
            self.invalid(path, value, &format!("should be a multiple of {}", text("multipleOf")));
        }
    }

    fn combinations(&mut self, value: &Value, old: Option<&Value>, schema: &Value, path: &str) {
        let list = |name: &str| {
            schema
                .get(name)
                .and_then(Value::as_array)
                .map_or(&[][..], Vec::as_slice)
        };
        for part in list("allOf") {
            self.node(value, old, part, path);
        }
        let fits = |part: &Value| validate(value, None, part, self.patterns).is_empty();
        let any_of = list("anyOf");
        let any_fails = !any_of.is_empty() && !any_of.iter().any(fits);
        let one_of = list("oneOf");
        let matching = one_of.iter().filter(|p| fits(p)).count();
        let not_fails = schema.get("not").is_some_and(fits);
        if any_fails {
            self.combination(path, "must validate at least one schema (anyOf)");
        }
        if !one_of.is_empty() && matching != 1 {
            let found = if matching == 0 { "none valid" } else { "multiple valid" };
            self.combination(
                path,
                &format!("must validate one and only one schema (oneOf). Found {found}"),
            );
        }
        if not_fails {
            self.combination(path, "must not validate the schema (not)");
        }
    }

    fn combination(&mut self, path: &str, what: &str) {
        self.errors.push(FieldError::invalid(
            shown(path),
            "".into(),
            format!("\"{path}\" {what}"),
        ));
    }
}

/// The item of the old list with the same keys.
fn same_key<'a>(old: &'a Value, item: &Value, keys: &[&str]) -> Option<&'a Value> {
    old.as_array()?
        .iter()
        .find(|o| keys.iter().all(|k| o.get(*k) == item.get(*k)))
}

fn format_fits(format: &str, text: &str) -> bool {
    match format {
        "date-time" => text.parse::<jiff::Timestamp>().is_ok(),
        "date" => text.parse::<jiff::civil::Date>().is_ok(),
        "ipv4" => text.parse::<std::net::Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<std::net::Ipv6Addr>().is_ok(),
        "uuid" => uuid::Uuid::parse_str(text).is_ok(),
        // Other formats are hints to the reader, not checked by the real server, or too rare to matter here.
        _ => true,
    }
}
