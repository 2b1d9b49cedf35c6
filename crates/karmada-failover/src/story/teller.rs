//! Turns what is stored into the lines of the story. Pure: it is told what was seen, and when. In which order they are
//! told is the matter of [`Tale`].

use std::collections::{BTreeMap, BTreeSet};

use api_types::ClusterName;
use api_types::cluster::{Cluster, condition};
use api_types::names;
use api_types::work::{Binding, ResourceHealth, Work, condition as binding_condition};
use failover_core::quantity::{Amount, Grain};
use failover_core::taint_policy::ManagedTaints;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use kube_sandbox::rules::Seen;

use super::expect::placement;
use super::line::{Line, Step};
use super::tale::{Tale, cause_of};

mod queue;

pub use queue::{EntrySeen, EntryStands};

/// What is said of a copy whose cluster cannot be asked to delete it.
pub(super) const WAITS: &str = "waits for";

/// Listens and tells.
#[derive(Debug, Default)]
pub struct Teller {
    clusters: BTreeMap<String, Cluster>,
    answering: BTreeMap<String, bool>,
    bindings: BTreeMap<String, Binding>,
    /// Works that wait for their end, by namespace and name.
    waiting_works: BTreeSet<(String, String)>,
    /// Entries of the queue that were told: cause, cluster, binding, and the stand with its words where these may
    /// change.
    entries: BTreeSet<(String, String, String, EntryStands, String)>,
    /// Cluster and binding of each entry in the queue; absent while nobody knows.
    queued: Option<BTreeSet<(String, String)>>,
    regime: Option<String>,
    first_regime: Option<String>,
    /// How many Clusters there are to be, and whether it was told that they are ready.
    expected_clusters: usize,
    is_fleet_told: bool,
    tale: Tale,
}

impl Teller {
    /// All lines so far, in order.
    #[must_use]
    pub fn told(&self) -> &[Line] {
        self.tale.told()
    }

    /// The regime of the eviction queue, as last seen.
    #[must_use]
    pub fn regime(&self) -> Option<&str> {
        self.regime.as_deref()
    }

    /// So many Clusters are to be there from now on; it is told when all are ready.
    pub fn expect_clusters(&mut self, clusters: usize, at: f64) {
        self.expected_clusters = clusters;
        self.is_fleet_told = false;
        self.look_at_fleet(at);
    }

    /// How many Clusters are to be there.
    #[must_use]
    pub fn expected_clusters(&self) -> usize {
        self.expected_clusters
    }

    fn look_at_fleet(&mut self, at: f64) {
        let ready = self
            .clusters
            .values()
            .filter(|cluster| is_ready_for_work(cluster))
            .count();
        if !self.is_fleet_told && self.expected_clusters > 0 && ready >= self.expected_clusters {
            self.is_fleet_told = true;
            let why = format!("{ready} clusters are Ready and not tainted, and what their API servers serve is known");
            self.tale.add(Line::of(Step::FleetReady, at, why), None);
        }
    }

    /// The first regime that was seen.
    #[must_use]
    pub fn first_regime(&self) -> Option<&str> {
        self.first_regime.as_deref()
    }

    /// The bindings that have eviction tasks, by `namespace/name`.
    #[must_use]
    pub fn with_tasks(&self) -> Vec<&str> {
        let with_tasks = self
            .bindings
            .iter()
            .filter(|(_, binding)| !binding.spec.graceful_eviction_tasks.is_empty());
        with_tasks.map(|(key, _)| key.as_str()).collect()
    }

    /// Whether some Cluster still carries a taint.
    #[must_use]
    pub fn sees_taints(&self) -> bool {
        self.clusters.values().any(|cluster| !cluster.spec.taints.is_empty())
    }

    /// How much CPU is free on a cluster, in thousandths, as it last reported; nothing while it reports none.
    #[must_use]
    pub fn free_cpu(&self, cluster: &str) -> Option<i128> {
        let summary = self.clusters.get(cluster)?.status.as_ref()?.resource_summary.as_ref()?;
        let amount = |amounts: &BTreeMap<String, Quantity>| amounts.get("cpu").and_then(Amount::read);
        let taken = [&summary.allocated, &summary.allocating];
        let taken = taken.into_iter().filter_map(amount);
        let free = taken.fold(amount(&summary.allocatable)?, Amount::minus);
        Some(free.grains(Grain::Thousandth))
    }

    /// Whether every cluster is known to serve this kind.
    #[must_use]
    pub fn is_served(&self, kind: &str) -> bool {
        self.clusters.values().all(|cluster| {
            let enablements = cluster.status.iter().flat_map(|status| &status.api_enablements);
            enablements
                .flat_map(|group| &group.resources)
                .any(|resource| resource.kind == kind)
        })
    }

    /// The latest version of each binding, by `namespace/name`.
    #[must_use]
    pub fn bindings(&self) -> &BTreeMap<String, Binding> {
        &self.bindings
    }

