//! Follows one kind through any API server, version by version, and never gives up: every stored version that the
//! server still tells of is seen once, in order.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;

/// What happened to an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen<K> {
    /// This version was stored.
    Stored(K),
    /// The object is gone; this was its last version.
    Gone(K),
}

/// The pause before a broken list or watch is tried again.
const RETRY: Duration = Duration::from_millis(200);
/// A watch that lasted so long was ended by its server in order, and goes on at once: what happens meanwhile is not
/// seen late.
const IN_ORDER: Duration = Duration::from_secs(1);

/// Lists and watches `api` for ever and hands every change to `see`. Ends only by being dropped.
pub async fn follow<K>(api: Api<K>, see: impl FnMut(Seen<K>))
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    follow_telling(api, see, || {}).await;
}

/// The same; `listed` is called after each complete list.
pub(super) async fn follow_telling<K>(api: Api<K>, mut see: impl FnMut(Seen<K>), listed: impl Fn())
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let mut known: BTreeMap<(Option<String>, String), K> = BTreeMap::new();
    loop {
        let Ok(list) = api.list(&ListParams::default()).await else {
            tokio::time::sleep(RETRY).await;
            continue;
        };
        let mut version = list.metadata.resource_version.unwrap_or_default();
        let mut gone = std::mem::take(&mut known);
        for object in list.items {
            let key = key(&object);
            let is_news = gone
                .remove(&key)
                .is_none_or(|old| old.resource_version() != object.resource_version());
            known.insert(key, object.clone());
            if is_news {
                see(Seen::Stored(object));
            }
        }
        gone.into_values().for_each(|object| see(Seen::Gone(object)));
        listed();
        while watch(&api, &mut version, &mut known, &mut see).await == Outcome::GoOn {}
    }
}

#[derive(PartialEq, Eq)]
enum Outcome {
    /// The stream ended: watch on from the last version.
    GoOn,
    /// The version is too old: list anew.
    ListAnew,
}

async fn watch<K>(
    api: &Api<K>,
    version: &mut String,
    known: &mut BTreeMap<(Option<String>, String), K>,
    see: &mut impl FnMut(Seen<K>),
) -> Outcome
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let stream = match api.watch(&WatchParams::default(), version).await {
        Ok(stream) => stream,
        Err(kube::Error::Api(status)) if status.code == 410 => return Outcome::ListAnew,
        Err(_) => {
            tokio::time::sleep(RETRY).await;
            return Outcome::GoOn;
        }
    };
    let begin = tokio::time::Instant::now();
    let mut stream = std::pin::pin!(stream);
    while let Some(event) = stream.next().await {
        match event {
            Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                *version = object.resource_version().unwrap_or_default();
                known.insert(key(&object), object.clone());
                see(Seen::Stored(object));
            }
            Ok(WatchEvent::Deleted(object)) => {
                *version = object.resource_version().unwrap_or_default();
                known.remove(&key(&object));
                see(Seen::Gone(object));
            }
            Ok(WatchEvent::Bookmark(bookmark)) => *version = bookmark.metadata.resource_version,
            Ok(WatchEvent::Error(_)) => return Outcome::ListAnew,
            Err(_) => {
                tokio::time::sleep(RETRY).await;
                return Outcome::GoOn;
            }
        }
    }
    if begin.elapsed() < IN_ORDER {
        tokio::time::sleep(RETRY).await;
    }
    Outcome::GoOn
}

fn key<K: Resource>(object: &K) -> (Option<String>, String) {
    (object.namespace(), object.name_any())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::Namespace;
    use parking_lot::Mutex;
    use serde_json::json;
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::{Sandbox, SandboxOptions};

    /// A server ends watches after some minutes; a change at that very moment is seen as promptly as any other.
    #[tokio::test(start_paused = true)]
    async fn a_watch_that_ends_in_order_goes_on_at_once() {
        let start = Instant::now();
        let now = move || jiff::Timestamp::UNIX_EPOCH + start.elapsed();
        let sandbox = Sandbox::new(SandboxOptions::new(Arc::new(now)));
        let seen: Arc<Mutex<Vec<(String, Duration)>>> = Arc::default();
        let told = seen.clone();
        let mut follower = tokio::task::JoinSet::new();
        follower.spawn(follow(Api::<Namespace>::all(sandbox.observer()), move |change| {
            if let Seen::Stored(namespace) = change {
                told.lock().push((namespace.name_any(), start.elapsed()));
            }
        }));
        for second in 280..300 {
            let at = Duration::from_secs(second);
            sleep(at.saturating_sub(start.elapsed())).await;
            let name = format!("at-{second}");
            sandbox
                .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
                .unwrap();
            sleep(Duration::from_millis(50)).await;
            let promptly = seen
                .lock()
                .iter()
                .any(|(seen, when)| *seen == name && *when < at + RETRY / 2);
            assert!(promptly, "{name}: {:?}", seen.lock().last());
        }
    }
}
