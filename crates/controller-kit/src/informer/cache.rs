//! The objects an informer knows, with its secondary indexes and subscribers.
//!
//! Guarantees: store, indexes and subscribers change together; reads are ordered by key; an older version of the same
//! object never replaces a newer one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use kube::Resource;
use parking_lot::RwLock;

use super::changes::{Changes, Mailbox};
use super::key::ObjectKey;

pub(crate) type IndexFn<K> = Box<dyn Fn(&K) -> Vec<String> + Send + Sync>;

pub(crate) struct Cache<K> {
    state: RwLock<State<K>>,
}

struct State<K> {
    objects: BTreeMap<Arc<ObjectKey>, Arc<K>>,
    indexes: BTreeMap<&'static str, Index<K>>,
    subscribers: Vec<Weak<Mailbox<K>>>,
    closed: bool,
}

struct Index<K> {
    values_of: IndexFn<K>,
    keys: BTreeMap<String, BTreeSet<Arc<ObjectKey>>>,
}

/// Whether versions can be compared with those in the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Versions {
    /// A lower one is older.
    Ordered,
    /// The server was set back: what it says now counts, whatever the number.
    Restarted,
}

/// What became of an object that was put into the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Applied {
    Changed,
    /// The version known already.
    Same,
    /// A version older than the one known.
    Older,
}

impl<K: Resource> Cache<K> {
    pub(crate) fn new() -> Self {
        Self {
            state: RwLock::new(State {
                objects: BTreeMap::new(),
                indexes: BTreeMap::new(),
                subscribers: Vec::new(),
                closed: false,
            }),
        }
    }

    /// Puts an object in. Its managedFields are dropped: nobody here reads them, and they are half of many objects.
    pub(crate) fn apply(&self, mut object: K, versions: Versions) -> (Applied, Arc<ObjectKey>) {
        object.meta_mut().managed_fields = None;
        let mut state = self.state.write();
        let key = ObjectKey::of(&object);
        let known = state
            .objects
            .get_key_value(&key)
            .map(|(key, object)| (key.clone(), object.clone()));
        let Some((key, before)) = known else {
            let key = Arc::new(key);
            state.replace(&key, None, Some(Arc::new(object)));
            return (Applied::Changed, key);
        };
        let (old, new) = (before.meta(), object.meta());
        if old.uid != new.uid {
            state.replace(&key, Some(before), None);
            state.replace(&key, None, Some(Arc::new(object)));
            return (Applied::Changed, key);
        }
        if old.resource_version.is_some() && old.resource_version == new.resource_version {
            return (Applied::Same, key);
        }
        if versions == Versions::Ordered && is_older(new.resource_version.as_deref(), old.resource_version.as_deref()) {
            return (Applied::Older, key);
        }
        state.replace(&key, Some(before), Some(Arc::new(object)));
        (Applied::Changed, key)
    }

    pub(crate) fn delete(&self, key: &ObjectKey) {
        let mut state = self.state.write();
        if let Some((key, before)) = state
            .objects
            .get_key_value(key)
            .map(|(key, object)| (key.clone(), object.clone()))
        {
            state.replace(&key, Some(before), None);
        }
    }

    /// Deletes what a complete list did not have. Returns how many.
    pub(crate) fn retain(&self, listed: &BTreeSet<Arc<ObjectKey>>) -> usize {
        let mut state = self.state.write();
        let gone: Vec<(Arc<ObjectKey>, Arc<K>)> = state
            .objects
            .iter()
            .filter(|(key, _)| !listed.contains(*key))
            .map(|(key, object)| (key.clone(), object.clone()))
            .collect();
        for (key, before) in &gone {
            state.replace(key, Some(before.clone()), None);
        }
        gone.len()
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.state.read().objects.get(key).cloned()
    }

    pub(crate) fn list(&self) -> Vec<Arc<K>> {
        self.state.read().objects.values().cloned().collect()
    }

    pub(crate) fn keys(&self) -> Vec<ObjectKey> {
        self.state
            .read()
            .objects
            .keys()
            .map(|key| key.as_ref().clone())
            .collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.state.read().objects.len()
    }

    /// `None` when there is no such index.
    pub(crate) fn by_index(&self, name: &str, value: &str) -> Option<Vec<Arc<K>>> {
        let state = self.state.read();
        let index = state.indexes.get(name)?;
        let keys = index.keys.get(value);
        Some(
            keys.into_iter()
                .flatten()
                .filter_map(|key| state.objects.get(key).cloned())
                .collect(),
        )
    }

    /// Adds an index over what is known and what will come. A second one of the same name is ignored.
    pub(crate) fn add_index(&self, name: &'static str, values_of: IndexFn<K>) {
        let mut state = self.state.write();
        if state.indexes.contains_key(name) {
            return;
        }
        let mut index = Index {
            values_of,
            keys: BTreeMap::new(),
        };
        for (key, object) in &state.objects {
            index.add(key, object);
        }
        state.indexes.insert(name, index);
    }

    pub(crate) fn subscribe(&self) -> Changes<K> {
        let mailbox = Arc::new(Mailbox::new());
        let mut state = self.state.write();
        for (key, object) in &state.objects {
            mailbox.push(key, None, Some(object.clone()));
        }
        if state.closed {
            mailbox.close();
        }
        state.subscribers.push(Arc::downgrade(&mailbox));
        Changes::new(mailbox)
    }

    pub(crate) fn close(&self) {
        let mut state = self.state.write();
        state.closed = true;
        for subscriber in state.subscribers.iter().filter_map(Weak::upgrade) {
            subscriber.close();
        }
    }
}

impl<K> State<K> {
    fn replace(&mut self, key: &Arc<ObjectKey>, before: Option<Arc<K>>, after: Option<Arc<K>>) {
        for index in self.indexes.values_mut() {
            if let Some(before) = &before {
                index.remove(key, before);
            }
            if let Some(after) = &after {
                index.add(key, after);
            }
        }
        match &after {
            Some(after) => self.objects.insert(key.clone(), after.clone()),
            None => self.objects.remove(key),
        };
        self.subscribers.retain(|subscriber| {
            let Some(mailbox) = subscriber.upgrade() else {
                return false;
            };
            mailbox.push(key, before.clone(), after.clone());
            true
        });
    }
}

impl<K> Index<K> {
    fn add(&mut self, key: &Arc<ObjectKey>, object: &K) {
        for value in (self.values_of)(object) {
            self.keys.entry(value).or_default().insert(key.clone());
        }
    }

    fn remove(&mut self, key: &Arc<ObjectKey>, object: &K) {
        for value in (self.values_of)(object) {
            if let Some(keys) = self.keys.get_mut(&value) {
                keys.remove(key);
                if keys.is_empty() {
                    self.keys.remove(&value);
                }
            }
        }
    }
}

/// Whether version `one` is older than `other`, as far as that can be said: versions are numbers on every API server
/// there is, and where they are not, nothing is older than anything.
pub(crate) fn is_older(one: Option<&str>, other: Option<&str>) -> bool {
    let number = |version: Option<&str>| version.and_then(|version| version.parse::<u64>().ok());
    matches!((number(one), number(other)), (Some(one), Some(other)) if one < other)
}
