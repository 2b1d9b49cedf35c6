//! A control plane as a stock Karmada serves it, and what its controllers do to objects there: fields that stock does not
//! know are pruned or refused, whole objects are read into stock's fields and written back, and `spec.clusters` and
//! conditions are patched by who does not look at versions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use controller_kit::Tasks;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use kube_sandbox::Sandbox;
use serde_json::{Map, Value, json};

/// Prefix of the annotations that are second homes.
const OURS: &str = "failover.karmada.io/";

/// Serves Karmada's kinds with stock's fields, list types, effects and subresources; ours of `failover.karmada.io` stay.
///
/// # Panics
/// When a schema is not as expected.
pub fn serve_like_stock(plane: &Sandbox) {
    for crd in api_types::crds() {
        if crd.spec.group == "failover.karmada.io" {
            continue;
        }
        let kind = crd.spec.names.kind.clone();
        let mut crd = serde_json::to_value(crd).unwrap();
        let version = &mut crd["spec"]["versions"][0];
        without_rules(&mut version["schema"]["openAPIV3Schema"]);
        let properties = &mut version["schema"]["openAPIV3Schema"]["properties"];
        match kind.as_str() {
            "Cluster" => {
                let taint = &mut properties["spec"]["properties"]["taints"]["items"]["properties"];
                taint["effect"]["enum"] = json!(["NoSchedule", "NoExecute"]);
            }
            "ClusterTaintPolicy" => {
                let spec = properties["spec"]["properties"].as_object_mut().unwrap();
                spec.retain(|field, _| {
                    ["targetClusters", "addOnConditions", "removeOnConditions", "taints"].contains(&field.as_str())
                });
                properties.as_object_mut().unwrap().remove("status");
                version.as_object_mut().unwrap().remove("subresources");
                version.as_object_mut().unwrap().remove("additionalPrinterColumns");
            }
            "PropagationPolicy" | "ClusterPropagationPolicy" => narrow_failover(&mut properties["spec"]["properties"]),
            "ResourceBinding" | "ClusterResourceBinding" => {
                let spec = &mut properties["spec"]["properties"];
                narrow_failover(spec);
                remove(spec, "activeEvictionHistory");
                remove(
                    &mut spec["gracefulEvictionTasks"]["items"]["properties"],
                    "blockInHistory",
                );
                let item = &mut properties["status"]["properties"]["aggregatedStatus"]["items"]["properties"];
                for field in ["settled", "creationTimestamp", "collectedAt"] {
                    remove(item, field);
                }
            }
            _ => {}
        }
        plane.apply_crd(crd).unwrap();
    }
}

/// Stock has no CEL rules, and its lists are atomic.
fn without_rules(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.retain(|name, _| {
                ![
                    "x-kubernetes-validations",
                    "x-kubernetes-list-type",
                    "x-kubernetes-list-map-keys",
                ]
                .contains(&name.as_str())
            });
            fields.values_mut().for_each(without_rules);
        }
        Value::Array(items) => items.iter_mut().for_each(without_rules),
        _ => {}
    }
}

fn narrow_failover(spec: &mut Value) {
    let failover = &mut spec["failover"]["properties"];
    let application = &mut failover["application"]["properties"];
    for field in ["preConditions", "blockPredecessorSeconds"] {
        remove(application, field);
    }
    application["purgeMode"]["enum"] = json!(["Directly", "Gracefully", "Never"]);
    let cluster = &mut failover["cluster"]["properties"];
    for field in ["tolerationSeconds", "gracePeriodSeconds"] {
        remove(cluster, field);
    }
    cluster["purgeMode"]["enum"] = json!(["Directly", "Gracefully"]);
}

fn remove(properties: &mut Value, field: &str) {
    assert!(properties.as_object_mut().unwrap().remove(field).is_some(), "{field}");
}

/// An object as its owner writes it beside a stock Karmada: what stock does not know stands in annotations.
#[must_use]
pub fn in_stocks_form(mut object: Value) -> Value {
    match object["kind"].as_str() {
        Some("ClusterTaintPolicy") => taint_policy(&mut object),
        Some("PropagationPolicy" | "ClusterPropagationPolicy") => policy(&mut object),
        _ => {}
    }
    object
}

fn annotate(object: &mut Value, name: &str, value: &Value) {
    object["metadata"]["annotations"][format!("{OURS}{name}")] = json!(value.to_string());
}

fn taint_policy(object: &mut Value) {
    let spec = object["spec"].as_object_mut().unwrap();
    let Some(Value::Array(windowed)) = spec.remove("taintsToAdd") else {
        return;
    };
    let conditions = spec.remove("matchConditions").unwrap_or(json!([]));
    spec.insert("addOnConditions".to_owned(), conditions);
    if let Some(target) = spec.remove("targetCluster") {
        spec.insert("targetClusters".to_owned(), target);
    }
    let part = |fields: &[&str]| -> Value {
        let one = |taint: &Value| -> Map<String, Value> {
            let has = fields
                .iter()
                .filter_map(|field| Some(((*field).to_owned(), taint.get(*field)?.clone())));
            has.collect()
        };
        windowed.iter().map(one).collect()
    };
    let taints = part(&["key", "value", "effect"]);
    let windows = part(&["key", "effect", "addOnMatchSeconds", "removeOnMismatchSeconds"]);
    spec.insert("taints".to_owned(), taints);
    annotate(object, "windows", &windows);
}

