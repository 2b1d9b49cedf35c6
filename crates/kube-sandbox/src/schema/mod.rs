//! Structural schemas of CRDs: what the real server does with an object between decoding and storing it.
//!
//! Order for every write: prune unknown fields, drop nulls and fill defaults, then validate (shape, list keys, CEL).

mod alignment;
mod cel;
mod defaulting;
mod pruning;
mod validation;

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

pub(crate) use cel::Rules;

use crate::status::{FieldError, FieldErrorKind};

/// A compiled `openAPIV3Schema`.
#[derive(Debug)]
pub(crate) struct Schema {
    /// The schema as written in the CRD.
    pub structural: Value,
    patterns: BTreeMap<String, Regex>,
    rules: Rules,
    keeps_everything: bool,
}

impl Schema {
    /// Compiles a schema; the error names a pattern or rule that the server cannot evaluate (it refuses such CRDs).
    pub(crate) fn compile(structural: Value, preserve_unknown_fields: bool) -> Result<Self, Vec<FieldError>> {
        let mut patterns = BTreeMap::new();
        let mut problems = Vec::new();
        collect_patterns(&structural, &mut patterns, &mut problems);
        let rules = match Rules::compile(&structural) {
            Ok(rules) => Some(rules),
            Err(mut more) => {
                problems.append(&mut more);
                None
            }
        };
        match rules {
            Some(rules) if problems.is_empty() => Ok(Self {
                structural,
                patterns,
                rules,
                keeps_everything: preserve_unknown_fields,
            }),
            _ => Err(problems),
        }
    }

    /// Drops what the schema does not know, and fills defaults.
    pub(crate) fn normalize(&self, object: &mut Value) {
        if !self.keeps_everything {
            pruning::prune_root(object, &self.structural);
        }
        defaulting::apply(object, &self.structural);
    }

    /// Paths (like `spec.foo`) that pruning would remove: what `fieldValidation=Strict` refuses.
    pub(crate) fn unknown_fields(&self, object: &Value) -> Vec<String> {
        if self.keeps_everything {
            return Vec::new();
        }
        let mut pruned = object.clone();
        pruning::prune_root(&mut pruned, &self.structural);
        removed_fields(object, &pruned)
    }

    /// Everything that is wrong with a normalised object; `old` is the object before the write, if any: what did not
    /// change is not complained about again (validation ratcheting), and transition rules compare with it.
    pub(crate) fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = validation::validate(object, old, &self.structural, &self.patterns);
        // As the real server: rules are not evaluated on objects of the wrong shape, and the answer says so.
        let blocks = |e: &FieldError| {
            use FieldErrorKind::{NotSupported, Required, TooLong, TooMany, TypeInvalid};
            matches!(e.kind, NotSupported | Required | TooLong | TooMany | TypeInvalid)
        };
        if !errors.iter().any(blocks) {
            errors.extend(self.rules.validate(object, old, &self.structural));
        } else if self.rules.exist() {
            errors.push(FieldError::invalid(
                "<nil>",
                Value::Null,
                "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
            ));
        }
        errors
    }
}

fn collect_patterns(schema: &Value, patterns: &mut BTreeMap<String, Regex>, problems: &mut Vec<FieldError>) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::String(pattern)) = map.get("pattern") {
                match Regex::new(pattern) {
                    Ok(regex) => {
                        patterns.insert(pattern.clone(), regex);
                    }
                    Err(why) => problems.push(FieldError::invalid(
                        "spec.validation.openAPIV3Schema.pattern",
                        pattern.clone().into(),
                        format!("must be a valid regular expression, but isn't: {why}"),
                    )),
                }
            }
            map.values().for_each(|v| collect_patterns(v, patterns, problems));
        }
        Value::Array(items) => items.iter().for_each(|v| collect_patterns(v, patterns, problems)),
        _ => {}
    }
}

/// Paths of fields with a value that a pass through a type or schema lost.
pub(crate) fn removed_fields(before: &Value, after: &Value) -> Vec<String> {
    let mut missing = Vec::new();
    removed_paths(before, after, "", &mut missing);
    missing
}

fn removed_paths(before: &Value, after: &Value, path: &str, missing: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(b), Value::Object(a)) => {
            for (key, value) in b {
                let child = child_path(path, key);
                match a.get(key) {
                    None if value.is_null() => {}
                    None => missing.push(child),
                    Some(kept) => removed_paths(value, kept, &child, missing),
                }
            }
        }
        (Value::Array(b), Value::Array(a)) => {
            for (i, (x, y)) in b.iter().zip(a).enumerate() {
                removed_paths(x, y, &format!("{path}[{i}]"), missing);
            }
        }
        _ => {}
    }
}

pub(super) fn child_path(parent: &str, key: &str) -> String {
    if parent.is_empty() {
        key.to_owned()
    } else {
        format!("{parent}.{key}")
    }
}

pub(crate) fn flag(schema: &Value, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool).unwrap_or(false)
}
