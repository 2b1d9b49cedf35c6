//! The rules themselves, over what was seen of the API objects.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use api_types::cluster::Cluster;
use api_types::names::annotation;
use api_types::policy::PurgeMode;
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::{AggregatedStatusItem, Binding, GracefulEvictionTask, ResourceHealth, task};
use api_types::{BindingKey, ClusterName};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::follow::Seen;
use super::outdated::Outdated;
use super::reference;

/// What the checked system was configured to do, and how exactly it can be seen.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The highest eviction rate that was configured at any time, in evictions a second.
    pub evictions_per_second: f64,
    /// How much later or earlier than it happened a change may be seen: zero on the sandbox, where time stands still
    /// meanwhile; about a second on real servers.
    pub slack: SignedDuration,
    /// For how long a cluster may stand in spec.clusters and in the tasks at once before it counts as settled.
    pub settle: SignedDuration,
    /// How old what a component acts on may be: zero where its watches and reads are at once, more where requests or
    /// watch events are made late. What was right by a version replaced less than this ago breaks no rule.
    pub lag: SignedDuration,
}

impl Settings {
    /// For the sandbox under simulated time.
    #[must_use]
    pub fn exact(evictions_per_second: f64) -> Self {
        Self {
            evictions_per_second,
            slack: SignedDuration::from_millis(100),
            settle: SignedDuration::from_secs(10),
            lag: SignedDuration::ZERO,
        }
    }

    /// For servers that run in real time.
    #[must_use]
    pub fn real_time(evictions_per_second: f64) -> Self {
        Self {
            evictions_per_second,
            slack: SignedDuration::from_millis(1500),
            settle: SignedDuration::from_secs(10),
            lag: SignedDuration::ZERO,
        }
    }
}

/// A rule that was broken, with the evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Number of the rule, 1 to 8.
    pub rule: u8,
    /// When it was seen.
    pub at: Timestamp,
    /// What was seen.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {} broken at {}: {}", self.rule, self.at, self.what)
    }
}

/// Watches over the rules. Pure: it is told what was stored, and when.
#[derive(Debug)]
pub struct Checker {
    settings: Settings,
    clusters: BTreeMap<String, Cluster>,
    policies: BTreeMap<String, ClusterTaintPolicy>,
    bindings: BTreeMap<BindingKey, Binding>,
    /// Versions of Clusters and policies that were replaced lately.
    old_clusters: Outdated<Cluster>,
    old_policies: Outdated<ClusterTaintPolicy>,
    /// Since when the conditions of a policy hold on a cluster.
    matching: BTreeMap<(String, String), Spell>,
    /// Since when a cluster stands in both lists of a binding.
    in_both_since: BTreeMap<(BindingKey, String), Timestamp>,
    /// Bindings whose owner asked for fewer replicas, until they are placed anew.
    scaled_down: BTreeSet<BindingKey>,
    evictions: Vec<(Timestamp, BindingKey, String)>,
    /// When they were, on a clock that is not stepped.
    eviction_times: Vec<Timestamp>,
    by_hand: BTreeSet<String>,
    violations: Vec<Violation>,
}

/// A time during which a policy's conditions hold on a cluster.
#[derive(Clone, Copy, Debug)]
struct Spell {
    since: Timestamp,
    ended: Option<Timestamp>,
}

