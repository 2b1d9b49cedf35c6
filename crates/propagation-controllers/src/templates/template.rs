//! What is kept of a template: its JSON in one piece, which takes a tenth of what it takes as a tree, and the little that
//! is asked of all of them.

use std::hash::{DefaultHasher, Hash, Hasher};

use api_types::names::label;
use kube::core::DynamicObject;
use serde_json::Value;

use crate::json;
use crate::kinds::Kind;

/// An object of the control plane, as it was read.
pub struct Template {
    json: Box<[u8]>,
    claim_id: Option<Box<str>>,
    /// Of everything but status and version.
    content: u64,
    status: u64,
}

impl Template {
    /// What is kept of an object.
    #[must_use]
    pub fn keep(object: DynamicObject) -> Self {
        let labels = object.metadata.labels.as_ref();
        let of_label = |name: &str| labels.and_then(|labels| labels.get(name));
        let claim_id =
            of_label(label::PROPAGATION_POLICY_ID).or_else(|| of_label(label::CLUSTER_PROPAGATION_POLICY_ID));
        let claim_id = claim_id.map(|id| id.as_str().into());
        let mut value = serde_json::to_value(&object).unwrap_or_default();
        drop(object);
        let json = bytes(&value);
        let status = fingerprint(&bytes(&value["status"]));
        json::remove(&mut value, &["status"]);
        json::remove(&mut value, &["metadata", "resourceVersion"]);
        Self {
            json,
            claim_id,
            content: fingerprint(&bytes(&value)),
            status,
        }
    }

    /// The complete object: lists leave out what kind their items are.
    #[must_use]
    pub fn value(&self, kind: &Kind) -> Value {
        // It was written by ourselves, so it can be read.
        let mut value = serde_json::from_slice(&self.json).unwrap_or_default();
        json::set(&mut value, &["apiVersion"], kind.api_version().into());
        json::set(&mut value, &["kind"], kind.kind().into());
        value
    }

    /// The permanent id of the policy by which the object says that it goes.
    #[must_use]
    pub fn claim_id(&self) -> Option<&str> {
        self.claim_id.as_deref()
    }

    /// Whether what goes to members may be another.
    #[must_use]
    pub fn differs_beyond_status(&self, other: &Self) -> bool {
        self.content != other.content
    }

    /// Whether it says something else of itself.
    #[must_use]
    pub fn differs_in_status(&self, other: &Self) -> bool {
        self.status != other.status
    }
}

fn bytes(value: &Value) -> Box<[u8]> {
    serde_json::to_vec(value).unwrap_or_default().into()
}

fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::find;

    fn web(version: &str, replicas: i32, available: i32) -> Template {
        let object = json!({"metadata": {"namespace": "shop", "name": "web", "resourceVersion": version,
            "labels": {"propagationpolicy.karmada.io/permanent-id": "id"}},
            "spec": {"replicas": replicas}, "status": {"availableReplicas": available}});
        Template::keep(serde_json::from_value(object).unwrap())
    }

    #[test]
    fn the_object_comes_back_complete() {
        let kind = find("apps/v1", "Deployment").unwrap();
        let value = web("7", 3, 1).value(&kind);
        assert_eq!(
            (&value["apiVersion"], &value["kind"]),
            (&json!("apps/v1"), &json!("Deployment"))
        );
        assert_eq!(
            (&value["metadata"]["resourceVersion"], &value["spec"]["replicas"]),
            (&json!("7"), &json!(3))
        );
        assert_eq!(web("7", 3, 1).claim_id(), Some("id"));
    }

    #[test]
    fn status_and_content_change_apart() {
        let (before, status, content) = (web("7", 3, 1), web("8", 3, 2), web("9", 4, 1));
        assert!(before.differs_in_status(&status) && !before.differs_beyond_status(&status));
        assert!(before.differs_beyond_status(&content) && !before.differs_in_status(&content));
    }
}
