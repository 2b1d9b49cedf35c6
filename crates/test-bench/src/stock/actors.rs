//! What stock's controllers do to objects: whole ones are read into stock's fields and written back, and `spec.clusters` and
//! conditions are patched by who does not look at versions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use controller_kit::Tasks;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

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