impl Checker {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            clusters: BTreeMap::new(),
            policies: BTreeMap::new(),
            bindings: BTreeMap::new(),
            old_clusters: Outdated::default(),
            old_policies: Outdated::default(),
            matching: BTreeMap::new(),
            in_both_since: BTreeMap::new(),
            scaled_down: BTreeSet::new(),
            evictions: Vec::new(),
            eviction_times: Vec::new(),
            by_hand: BTreeSet::new(),
            violations: Vec::new(),
        }
    }

    /// Evictions seen so far: when, which binding, from where.
    #[must_use]
    pub fn evictions(&self) -> &[(Timestamp, BindingKey, String)] {
        &self.evictions
    }

    /// The version with this resourceVersion is a person's work (in a test, the test's own): what it changes is not
    /// judged. To be said before that version is seen.
    pub fn by_hand(&mut self, resource_version: &str) {
        self.by_hand.insert(resource_version.to_owned());
    }

    /// The wall clock was stepped by so much. Windows may be measured by either clock; rates and the time to settle
    /// are measured by one that was not stepped.
    pub fn clock_stepped(&mut self, by: SignedDuration) {
        let shift = |time: &mut Timestamp| *time = time.saturating_add(by).unwrap_or(*time);
        self.eviction_times.iter_mut().for_each(shift);
        self.in_both_since.values_mut().for_each(shift);
        self.old_clusters.times().for_each(shift);
        self.old_policies.times().for_each(shift);
        for spell in self.matching.values_mut() {
            spell.ended.iter_mut().for_each(shift);
            if by.is_negative() {
                shift(&mut spell.since);
            }
        }
    }

    /// A Cluster was stored or is gone.
    pub fn see_cluster(&mut self, seen: Seen<Cluster>, now: Timestamp) {
        match seen {
            Seen::Gone(cluster) => {
                self.clusters.remove(&cluster.name_any());
                self.matching.retain(|(_, name), _| *name != cluster.name_any());
            }
            Seen::Stored(cluster) => {
                let name = cluster.name_any();
                let before = self.clusters.insert(name.clone(), cluster.clone());
                self.note_matches(now);
                if let Some(before) = before {
                    if !self.is_by_hand(&cluster) {
                        self.check_taints(&before, &cluster, now);
                    }
                    self.old_clusters.add(name, before, now, self.settings.lag);
                }
            }
        }
    }

    /// A ClusterTaintPolicy was stored or is gone.
    pub fn see_policy(&mut self, seen: Seen<ClusterTaintPolicy>, now: Timestamp) {
        match seen {
            Seen::Gone(policy) => {
                self.policies.remove(&policy.name_any());
                self.old_policies.add(policy.name_any(), policy, now, self.settings.lag);
            }
            Seen::Stored(policy) => {
                let name = policy.name_any();
                if let Some(before) = self.policies.insert(name.clone(), policy) {
                    self.old_policies.add(name, before, now, self.settings.lag);
                }
            }
        }
        self.note_matches(now);
    }

    /// A binding was stored or is gone.
    pub fn see_binding(&mut self, seen: Seen<Binding>, now: Timestamp) {
        match seen {
            Seen::Gone(binding) => {
                let key = binding.key();
                self.bindings.remove(&key);
                self.in_both_since.retain(|(of, _), _| *of != key);
            }
            Seen::Stored(binding) => {
                self.check_lists(&binding, now);
                let before = self.bindings.insert(binding.key(), binding.clone());
                if let Some(before) = before.filter(|_| !self.is_by_hand(&binding)) {
                    self.check_evictions(&before, &binding, now);
                    self.check_departures(&before, &binding, now);
                    self.check_foreign_tasks(&before, &binding, now);
                }
            }
        }
    }

    /// Every violation so far, with what can only be said at the end.
    pub fn finish(&mut self, now: Timestamp) -> Vec<Violation> {
        let overdue: Vec<_> = self
            .in_both_since
            .iter()
            .filter(|(_, since)| now.duration_since(**since) > self.settings.settle)
            .map(|((key, cluster), since)| {
                format!("{key}: {cluster} stands in spec.clusters and in the tasks since {since}")
            })
            .collect();
        overdue.into_iter().for_each(|what| self.broken(3, now, what));
        std::mem::take(&mut self.violations)
    }

    fn broken(&mut self, rule: u8, at: Timestamp, what: String) {
        self.violations.push(Violation { rule, at, what });
    }

    fn is_by_hand(&self, object: &impl ResourceExt) -> bool {
        object
            .resource_version()
            .is_some_and(|version| self.by_hand.contains(&version))
    }

    fn note_matches(&mut self, now: Timestamp) {
        let lag = self.settings.lag;
        for (policy_name, policy) in &self.policies {
            for (cluster_name, cluster) in &self.clusters {
                let key = (policy_name.clone(), cluster_name.clone());
                if reference::conditions_match(policy, cluster) {
                    self.matching
                        .entry(key)
                        .or_insert(Spell {
                            since: now,
                            ended: None,
                        })
                        .ended = None;
                } else if let Some(spell) = self.matching.get_mut(&key) {
                    spell.ended.get_or_insert(now);
                }
            }
        }
        self.matching
            .retain(|_, spell| spell.ended.is_none_or(|ended| now.duration_since(ended) < lag));
    }

    /// Rule 2 (no taint before its window) and rule 7 (a taint that we did not add is left alone).
    fn check_taints(&mut self, before: &Cluster, after: &Cluster, now: Timestamp) {
        let name = after.name_any();
        let owned = |cluster: &Cluster, key: &str| {
            cluster
                .annotations()
                .get(annotation::MANAGED_TAINTS)
                .is_some_and(|owned| owned.contains(key))
        };
        for taint in &after.spec.taints {
            let is_new = !before
                .spec
                .taints
                .iter()
                .any(|old| old.key == taint.key && old.effect == taint.effect);
            if !is_new || !owned(after, &taint.key) {
                continue;
            }
            let policies = self
                .policies
                .values()
                .chain(self.old_policies.within(now, self.settings.lag));
            let earliest = policies
                .filter_map(|policy| {
                    let window = reference::window_seconds(policy, &taint.key, &taint.effect)?;
                    let spell = self.matching.get(&(policy.name_any(), name.clone()))?;
                    spell.since.checked_add(SignedDuration::from_secs(window)).ok()
                })
                .min();
            let shown = format!("{name}: taint {}:{} was added", taint.key, taint.effect);
            match earliest {
                None => self.broken(2, now, format!("{shown} although no policy's conditions match")),
                Some(earliest) if now < earliest - self.settings.slack => {
                    self.broken(2, now, format!("{shown} before its window ended at {earliest}"));
                }
                Some(_) => {}
            }
        }
        for taint in before.spec.taints.iter().filter(|taint| !owned(before, &taint.key)) {
            let same = after
                .spec
                .taints
                .iter()
                .find(|new| new.key == taint.key && new.effect == taint.effect);
            let stamped = taint.time_added.is_none();
            if !same.is_some_and(|new| new.value == taint.value && (stamped || new.time_added == taint.time_added)) {
                self.broken(
                    7,
                    now,
                    format!(
                        "{name}: taint {}:{} is not ours and was changed or removed",
                        taint.key, taint.effect
                    ),
                );
            }
        }
    }

    /// Rule 3: at most one task for a cluster; not in both lists for longer than it takes to settle.
    fn check_lists(&mut self, binding: &Binding, now: Timestamp) {
        let key = binding.key();
        let mut left = BTreeSet::new();
        for task in &binding.spec.graceful_eviction_tasks {
            if !left.insert(task.from_cluster.clone()) {
                self.broken(3, now, format!("{key}: two tasks for {}", task.from_cluster));
            }
        }
        for cluster in binding.spec.clusters.iter().map(|target| &target.name) {
            let entry = (key.clone(), cluster.clone());
            if left.contains(cluster) {
                let since = *self.in_both_since.entry(entry).or_insert(now);
                if now.duration_since(since) > self.settings.settle {
                    self.broken(
                        3,
                        now,
                        format!("{key}: {cluster} stands in spec.clusters and in the tasks since {since}"),
                    );
                }
            } else {
                self.in_both_since.remove(&entry);
            }
        }
        self.in_both_since.retain(|(of, cluster), _| {
            *of != key || binding.spec.clusters.iter().any(|target| target.name == *cluster) && left.contains(cluster)
        });
    }

    /// Rules 1 (rate) and 2 (no eviction before its due time, none without a cause).
    fn check_evictions(&mut self, before: &Binding, after: &Binding, now: Timestamp) {
        let key = after.key();
        let new_tasks = after.spec.graceful_eviction_tasks.iter().filter(|task| {
            task.producer != task::DEPENDENCY_MIRROR && before.spec.task(&task.from_cluster.as_str().into()).is_none()
        });
        for task in new_tasks {
            self.evictions.push((now, key.clone(), task.from_cluster.clone()));
            self.eviction_times.push(now);
            self.check_rate(now);
            if task.reason != task::TAINT_UNTOLERATED {
                continue;
            }
            let due = self
                .clusters
                .get(&task.from_cluster)
                .into_iter()
                .chain(self.old_clusters.of(&task.from_cluster, now, self.settings.lag))
                .filter_map(|cluster| reference::earliest_eviction(before, cluster))
                .min();
            let shown = format!("{key} was evicted from {}", task.from_cluster);
            match due {
                None => self.broken(2, now, format!("{shown} without a cause on the cluster")),
                Some(due) if now < due - self.settings.slack => {
                    self.broken(2, now, format!("{shown} before it was due at {due}"));
                }
                Some(_) => {}
            }
        }
    }

    fn check_rate(&mut self, now: Timestamp) {
        let slack = self.settings.slack.as_secs_f64();
        let broken = self.eviction_times.iter().enumerate().find_map(|(index, start)| {
            let count = self.eviction_times.len() - index;
            let window = now.duration_since(*start).as_secs_f64() + slack;
            #[expect(clippy::cast_precision_loss, reason = "counts of evictions are small")]
            let too_many = count as f64 > self.settings.evictions_per_second * window + 1.0 + 1e-6;
            too_many.then(|| {
                format!(
                    "{count} evictions within {window:.1} s at {} a second",
                    self.settings.evictions_per_second
                )
            })
        });
        if let Some(what) = broken {
            self.broken(1, now, what);
        }
    }

    /// Rule 4: a copy leaves for good only while another one runs, unless the owner said otherwise in words. Who asks
    /// for fewer replicas asks for fewer copies. Replicas that are divided by fixed weights are divided anew with every
    /// change, as in stock: which copies get none then is no eviction.
    fn check_departures(&mut self, before: &Binding, after: &Binding, now: Timestamp) {
        if after.replicas() < before.replicas() {
            self.scaled_down.insert(after.key());
        }
        let is_placed_anew = before.spec.clusters != after.spec.clusters;
        let asked_for_fewer = self.scaled_down.contains(&after.key());
        if is_placed_anew {
            self.scaled_down.remove(&after.key());
        }
        if after.is_being_deleted() || asked_for_fewer {
            return;
        }
        let placed = |binding: &Binding| -> BTreeSet<String> {
            let targets = binding.spec.clusters.iter().map(|target| target.name.clone());
            targets
                .chain(
                    binding
                        .spec
                        .graceful_eviction_tasks
                        .iter()
                        .map(|task| task.from_cluster.clone()),
                )
                .collect()
        };
        let remaining = placed(after);
        for cluster in placed(before).difference(&remaining) {
            let name = ClusterName::from(cluster.as_str());
            let was_running = before
                .status_on(&name)
                .is_some_and(|item| item.applied && item.health != Some(ResourceHealth::Unhealthy));
            let exists = self.clusters.contains_key(cluster);
            let word = before.spec.task(&name).is_some_and(owner_gave_the_word);
            let is_divided_anew = before.spec.target(&name).is_some() && reference::is_divided_by_fixed_weights(after);
            let other_runs = remaining.iter().any(|other| {
                after
                    .status_on(&other.as_str().into())
                    .is_some_and(|item| runs(after, item))
            });
            if was_running && exists && !word && !is_divided_anew && !other_runs {
                self.broken(
                    4,
                    now,
                    format!(
                        "{}: the copy on {cluster} was given up and no other copy is healthy",
                        after.key()
                    ),
                );
            }
        }
    }

    /// Rule 7: the content of a task that another producer wrote does not change; that it ends is our job.
    fn check_foreign_tasks(&mut self, before: &Binding, after: &Binding, now: Timestamp) {
        let ours = [task::TAINT_MANAGER, task::DEPENDENCY_MIRROR];
        for old in before
            .spec
            .graceful_eviction_tasks
            .iter()
            .filter(|task| !ours.contains(&task.producer.as_str()))
        {
            let Some(new) = after.spec.task(&old.from_cluster.as_str().into()) else {
                continue;
            };
            let mut stamped = old.clone();
            stamped.creation_timestamp = old
                .creation_timestamp
                .clone()
                .or_else(|| new.creation_timestamp.clone());
            if stamped != *new {
                self.broken(
                    7,
                    now,
                    format!(
                        "{}: the task of {} for {} was changed",
                        after.key(),
                        old.producer,
                        old.from_cluster
                    ),
                );
            }
        }
    }
}

