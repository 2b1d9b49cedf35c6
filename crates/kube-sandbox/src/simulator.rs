//! The controllers of a member: they bring the status of workloads along as time passes, by the member's script.
//!
//! Guarantee: work is proportional to what changed, never to what is stored; a restart of the API server's link does
//! not disturb them (workloads run on while nobody can look).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::behaviour::Script;
use crate::registry::ResourceDef;
use crate::sandbox::Inner;
use crate::store::Key;
use crate::workload_status::{Pods, status_of};
use crate::write::{Half, UnknownFields, WriteOptions};
use crate::{meta, pod_objects, state};

const SIMULATED: [(&str, &str); 5] = [
    ("apps", "daemonsets"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("batch", "jobs"),
];

/// The script of a member, and the bell that says it changed.
#[derive(Debug)]
pub(crate) struct Stage {
    pub script: Mutex<Script>,
    /// Name of its node.
    pub node: String,
    /// Whether pods of Deployments are objects, too.
    pub has_pods: AtomicBool,
    pub changed: Notify,
}

/// What is remembered about one workload.
struct Progress {
    uid: Box<str>,
    /// Pod template and replicas that the times below are about.
    desired: (String, i64),
    /// When pods were last started.
    since: Instant,
    ready: i64,
}

struct Watched {
    def: Arc<ResourceDef>,
    cursor: Option<u64>,
    changed: Arc<Notify>,
    progress: BTreeMap<Key, Progress>,
    timers: BTreeSet<(Instant, Key)>,
}

/// Runs until dropped.
pub(crate) async fn run(inner: Arc<Inner>, stage: Arc<Stage>) {
    let mut kinds = watched(&inner);
    loop {
        let bells: Vec<Arc<Notify>> = kinds.iter().map(|k| k.changed.clone()).collect();
        let mut rings: Vec<_> = bells.iter().map(|b| Box::pin(b.notified())).collect();
        for ring in &mut rings {
            ring.as_mut().enable();
        }
        let script_changed = stage.changed.notified();
        tokio::pin!(script_changed);
        script_changed.as_mut().enable();
        let mut worked = false;
        for kind in &mut kinds {
            worked |= kind.catch_up(&inner, &stage);
        }
        if worked {
            continue;
        }
        let next = kinds.iter().filter_map(|k| k.timers.first().map(|(at, _)| *at)).min();
        // A day is long enough to be never.
        let next = next.unwrap_or_else(|| Instant::now() + Duration::from_secs(86_400));
        tokio::select! {
            biased;
            _ = futures::future::select_all(rings) => {}
            () = &mut script_changed => kinds.iter_mut().for_each(|k| k.cursor = None),
            () = tokio::time::sleep_until(next) => {}
        }
    }
}

fn watched(inner: &Inner) -> Vec<Watched> {
    let mut state = inner.state.lock();
    let defs: Vec<Arc<ResourceDef>> = SIMULATED
        .iter()
        .filter_map(|(group, plural)| state.registry.get(group, "v1", plural))
        .collect();
    defs.into_iter()
        .map(|def| {
            let changed = state.store.table(&def.storage).changed.clone();
            Watched {
                def,
                cursor: None,
                changed,
                progress: BTreeMap::new(),
                timers: BTreeSet::new(),
            }
        })
        .collect()
}

impl Watched {
    /// Looks at what changed or is due; says whether it wrote anything.
    fn catch_up(&mut self, inner: &Inner, stage: &Stage) -> bool {
        let mut keys = BTreeSet::new();
        {
            let state = inner.state.lock();
            let rv = state.store.rv;
            let Some(table) = state.store.existing(&self.def.storage) else {
                return false;
            };
            match self.cursor.and_then(|c| table.changes_after(c)) {
                Some(changes) => keys.extend(changes.map(|c| c.object.key.clone())),
                None => keys.extend(table.range(None, None).map(|o| o.key.clone())),
            }
            self.cursor = Some(rv);
        }
        let now = Instant::now();
        while let Some((at, key)) = self.timers.first().cloned() {
            if at > now {
                break;
            }
            self.timers.remove(&(at, key.clone()));
            keys.insert(key);
        }
        let mut worked = false;
        for key in keys {
            worked |= self.look_at(inner, stage, &key, now);
        }
        worked
    }

    fn look_at(&mut self, inner: &Inner, stage: &Stage, key: &Key, now: Instant) -> bool {
        let wall = (inner.now)();
        let mut state = inner.state.lock();
        let Some(stored) = state.store.get(&self.def.storage, key) else {
            self.progress.remove(key);
            return false;
        };
        let object = stored.value();
        let wanted = wanted_replicas(&object);
        let desired = (object["spec"]["template"].to_string(), wanted);
        let progress = self.progress.entry(key.clone()).or_insert_with(|| Progress {
            uid: stored.uid.clone(),
            desired: desired.clone(),
            since: now,
            ready: 0,
        });
        if progress.uid != stored.uid {
            *progress = Progress {
                uid: stored.uid.clone(),
                desired: desired.clone(),
                since: now,
                ready: 0,
            };
        }
        if progress.desired != desired {
            let only_fewer = progress.desired.0 == desired.0 && desired.1 <= progress.desired.1;
            // The pods that stay are not started anew; fewer of them are ready at once.
            if !only_fewer {
                progress.since = now;
            }
            progress.desired = desired;
        }
        let (ready_after, crash_after) = stage.script.lock().behaviour_of(&object).times();
        let due = |after: Option<Duration>| after.map(|a| progress.since + a);
        let (ready_at, crash_at) = (due(ready_after), due(crash_after));
        let crashed = crash_at.is_some_and(|at| now >= at);
        progress.ready = if crashed || ready_at.is_none() {
            0
        } else if ready_at.is_some_and(|at| now >= at) {
            wanted
        } else {
            progress.ready.min(wanted)
        };
        for at in [ready_at, crash_at].into_iter().flatten().filter(|at| *at > now) {
            self.timers.insert((at, key.clone()));
        }
        let pods = Pods {
            wanted,
            ready: progress.ready,
            crashed,
        };
        let mut changed = state::from_storage(&self.def, object);
        changed["status"] = status_of(&changed, pods, &meta::time_text(wall));
        let before = state.store.rv;
        let options = WriteOptions {
            now: wall,
            dry_run: false,
            unknown_fields: UnknownFields::Dropped,
            half: Half::Status,
        };
        if self.def.is("Deployment") && stage.has_pods.load(Ordering::Relaxed) {
            pod_objects::follow(&mut state, &changed, pods, &stage.node, options);
        }
        if let Err(why) = state.update(&self.def, key.namespace(), key.name(), changed, options) {
            tracing::warn!(key = key.as_str(), %why, "a simulated status was refused");
        }
        state.store.rv > before
    }
}

fn wanted_replicas(object: &Value) -> i64 {
    let spec = &object["spec"];
    match object["kind"].as_str() {
        // One node, one pod.
        Some("DaemonSet") => 1,
        Some("Job") => spec["completions"].as_i64().unwrap_or(1),
        _ => spec["replicas"].as_i64().unwrap_or(1),
    }
}
