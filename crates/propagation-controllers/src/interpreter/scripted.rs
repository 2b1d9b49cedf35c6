//! Scripts before the native rules.
//!
//! Guarantees: where a script is stored for a kind and operation it alone speaks. One that fails or does not load is an
//! error: the native rule was found wrong by whoever wrote the script, and does not step in for it.

use std::borrow::Cow;
use std::sync::Arc;

use api_types::work::{AggregatedStatusItem, ReplicaRequirements};
use controller_kit::Clock;
use parking_lot::RwLock;
use serde_json::{Map, Value, json};

use super::amounts;
use super::lua::{self, Argument, References, ScriptError, Tree};
use super::rules::{Operation, Rule, Rules};
use super::{DependentObject, Health, InterpretError, Interpreter, Native, Replicas, gvk};
use crate::json::{merge_patch, text};

/// The interpreter that scripts have changed.
pub struct Scripted {
    rules: RwLock<Arc<Rules>>,
    /// What `os.time` tells.
    clock: Clock,
}

impl Scripted {
    /// Without any script.
    pub fn new(clock: Clock) -> Self {
        Self {
            rules: RwLock::default(),
            clock,
        }
    }

    /// The scripts that count now.
    pub fn rules(&self) -> Arc<Rules> {
        self.rules.read().clone()
    }

    /// Makes other scripts count.
    pub fn replace(&self, rules: Rules) {
        *self.rules.write() = Arc::new(rules);
    }

    fn rule(&self, object: &Value, operation: Operation) -> Option<Arc<Rule>> {
        let (api_version, kind) = gvk(object);
        self.rules.read().find(api_version, kind, operation).first().cloned()
    }

    fn call(
        &self,
        rule: &Rule,
        object: &Value,
        arguments: &[Argument<'_>],
        results: usize,
    ) -> Result<Vec<Tree>, InterpretError> {
        self.run(rule, object, arguments, results)
            .map_err(|error| failed(rule, object, error))
    }

    /// The same, while it can still be told how it failed.
    fn run(
        &self,
        rule: &Rule,
        object: &Value,
        arguments: &[Argument<'_>],
        results: usize,
    ) -> Result<Vec<Tree>, ScriptError> {
        rule.script
            .call(&identity(object), arguments, results, self.clock.now())
    }

    /// The only result.
    fn one(&self, rule: &Rule, object: &Value, arguments: &[Argument<'_>]) -> Result<Tree, InterpretError> {
        let results = self.call(rule, object, arguments, 1)?;
        Ok(results.into_iter().next().unwrap_or(Tree::Nil))
    }
}

/// Tells an object from others of its kind.
fn identity(object: &Value) -> Cow<'_, str> {
    match text(object, "/metadata/uid") {
        "" => Cow::Owned(format!(
            "{}/{}",
            text(object, "/metadata/namespace"),
            text(object, "/metadata/name")
        )),
        uid => Cow::Borrowed(uid),
    }
}

/// What a script is asked for, for errors.
fn asked(operation: Operation) -> &'static str {
    match operation {
        Operation::Retention => "retain what the member keeps of",
        Operation::ReplicaResource => "count the replicas of",
        Operation::ReplicaRevision => "revise the replicas of",
        Operation::StatusReflection => "reflect the status of",
        Operation::StatusAggregation => "aggregate the status of",
        Operation::HealthInterpretation => "judge the health of",
        Operation::DependencyInterpretation => "find the dependencies of",
    }
}

fn failed(rule: &Rule, object: &Value, problem: impl std::fmt::Display) -> InterpretError {
    let problem = lua::shortened(problem.to_string());
    let by = format!(
        "ResourceInterpreterCustomization {}, {}: {problem}",
        rule.customization,
        rule.operation.field()
    );
    InterpretError::new(asked(rule.operation), object, by)
}

fn wrong_type(rule: &Rule, object: &Value, wanted: &str, got: &Tree) -> InterpretError {
    let problem = format!(
        "{} returned a {}, not a {wanted}",
        rule.operation.function(),
        got.type_name()
    );
    failed(rule, object, problem)
}

/// A table as JSON.
fn table(rule: &Rule, object: &Value, tree: Tree, references: &References) -> Result<Value, InterpretError> {
    match tree {
        Tree::Empty | Tree::List(_) | Tree::Object(_) => {
            lua::json(tree, references).map_err(|problem| failed(rule, object, problem))
        }
        other => Err(wrong_type(rule, object, "table", &other)),
    }
}

/// The object itself, changed: what is written under its name has to be it.
fn same_object(rule: &Rule, object: &Value, tree: Tree, references: &References) -> Result<Value, InterpretError> {
    let result = table(rule, object, tree, references)?;
    for pointer in ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"] {
        if text(&result, pointer) != text(object, pointer) {
            let problem = format!(
                "{} returned another object: {pointer} is {:?}, not {:?}",
                rule.operation.function(),
                text(&result, pointer),
                text(object, pointer)
            );
            return Err(failed(rule, object, problem));
        }
    }
    Ok(result)
}

