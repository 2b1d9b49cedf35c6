//! What a producer has to tell of each pair of binding and cluster: the published set, and the answers that it owes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api_types::{BindingKey, ClusterName};
use failover_core::eviction::desired_entry::Wanted;
use failover_core::eviction::queue::{EntryKey, ObjectVersion, Published, Uid, WithdrawReason};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::confirmations::{Confirmation, Confirmations};
use super::published::{Changed, Delta, PublishedSet, Resend};

/// The published set, and what the queue asked.
#[derive(Debug, Default)]
pub struct Ledger {
    published: PublishedSet,
    to_confirm: Confirmations,
}

/// One pair as it is known: what is not there has no metadata.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The cluster's name.
    pub cluster: &'a ClusterName,
    /// The binding's key.
    pub binding: &'a BindingKey,
    /// The Cluster as known.
    pub cluster_metadata: Option<&'a ObjectMeta>,
    /// The binding as known.
    pub binding_metadata: Option<&'a ObjectMeta>,
}

impl Ledger {
    /// Takes in the verdict on a pair: publishes what is wanted or takes back what was, and answers what the queue asked
    /// of the pair as far as what is known is new enough. `reason` says why an entry of a key goes.
    pub fn settle(&mut self, pair: Pair<'_>, wanted: &Wanted, reason: impl Fn(&EntryKey) -> WithdrawReason) -> Changed {
        let asked = self.answerable(pair);
        for asked in &asked {
            self.to_confirm.remove(asked);
            if !matches!(wanted, Wanted::Entry(entry) if *entry.key == *asked) {
                self.published.disown(asked.clone(), reason(asked));
            }
        }
        let changed = match wanted {
            Wanted::Entry(entry) => {
                let resend = if asked.contains(&*entry.key) {
                    Resend::Always
                } else {
                    Resend::IfChanged
                };
                self.published.put((**entry).clone(), resend, reason)
            }
            Wanted::Nothing(_) => self.published.take(pair.cluster, pair.binding, reason),
        };
        if asked.is_empty() { changed } else { Changed::Yes }
    }

    /// The queue asks for an entry to be confirmed or taken back; the next verdict that is new enough answers.
    pub fn ask(&mut self, key: EntryKey, asked: Confirmation) {
        self.to_confirm.insert(key, asked);
    }

    /// The clusters for which a binding has an entry, or owes an answer.
    #[must_use]
    pub fn clusters_of(&self, binding: &BindingKey) -> BTreeSet<ClusterName> {
        let mut clusters: BTreeSet<ClusterName> = self.published.clusters_of(binding).into_iter().collect();
        clusters.extend(self.to_confirm.clusters_of(binding).cloned());
        clusters
    }

    /// The bindings with an entry for this cluster.
    #[must_use]
    pub fn bindings_on(&self, cluster: &ClusterName) -> Vec<BindingKey> {
        self.published.bindings_on(cluster)
    }

    /// The bindings of which an answer is owed for this cluster.
    #[must_use]
    pub fn asked_on(&self, cluster: &ClusterName) -> Vec<BindingKey> {
        self.to_confirm.bindings_on(cluster)
    }

    /// Whether this binding has an entry at all.
    #[must_use]
    pub fn mentions(&self, binding: &BindingKey) -> bool {
        self.published.mentions(binding)
    }

    /// How many entries there are, by cluster.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<ClusterName, usize> {
        self.published.counts()
    }

    /// The whole set for a new stream; what was asked on an earlier one will be asked again.
    pub fn snapshot(&mut self) -> Vec<Arc<Published>> {
        self.to_confirm.clear();
        self.published.snapshot()
    }

    /// The next changes to tell, at most `limit`.
    pub fn next_delta(&mut self, limit: usize) -> Option<Delta> {
        self.published.next_delta(limit)
    }

    /// What the queue asked of a pair, where what is known is new enough for an answer.
    fn answerable(&self, pair: Pair<'_>) -> Vec<EntryKey> {
        self.to_confirm
            .of(pair.cluster, pair.binding)
            .filter(|(asked, confirmation)| {
                is_new_enough(pair.binding_metadata, &asked.binding_uid, &confirmation.binding_version)
                    && is_new_enough(
                        pair.cluster_metadata,
                        &(*asked.cluster_uid).into(),
                        &confirmation.cluster_version,
                    )
            })
            .map(|(asked, _)| asked.clone())
            .collect()
    }
}

/// Whether what is known of an object is at least as new as the version asked for. One of another UID has come after
/// the one that the entry was published for.
fn is_new_enough(known: Option<&ObjectMeta>, uid: &Uid, asked: &str) -> bool {
    known.is_none_or(|known| {
        let version = ObjectVersion::from(known.resource_version.as_deref().unwrap_or_default());
        !uid.is(known.uid.as_deref()) || version.is_at_least_as_new_as(&asked.into())
    })
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
