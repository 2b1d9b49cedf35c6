//! What is published: at most one entry for each pair of binding and cluster, and what the queue has not been told yet.
//!
//! Guarantee: an entry's changes collapse into the last one, so that a queue that is slow or away costs no more memory
//! than there are entries; what was withdrawn and published again under the same key is an upsert.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api_types::{BindingKey, ClusterName};
use failover_core::eviction::desired_entry::same;
use failover_core::eviction::queue::{EntryKey, Published, WithdrawReason};

/// The published set.
#[derive(Debug, Default)]
pub struct PublishedSet {
    entries: BTreeMap<ClusterName, BTreeMap<BindingKey, Arc<Published>>>,
    clusters_of: BTreeMap<BindingKey, BTreeSet<ClusterName>>,
    untold: BTreeMap<EntryKey, Option<WithdrawReason>>,
}

/// Changes to send: what is taken back goes first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Entries taken back.
    pub withdrawals: Vec<(EntryKey, WithdrawReason)>,
    /// Entries that are new or changed.
    pub upserts: Vec<Arc<Published>>,
}

/// Whether an entry that says the same is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resend {
    /// Only what changed is sent.
    IfChanged,
    /// The queue asked for it.
    Always,
}

impl PublishedSet {
    /// The entry of a pair.
    pub fn get(&self, cluster: &ClusterName, binding: &BindingKey) -> Option<&Arc<Published>> {
        self.entries.get(cluster)?.get(binding)
    }

    /// The bindings with an entry for this cluster.
    pub fn bindings_on(&self, cluster: &ClusterName) -> Vec<BindingKey> {
        self.entries
            .get(cluster)
            .into_iter()
            .flat_map(BTreeMap::keys)
            .cloned()
            .collect()
    }

    /// The clusters for which this binding has an entry.
    pub fn clusters_of(&self, binding: &BindingKey) -> Vec<ClusterName> {
        self.clusters_of.get(binding).into_iter().flatten().cloned().collect()
    }

    /// Whether this binding has an entry at all.
    pub fn mentions(&self, binding: &BindingKey) -> bool {
        self.clusters_of.contains_key(binding)
    }

    /// How many entries there are, by cluster.
    pub fn counts(&self) -> BTreeMap<ClusterName, usize> {
        self.entries
            .iter()
            .map(|(cluster, entries)| (cluster.clone(), entries.len()))
            .collect()
    }

    /// All entries, by cluster and binding.
    pub fn all(&self) -> Vec<Arc<Published>> {
        self.entries.values().flat_map(BTreeMap::values).cloned().collect()
    }

    /// Puts an entry in the place of the pair's. `reason` says why one of another key goes.
    pub fn put(
        &mut self,
        entry: Published,
        resend: Resend,
        reason: impl FnOnce(&EntryKey) -> WithdrawReason,
    ) -> Changed {
        let (cluster, binding) = (entry.key.cluster.clone(), entry.key.binding.clone());
        if let Some(before) = self.get(&cluster, &binding).cloned() {
            if resend == Resend::IfChanged && same(&before, &entry) {
                return Changed::No;
            }
            if before.key != entry.key {
                self.untold
                    .insert(EntryKey::clone(&before.key), Some(reason(&before.key)));
            }
        }
        self.untold.insert(EntryKey::clone(&entry.key), None);
        self.clusters_of
            .entry(binding.clone())
            .or_default()
            .insert(cluster.clone());
        self.entries
            .entry(cluster)
            .or_default()
            .insert(binding, Arc::new(entry));
        Changed::Yes
    }

    /// Takes the pair's entry back, if there is one.
    pub fn take(
        &mut self,
        cluster: &ClusterName,
        binding: &BindingKey,
        reason: impl FnOnce(&EntryKey) -> WithdrawReason,
    ) -> Changed {
        let Some(of_cluster) = self.entries.get_mut(cluster) else {
            return Changed::No;
        };
        let Some(before) = of_cluster.remove(binding) else {
            return Changed::No;
        };
        if of_cluster.is_empty() {
            self.entries.remove(cluster);
        }
        if let Some(clusters) = self.clusters_of.get_mut(binding) {
            clusters.remove(cluster);
            if clusters.is_empty() {
                self.clusters_of.remove(binding);
            }
        }
        self.untold
            .insert(EntryKey::clone(&before.key), Some(reason(&before.key)));
        Changed::Yes
    }

    /// Says again that an entry is not published.
    pub fn disown(&mut self, key: EntryKey, reason: WithdrawReason) {
        self.untold.insert(key, Some(reason));
    }

    /// The whole set, for a snapshot: nothing is untold after it.
    pub fn snapshot(&mut self) -> Vec<Arc<Published>> {
        self.untold.clear();
        self.all()
    }

    /// The next changes to tell, at most `limit`.
    pub fn next_delta(&mut self, limit: usize) -> Option<Delta> {
        if self.untold.is_empty() {
            return None;
        }
        let mut delta = Delta::default();
        for _ in 0..limit {
            let Some((key, withdrawn)) = self.untold.pop_first() else {
                break;
            };
            match (withdrawn, self.get(&key.cluster, &key.binding)) {
                (Some(reason), _) => delta.withdrawals.push((key, reason)),
                (None, Some(entry)) => delta.upserts.push(entry.clone()),
                (None, None) => {}
            }
        }
        Some(delta)
    }
}

/// Whether anything changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// Something did.
    Yes,
    /// Nothing did.
    No,
}

#[cfg(test)]
#[path = "published_tests.rs"]
mod tests;