impl Interpreter for Scripted {
    fn health(&self, observed: &Value) -> Result<Health, InterpretError> {
        let Some(rule) = self.rule(observed, Operation::HealthInterpretation) else {
            return Native.health(observed);
        };
        match self.one(&rule, observed, &[Argument::Json(observed)])? {
            Tree::Boolean(true) => Ok(Health::Healthy),
            Tree::Boolean(false) => Ok(Health::Unhealthy),
            other => Err(wrong_type(&rule, observed, "boolean", &other)),
        }
    }

    fn replicas(&self, template: &Value) -> Result<Option<Replicas>, InterpretError> {
        let Some(rule) = self.rule(template, Operation::ReplicaResource) else {
            return Native.replicas(template);
        };
        let mut results = self.call(&rule, template, &[Argument::Json(template)], 2)?.into_iter();
        let count = match results.next().unwrap_or(Tree::Nil) {
            Tree::Number(count) => count,
            other => return Err(wrong_type(&rule, template, "number", &other)),
        };
        #[allow(clippy::cast_possible_truncation, reason = "checked")]
        let count = (count.fract() == 0.0 && (0.0..=f64::from(i32::MAX)).contains(&count))
            .then_some(count as i32)
            .ok_or_else(|| {
                failed(
                    &rule,
                    template,
                    format!("GetReplicas returned {count}, which is no count"),
                )
            })?;
        let requirements = match results.next().unwrap_or(Tree::Nil) {
            Tree::Nil => None,
            tree => {
                let mut requirements = table(&rule, template, tree, &References::of([template]))?;
                if let Some(amounts) = requirements.get_mut("resourceRequest") {
                    amounts::as_texts(amounts).map_err(|problem| failed(&rule, template, problem))?;
                }
                let read: ReplicaRequirements = serde_json::from_value(requirements).map_err(|error| {
                    failed(
                        &rule,
                        template,
                        format!("GetReplicas returned no requirements: {error}"),
                    )
                })?;
                Some(read).filter(|read| *read != ReplicaRequirements::default())
            }
        };
        Ok(Some(Replicas { count, requirements }))
    }

    fn revise(&self, template: &mut Value, replicas: i32) -> Result<(), InterpretError> {
        let Some(rule) = self.rule(template, Operation::ReplicaRevision) else {
            return Native.revise(template, replicas);
        };
        let arguments = [Argument::Json(template), Argument::Number(replicas)];
        let tree = self.one(&rule, template, &arguments)?;
        *template = same_object(&rule, template, tree, &References::of([&*template]))?;
        Ok(())
    }

    fn retain(&self, desired: &mut Value, observed: &Value) -> Result<(), InterpretError> {
        let Some(rule) = self.rule(desired, Operation::Retention) else {
            return Native.retain(desired, observed);
        };
        let tree = self.one(&rule, desired, &[Argument::Json(desired), Argument::Json(observed)])?;
        *desired = same_object(&rule, desired, tree, &References::of([&*desired, observed]))?;
        Ok(())
    }

