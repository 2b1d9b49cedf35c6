//! The entries themselves: found by their key at once, however many there are, and walked cluster by cluster in the order
//! in which they entered the queue, which compares faster than their keys.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use api_types::ClusterName;
use rustc_hash::FxBuildHasher;

use super::entry::{Entry, EntryKey};

/// All entries of a queue. Nothing that is seen of it depends on the order of hashes.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    by_key: HashMap<Arc<EntryKey>, Arc<Entry>, FxBuildHasher>,
    on: BTreeMap<ClusterName, BTreeMap<u64, Arc<EntryKey>>>,
}

impl Entries {
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    pub fn contains_key(&self, key: &EntryKey) -> bool {
        self.by_key.contains_key(key)
    }

    pub fn get(&self, key: &EntryKey) -> Option<&Arc<Entry>> {
        self.by_key.get(key)
    }

    pub fn get_key_value(&self, key: &EntryKey) -> Option<(&Arc<EntryKey>, &Arc<Entry>)> {
        self.by_key.get_key_value(key)
    }

    /// Puts an entry in, in the place of the one of this key if there is one, which has the same serial.
    pub fn insert(&mut self, key: Arc<EntryKey>, entry: Arc<Entry>) {
        if let Some(known) = self.by_key.get_mut(&key) {
            *known = entry;
            return;
        }
        match self.on.get_mut(&key.cluster) {
            Some(keys) => drop(keys.insert(entry.serial, key.clone())),
            None => {
                let first = BTreeMap::from([(entry.serial, key.clone())]);
                self.on.insert(key.cluster.clone(), first);
            }
        }
        self.by_key.insert(key, entry);
    }

    pub fn remove(&mut self, key: &EntryKey) -> Option<Arc<Entry>> {
        let entry = self.by_key.remove(key)?;
        if let Some(keys) = self.on.get_mut(&key.cluster) {
            keys.remove(&entry.serial);
            if keys.is_empty() {
                self.on.remove(&key.cluster);
            }
        }
        Some(entry)
    }

    /// By cluster, then in the order in which they entered.
    pub fn keys(&self) -> impl Iterator<Item = &Arc<EntryKey>> {
        self.on.values().flat_map(BTreeMap::values)
    }

    /// The same with the entries.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<EntryKey>, &Arc<Entry>)> {
        self.keys().filter_map(|key| self.by_key.get_key_value(key))
    }

    /// The same without the keys.
    pub fn values(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.iter().map(|(_, entry)| entry)
    }

    /// Those on a cluster, in the order in which they entered.
    pub fn on<'a>(
        &'a self,
        cluster: &ClusterName,
    ) -> impl Iterator<Item = (&'a Arc<EntryKey>, &'a Arc<Entry>)> + use<'a> {
        let keys = self.on.get(cluster).into_iter().flat_map(BTreeMap::values);
        keys.filter_map(|key| self.by_key.get_key_value(key))
    }
}