    /// Whether a member answered when it was asked.
    pub fn see_probe(&mut self, cluster: &str, answer: Result<(), String>, at: f64) {
        let before = self.answering.insert(cluster.to_owned(), answer.is_ok());
        // Nobody cares about a member that has not joined.
        let is_member = self.clusters.contains_key(cluster);
        if let (true, Some(true), Err(error)) = (is_member, before, answer) {
            self.say(
                Step::ClusterFailed,
                at,
                Some(cluster),
                None,
                format!("its API server does not answer: {error}"),
            );
        }
    }

    /// A Cluster was stored or is gone.
    pub fn see_cluster(&mut self, seen: Seen<Cluster>, at: f64) {
        let Seen::Stored(cluster) = seen else { return };
        let name = cluster.name_any();
        let before = self.clusters.insert(name.clone(), cluster.clone());
        self.look_at_fleet(at);
        let Some(before) = before else { return };
        if let Some(ready) = cluster.condition(condition::READY) {
            let why = format!(
                "condition Ready is {} ({}): {}",
                ready.status, ready.reason, ready.message
            );
            if before.is_ready() && !cluster.is_ready() {
                self.say(Step::ClusterNotReady, at, Some(&name), None, why);
            } else if !before.is_ready() && cluster.is_ready() && self.tale.has_told(Step::ClusterNotReady, &name) {
                self.say(Step::ClusterReturned, at, Some(&name), None, why);
            }
        }
        let taints = |cluster: &Cluster| -> BTreeSet<String> {
            cluster
                .spec
                .taints
                .iter()
                .map(|taint| format!("{}:{}", taint.key, taint.effect))
                .collect()
        };
        let (old, new) = (taints(&before), taints(&cluster));
        // A taint that no policy of ours put there needs no failure.
        let cause = |step, by: &str| if by.is_empty() { None } else { cause_of(step) };
        for taint in new.difference(&old) {
            let by = behind(&cluster, taint);
            let line = Line::of(Step::TaintAdded, at, format!("taint {taint}{by}")).on(&name);
            self.tale.add(line, cause(Step::TaintAdded, &by));
        }
        for taint in old.difference(&new) {
            let by = behind(&before, taint);
            let line = Line::of(Step::TaintRemoved, at, format!("taint {taint}{by}")).on(&name);
            self.tale.add(line, cause(Step::TaintRemoved, &by));
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
        self.tell_failures(before.as_ref(), &binding, at);
        self.tell_missed_releases(at);
        let placed = binding
            .condition(binding_condition::SCHEDULED)
            .is_some_and(|scheduled| scheduled.status == "True")
            && !binding.spec.clusters.is_empty();
        if !placed {
            return;
        }
        let line = |step, why| {
            let mut line = Line::of(step, at, why).to(&key);
            line.placement = Some(placement(&binding));
            line
        };
        let available = || format!("{} replicas available on {}", binding.replicas(), result(&binding));
        if let Some(left) = self.tale.left_by(&key)
            && binding.spec.clusters.iter().all(|target| target.name != left)
            && has_every_replica(&binding)
        {
            let targets: Vec<&str> = binding
                .spec
                .clusters
                .iter()
                .map(|target| target.name.as_str())
                .collect();
            let goes_to = targets.join(",");
            if !self.tale.has_happened_since_eviction(Step::Rescheduled, &key) {
                let line = line(Step::Rescheduled, format!("now {}", result(&binding))).on(&goes_to);
                self.tale.add(line, cause_of(Step::Rescheduled));
            }
            if is_available(&binding) && !self.tale.has_happened_since_eviction(Step::ReplacementHealthy, &key) {
                let line = line(Step::ReplacementHealthy, available()).on(&goes_to);
                self.tale.add(line, cause_of(Step::ReplacementHealthy));
            }
        }
        let ran = |line: &Line| line.step == Step::WorkloadRunning && line.binding.as_deref() == Some(key.as_str());
        if has_every_replica(&binding) && is_available(&binding) && !self.tale.told().iter().any(ran) {
            self.tale.add(line(Step::WorkloadRunning, available()), None);
        }
    }

    /// Copies that are unhealthy, and were not before, of an application that moves for that.
    fn tell_failures(&mut self, before: Option<&Binding>, binding: &Binding, at: f64) {
        let behavior = binding.spec.failover.as_ref();
        if behavior.is_none_or(|behavior| behavior.application.is_none()) {
            return;
        }
        let key = binding.key().to_string();
        for target in &binding.spec.clusters {
            let name = ClusterName::from(target.name.as_str());
            let health = |binding: &Binding| binding.status_on(&name).and_then(|item| item.health.clone());
            let is_well = self.clusters.get(&target.name).is_some_and(Cluster::is_ready);
            let turned = before.and_then(health) == Some(ResourceHealth::Healthy)
                && health(binding) == Some(ResourceHealth::Unhealthy);
            if is_well && turned {
                let why = format!("status.aggregatedStatus says Unhealthy for {name}");
                self.say(Step::ApplicationFailed, at, Some(name.as_str()), Some(&key), why);
            }
        }
    }

    /// A Work was stored or is gone.
    pub fn see_work(&mut self, seen: &Seen<Work>, at: f64) {
        let (Seen::Stored(work) | Seen::Gone(work)) = seen;
        let namespace = work.namespace().unwrap_or_default();
        let Some(cluster) = names::cluster_of_execution_namespace(&namespace) else {
            return;
        };
        let binding = binding_of(work);
        let key = (namespace, work.name_any());
        match seen {
            Seen::Stored(work) => {
                let (Some(since), Some(binding)) = (&work.metadata.deletion_timestamp, binding) else {
                    return;
                };
                if self.waiting_works.insert(key) {
                    let mut why = format!("Work {} is to be deleted since {}", work.name_any(), since.0);
                    if !self.clusters.get(cluster.as_str()).is_some_and(Cluster::is_ready) {
                        why = format!("{why}, and {WAITS} {cluster} to come back");
                    }
                    self.say(Step::OldCopyKept, at, Some(cluster.as_str()), Some(&binding), why);
                }
            }
            Seen::Gone(_) => {
                if let (true, Some(binding)) = (self.waiting_works.remove(&key), binding) {
                    let why = format!("Work {} is gone, and its copy with it", key.1);
                    let mut line = Line::of(Step::OldCopyRemoved, at, why).on(cluster.as_str());
                    line.binding = Some(binding);
                    // Of a cluster that was away it goes because the cluster is back, of which another watch tells.
                    let is_away = self.tale.is_told_as_away(cluster.as_str());
                    let cause = if is_away {
                        Step::ClusterReturned
                    } else {
                        Step::OldCopyKept
                    };
                    self.tale.add(line, Some(cause));
                }
            }
        }
    }

    fn say(&mut self, step: Step, at: f64, cluster: Option<&str>, binding: Option<&str>, why: String) {
        let mut line = Line::of(step, at, why);
        line.cluster = cluster.map(str::to_owned);
        line.binding = binding.map(str::to_owned);
        self.tale.add(line, cause_of(step));
    }
}

/// Whether the scheduler can use a Cluster: Ready, free of what a slow start left on it, and known for what it serves.
fn is_ready_for_work(cluster: &Cluster) -> bool {
    let is_complete = |found: &Condition| found.status == "True";
    cluster.is_ready()
        && cluster.spec.taints.is_empty()
        && cluster
            .condition(condition::COMPLETE_API_ENABLEMENTS)
            .is_some_and(is_complete)
}

/// Who put the taint there, as the annotation on the Cluster says.
fn behind(cluster: &Cluster, taint: &str) -> String {
    let managed = ManagedTaints::read(cluster.metadata.annotations.as_ref()).unwrap_or_default();
    let policies = managed
        .taints
        .iter()
        .filter(|(id, _)| id.to_string() == taint)
        .flat_map(|(_, taint)| taint.policies.keys());
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
    let targets = binding
        .spec
        .clusters
        .iter()
        .map(|target| format!("{}:{}", target.name, target.replicas));
    targets.collect::<Vec<_>>().join(", ")
}

fn has_every_replica(binding: &Binding) -> bool {
    let placed: i64 = binding
        .spec
        .clusters
        .iter()
        .map(|target| i64::from(target.replicas))
        .sum();
    placed >= i64::from(binding.replicas())
}

/// Whether every chosen cluster shows all its replicas available.
fn is_available(binding: &Binding) -> bool {
    !binding.spec.clusters.is_empty()
        && binding.spec.clusters.iter().all(|target| {
            let item = binding.status_on(&target.name.as_str().into());
            let available = item
                .and_then(|item| item.status.as_ref())
                .and_then(|status| status["availableReplicas"].as_i64());
            item.is_some_and(|item| item.health == Some(ResourceHealth::Healthy))
                && available.unwrap_or(0) >= i64::from(target.replicas)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two watches tell of the return of a cluster and of what happens because of it, in either order.
    #[test]
    fn the_old_copy_goes_after_its_cluster_is_back() {
        let mut teller = Teller::default();
        let tell = |teller: &mut Teller, step: Step| {
            let line = Line::of(step, 1.0, String::new()).on("member1");
            teller.tale.add(line, None);
        };
        for step in [Step::ClusterFailed, Step::ClusterNotReady, Step::OldCopyKept] {
            tell(&mut teller, step);
        }
        let work: Work = serde_json::from_value(serde_json::json!({
            "metadata": {
                "namespace": "karmada-es-member1", "name": "web", "deletionTimestamp": "2026-01-01T00:00:00Z",
                "annotations": {
                    "resourcebinding.karmada.io/namespace": "default", "resourcebinding.karmada.io/name": "web-deployment",
                },
            },
            "spec": {"workload": {"manifests": []}},
        }))
        .unwrap();
        teller.see_work(&Seen::Stored(work.clone()), 2.0);
        teller.see_work(&Seen::Gone(work), 3.0);
        let is_told = |teller: &Teller| teller.told().iter().any(|line| line.step == Step::OldCopyRemoved);
        assert!(!is_told(&teller), "member1 is away as far as anybody was told");
        tell(&mut teller, Step::ClusterReturned);
        assert!(is_told(&teller));
    }
}
