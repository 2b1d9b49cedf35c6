//! Turns what is stored into the lines of the story. Pure: it is told what was seen, and when.
//!
//! Several watches feed it, and the line of an effect can arrive a moment before that of its cause. Such a line waits
//! until its cause was told; its time is never before that of the line above.

use std::collections::{BTreeMap, BTreeSet};

use api_types::ClusterName;
use api_types::cluster::{Cluster, condition};
use api_types::names;
use api_types::work::{Binding, ResourceHealth, Work, condition as binding_condition};
use failover_core::taint_policy::ManagedTaints;
use kube::ResourceExt;
use kube_sandbox::rules::Seen;

use super::line::{Line, Step};

/// Where an entry of the eviction queue stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryStands {
    /// It waits, is ready or is held.
    Queued,
    /// It was leased to an evictor.
    Released,
}

/// An entry of the eviction queue, as far as the story needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct EntrySeen {
    /// The cluster that is to be left.
    pub cluster: String,
    /// The binding, as `namespace/name`.
    pub binding: String,
    /// Where it stands.
    pub stands: EntryStands,
    /// The queue's own words.
    pub why: String,
}

/// Listens and tells.
#[derive(Debug, Default)]
pub struct Teller {
    clusters: BTreeMap<String, Cluster>,
    answering: BTreeMap<String, bool>,
    bindings: BTreeMap<String, Binding>,
    /// Works that wait for their end, by namespace and name.
    waiting_works: BTreeSet<(String, String)>,
    told: Vec<Line>,
    waiting: Vec<Line>,
}

impl Teller {
    /// All lines so far, in order.
    #[must_use]
    pub fn told(&self) -> &[Line] {
        &self.told
    }

    /// Whether some Cluster still carries a taint.
    #[must_use]
    pub fn sees_taints(&self) -> bool {
        self.clusters.values().any(|cluster| !cluster.spec.taints.is_empty())
    }

    /// The latest version of each binding, by `namespace/name`.
    #[must_use]
    pub fn bindings(&self) -> &BTreeMap<String, Binding> {
        &self.bindings
    }

    /// Whether a member answered when it was asked.
    pub fn see_probe(&mut self, cluster: &str, answer: Result<(), String>, at: f64) {
        let answers = answer.is_ok();
        let before = self.answering.insert(cluster.to_owned(), answers);
        if let (Some(true), Err(error)) = (before, answer) {
            self.say(Step::ClusterFailed, at, Some(cluster), None, format!("its API server does not answer: {error}"));
        }
    }

    /// A Cluster was stored or is gone.
    pub fn see_cluster(&mut self, seen: Seen<Cluster>, at: f64) {
        let Seen::Stored(cluster) = seen else { return };
        let name = cluster.name_any();
        let Some(before) = self.clusters.insert(name.clone(), cluster.clone()) else { return };
        if let Some(ready) = cluster.condition(condition::READY) {
            let why = format!("condition Ready is {} ({}): {}", ready.status, ready.reason, ready.message);
            if before.is_ready() && !cluster.is_ready() {
                self.say(Step::ClusterNotReady, at, Some(&name), None, why);
            } else if !before.is_ready() && cluster.is_ready() && self.has_told(Step::ClusterNotReady, &name) {
                self.say(Step::ClusterReturned, at, Some(&name), None, why);
            }
        }
        let taints = |cluster: &Cluster| -> BTreeSet<String> {
            cluster.spec.taints.iter().map(|taint| format!("{}:{}", taint.key, taint.effect)).collect()
        };
        let (old, new) = (taints(&before), taints(&cluster));
        for taint in new.difference(&old) {
            self.say(Step::TaintAdded, at, Some(&name), None, format!("taint {taint}{}", behind(&cluster, taint)));
        }
        for taint in old.difference(&new) {
            self.say(Step::TaintRemoved, at, Some(&name), None, format!("taint {taint}{}", behind(&before, taint)));
        }
    }

