//! The objects an informer knows, with its secondary indexes and subscribers.
//!
//! Guarantees: store, indexes and subscribers change together; reads are ordered by key; an older version of the same
//! object never replaces a newer one; per object only what the informer was asked to keep is kept, and its identity.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use parking_lot::RwLock;

use super::changes::{Changes, Mailbox};
use super::key::ObjectKey;

pub(crate) type IndexFn<S> = Box<dyn Fn(&S) -> Vec<String> + Send + Sync>;

/// `S` is what is kept of an object.
pub(crate) struct Cache<S> {
    state: RwLock<State<S>>,
}

struct State<S> {
    objects: BTreeMap<Arc<ObjectKey>, Entry<S>>,
    indexes: BTreeMap<&'static str, Index<S>>,
    subscribers: Vec<Weak<Mailbox<S>>>,
    closed: bool,
}

struct Entry<S> {
    identity: Identity,
    kept: Arc<S>,
}

impl<S> Entry<S> {
    fn of(identity: Identity, keep: impl FnOnce(&Identity) -> S) -> Self {
        let kept = Arc::new(keep(&identity));
        Self { identity, kept }
    }
}

/// Which object of its name, and which version of it. Clones share the texts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    uid: Option<Arc<str>>,
    version: Option<Arc<str>>,
}

impl Identity {
    /// Of an object with this metadata.
    #[must_use]
    pub fn of(meta: &ObjectMeta) -> Self {
        let shared = |text: &Option<String>| text.as_deref().map(Arc::from);
        Self {
            uid: shared(&meta.uid),
            version: shared(&meta.resource_version),
        }
    }

    /// metadata.uid.
    #[must_use]
    pub fn uid(&self) -> Option<&str> {
        self.uid.as_deref()
    }

    /// metadata.resourceVersion.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }
}

struct Index<S> {
    values_of: IndexFn<S>,
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

impl<S> Cache<S> {
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

    /// Puts an object in. `keep` is only called for a version that is not known already.
    pub(crate) fn apply(
        &self,
        key: ObjectKey,
        identity: Identity,
        versions: Versions,
        keep: impl FnOnce(&Identity) -> S,
    ) -> (Applied, Arc<ObjectKey>) {
        let mut state = self.state.write();
        let Some((known, entry)) = state.objects.get_key_value(&key) else {
            let key = Arc::new(key);
            state.replace(&key, None, Some(Entry::of(identity, keep)));
            return (Applied::Changed, key);
        };
        let (key, before) = (known.clone(), entry.kept.clone());
        if entry.identity.uid == identity.uid {
            let (old, new) = (entry.identity.version.as_deref(), identity.version.as_deref());
            if old.is_some() && old == new {
                return (Applied::Same, key);
            }
            if versions == Versions::Ordered && is_older(new, old) {
                return (Applied::Older, key);
            }
            state.replace(&key, Some(&before), Some(Entry::of(identity, keep)));
        } else {
            state.replace(&key, Some(&before), None);
            state.replace(&key, None, Some(Entry::of(identity, keep)));
        }
        (Applied::Changed, key)
    }

    /// The key of an object that is known.
    pub(crate) fn known(&self, key: &ObjectKey) -> Option<Arc<ObjectKey>> {
        self.state.read().objects.get_key_value(key).map(|(key, _)| key.clone())
    }

    pub(crate) fn delete(&self, key: &ObjectKey) {
        let mut state = self.state.write();
        if let Some((key, before)) = state.known(key) {
            state.replace(&key, Some(&before), None);
        }
    }

