//! One object that cannot be read is the end of neither list nor watch, and does not look as if it was gone.

use controller_kit::ObjectKey;
use controller_kit::Scope;
use controller_kit::informer::DEEPEST_READ;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::options;
use crate::world::{World, settle, within_hours};

fn levels(count: usize) -> Value {
    (1..count).fold(json!({"end": 1}), |inner, _| json!({"a": inner}))
}

fn levels_of(value: &Value) -> usize {
    let Value::Object(fields) = value else { return 0 };
    1 + fields.values().map(levels_of).max().unwrap_or_default()
}

fn widget(name: &str, depth: usize) -> Value {
    json!({"apiVersion": "example.io/v1", "kind": "Widget", "metadata": {"namespace": "default", "name": name}, "spec": levels(depth - 1)})
}

fn definition() -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.io"},
        "spec": {"group": "example.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}})
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_too_deep_is_there_without_what_is_too_deep() {
    within_hours(2, async {
        let world = World::new();
        world.sandbox.create(definition()).unwrap();
        world.sandbox.put(widget("listed", 300)).unwrap();
        let kit = world.informers(world.sandbox.client(), options());
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.io", "v1", "Widget"));
        let store = kit
            .informers
            .get::<DynamicObject>(Scope::all(), &kind)
            .synced()
            .await
            .unwrap();
        world.sandbox.put(widget("watched", 300)).unwrap();
        world.sandbox.put(widget("small", DEEPEST_READ)).unwrap();
        settle().await;
        let depth = |name: &str| {
            let object = store.get(&ObjectKey::namespaced("default", name)).unwrap();
            1 + levels_of(&object.data["spec"])
        };
        assert_eq!(["listed", "watched", "small"].map(depth), [DEEPEST_READ; 3]);
        let told = |request: &str| {
            let labels = [
                ("kind", "widgets.example.io"),
                ("request", request),
                ("reason", "too_deep"),
            ];
            kit.metrics.value("failover_informer_errors_total", &labels)
        };
        assert_eq!((told("list"), told("watch")), (Some(1.0), Some(1.0)));
        assert_eq!(
            kit.metrics
                .value("failover_informer_relists_total", &[("kind", "widgets.example.io")]),
            None
        );
    })
    .await;
}

/// A ConfigMap whose values have to be numbers: more than the API server asks for.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Numbers {
    metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
    data: std::collections::BTreeMap<String, Number>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "String")]
struct Number(u32);

impl TryFrom<String> for Number {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

impl kube::Resource for Numbers {
    type DynamicType = ();
    type Scope = k8s_openapi::NamespaceResourceScope;

    fn kind((): &()) -> std::borrow::Cow<'_, str> {
        ConfigMap::kind(&())
    }
    fn group((): &()) -> std::borrow::Cow<'_, str> {
        ConfigMap::group(&())
    }
    fn version((): &()) -> std::borrow::Cow<'_, str> {
        ConfigMap::version(&())
    }
    fn plural((): &()) -> std::borrow::Cow<'_, str> {
        ConfigMap::plural(&())
    }
    fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
        &mut self.metadata
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_of_another_shape_stays_as_it_was_known() {
    within_hours(6, async {
        let world = World::new();
        world.put("a", "1");
        world.put("b", "1");
        let kit = world.informers(world.sandbox.client(), options());
        let store = kit.informers.get::<Numbers>(Scope::all(), &()).synced().await.unwrap();
        settle().await;
        world.put("a", "one");
        world.put("b", "2");
        settle().await;
        let value = |name: &str| {
            let object = store.get(&ObjectKey::namespaced("default", name));
            object.map(|object| object.data["v"].0)
        };
        assert_eq!((value("a"), value("b")), (Some(1), Some(2)));
        // Over many lists, too.
        tokio::time::sleep(options().relist_every * 2).await;
        world.put("b", "3");
        settle().await;
        assert_eq!((value("a"), value("b")), (Some(1), Some(3)));
        let relists = |reason: &str| {
            let labels = [("kind", "configmaps"), ("reason", reason)];
            kit.metrics.value("failover_informer_relists_total", &labels)
        };
        assert!(relists("periodic").is_some());
        assert_eq!(relists("watch_fails"), None);
        world.delete("a").await;
        settle().await;
        assert_eq!(value("a"), None, "its end is told by name");

        // A list in which it was never known is none: to leave it out would be to say that it is gone.
        world.put("a", "one");
        let kit = world.informers(world.sandbox.client(), options());
        let informer = kit.informers.get::<Numbers>(Scope::all(), &());
        tokio::time::sleep(options().retry_max * 2).await;
        assert!(informer.store_if_synced().is_none());
        world.put("a", "1");
        tokio::time::sleep(options().retry_max * 2).await;
        assert!(informer.store_if_synced().is_some());
    })
    .await;
}
