//! What the queue asked to be confirmed, found by cluster and binding: a recheck of many entries asks for many, and each
//! change of a binding or a cluster looks for its own.

use std::collections::{BTreeMap, BTreeSet};

use api_types::{BindingKey, ClusterName};
use failover_core::eviction::queue::EntryKey;

/// What the queue asked to be confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmation {
    /// Version of the binding as the evictor read it; empty: it is gone.
    pub binding_version: String,
    /// Version of the Cluster as the evictor read it; empty: it is gone.
    pub cluster_version: String,
}

/// Entries to be confirmed.
#[derive(Debug, Default)]
pub struct Confirmations {
    asked: BTreeMap<ClusterName, BTreeMap<BindingKey, BTreeMap<EntryKey, Confirmation>>>,
    clusters_of: BTreeMap<BindingKey, BTreeSet<ClusterName>>,
}

impl Confirmations {
    /// An entry is asked for; the last question counts.
    pub fn insert(&mut self, key: EntryKey, confirmation: Confirmation) {
        let (cluster, binding) = (key.cluster.clone(), key.binding.clone());
        self.clusters_of
            .entry(binding.clone())
            .or_default()
            .insert(cluster.clone());
        let of_cluster = self.asked.entry(cluster).or_default();
        of_cluster.entry(binding).or_default().insert(key, confirmation);
    }

    /// An entry is answered.
    pub fn remove(&mut self, key: &EntryKey) {
        let Some(of_cluster) = self.asked.get_mut(&key.cluster) else {
            return;
        };
        let Some(of_pair) = of_cluster.get_mut(&key.binding) else {
            return;
        };
        of_pair.remove(key);
        if !of_pair.is_empty() {
            return;
        }
        of_cluster.remove(&key.binding);
        if of_cluster.is_empty() {
            self.asked.remove(&key.cluster);
        }
        if let Some(clusters) = self.clusters_of.get_mut(&key.binding) {
            clusters.remove(&key.cluster);
            if clusters.is_empty() {
                self.clusters_of.remove(&key.binding);
            }
        }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// What is asked of a pair.
    pub fn of<'a>(
        &'a self,
        cluster: &ClusterName,
        binding: &BindingKey,
    ) -> impl Iterator<Item = (&'a EntryKey, &'a Confirmation)> + use<'a> {
        let of_pair = self.asked.get(cluster).and_then(|of| of.get(binding));
        of_pair.into_iter().flatten()
    }

    /// The bindings of which something is asked for this cluster.
    pub fn bindings_on(&self, cluster: &ClusterName) -> Vec<BindingKey> {
        let of_cluster = self.asked.get(cluster).into_iter();
        of_cluster.flat_map(BTreeMap::keys).cloned().collect()
    }

    /// The clusters for which something is asked of this binding.
    pub fn clusters_of(&self, binding: &BindingKey) -> impl Iterator<Item = &ClusterName> {
        self.clusters_of.get(binding).into_iter().flatten()
    }
}

#[cfg(test)]
#[path = "confirmations_tests.rs"]
mod tests;
