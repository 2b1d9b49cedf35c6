//! The status of a Work's objects from what is in the member, as a pure function.

use api_types::work::{Manifest, ManifestStatus, ResourceHealth, ResourceIdentifier, Work};
use controller_kit::ObjectKey;
use serde_json::Value;

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
}

/// What there is to report of a Work.
///
/// An object without a health rule is healthy once it is there; one that the rule cannot read is Unknown.
///
/// # Errors
/// When a status cannot be reflected.
pub fn statuses(
    key: &ObjectKey,
    work: &Work,
    observed: impl Fn(&Value) -> Option<Value>,
    interpreter: &dyn Interpreter,
) -> Result<Reported, InterpretError> {
    let mut reported = Reported::default();
    for (ordinal, Manifest(manifest)) in work.spec.workload.manifests.iter().enumerate() {
        let Some(object) = observed(manifest).filter(|object| work_of_value(object).as_ref() == Some(key)) else {
            continue;
        };
        let health = match interpreter.health(&object) {
            Ok(Health::Healthy | Health::NoRule) => ResourceHealth::Healthy,
            Ok(Health::Unhealthy) => ResourceHealth::Unhealthy,
            Err(error) => {
                reported.not_judged.push(error);
                ResourceHealth::Unknown
            }
        };
        reported.items.push(ManifestStatus {
            identifier: identifier(ordinal, manifest),
            status: interpreter.reflect(&object)?,
            health: Some(health),
        });
    }
    Ok(reported)
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
    use api_types::work::{WorkSpec, WorkloadTemplate};
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
        let there = |object: Option<Value>| statuses(&key, &work, |_| object.clone(), &Native).unwrap().items;
        assert!(there(None).is_empty());
        assert!(there(Some(object("ConfigMap", "other"))).is_empty());
        let items = there(Some(object("ConfigMap", "w")));
        assert_eq!(items[0].health, Some(ResourceHealth::Healthy));
        assert_eq!(
            (items[0].identifier.version.as_str(), items[0].identifier.group.as_str()),
            ("v1", "")
        );
    }
}
