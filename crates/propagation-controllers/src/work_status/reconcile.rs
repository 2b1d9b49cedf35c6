//! The status of a Work's objects from what is in the member, as a pure function.

use api_types::work::{Manifest, ManifestStatus, ResourceHealth, ResourceIdentifier, Work};
use controller_kit::ObjectKey;
use serde_json::Value;

use crate::interpreted::{INTERPRET_HEALTH, REFLECT_STATUS, Trouble};
use crate::interpreter::{Health, InterpretError, Interpreter};
use crate::json;
use crate::members::work_of_value;

/// What is reported of a Work's objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reported {
    /// One item for each object that is in the member and comes from the Work.
    pub items: Vec<ManifestStatus>,
    /// Why the health of objects is not known, which are Unknown for that reason.
    pub not_judged: Vec<InterpretError>,
    /// Why the status of objects could not be read: it stays as it was. Their health counts.
    pub not_reflected: Vec<InterpretError>,
}

impl Reported {
    /// What could not be interpreted, for people.
    #[must_use]
    pub fn troubles(&self) -> Vec<Trouble> {
        let of = |reason: &'static str, errors: &[InterpretError]| -> Vec<Trouble> {
            errors.iter().map(|error| Trouble::new(reason, error)).collect()
        };
        [
            of(INTERPRET_HEALTH, &self.not_judged),
            of(REFLECT_STATUS, &self.not_reflected),
        ]
        .concat()
    }
}

/// An object of a Work in the member.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// It is like this.
    Object(Value),
    /// It could not be read.
    Unread,
}

/// What there is to report of a Work.
///
/// An object without a health rule is healthy once it is there; one that the rule cannot read is Unknown, and so is one
/// that was reported before and could not be read now.
pub fn statuses(
    key: &ObjectKey,
    work: &Work,
    observed: impl Fn(&Value) -> Option<Seen>,
    interpreter: &dyn Interpreter,
) -> Reported {
    let mut reported = Reported::default();
    for (ordinal, Manifest(manifest)) in work.spec.workload.manifests.iter().enumerate() {
        let identifier = identifier(ordinal, manifest);
        let object = match observed(manifest) {
            Some(Seen::Object(object)) if work_of_value(&object).as_ref() == Some(key) => object,
            Some(Seen::Unread) => {
                if let Some(before) = before(work, &identifier) {
                    reported.items.push(ManifestStatus {
                        identifier,
                        status: before.status.clone(),
                        health: Some(ResourceHealth::Unknown),
                    });
                }
                continue;
            }
            Some(Seen::Object(_)) | None => continue,
        };
        let health = match interpreter.health(&object) {
            Ok(Health::Healthy | Health::NoRule) => ResourceHealth::Healthy,
            Ok(Health::Unhealthy) => ResourceHealth::Unhealthy,
            Err(error) => {
                reported.not_judged.push(error);
                ResourceHealth::Unknown
            }
        };
        let status = interpreter.reflect(&object).and_then(|status| carried(&object, status));
        let status = status.unwrap_or_else(|error| {
            reported.not_reflected.push(error);
            before(work, &identifier).and_then(|before| before.status.clone())
        });
        reported.items.push(ManifestStatus {
            identifier,
            status,
            health: Some(health),
        });
    }
    reported
}

/// The status, unless it is deeper than what is read of a Work or a binding that has it.
fn carried(object: &Value, status: Option<Value>) -> Result<Option<Value>, InterpretError> {
    if status.as_ref().is_some_and(json::is_too_deep) {
        let problem = format!("it has more than {} levels of fields in each other", json::DEEPEST);
        return Err(InterpretError::new("reflect the status of", object, problem));
    }
    Ok(status)
}

/// What was reported of the object before, in whatever place of the Work it was.
fn before<'a>(work: &'a Work, identifier: &ResourceIdentifier) -> Option<&'a ManifestStatus> {
    let all = work.status.as_ref().map(|status| status.manifest_statuses.as_slice());
    let name = |of: &ResourceIdentifier| ResourceIdentifier {
        ordinal: 0,
        ..of.clone()
    };
    let wanted = name(identifier);
    all.unwrap_or_default()
        .iter()
        .find(|item| name(&item.identifier) == wanted)
}

fn identifier(ordinal: usize, manifest: &Value) -> ResourceIdentifier {
    let api_version = json::text(manifest, "/apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ResourceIdentifier {
        ordinal: i32::try_from(ordinal).unwrap_or(i32::MAX),
        group: group.to_owned(),
        version: version.to_owned(),
        kind: json::text(manifest, "/kind").to_owned(),
        resource: String::new(),
        namespace: json::text(manifest, "/metadata/namespace").to_owned(),
        name: json::text(manifest, "/metadata/name").to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "literals are given by value")]
mod tests {
    use api_types::work::{WorkSpec, WorkStatus, WorkloadTemplate};
    use serde_json::json;

    use super::*;
    use crate::interpreter::Native;

    fn object(kind: &str, work: &str) -> Value {
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"namespace": "shop", "name": "a",
            "annotations": {"work.karmada.io/namespace": "karmada-es-m1", "work.karmada.io/name": work}}})
    }

    #[test]
    fn only_what_comes_from_this_work_counts() {
        let spec = WorkSpec {
            workload: WorkloadTemplate {
                manifests: vec![Manifest(object("ConfigMap", "w"))],
            },
            ..WorkSpec::default()
        };
        let work = Work::new("w", spec);
        let key = ObjectKey::namespaced("karmada-es-m1", "w");
        let there = |object: Option<Value>| {
            let seen = object.map(Seen::Object);
            statuses(&key, &work, |_| seen.clone(), &Native).items
        };
        assert!(there(None).is_empty());
        assert!(there(Some(object("ConfigMap", "other"))).is_empty());
        let items = there(Some(object("ConfigMap", "w")));
        assert_eq!(items[0].health, Some(ResourceHealth::Healthy));
        assert_eq!(
            (items[0].identifier.version.as_str(), items[0].identifier.group.as_str()),
            ("v1", "")
        );
    }

    #[test]
    fn what_could_not_be_read_is_unknown_if_it_was_reported_before() {
        let spec = WorkSpec {
            workload: WorkloadTemplate {
                manifests: vec![Manifest(object("ConfigMap", "w"))],
            },
            ..WorkSpec::default()
        };
        let mut work = Work::new("w", spec);
        let key = ObjectKey::namespaced("karmada-es-m1", "w");
        let unread = |work: &Work| statuses(&key, work, |_| Some(Seen::Unread), &Native).items;
        assert!(unread(&work).is_empty());
        let mut before = statuses(&key, &work, |_| Some(Seen::Object(object("ConfigMap", "w"))), &Native).items;
        before[0].status = Some(json!({"phase": "Running"}));
        before[0].identifier.ordinal = 7;
        work.status = Some(WorkStatus {
            manifest_statuses: before,
            ..WorkStatus::default()
        });
        let items = unread(&work);
        assert_eq!(items[0].health, Some(ResourceHealth::Unknown));
        assert_eq!(items[0].status, Some(json!({"phase": "Running"})));
        assert_eq!(items[0].identifier.ordinal, 0);
    }
}
