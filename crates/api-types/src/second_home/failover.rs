//! What a stock Karmada does not know of `spec.failover`.
//!
//! The annotation is JSON of the shape of `spec.failover`, on the policy; it is carried to the policy's bindings, as stock
//! carries the field. Field by field, what the field says counts before what the annotation says, except for a purge mode
//! that the field cannot have there: stock writes its default into it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value};

use super::{Unreadable, parsed, text};
use crate::names::annotation::FAILOVER;
use crate::policy::{FailoverBehavior, Policy, PurgeMode};
use crate::work::Binding;

const PURGE_MODE: &str = "purgeMode";

/// `field` with what the annotation says beside it.
///
/// # Errors
/// [`Unreadable`] when the annotation is not of that shape, also together with the field.
pub fn merged(field: Option<&FailoverBehavior>, metadata: &ObjectMeta) -> Result<Option<FailoverBehavior>, Unreadable> {
    let Some(annotation) = parsed::<Map<String, Value>>(metadata, FAILOVER)? else {
        return Ok(field.cloned());
    };
    let unreadable = |error: serde_json::Error| Unreadable {
        annotation: FAILOVER,
        why: error.to_string(),
    };
    let mut value = match field {
        Some(field) => serde_json::to_value(field).map_err(unreadable)?,
        None => Value::Object(Map::new()),
    };
    if let Value::Object(fields) = &mut value {
        for (name, said) in annotation {
            let part = fields.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
            fill(part, said, &name);
        }
    }
    serde_json::from_value(value).map(Some).map_err(unreadable)
}

/// What is wrong with the annotation of a policy.
#[must_use]
pub fn complaint(policy: &Policy) -> Option<Unreadable> {
    merged(policy.spec.failover.as_ref(), &policy.metadata).err()
}

/// The annotation as it is written.
#[must_use]
pub fn written(metadata: &ObjectMeta) -> Option<&str> {
    text(metadata, FAILOVER)
}

pub(crate) fn adopt_into_policy(policy: &mut Policy) {
    adopt(&mut policy.spec.failover, &policy.metadata);
}

pub(crate) fn adopt_into_binding(binding: &mut Binding) {
    adopt(&mut binding.spec.failover, &binding.metadata);
}

fn adopt(field: &mut Option<FailoverBehavior>, metadata: &ObjectMeta) {
    // Most objects have none: they are read without a copy.
    if text(metadata, FAILOVER).is_some()
        && let Ok(whole) = merged(field.as_ref(), metadata)
    {
        *field = whole;
    }
}

/// Fills into `field` what only the annotation says. `part` is `application` or `cluster`.
fn fill(field: &mut Value, said: Value, part: &str) {
    match (field, said) {
        (Value::Object(fields), Value::Object(said)) => {
            for (name, said) in said {
                match fields.get_mut(&name) {
                    Some(field) if name == PURGE_MODE && !stock_can_say(&said, part) => *field = said,
                    Some(field) => fill(field, said, part),
                    None => {
                        fields.insert(name, said);
                    }
                }
            }
        }
        // Not an object: the shape is wrong, and reading it says so.
        (field @ Value::Object(_), said) if !said.is_null() => *field = said,
        (_, _) => {}
    }
}

/// Whether stock's field can have this purge mode. An old spelling and, for a cluster's failure, Never it cannot.
fn stock_can_say(mode: &Value, part: &str) -> bool {
    let Some(mode) = mode.as_str() else { return true };
    match PurgeMode::from(mode) {
        PurgeMode::Directly | PurgeMode::Gracefully | PurgeMode::Other(_) => true,
        PurgeMode::Never => part == "application",
        PurgeMode::Immediately | PurgeMode::Graciously => false,
    }
}
