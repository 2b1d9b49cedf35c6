//! What an object of a kind means: its health, its replicas, what a member may keep, what of its status counts.
//!
//! Everything behind one trait, so that scripts of ResourceInterpreterCustomizations can stand before the native
//! rules. Pure: no I/O, no clock. An error is an error: never "unhealthy", never "nothing there".

mod aggregate;
mod amounts;
mod dependencies;
mod health;
mod live;
mod lua;
mod reflect;
mod replicas;
mod retain;
mod revise;
mod rules;
mod scripted;

use api_types::work::{AggregatedStatusItem, ReplicaRequirements};
use serde_json::Value;

pub use dependencies::DependentObject;
pub use live::{Interpreters, Interpreting, KindChanges, KindName};
pub use retain::SERVICE_ACCOUNT_TOKEN;
pub use revise::divide_by_replicas;

/// Why an object could not be interpreted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot {operation} {kind} {name}: {problem}")]
pub struct InterpretError {
    /// What was tried, such as `read the status of`.
    pub operation: &'static str,
    /// Kind of the object.
    pub kind: String,
    /// `namespace/name` of the object.
    pub name: String,
    /// What is wrong with it.
    pub problem: String,
}

impl InterpretError {
    pub(crate) fn new(operation: &'static str, object: &Value, problem: impl Into<String>) -> Self {
        let name = match crate::json::some_text(object, "/metadata/namespace") {
            Some(namespace) => format!("{namespace}/{}", crate::json::text(object, "/metadata/name")),
            None => crate::json::text(object, "/metadata/name").to_owned(),
        };
        Self {
            operation,
            kind: crate::json::text(object, "/kind").to_owned(),
            name,
            problem: problem.into(),
        }
    }
}

/// Whether a copy works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It does.
    Healthy,
    /// It does not.
    Unhealthy,
    /// Its kind has no rule: it counts as healthy once it is there.
    NoRule,
}

/// Replicas of a template and what one needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Replicas {
    /// How many.
    pub count: i32,
    /// What one needs; absent when its pod asks for nothing.
    pub requirements: Option<ReplicaRequirements>,
}

/// What an object of a kind means. Objects are complete: `apiVersion`, `kind`, `metadata` and the rest.
pub trait Interpreter: Send + Sync {
    /// Whether the object in a member works.
    ///
    /// # Errors
    /// When the object cannot be read by the rule of its kind.
    fn health(&self, observed: &Value) -> Result<Health, InterpretError>;

    /// Replicas of the template; `None` for a kind without.
    ///
    /// # Errors
    /// When the template cannot be read by the rule of its kind.
    fn replicas(&self, template: &Value) -> Result<Option<Replicas>, InterpretError>;

    /// Makes the template ask for `replicas`; does nothing to a kind without.
    ///
    /// # Errors
    /// When the template cannot be read by the rule of its kind.
    fn revise(&self, template: &mut Value, replicas: i32) -> Result<(), InterpretError>;

    /// Takes over into `desired` what belongs to the member.
    ///
    /// # Errors
    /// When one of the two cannot be read by the rule of their kind.
    fn retain(&self, desired: &mut Value, observed: &Value) -> Result<(), InterpretError>;

    /// The part of the status of the object in a member that is carried to the control plane.
    ///
    /// # Errors
    /// When the object cannot be read by the rule of its kind.
    fn reflect(&self, observed: &Value) -> Result<Option<Value>, InterpretError>;

    /// The fields of the template's status that follow from those of its copies, as a merge patch of `status`; `None`
    /// when the kind has no rule or nothing would change.
    ///
    /// # Errors
    /// When one of the statuses cannot be read by the rule of their kind.
    fn aggregate(&self, template: &Value, items: &[AggregatedStatusItem]) -> Result<Option<Value>, InterpretError>;

    /// What else has to be on a member for the template to work there; empty for what needs nothing.
    ///
    /// # Errors
    /// When the template cannot be read by the rule of its kind: what it needs is then not known, not nothing.
    fn dependencies(&self, template: &Value) -> Result<Vec<DependentObject>, InterpretError>;
}

/// The rules that Karmada has built in, and one for Jobs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Native;

impl Interpreter for Native {
    fn health(&self, observed: &Value) -> Result<Health, InterpretError> {
        Ok(health::health(observed))
    }
    fn replicas(&self, template: &Value) -> Result<Option<Replicas>, InterpretError> {
        replicas::replicas(template)
    }
    fn revise(&self, template: &mut Value, replicas: i32) -> Result<(), InterpretError> {
        revise::revise(template, replicas);
        Ok(())
    }
    fn retain(&self, desired: &mut Value, observed: &Value) -> Result<(), InterpretError> {
        retain::retain(desired, observed);
        Ok(())
    }
    fn reflect(&self, observed: &Value) -> Result<Option<Value>, InterpretError> {
        reflect::reflect(observed)
    }
    fn aggregate(&self, template: &Value, items: &[AggregatedStatusItem]) -> Result<Option<Value>, InterpretError> {
        aggregate::aggregate(template, items)
    }
    fn dependencies(&self, template: &Value) -> Result<Vec<DependentObject>, InterpretError> {
        dependencies::dependencies(template)
    }
}

/// `apiVersion` and `kind` of an object, to choose a rule by.
pub(crate) fn gvk(object: &Value) -> (&str, &str) {
    (
        crate::json::text(object, "/apiVersion"),
        crate::json::text(object, "/kind"),
    )
}

#[cfg(test)]
mod native_tests;
