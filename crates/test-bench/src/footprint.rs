//! What a process keeps, as far as it can be counted: what must not grow while its world comes and goes all day.

use std::collections::BTreeMap;

use controller_kit::Running;
use serde_json::Value;

use crate::Bench;

/// Gauges that tell how much is held: their values count, of all other series only that they are there.
const HOLDINGS: [&str; 4] = [
    "failover_informer_objects",
    "failover_workqueue_delayed",
    "failover_workqueue_depth",
    "failover_workqueue_working",
];

/// The countable things of a running process, and what stands about it on the control plane. Two that were taken at
/// the same point of a cycle are equal, or something was left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// What is counted, in words, and how much there is of it.
    counts: BTreeMap<String, u64>,
}

impl Footprint {
    /// Of the process as it is now: its tasks by name, the series of its metrics, the objects of its informers and the
    /// keys of its queues; the tasks of the whole runtime; and, on the control plane, the objects of each kind and the
    /// bytes of their annotations, where our records are. Events are left out: servers let them expire.
    ///
    /// # Panics
    /// When it is called outside a runtime.
    #[must_use]
    pub fn of(bench: &Bench, process: &Running) -> Self {
        let mut counts = BTreeMap::new();
        let mut count = |what: String, much: u64| *counts.entry(what).or_default() += much;
        for task in process.tasks() {
            count(format!("task {task}"), 1);
        }
        let alive = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        count("tasks of the runtime".to_owned(), alive as u64);
        for (series, value) in series(&process.metrics().render()) {
            if HOLDINGS.iter().any(|name| series.starts_with(name)) {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "counts of things"
                )]
                count(format!("held: {series}"), value as u64);
            }
            count(format!("series {series}"), 1);
        }
        for (api_version, kind) in stored_kinds() {
            let objects = bench.plane().list(&api_version, &kind);
            count(format!("{kind} stored"), objects.len() as u64);
            count(
                format!("{kind}: bytes of annotations"),
                objects.iter().map(annotations).sum(),
            );
        }
        Self { counts }
    }

    /// What is more or less than it was, each in one line; empty when nothing is.
    #[must_use]
    pub fn changes_since(&self, earlier: &Self) -> Vec<String> {
        let of = |footprint: &Self, what: &str| footprint.counts.get(what).copied().unwrap_or_default();
        let mut whats: Vec<&String> = self.counts.keys().chain(earlier.counts.keys()).collect();
        whats.sort_unstable();
        whats.dedup();
        whats
            .into_iter()
            .map(|what| (what, of(earlier, what), of(self, what)))
            .filter(|(_, before, after)| before != after)
            .map(|(what, before, after)| format!("{what}: {before}, now {after}"))
            .collect()
    }
}

/// Version and kind of what components store beside Events.
fn stored_kinds() -> impl Iterator<Item = (String, String)> {
    let ours = api_types::crds().into_iter().map(|crd| {
        let version = crd.spec.versions.iter().find(|version| version.storage);
        let version = version.map(|version| version.name.clone()).unwrap_or_default();
        (format!("{}/{version}", crd.spec.group), crd.spec.names.kind)
    });
    let built_in = [
        ("v1", "Namespace"),
        ("v1", "Secret"),
        ("coordination.k8s.io/v1", "Lease"),
    ];
    ours.chain(built_in.map(|(version, kind)| (version.to_owned(), kind.to_owned())))
}

/// Name with labels, and value, of each series in the text format.
fn series(text: &str) -> impl Iterator<Item = (&str, f64)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.rsplit_once(' '));
    pairs.filter_map(|(series, value)| Some((series, value.parse().ok()?)))
}

fn annotations(object: &Value) -> u64 {
    let annotations = object["metadata"]["annotations"].as_object();
    annotations.map_or(0, |annotations| {
        Value::Object(annotations.clone()).to_string().len() as u64
    })
}