    /// An entry of the queue was seen.
    pub fn see_entry(&mut self, entry: &EntrySeen, at: f64) {
        let step = match entry.stands {
            EntryStands::Queued => Step::EvictionQueued,
            EntryStands::Released => Step::EvictionReleased,
        };
        if !self.knows(step, &entry.cluster, &entry.binding) {
            self.say(step, at, Some(&entry.cluster), Some(&entry.binding), entry.why.clone());
        }
    }

    /// A binding was stored or is gone.
    pub fn see_binding(&mut self, seen: Seen<Binding>, at: f64) {
        let Seen::Stored(binding) = seen else { return };
        let key = binding.key().to_string();
        let before = self.bindings.insert(key.clone(), binding.clone());
        for task in &binding.spec.graceful_eviction_tasks {
            let name = ClusterName::from(task.from_cluster.as_str());
            if before.as_ref().is_some_and(|before| before.spec.task(&name).is_none()) {
                let why = task.message.clone().unwrap_or_else(|| task.reason.clone());
                self.say(Step::ClusterEvicted, at, Some(&task.from_cluster), Some(&key), why);
            }
        }
        let placed = binding.condition(binding_condition::SCHEDULED).is_some_and(|scheduled| scheduled.status == "True")
            && !binding.spec.clusters.is_empty();
        if let Some(left) = self.left_by(&key)
            && placed
            && binding.spec.clusters.iter().all(|target| target.name != left)
            && has_every_replica(&binding)
        {
            let goes_to = binding.spec.clusters.iter().map(|target| target.name.as_str()).collect::<Vec<_>>().join(",");
            if !self.has_happened_since_eviction(Step::Rescheduled, &key) {
                self.say(Step::Rescheduled, at, Some(&goes_to), Some(&key), format!("now {}", result(&binding)));
            }
            if is_available(&binding) && !self.has_happened_since_eviction(Step::ReplacementHealthy, &key) {
                self.say(Step::ReplacementHealthy, at, Some(&goes_to), Some(&key), format!("{} replicas available on {}", binding.replicas(), result(&binding)));
            }
        }
        if placed && is_available(&binding) && !self.told.iter().any(|line| line.step == Step::WorkloadRunning && line.binding.as_deref() == Some(key.as_str())) {
            self.say(Step::WorkloadRunning, at, None, Some(&key), format!("{} replicas available on {}", binding.replicas(), result(&binding)));
        }
    }

    /// A Work was stored or is gone.
    pub fn see_work(&mut self, seen: &Seen<Work>, at: f64) {
        let (Seen::Stored(work) | Seen::Gone(work)) = seen;
        let namespace = work.namespace().unwrap_or_default();
        let Some(cluster) = names::cluster_of_execution_namespace(&namespace) else { return };
        let binding = binding_of(work);
        let key = (namespace, work.name_any());
        match seen {
            Seen::Stored(work) => {
                let (Some(since), Some(binding)) = (&work.metadata.deletion_timestamp, binding) else { return };
                if self.waiting_works.insert(key) {
                    let why = format!("Work {} is to be deleted since {}, and waits for {cluster} to come back", work.name_any(), since.0);
                    self.say(Step::OldCopyKept, at, Some(cluster.as_str()), Some(&binding), why);
                }
            }
            Seen::Gone(_) => {
                if let (true, Some(binding)) = (self.waiting_works.remove(&key), binding) {
                    self.say(Step::OldCopyRemoved, at, Some(cluster.as_str()), Some(&binding), format!("Work {} is gone, and its copy with it", key.1));
                }
            }
        }
    }

    /// The cluster that this binding left, if its eviction was seen.
    fn left_by(&self, binding: &str) -> Option<String> {
        let all = self.told.iter().chain(&self.waiting);
        let evictions = all.filter(|line| line.step == Step::ClusterEvicted && line.binding.as_deref() == Some(binding));
        evictions.last().and_then(|line| line.cluster.clone())
    }

    fn has_happened_since_eviction(&self, step: Step, binding: &str) -> bool {
        let of_binding = self.told.iter().chain(&self.waiting).filter(|line| line.binding.as_deref() == Some(binding));
        of_binding.fold(false, |happened, line| match line.step {
            Step::ClusterEvicted => false,
            other => happened || other == step,
        })
    }