    /// Deletes what a complete list did not have. Returns how many.
    pub(crate) fn retain(&self, listed: &BTreeSet<Arc<ObjectKey>>) -> usize {
        let mut state = self.state.write();
        let gone: Vec<(Arc<ObjectKey>, Arc<S>)> = state
            .objects
            .iter()
            .filter(|(key, _)| !listed.contains(*key))
            .map(|(key, entry)| (key.clone(), entry.kept.clone()))
            .collect();
        for (key, before) in &gone {
            state.replace(key, Some(before), None);
        }
        gone.len()
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<S>> {
        self.state.read().objects.get(key).map(|entry| entry.kept.clone())
    }

    pub(crate) fn list(&self) -> Vec<Arc<S>> {
        self.state
            .read()
            .objects
            .values()
            .map(|entry| entry.kept.clone())
            .collect()
    }

    pub(crate) fn entries(&self) -> Vec<(ObjectKey, Arc<S>)> {
        let state = self.state.read();
        state
            .objects
            .iter()
            .map(|(key, entry)| (key.as_ref().clone(), entry.kept.clone()))
            .collect()
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

    /// What `of` makes of each object under a value of an index, in the order of keys; `None` when there is no such index.
    pub(crate) fn by_index<T>(&self, name: &str, value: &str, of: impl Fn(&ObjectKey, &Arc<S>) -> T) -> Option<Vec<T>> {
        let state = self.state.read();
        let keys = state.indexes.get(name)?.keys.get(value);
        let entry = |key: &Arc<ObjectKey>| state.objects.get(key).map(|entry| of(key, &entry.kept));
        Some(keys.into_iter().flatten().filter_map(entry).collect())
    }

    /// Adds an index over what is known and what will come. A second one of the same name is ignored.
    pub(crate) fn add_index(&self, name: &'static str, values_of: IndexFn<S>) {
        let mut state = self.state.write();
        if state.indexes.contains_key(name) {
            return;
        }
        let mut index = Index {
            values_of,
            keys: BTreeMap::new(),
        };
        for (key, entry) in &state.objects {
            index.add(key, &entry.kept);
        }
        state.indexes.insert(name, index);
    }

    pub(crate) fn subscribe(&self) -> Changes<S> {
        let mailbox = Arc::new(Mailbox::new());
        let mut state = self.state.write();
        for (key, entry) in &state.objects {
            mailbox.push(key, None, Some(entry.kept.clone()));
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

impl<S> State<S> {
    fn known(&self, key: &ObjectKey) -> Option<(Arc<ObjectKey>, Arc<S>)> {
        self.objects
            .get_key_value(key)
            .map(|(key, entry)| (key.clone(), entry.kept.clone()))
    }

    fn replace(&mut self, key: &Arc<ObjectKey>, before: Option<&Arc<S>>, after: Option<Entry<S>>) {
        let kept = after.as_ref().map(|entry| entry.kept.clone());
        for index in self.indexes.values_mut() {
            if let Some(before) = before {
                index.remove(key, before);
            }
            if let Some(after) = &kept {
                index.add(key, after);
            }
        }
        match after {
            Some(entry) => self.objects.insert(key.clone(), entry),
            None => self.objects.remove(key),
        };
        self.subscribers.retain(|subscriber| {
            let Some(mailbox) = subscriber.upgrade() else {
                return false;
            };
            mailbox.push(key, before.cloned(), kept.clone());
            true
        });
    }
}

impl<S> Index<S> {
    fn add(&mut self, key: &Arc<ObjectKey>, object: &S) {
        for value in (self.values_of)(object) {
            self.keys.entry(value).or_default().insert(key.clone());
        }
    }

    fn remove(&mut self, key: &Arc<ObjectKey>, object: &S) {
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
#[must_use]
pub fn is_older(one: Option<&str>, other: Option<&str>) -> bool {
    let number = |version: Option<&str>| version.and_then(|version| version.parse::<u64>().ok());
    matches!((number(one), number(other)), (Some(one), Some(other)) if one < other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(uid: &str, version: &str) -> Identity {
        Identity {
            uid: Some(uid.into()),
            version: Some(version.into()),
        }
    }

    fn put(cache: &Cache<String>, name: &str, uid: &str, version: &str, versions: Versions) -> Applied {
        let keep = |_: &Identity| format!("{uid}@{version}");
        cache
            .apply(ObjectKey::cluster_scoped(name), identity(uid, version), versions, keep)
            .0
    }

    #[test]
    fn versions_only_go_up_unless_the_server_was_set_back() {
        let cache = Cache::new();
        assert_eq!(put(&cache, "a", "u", "10", Versions::Ordered), Applied::Changed);
        assert_eq!(put(&cache, "a", "u", "10", Versions::Ordered), Applied::Same);
        assert_eq!(put(&cache, "a", "u", "9", Versions::Ordered), Applied::Older);
        assert_eq!(put(&cache, "a", "u", "100", Versions::Ordered), Applied::Changed);
        assert_eq!(put(&cache, "a", "u", "3", Versions::Restarted), Applied::Changed);
        // Another object of the name: its versions are its own.
        assert_eq!(put(&cache, "a", "v", "2", Versions::Ordered), Applied::Changed);
        assert_eq!(cache.get(&ObjectKey::cluster_scoped("a")).unwrap().as_str(), "v@2");
    }

    // kube-rs/kube#14: churn leaves nothing behind, neither in the store nor in its indexes and subscribers.
    #[test]
    fn churn_leaves_nothing_behind() {
        let cache = Cache::new();
        cache.add_index("uid", Box::new(|kept: &String| vec![kept.clone()]));
        for round in 0..1_000 {
            drop(cache.subscribe());
            let name = format!("object{}", round % 10);
            put(&cache, &name, &round.to_string(), "1", Versions::Ordered);
            cache.delete(&ObjectKey::cluster_scoped(name));
        }
        let state = cache.state.read();
        assert_eq!((state.objects.len(), state.indexes["uid"].keys.len()), (0, 0));
        assert!(state.subscribers.len() <= 1);
    }
}