fn policy(object: &mut Value) {
    let Some(failover) = object["spec"].get("failover").cloned() else {
        return;
    };
    annotate(object, "failover", &failover);
    let mode = &object["spec"]["failover"]["cluster"]["purgeMode"];
    if !(mode.is_null() || ["Directly", "Gracefully"].contains(&mode.as_str().unwrap_or_default())) {
        remove(&mut object["spec"]["failover"]["cluster"], "purgeMode");
    }
}

/// Draws numbers; the same from the same seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit.max(1)
    }

    async fn pause(&mut self, most: Duration) {
        let millis = u64::try_from(most.as_millis()).unwrap();
        tokio::time::sleep(Duration::from_millis(1 + self.below(millis))).await;
    }
}

/// What stock's controllers do to objects beside ours. Ends when it is dropped.
pub struct StockActors {
    tasks: Tasks,
    whole: Arc<AtomicU64>,
    parts: Arc<AtomicU64>,
}

impl Drop for StockActors {
    fn drop(&mut self) {
        self.tasks.abort();
    }
}

/// How an actor writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writes {
    /// Whole, on the version that was read.
    Whole,
    /// `spec.clusters` and the conditions of stock's types as they were read a moment ago, on any version.
    Parts,
}

/// The kinds that are written, and how each is served.
const KINDS: [(&str, &str, &str, &str); 4] = [
    ("work.karmada.io", "v1alpha2", "ResourceBinding", "resourcebindings"),
    (
        "work.karmada.io",
        "v1alpha2",
        "ClusterResourceBinding",
        "clusterresourcebindings",
    ),
    (
        "policy.karmada.io",
        "v1alpha1",
        "PropagationPolicy",
        "propagationpolicies",
    ),
    (
        "policy.karmada.io",
        "v1alpha1",
        "ClusterTaintPolicy",
        "clustertaintpolicies",
    ),
];

impl StockActors {
    /// Lets them write, each some seconds after its last write, by this seed. The client is theirs alone.
    #[must_use]
    pub fn start(client: &Client, seed: u64, most: Duration) -> Self {
        let tasks = Tasks::new();
        let one = |number: u64, writes: Writes, stored: &Arc<AtomicU64>| {
            let stored = stored.clone();
            let (client, mut draw) = (client.clone(), Draw(seed ^ number));
            tasks.spawn("a stock writer", async move {
                loop {
                    draw.pause(most).await;
                    let kinds = if writes == Writes::Whole { KINDS.len() } else { 2 };
                    let kind = KINDS[usize::try_from(draw.below(kinds as u64)).unwrap()];
                    let writes = act(&client, kind, writes, &mut draw).await;
                    stored.fetch_add(writes, Ordering::Relaxed);
                }
            });
        };
        let (whole, parts) = <(Arc<AtomicU64>, Arc<AtomicU64>)>::default();
        one(1, Writes::Whole, &whole);
        one(2, Writes::Parts, &parts);
        Self { tasks, whole, parts }
    }

    /// How many of their writes were stored: of whole objects, and of parts on any version.
    #[must_use]
    pub fn stored(&self) -> [u64; 2] {
        [&self.whole, &self.parts].map(|stored| stored.load(Ordering::Relaxed))
    }
}

/// How many writes were stored.
async fn act(
    client: &Client,
    (group, version, kind, plural): (&str, &str, &str, &str),
    writes: Writes,
    draw: &mut Draw,
) -> u64 {
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
    let all: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let Ok(list) = all.list(&ListParams::default()).await else {
        return 0;
    };
    let count = list.items.len() as u64;
    let Some(read) = list.items.into_iter().nth(usize::try_from(draw.below(count)).unwrap()) else {
        return 0;
    };
    let name = read.name_any();
    let api: Api<DynamicObject> = match read.namespace() {
        Some(namespace) => Api::namespaced_with(client.clone(), &namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    match writes {
        // As they came from the server: stock's fields alone. A conflict is tried again some other time.
        Writes::Whole => u64::from(api.replace(&name, &PostParams::default(), &read).await.is_ok()),
        Writes::Parts => {
            // Between its read and its write others write.
            draw.pause(Duration::from_millis(300)).await;
            let params = PatchParams::default();
            let mut stored = 0;
            let clusters = read.data["spec"]["clusters"].clone();
            if clusters.is_array() {
                let patch = json!({"spec": {"clusters": clusters}});
                stored += u64::from(api.patch(&name, &params, &Patch::Merge(patch)).await.is_ok());
            }
            let conditions = read.data["status"]["conditions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let stocks: Vec<Value> = conditions
                .into_iter()
                .filter(|condition| {
                    ["Scheduled", "FullyApplied"].contains(&condition["type"].as_str().unwrap_or_default())
                })
                .collect();
            if !stocks.is_empty() {
                let patch = json!({"status": {"conditions": stocks}});
                stored += u64::from(api.patch_status(&name, &params, &Patch::Merge(patch)).await.is_ok());
            }
            stored
        }
    }
}
