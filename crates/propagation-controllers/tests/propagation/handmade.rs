//! Works made by hand, of kinds that no policy has to select first.

use serde_json::{Value, json};

use crate::world::World;

/// An object as a Work brings it.
pub fn brought(cluster: &str, work: &str, mut object: Value) -> Value {
    object["metadata"]["labels"]["karmada.io/managed"] = json!("true");
    object["metadata"]["annotations"]["work.karmada.io/namespace"] = json!(format!("karmada-es-{cluster}"));
    object["metadata"]["annotations"]["work.karmada.io/name"] = json!(work);
    object
}

impl World {
    /// A Work of this name for these objects.
    pub fn bring(&self, cluster: &str, work: &str, objects: &[Value]) {
        let objects: Vec<Value> = objects
            .iter()
            .map(|object| brought(cluster, work, object.clone()))
            .collect();
        self.put(json!({"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
            "metadata": {"namespace": format!("karmada-es-{cluster}"), "name": work, "finalizers": ["karmada.io/execution-controller"]},
            "spec": {"workload": {"manifests": objects}}}));
    }

    pub fn handmade(&self, cluster: &str, work: &str) -> Option<Value> {
        let namespace = format!("karmada-es-{cluster}");
        self.control_plane()
            .get("work.karmada.io/v1alpha1", "Work", Some(&namespace), work)
    }

    pub async fn withdraw(&self, cluster: &str, work: &str) {
        let namespace = format!("karmada-es-{cluster}");
        self.delete("work.karmada.io/v1alpha1", "Work", Some(&namespace), work)
            .await;
    }

    /// Status and message of the Work's Applied condition.
    pub fn applied(&self, cluster: &str, work: &str) -> (String, String) {
        let work = self.handmade(cluster, work).unwrap();
        let all = work["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let applied = all.into_iter().find(|condition| condition["type"] == "Applied");
        let applied = applied.unwrap_or_default();
        let text = |field: &str| applied[field].as_str().unwrap_or_default().to_owned();
        (text("status"), text("message"))
    }

    /// What `/metrics` says of informers of this kind over a member: as many as there are.
    pub fn followed(&self, cluster: &str, kind: &str) -> usize {
        let metrics = self.metrics();
        let of_kind = format!("kind=\"{kind} ");
        let of_member = format!("member=\"{cluster}\"");
        let series = metrics.lines().filter(|line| {
            line.starts_with("failover_informer_objects{") && line.contains(&of_kind) && line.contains(&of_member)
        });
        series.count()
    }
}

pub fn config(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", "name": name}, "data": {"k": value}})
}

pub fn widget(name: &str, size: i64) -> Value {
    json!({"apiVersion": "example.io/v1", "kind": "Widget", "metadata": {"namespace": "shop", "name": name},
        "spec": {"size": size}})
}

/// The definition of Widgets.
pub fn widgets() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.io"},
        "spec": {"group": "example.io", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}

/// The definition of Widgets in versions that are served or not; the last one stores.
pub fn widgets_of(versions: &[(&str, bool)]) -> Value {
    let mut definition = widgets();
    let one = definition["spec"]["versions"][0].clone();
    let last = versions.len() - 1;
    let versions = versions.iter().enumerate().map(|(number, (name, served))| {
        let mut version = one.clone();
        version["name"] = json!(name);
        version["served"] = json!(served);
        version["storage"] = json!(number == last);
        version
    });
    definition["spec"]["versions"] = versions.collect();
    definition
}

pub fn deployment(name: &str, replicas: i32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "shop", "name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}}})
}

/// Health of a Work's first object, as it stands on the Work.
pub fn health(world: &World, cluster: &str, work: &str) -> Value {
    world.handmade(cluster, work).unwrap()["status"]["manifestStatuses"][0]["health"].clone()
}