/// Whether the copy is healthy; of kinds that know no health, whether it was applied.
fn runs(binding: &Binding, item: &AggregatedStatusItem) -> bool {
    match item.health {
        Some(ResourceHealth::Healthy) => true,
        Some(ResourceHealth::Unhealthy) => false,
        _ => item.applied && !binding.spec.is_workload(),
    }
}

fn owner_gave_the_word(task: &GracefulEvictionTask) -> bool {
    task.effective_purge_mode() == PurgeMode::Directly
        || task.grace_period_seconds.is_some()
        || task.suppress_deletion == Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).unwrap()
    }

    fn cluster(taints: &Value, ready: &str, owned: &str) -> Cluster {
        serde_json::from_value(json!({
            "metadata": {"name": "m1", "annotations": {annotation::MANAGED_TAINTS: owned}},
            "spec": {"syncMode": "Push", "taints": taints},
            "status": {"conditions": [{"type": "Ready", "status": ready, "reason": "", "message": "", "lastTransitionTime": at(0).to_string()}]}
        }))
        .unwrap()
    }

    fn binding(clusters: &[&str], tasks: &Value, healthy: &[&str]) -> Binding {
        let targets: Vec<_> = clusters
            .iter()
            .map(|name| json!({"name": name, "replicas": 1}))
            .collect();
        let items: Vec<_> = healthy
            .iter()
            .map(|name| json!({"clusterName": name, "applied": true, "health": "Healthy"}))
            .collect();
        serde_json::from_value(json!({
            "metadata": {"namespace": "default", "name": "nginx-deployment"},
            "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"}, "replicas": 1, "clusters": targets, "gracefulEvictionTasks": tasks},
            "status": {"aggregatedStatus": items}
        }))
        .unwrap()
    }

    fn task(cluster: &str) -> Value {
        json!({"fromCluster": cluster, "reason": "TaintUntolerated", "producer": "TaintManager", "purgeMode": "Gracefully"})
    }

    fn taint(added: i64) -> Value {
        json!({"key": "k", "effect": "NoExecute", "timeAdded": at(added).to_string()})
    }

    fn rules(mut checker: Checker, now: Timestamp) -> Vec<u8> {
        checker
            .finish(now)
            .into_iter()
            .map(|violation| violation.rule)
            .collect()
    }

    #[test]
    fn an_eviction_in_order_breaks_nothing() {
        let mut checker = Checker::new(Settings::exact(0.5));
        checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "False", "")), at(0));
        checker.see_binding(Seen::Stored(binding(&["m1"], &json!([]), &["m1"])), at(0));
        checker.see_binding(Seen::Stored(binding(&[], &json!([task("m1")]), &["m1"])), at(1));
        checker.see_binding(
            Seen::Stored(binding(&["m2"], &json!([task("m1")]), &["m1", "m2"])),
            at(2),
        );
        checker.see_binding(Seen::Stored(binding(&["m2"], &json!([]), &["m2"])), at(3));
        assert_eq!(rules(checker, at(100)), Vec::<u8>::new());
    }

    #[test]
    fn an_eviction_without_a_cause_is_seen() {
        let mut checker = Checker::new(Settings::exact(0.5));
        checker.see_cluster(Seen::Stored(cluster(&json!([]), "True", "")), at(0));
        checker.see_binding(Seen::Stored(binding(&["m1"], &json!([]), &["m1"])), at(0));
        checker.see_binding(Seen::Stored(binding(&[], &json!([task("m1")]), &["m1"])), at(1));
        assert_eq!(rules(checker, at(2)), [2]);
    }

    #[test]
    fn a_rate_above_the_configured_one_is_seen() {
        let mut checker = Checker::new(Settings::exact(0.5));
        checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "False", "")), at(0));
        for (second, name) in [(1, "a"), (2, "b")] {
            let named = |mut b: Binding| {
                b.metadata.name = Some(name.to_owned());
                b
            };
            checker.see_binding(Seen::Stored(named(binding(&["m1"], &json!([]), &[]))), at(0));
            checker.see_binding(Seen::Stored(named(binding(&[], &json!([task("m1")]), &[]))), at(second));
        }
        assert_eq!(rules(checker, at(3)), [1]);
    }

    #[test]
    fn the_last_copy_that_goes_is_seen() {
        let mut checker = Checker::new(Settings::exact(0.5));
        checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "False", "")), at(0));
        checker.see_binding(Seen::Stored(binding(&[], &json!([task("m1")]), &["m1"])), at(0));
        checker.see_binding(Seen::Stored(binding(&[], &json!([]), &["m1"])), at(9));
        assert_eq!(rules(checker, at(10)), [4]);
    }

    /// m1's only copy moves to m2 by a write of the scheduler, or after a task.
    #[rstest]
    #[case::divided_anew(json!([]), vec![])]
    #[case::evicted(json!([task("m1")]), vec![4])]
    fn fixed_weights_are_divided_anew(#[case] tasks: Value, #[case] expected: Vec<u8>) {
        let divided = |mut b: Binding| {
            b.spec.placement = serde_json::from_value(json!({
                "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
            }))
            .unwrap();
            Seen::Stored(b)
        };
        let mut checker = Checker::new(Settings::exact(0.5));
        checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "True", "")), at(0));
        let targets: &[&str] = if tasks == json!([]) { &["m1"] } else { &[] };
        checker.see_binding(divided(binding(targets, &tasks, &["m1"])), at(0));
        checker.see_binding(divided(binding(&["m2"], &json!([]), &["m1"])), at(1));
        assert_eq!(rules(checker, at(2)), expected);
    }

    /// Of three replicas on m1 and m2 two are given up, and m1's with them: asked for, or not.
    #[rstest]
    #[case::asked_for(1, vec![])]
    #[case::not_asked_for(3, vec![4])]
    fn fewer_replicas_are_fewer_copies(#[case] replicas: i32, #[case] expected: Vec<u8>) {
        let of = |mut b: Binding, replicas: i32| {
            b.spec.replicas = Some(replicas);
            Seen::Stored(b)
        };
        let mut checker = Checker::new(Settings::exact(0.5));
        checker.see_cluster(Seen::Stored(cluster(&json!([]), "True", "")), at(0));
        checker.see_binding(of(binding(&["m1", "m2"], &json!([]), &["m1"]), 3), at(0));
        checker.see_binding(of(binding(&["m1", "m2"], &json!([]), &["m1"]), replicas), at(1));
        checker.see_binding(of(binding(&["m2"], &json!([]), &["m1"]), replicas), at(2));
        assert_eq!(rules(checker, at(10)), expected);
    }

    /// m2 has applied its copy and knows no more of it.
    #[rstest]
    #[case::configmap(None, vec![])]
    #[case::deployment(Some(1), vec![4])]
    fn what_knows_no_health_runs_when_applied(#[case] replicas: Option<i32>, #[case] expected: Vec<u8>) {
        let of = |mut b: Binding| {
            b.spec.replicas = replicas;
            for item in b.status.iter_mut().flat_map(|status| &mut status.aggregated_status) {
                item.health = Some(ResourceHealth::Unknown);
            }
            Seen::Stored(b)
        };
        let mut checker = Checker::new(Settings::exact(0.5));
        checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "True", "")), at(0));
        checker.see_binding(of(binding(&["m2"], &json!([task("m1")]), &["m1", "m2"])), at(0));
        checker.see_binding(of(binding(&["m2"], &json!([]), &["m1", "m2"])), at(1));
        assert_eq!(rules(checker, at(2)), expected);
    }

    #[rstest]
    #[case::too_early(5, vec![2])]
    #[case::in_time(10, vec![])]
    fn a_taint_waits_for_its_window(#[case] second: i64, #[case] expected: Vec<u8>) {
        let policy: ClusterTaintPolicy = serde_json::from_value(json!({
            "metadata": {"name": "p"},
            "spec": {"matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}],
                     "taintsToAdd": [{"key": "k", "effect": "NoExecute", "addOnMatchSeconds": 10}]}
        }))
        .unwrap();
        let mut checker = Checker::new(Settings::exact(0.5));
        checker.see_policy(Seen::Stored(policy), at(0));
        checker.see_cluster(Seen::Stored(cluster(&json!([]), "False", "")), at(0));
        checker.see_cluster(Seen::Stored(cluster(&json!([taint(second)]), "False", "k")), at(second));
        assert_eq!(rules(checker, at(60)), expected);
    }

    #[test]
    fn a_cluster_in_both_lists_may_settle_but_not_stay() {
        let both = || Seen::Stored(binding(&["m1"], &json!([task("m1")]), &["m1"]));
        let mut checker = Checker::new(Settings::exact(0.5));
        checker.see_binding(both(), at(0));
        checker.see_binding(Seen::Stored(binding(&["m1"], &json!([]), &["m1"])), at(5));
        assert_eq!(rules(checker, at(60)), Vec::<u8>::new());
        let mut checker = Checker::new(Settings::exact(0.5));
        checker.see_binding(both(), at(0));
        assert_eq!(rules(checker, at(60)), [3]);
    }

    #[rstest]
    #[case::by_somebody("1", vec![7])]
    #[case::by_the_person("2", vec![])]
    fn what_a_person_does_is_not_judged(#[case] told: &str, #[case] expected: Vec<u8>) {
        let version = |mut cluster: Cluster, version: &str| {
            cluster.metadata.resource_version = Some(version.to_owned());
            Seen::Stored(cluster)
        };
        let mut checker = Checker::new(Settings::exact(0.5));
        checker.by_hand(told);
        checker.see_cluster(version(cluster(&json!([taint(0)]), "True", ""), "1"), at(0));
        checker.see_cluster(version(cluster(&json!([]), "True", ""), "2"), at(1));
        assert_eq!(rules(checker, at(2)), expected);
    }

    #[rstest]
    #[case::of_this_second(SignedDuration::from_secs(3), vec![])]
    #[case::of_long_ago(SignedDuration::from_secs(1), vec![2])]
    fn what_was_read_a_moment_ago_may_be_acted_on(#[case] lag: SignedDuration, #[case] expected: Vec<u8>) {
        let mut checker = Checker::new(Settings {
            lag,
            ..Settings::exact(0.5)
        });
        checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "False", "")), at(0));
        checker.see_binding(Seen::Stored(binding(&["m1"], &json!([]), &["m1"])), at(0));
        checker.see_cluster(Seen::Stored(cluster(&json!([]), "True", "")), at(4));
        checker.see_binding(Seen::Stored(binding(&[], &json!([task("m1")]), &["m1"])), at(6));
        assert_eq!(
            rules(checker, at(7))
                .into_iter()
                .filter(|rule| *rule == 2)
                .collect::<Vec<_>>(),
            expected
        );
    }

    /// Two evictions ten seconds apart, while the wall clock was set back by nine or forward by nine.
    #[rstest]
    #[case::back(-9, 2)]
    #[case::forward(9, 20)]
    fn a_stepped_clock_is_no_rate(#[case] step: i64, #[case] second: i64) {
        let mut checker = Checker::new(Settings::exact(0.1));
        let named = |mut b: Binding, name: &str| {
            b.metadata.name = Some(name.to_owned());
            Seen::Stored(b)
        };
        checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "False", "")), at(0));
        for name in ["a", "b"] {
            checker.see_binding(named(binding(&["m1"], &json!([]), &[]), name), at(0));
        }
        checker.see_binding(named(binding(&[], &json!([task("m1")]), &[]), "a"), at(1));
        checker.clock_stepped(SignedDuration::from_secs(step));
        checker.see_binding(named(binding(&[], &json!([task("m1")]), &[]), "b"), at(second));
        assert_eq!(rules(checker, at(30)), Vec::<u8>::new());
    }

    #[test]
    fn a_taint_of_a_person_is_left_alone() {
        let mut checker = Checker::new(Settings::exact(0.5));
        checker.see_cluster(Seen::Stored(cluster(&json!([taint(0)]), "True", "")), at(0));
        checker.see_cluster(Seen::Stored(cluster(&json!([]), "True", "")), at(1));
        assert_eq!(rules(checker, at(2)), [7]);
    }
}
