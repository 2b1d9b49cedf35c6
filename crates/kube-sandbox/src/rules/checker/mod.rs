//! The rules themselves, over what was seen of the API objects: what is remembered, and which rule looks at what. Each
//! rule has its file.

mod evictions;
mod last_copy;
mod lists;
mod taints;
mod tasks;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use api_types::BindingKey;
use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::Binding;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::follow::Seen;
use super::outdated::Outdated;
use super::reference;
use super::settings::{JudgedBy, Settings};

/// A rule that was broken, with the evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Number of the rule, 1 to 8; 0 when nobody could look.
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
    evictions: Vec<(Timestamp, BindingKey, String)>,
    /// When they were, in order, on a clock that is not stepped.
    eviction_times: Vec<Timestamp>,
    by_hand: ByHand,
    violations: Vec<Violation>,
}

/// Whether the version with this resourceVersion is a person's work.
type IsByHand = Box<dyn Fn(&str) -> bool + Send>;

/// Which versions are a person's work; none, as long as nobody says so.
#[derive(Default)]
struct ByHand(Option<IsByHand>);

impl fmt::Debug for ByHand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByHand")
    }
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
            evictions: Vec::new(),
            eviction_times: Vec::new(),
            by_hand: ByHand::default(),
            violations: Vec::new(),
        }
    }

    /// What is assumed of the checked system.
    pub fn settings_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// Something could not be read: nobody knows whether the rules held there.
    pub fn could_not_look(&mut self, what: &str, now: Timestamp) {
        self.broken(0, now, format!("the rules were not checked: {what}"));
    }

    /// Evictions seen so far: when, which binding, from where.
    #[must_use]
    pub fn evictions(&self) -> &[(Timestamp, BindingKey, String)] {
        &self.evictions
    }

    /// Versions of which this says so, by their resourceVersion, are a person's work (in a test, the test's own): what
    /// they change is not judged.
    pub fn by_hand(&mut self, is_by_hand: impl Fn(&str) -> bool + Send + 'static) {
        self.by_hand = ByHand(Some(Box::new(is_by_hand)));
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
                self.note_matches_of_cluster(&cluster, now);
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
                for ((of, _), spell) in &mut self.matching {
                    if *of == policy.name_any() {
                        spell.ended.get_or_insert(now);
                    }
                }
                self.old_policies.add(policy.name_any(), policy, now, self.settings.lag);
            }
            Seen::Stored(policy) => {
                let name = policy.name_any();
                self.note_matches_of_policy(&policy, now);
                if let Some(before) = self.policies.insert(name.clone(), policy) {
                    self.old_policies.add(name, before, now, self.settings.lag);
                }
            }
        }
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
        let version = object.resource_version();
        self.by_hand
            .0
            .as_ref()
            .zip(version)
            .is_some_and(|(is_by_hand, version)| is_by_hand(&version))
    }

    /// When something happened that was seen `now` and carries this stamp.
    fn time_of(&self, stamp: Option<&Time>, now: Timestamp) -> Timestamp {
        match (self.settings.judged_by, stamp) {
            (JudgedBy::Stamps, Some(stamp)) => reference::whole_second(stamp.0),
            _ => now,
        }
    }

    /// Looks whether each policy's conditions hold on this cluster.
    fn note_matches_of_cluster(&mut self, cluster: &Cluster, now: Timestamp) {
        for policy in self.policies.values() {
            note_match(&mut self.matching, &self.settings, (policy, cluster), now);
        }
    }

    /// Looks on which clusters this policy's conditions hold.
    fn note_matches_of_policy(&mut self, policy: &ClusterTaintPolicy, now: Timestamp) {
        for cluster in self.clusters.values() {
            note_match(&mut self.matching, &self.settings, (policy, cluster), now);
        }
    }

    /// Since when these conditions hold there, or held until lately.
    fn spell(&self, policy: &str, cluster: &str, now: Timestamp) -> Option<&Spell> {
        let spell = self.matching.get(&(policy.to_owned(), cluster.to_owned()))?;
        spell.is_known_at(now, self.settings.lag).then_some(spell)
    }
}

impl Spell {
    /// Whether somebody whose view is so old may still take it for the present.
    fn is_known_at(&self, now: Timestamp, lag: SignedDuration) -> bool {
        self.ended.is_none_or(|ended| now.duration_since(ended) < lag)
    }
}

fn note_match(
    matching: &mut BTreeMap<(String, String), Spell>,
    settings: &Settings,
    (policy, cluster): (&ClusterTaintPolicy, &Cluster),
    now: Timestamp,
) {
    let key = (policy.name_any(), cluster.name_any());
    let matches = reference::conditions_match(policy, cluster);
    let known = matching
        .get_mut(&key)
        .filter(|spell| spell.is_known_at(now, settings.lag));
    match known {
        Some(spell) if matches => spell.ended = None,
        Some(spell) => {
            spell.ended.get_or_insert(now);
        }
        None if matches => {
            let since = match settings.judged_by {
                JudgedBy::Sight => now,
                JudgedBy::Stamps => reference::conditions_stamped(policy, cluster).unwrap_or(now),
            };
            matching.insert(key, Spell { since, ended: None });
        }
        None => {
            matching.remove(&key);
        }
    }
}
