//! The `x-kubernetes-validations` rules of a schema, evaluated by kube-cel.
//!
//! Guarantee: a CRD with a rule that this server cannot evaluate is refused, so that no rule is ever skipped.

use kube_cel::{CompiledSchema, ErrorKind, Validator, compile_schema};
use parking_lot::Mutex;
use serde_json::Value;

use super::alignment::align;
use crate::status::{FieldError, FieldErrorKind};

/// Compiled rules; the mutex is because a validator can move between threads but not be shared.
#[derive(Debug)]
pub(crate) struct Rules {
    compiled: Option<Mutex<(CompiledSchema, Validator)>>,
}

impl Rules {
    pub(crate) fn compile(schema: &Value) -> Result<Self, Vec<FieldError>> {
        if !has_rules(schema) {
            return Ok(Self { compiled: None });
        }
        let compiled = compile_schema(schema);
        let mut problems = Vec::new();
        collect_problems(&compiled, &mut problems);
        collect_unsupported(schema, &mut problems);
        if problems.is_empty() {
            Ok(Self {
                compiled: Some(Mutex::new((compiled, Validator::new()))),
            })
        } else {
            Err(problems)
        }
    }

    pub(crate) fn exist(&self) -> bool {
        self.compiled.is_some()
    }

    pub(crate) fn validate(&self, object: &Value, old: Option<&Value>, structural: &Value) -> Vec<FieldError> {
        let mut errors = self.evaluate(object, old);
        if let Some(aligned) = old.and_then(|old| align(structural, object, old)) {
            // What is said of items of map lists is taken from where former items stand beside theirs.
            let in_items = self.evaluate(&aligned.object, Some(&aligned.old));
            // Beside itself everything keeps its place: this tells which paths lead into such items.
            let sent = align(structural, object, object);
            errors.retain(|e| sent.as_ref().is_none_or(|sent| sent.original(&e.field).is_none()));
            errors.extend(in_items.into_iter().filter_map(|mut e| {
                e.field = aligned.original(&e.field)?;
                Some(e)
            }));
            errors.sort_by(|a, b| (&a.field, &a.detail).cmp(&(&b.field, &b.detail)));
        }
        errors
    }

    fn evaluate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let Some(compiled) = &self.compiled else {
            return Vec::new();
        };
        let guard = compiled.lock();
        let (schema, validator) = &*guard;
        let Err(failures) = validator.validate_compiled(schema, object, old) else {
            return Vec::new();
        };
        let mut errors: Vec<FieldError> = failures
            .into_vec()
            .into_iter()
            .filter(|f| f.rule.contains("oldSelf") || !unchanged(object, old, &f.field_path))
            .map(|f| {
                let value = at_path(object, &f.field_path);
                let scalar = value.filter(|v| !v.is_object() && !v.is_array()).cloned();
                let kind = match f.reason.as_deref() {
                    Some("FieldValueForbidden") => FieldErrorKind::Forbidden,
                    Some("FieldValueRequired") => FieldErrorKind::Required,
                    Some("FieldValueDuplicate") => FieldErrorKind::Duplicate,
                    _ => FieldErrorKind::Invalid,
                };
                let shows_value = matches!(kind, FieldErrorKind::Invalid | FieldErrorKind::Duplicate);
                let detail = match f.kind {
                    ErrorKind::ValidationFailure => f.message,
                    _ => format!("{} evaluating rule: {}", f.message, f.rule),
                };
                let path = if f.field_path.is_empty() {
                    "<nil>"
                } else {
                    &f.field_path
                };
                FieldError::new(kind, path, scalar.filter(|_| shows_value), detail)
            })
            .collect();
        errors.sort_by(|a, b| (&a.field, &a.detail).cmp(&(&b.field, &b.detail)));
        errors
    }
}

fn has_rules(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.contains_key("x-kubernetes-validations") || map.values().any(has_rules),
        Value::Array(items) => items.iter().any(has_rules),
        _ => false,
    }
}

fn collect_problems(schema: &CompiledSchema, problems: &mut Vec<FieldError>) {
    for error in schema.compilation_errors() {
        problems.push(rule_problem(error.to_string()));
    }
    let mut names: Vec<_> = schema.properties.keys().collect();
    names.sort();
    for name in names {
        collect_problems(&schema.properties[name], problems);
    }
    let boxed = schema.items.iter().chain(&schema.additional_properties).map(|b| &**b);
    let branches = schema.all_of.iter().chain(&schema.one_of).chain(&schema.any_of);
    boxed.chain(branches).for_each(|s| collect_problems(s, problems));
}

/// What compiles but fails on every object here, though the real server knows it.
fn collect_unsupported(schema: &Value, problems: &mut Vec<FieldError>) {
    match schema {
        Value::Object(map) => {
            for rule in map
                .get("x-kubernetes-validations")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                let text = rule["rule"].as_str().unwrap_or_default();
                let unsupported = ["type(", "dyn(", ".?", "cel.bind", "sortBy("]
                    .iter()
                    .find(|w| text.contains(**w));
                if let Some(word) = unsupported {
                    problems.push(rule_problem(format!(
                        "{word:?} is not available in this server: {text}"
                    )));
                }
                if rule["optionalOldSelf"] == Value::Bool(true) {
                    problems.push(rule_problem(format!(
                        "optionalOldSelf is not available in this server: {text}"
                    )));
                }
            }
            map.values().for_each(|v| collect_unsupported(v, problems));
        }
        Value::Array(items) => items.iter().for_each(|v| collect_unsupported(v, problems)),
        _ => {}
    }
}

fn rule_problem(what: String) -> FieldError {
    FieldError::invalid(
        "spec.validation.openAPIV3Schema.x-kubernetes-validations",
        Value::Null,
        what,
    )
}

fn unchanged(object: &Value, old: Option<&Value>, path: &str) -> bool {
    let Some(old) = old else { return false };
    matches!((at_path(object, path), at_path(old, path)), (Some(new), Some(before)) if new == before)
}

/// Follows a path like `spec.items[0].name` or `spec.map[key]`.
fn at_path<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let mut at = object;
    for part in path
        .split(['.', '['])
        .map(|p| p.trim_end_matches(']'))
        .filter(|p| !p.is_empty())
    {
        at = match at {
            Value::Array(items) => items.get(part.parse::<usize>().ok()?)?,
            other => other.get(part)?,
        };
    }
    Some(at)
}