    fn has_told(&self, step: Step, cluster: &str) -> bool {
        self.told.iter().any(|line| line.step == step && line.cluster.as_deref() == Some(cluster))
    }

    fn knows(&self, step: Step, cluster: &str, binding: &str) -> bool {
        let is_it = |line: &Line| line.step == step && line.cluster.as_deref() == Some(cluster) && line.binding.as_deref() == Some(binding);
        self.told.iter().chain(&self.waiting).any(is_it)
    }

    fn say(&mut self, step: Step, at: f64, cluster: Option<&str>, binding: Option<&str>, why: String) {
        let line = Line { step, at, cluster: cluster.map(str::to_owned), binding: binding.map(str::to_owned), why };
        self.waiting.push(line);
        while let Some(index) = self.waiting.iter().position(|line| self.cause_was_told(line)) {
            let mut line = self.waiting.remove(index);
            line.at = line.at.max(self.told.last().map_or(0.0, |last| last.at));
            self.told.push(line);
        }
    }

    fn cause_was_told(&self, line: &Line) -> bool {
        let cause = match line.step {
            Step::ClusterNotReady => Step::ClusterFailed,
            Step::TaintAdded => Step::ClusterNotReady,
            Step::EvictionQueued => Step::TaintAdded,
            Step::EvictionReleased => Step::EvictionQueued,
            Step::ClusterEvicted => Step::EvictionReleased,
            Step::Rescheduled => Step::ClusterEvicted,
            Step::ReplacementHealthy => Step::Rescheduled,
            Step::OldCopyKept => Step::ReplacementHealthy,
            Step::ClusterReturned => Step::ClusterNotReady,
            Step::TaintRemoved => Step::ClusterReturned,
            Step::OldCopyRemoved => Step::OldCopyKept,
            Step::WorkloadRunning | Step::ClusterFailed => return true,
        };
        let is_of_same = |told: &Line| match (&told.binding, &line.binding) {
            (Some(told), Some(this)) => told == this,
            _ => told.cluster == line.cluster,
        };
        self.told.iter().any(|told| told.step == cause && is_of_same(told))
    }
}

/// Who put the taint there, as the annotation on the Cluster says.
fn behind(cluster: &Cluster, taint: &str) -> String {
    let managed = ManagedTaints::read(cluster.metadata.annotations.as_ref()).unwrap_or_default();
    let policies = managed.taints.iter().filter(|(id, _)| id.to_string() == taint).flat_map(|(_, taint)| taint.policies.keys());
    match policies.cloned().collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [policy] => format!(", by ClusterTaintPolicy {policy}"),
        policies => format!(", by ClusterTaintPolicies {}", policies.join(", ")),
    }
}

fn binding_of(work: &Work) -> Option<String> {
    let annotation = |key: &str| work.annotations().get(key).cloned();
    let namespaced = annotation(names::annotation::RESOURCE_BINDING_NAME)
        .zip(annotation(names::annotation::RESOURCE_BINDING_NAMESPACE))
        .map(|(name, namespace)| format!("{namespace}/{name}"));
    namespaced.or_else(|| annotation(names::annotation::CLUSTER_RESOURCE_BINDING_NAME))
}

/// The scheduling result in words: `member1:1, member2:2`.
fn result(binding: &Binding) -> String {
    let targets = binding.spec.clusters.iter().map(|target| format!("{}:{}", target.name, target.replicas));
    targets.collect::<Vec<_>>().join(", ")
}

fn has_every_replica(binding: &Binding) -> bool {
    let placed: i64 = binding.spec.clusters.iter().map(|target| i64::from(target.replicas)).sum();
    placed >= i64::from(binding.replicas())
}

/// Whether every chosen cluster shows all its replicas available.
fn is_available(binding: &Binding) -> bool {
    !binding.spec.clusters.is_empty()
        && binding.spec.clusters.iter().all(|target| {
            let item = binding.status_on(&target.name.as_str().into());
            let available = item.and_then(|item| item.status.as_ref()).and_then(|status| status["availableReplicas"].as_i64());
            item.is_some_and(|item| item.health == Some(ResourceHealth::Healthy))
                && available.unwrap_or(0) >= i64::from(target.replicas)
        })
}
