//! What is asked about one binding, and how a cluster is refused.

use std::collections::BTreeMap;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::placement::{ClusterAffinity, Placement};
use api_types::work::Binding;
use jiff::{SignedDuration, Timestamp};

use crate::fleet::Fleet;

/// Who takes a workload off a cluster that is being deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeletionBy {
    /// The eviction queue: what runs there stays in the result until the evictor takes it away.
    #[default]
    Queue,
    /// The scheduler, because nobody evicts (the gate `Failover` is off, or no taint manager is at work): deleting a cluster
    /// is a person's act.
    Scheduler,
}

/// Settings of the decision that no object carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Who takes a workload off a cluster that is being deleted.
    pub deletion: DeletionBy,
    /// A cluster from which the binding would be due within this time is no place for it: it could not settle there.
    pub settle: SignedDuration,
}

impl Default for Rules {
    /// The queue evicts; a workload needs a minute to settle.
    fn default() -> Self {
        Self {
            deletion: DeletionBy::Queue,
            settle: SignedDuration::from_mins(1),
        }
    }
}

/// One binding, one group of clusters, the fleet and the time: what plugins see.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The binding that is placed.
    pub binding: &'a Binding,
    /// Its placement.
    pub placement: &'a Placement,
    /// The clusters that may be chosen in this round; absent means every cluster.
    pub affinity: Option<&'a ClusterAffinity>,
    /// All clusters.
    pub fleet: &'a Fleet,
    /// Settings.
    pub rules: Rules,
    /// The time of the decision.
    pub now: Timestamp,
}

impl Request<'_> {
    /// Whether the binding is placed on `cluster` already. Filters about failure do not judge such a cluster: what is
    /// there stays until the evictor takes it away, or the scheduler would evict past the queue.
    #[must_use]
    pub fn is_present(&self, cluster: &Cluster) -> bool {
        self.binding.spec.target(&cluster.cluster_name()).is_some()
    }
}

/// Why a cluster is no place for a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The plugin, or [`crate::baseline::NAME`].
    pub plugin: &'static str,
    /// The reason, in the words of stock's scheduler where it has them.
    pub reason: String,
    /// When the reason ends by itself, if a time is known.
    pub until: Option<Timestamp>,
}

impl Refusal {
    /// A refusal that ends only when an object changes.
    #[must_use]
    pub fn new(plugin: &'static str, reason: impl Into<String>) -> Self {
        Self {
            plugin,
            reason: reason.into(),
            until: None,
        }
    }

    /// The same refusal, ending at `until` at the latest.
    #[must_use]
    pub fn until(self, until: Timestamp) -> Self {
        Self {
            until: Some(until),
            ..self
        }
    }
}

/// Refused clusters, each with its first reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusals(pub BTreeMap<ClusterName, Refusal>);

impl Refusals {
    /// The first time at which a refusal ends by itself.
    #[must_use]
    pub fn ends_at(&self) -> Option<Timestamp> {
        self.0.values().filter_map(|refusal| refusal.until).min()
    }

    /// The reasons with how many clusters each one refuses, as stock words them: `2 REASON, 1 OTHER`.
    #[must_use]
    pub fn histogram(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for refusal in self.0.values() {
            *counts.entry(refusal.reason.as_str()).or_default() += 1;
        }
        let mut lines: Vec<String> = counts
            .iter()
            .map(|(reason, count)| format!("{count} {reason}"))
            .collect();
        lines.sort();
        lines.join(", ")
    }
}
