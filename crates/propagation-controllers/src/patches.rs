//! Conditional writes: each carries the version that was read, so that a conflict loses nobody's change.

use json_patch::Patch as JsonPatch;
use kube::Resource;
use kube::api::Patch;
use serde_json::{Map, Value, json};

use crate::json::pointer_key;

/// A JSON patch that only applies to the version it was made for.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    operations: Vec<Value>,
}

impl Changes {
    /// Without any change yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the field at `path` (JSON pointer; its parent exists) be `after`; nothing happens when it is already.
    pub fn field(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) -> &mut Self {
        match (before, after) {
            (before, after) if before == after => {}
            (Some(_), None) => self.operations.push(json!({"op": "remove", "path": path})),
            (_, Some(after)) => self.operations.push(json!({"op": "add", "path": path, "value": after})),
            (None, None) => {}
        }
        self
    }

    /// Makes the entries of the map at `path` be as `wanted` says: a value, or gone. Other entries stay.
    pub fn entries(
        &mut self,
        path: &str,
        present: Option<&Map<String, Value>>,
        wanted: &Map<String, Value>,
    ) -> &mut Self {
        let Some(present) = present else {
            let all: Map<String, Value> = wanted
                .iter()
                .filter(|(_, v)| !v.is_null())
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect();
            return if all.is_empty() {
                self
            } else {
                self.field(path, None, Some(&Value::Object(all)))
            };
        };
        for (key, value) in wanted {
            let after = Some(value).filter(|value| !value.is_null());
            self.field(&format!("{path}/{}", pointer_key(key)), present.get(key), after);
        }
        self
    }

    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// The patch for the version of `read`, or `None` when there is nothing to write.
    #[must_use]
    pub fn onto(self, read: &impl Resource) -> Option<Patch<Value>> {
        let version = read.meta().resource_version.clone().unwrap_or_default();
        self.onto_version(&version)
    }

    /// The same for a version that is known by itself.
    #[must_use]
    pub fn onto_version(self, version: &str) -> Option<Patch<Value>> {
        if self.operations.is_empty() {
            return None;
        }
        let mut operations = vec![json!({"op": "add", "path": "/metadata/resourceVersion", "value": version})];
        operations.extend(self.operations);
        let patch: JsonPatch = serde_json::from_value(Value::Array(operations)).ok()?;
        Some(Patch::Json(patch))
    }
}

/// A merge patch of `status` for the version of `read`.
#[must_use]
pub fn status_onto(read: &impl Resource, status: &Value) -> Patch<Value> {
    let version = read.meta().resource_version.clone().unwrap_or_default();
    Patch::Merge(json!({"metadata": {"resourceVersion": version}, "status": status}))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    #[test]
    fn only_differences_are_written_and_only_onto_the_version_read() {
        let mut read = ConfigMap::default();
        read.metadata.resource_version = Some("7".into());
        let before = json!({"a": 1, "b": {"c": 2}});
        let mut changes = Changes::new();
        changes.field("/spec/a", before.get("a"), Some(&json!(1)));
        changes.field("/spec/b", before.get("b"), None);
        changes.field("/spec/d", None, None);
        let labels = json!({"keep": "1", "x/y": "old"});
        let wanted = json!({"x/y": "new", "gone": null});
        changes.entries("/metadata/labels", labels.as_object(), wanted.as_object().unwrap());
        let Some(Patch::Json(patch)) = changes.onto(&read) else {
            panic!("something to write")
        };
        assert_eq!(
            serde_json::to_value(patch).unwrap(),
            json!([
                {"op": "add", "path": "/metadata/resourceVersion", "value": "7"},
                {"op": "remove", "path": "/spec/b"},
                {"op": "add", "path": "/metadata/labels/x~1y", "value": "new"}
            ])
        );
        assert!(Changes::new().onto(&read).is_none());
    }
}