    fn reflect(&self, observed: &Value) -> Result<Option<Value>, InterpretError> {
        let Some(rule) = self.rule(observed, Operation::StatusReflection) else {
            return Native.reflect(observed);
        };
        let tree = self.one(&rule, observed, &[Argument::Json(observed)])?;
        // A status is often passed on as it is: what stands empty there stands at the top here.
        let status = observed.get("status").unwrap_or(&Value::Null);
        let returned = table(&rule, observed, tree, &References::of([status, observed]))?;
        // The API server takes no other status, and would refuse all else that is said with it.
        if !returned.is_object() {
            let problem = format!("{} returned a list, not an object", rule.operation.function());
            return Err(failed(&rule, observed, problem));
        }
        Ok(Some(returned))
    }

    fn aggregate(&self, template: &Value, items: &[AggregatedStatusItem]) -> Result<Option<Value>, InterpretError> {
        let Some(rule) = self.rule(template, Operation::StatusAggregation) else {
            return Native.aggregate(template, items);
        };
        let items = serde_json::to_value(items).map_err(|error| failed(&rule, template, error))?;
        let as_objects: Vec<Value> = items
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|item| Some(json!({"status": item.get("status")?})))
            .collect();
        let references = References::of(as_objects.iter().chain([template]));
        let ask = |items| self.run(&rule, template, &[Argument::Json(template), items], 1);
        let judge = |answer: Result<Vec<Tree>, ScriptError>| {
            let results = answer.map_err(|error| failed(&rule, template, error))?;
            let tree = results.into_iter().next().unwrap_or(Tree::Nil);
            same_object(&rule, template, tree, &references)
        };
        let result = if items.as_array().is_some_and(Vec::is_empty) {
            // Stock gives nil where there is no copy, and most of its scripts look for that; some do not, and count on
            // a list. One that took more than it may is not run once more.
            let answer = ask(Argument::Nothing);
            let is_exhausted = answer.as_ref().is_err_and(|error| error.exhausted);
            match judge(answer) {
                Err(problem) if !is_exhausted => judge(ask(Argument::Json(&items))).map_err(|_| problem),
                judged => judged,
            }
        } else {
            judge(ask(Argument::Json(&items)))
        }?;
        let nothing = Value::Object(Map::new());
        let of = |object: &Value| object.get("status").cloned().unwrap_or_else(|| nothing.clone());
        Ok(merge_patch(&of(template), &of(&result)))
    }

    fn dependencies(&self, template: &Value) -> Result<Vec<DependentObject>, InterpretError> {
        let (api_version, kind) = gvk(template);
        let rules = self.rules();
        let rules = rules.find(api_version, kind, Operation::DependencyInterpretation);
        if rules.is_empty() {
            return Native.dependencies(template);
        }
        let mut found = Vec::new();
        for rule in rules {
            let items = match self.one(rule, template, &[Argument::Json(template)])? {
                Tree::Empty => Vec::new(),
                Tree::List(items) => items,
                other => return Err(wrong_type(rule, template, "list", &other)),
            };
            for item in items {
                let item = table(rule, template, item, &References::of([template]))?;
                let object: DependentObject = serde_json::from_value(item).map_err(|error| {
                    failed(
                        rule,
                        template,
                        format!("GetDependencies returned no reference: {error}"),
                    )
                })?;
                if object.name.as_deref().unwrap_or_default().is_empty() && object.label_selector.is_none() {
                    let problem = format!(
                        "GetDependencies returned a {} with neither name nor labelSelector",
                        object.kind
                    );
                    return Err(failed(rule, template, problem));
                }
                if !found.contains(&object) {
                    found.push(object);
                }
            }
        }
        // As stock: `pairs` gives them in any order, and the binding's annotation names them in this one.
        found.sort_by(|one, other| place(one).cmp(&place(other)));
        Ok(found)
    }
}

fn place(object: &DependentObject) -> (&str, &str, &str, Option<&str>) {
    (
        &object.api_version,
        &object.kind,
        &object.namespace,
        object.name.as_deref(),
    )
}

#[cfg(test)]
#[path = "scripted_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "stock_scripts_tests.rs"]
mod stock_scripts_tests;
