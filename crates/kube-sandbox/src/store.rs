//! The objects and their history: one counter of versions, one ordered table and one log of changes per resource.
//!
//! Guarantees: versions only grow and are global; a table can be read as it was at any version that its history
//! still reaches; the same calls in the same order give the same bytes (no clock, no random, no hash order here).
//!
//! Objects are kept as the JSON bytes that are sent, not as trees: a tree of a 3 KB object takes ten times as much.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::Notify;

use crate::meta;
use crate::registry::StorageKey;

/// Namespace and name in the order of the real store, which compares the text `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    full: Arc<str>,
    namespace_len: usize,
    namespaced: bool,
}

impl Key {
    pub(crate) fn new(namespace: Option<&str>, name: &str) -> Self {
        match namespace {
            Some(ns) => Self {
                full: format!("{ns}/{name}").into(),
                namespace_len: ns.len(),
                namespaced: true,
            },
            None => Self {
                full: name.into(),
                namespace_len: 0,
                namespaced: false,
            },
        }
    }

    pub(crate) fn namespace(&self) -> Option<&str> {
        self.namespaced.then(|| &self.full[..self.namespace_len])
    }

    pub(crate) fn name(&self) -> &str {
        if self.namespaced {
            &self.full[self.namespace_len + 1..]
        } else {
            &self.full
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.full
    }

    /// The place of a key read back from a continue token; only its order matters.
    pub(crate) fn position(full: &str) -> Self {
        Self {
            full: full.into(),
            namespace_len: 0,
            namespaced: false,
        }
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.full.cmp(&other.full)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// One version of one object: its bytes, and the few parts that selectors and the garbage collector ask for.
#[derive(Debug)]
pub(crate) struct Stored {
    pub key: Key,
    pub rv: u64,
    /// The whole object; begins with `{"apiVersion":…,"kind":…,`, so that both can be replaced without parsing.
    pub json: Bytes,
    header_len: usize,
    pub uid: Box<str>,
    pub labels: Vec<(Box<str>, Box<str>)>,
    /// Values of the selectable fields (path without the leading dot).
    pub fields: Vec<(Box<str>, Box<str>)>,
    pub owners: Vec<Box<str>>,
    pub deleting: bool,
    /// Marked for deletion, with a finalizer by which the garbage collector holds an owner until its dependents are done with.
    pub waits_for_dependents: bool,
}

impl Stored {
    /// The object as a tree.
    pub(crate) fn value(&self) -> Value {
        // The bytes were made by serde_json from a tree, so that reading them back cannot fail.
        serde_json::from_slice(&self.json).unwrap_or_default()
    }

    /// The bytes with another `apiVersion` and kind.
    pub(crate) fn json_as(&self, api_version: &str, kind: &str) -> Bytes {
        let header = header(api_version, kind);
        if self.json.starts_with(header.as_bytes()) {
            return self.json.clone();
        }
        let mut out = Vec::with_capacity(header.len() + self.json.len() - self.header_len);
        out.extend_from_slice(header.as_bytes());
        out.extend_from_slice(&self.json[self.header_len..]);
        out.into()
    }

    /// Appends the bytes without `apiVersion` and kind, as items of lists of built-in kinds come.
    pub(crate) fn write_bare(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        out.extend_from_slice(&self.json[self.header_len..]);
    }
}

fn header(api_version: &str, kind: &str) -> String {
    format!(
        "{{\"apiVersion\":{},\"kind\":{},",
        Value::from(api_version),
        Value::from(kind)
    )
}

/// One entry of a table's history.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub rv: u64,
    pub before: Option<Arc<Stored>>,
    /// The new state; for a deletion the last state, with the version of the deletion.
    pub object: Arc<Stored>,
    pub deleted: bool,
}

/// All objects of one resource, and what happened to them lately.
#[derive(Debug, Default)]
pub(crate) struct Table {
    objects: BTreeMap<Key, Arc<Stored>>,
    history: VecDeque<Change>,
    /// Changes up to and including this version are no longer in the history.
    compacted: u64,
    /// Wakes those that wait for the next change.
    pub changed: Arc<Notify>,
}

impl Table {
    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<Stored>> {
        self.objects.get(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Objects of one namespace, or all, in key order, after the given position.
    pub(crate) fn range<'a>(
        &'a self,
        namespace: Option<&'a str>,
        after: Option<&Key>,
    ) -> impl Iterator<Item = &'a Arc<Stored>> + use<'a> {
        let prefix = namespace.map(|ns| format!("{ns}/"));
        let start = match (after, &prefix) {
            (Some(key), _) => Bound::Excluded(key.clone()),
            (None, Some(p)) => Bound::Included(Key::position(p)),
            (None, None) => Bound::Unbounded,
        };
        self.objects
            .range((start, Bound::Unbounded))
            .map(|(_, o)| o)
            .take_while(move |o| prefix.as_ref().is_none_or(|p| o.key.as_str().starts_with(p.as_str())))
    }

    /// The changes after a version, oldest first; `None` when the history does not reach back that far.
    pub(crate) fn changes_after(&self, rv: u64) -> Option<impl Iterator<Item = &Change>> {
        if rv < self.compacted {
            return None;
        }
        let first = self.history.partition_point(|c| c.rv <= rv);
        Some(self.history.range(first..))
    }

    /// What differs between now and a past version: the former state of each object changed since.
    pub(crate) fn undo_to(&self, rv: u64) -> Option<BTreeMap<Key, Option<Arc<Stored>>>> {
        let mut undo = BTreeMap::new();
        for change in self.changes_after(rv)? {
            undo.entry(change.object.key.clone())
                .or_insert_with(|| change.before.clone());
        }
        Some(undo)
    }

    /// Version up to which the history was dropped.
    pub(crate) fn compacted(&self) -> u64 {
        self.compacted
    }

    /// Drops history up to and including a version, as a compaction would.
    pub(crate) fn compact(&mut self, up_to: u64) {
        while self.history.front().is_some_and(|c| c.rv <= up_to) {
            self.history.pop_front();
        }
        self.compacted = self.compacted.max(up_to);
    }
}

/// Takes the table and the change to it.
type Listen = Box<dyn Fn(&str, &Change) + Send>;

/// Who is told of every change as it is stored.
struct Listener(Listen);

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listener")
    }
}

/// All tables of one server.
#[derive(Debug)]
pub(crate) struct Store {
    /// Version of the latest change.
    pub rv: u64,
    tables: BTreeMap<StorageKey, Table>,
    dependents: BTreeMap<Box<str>, BTreeSet<(StorageKey, Key)>>,
    /// Objects that wait for their dependents: the few to be looked at after each write, however many are being deleted.
    waiting_owners: BTreeSet<(StorageKey, Key)>,
    uids: BTreeSet<Box<str>>,
    history_limit: usize,
    uid_state: u64,
    listeners: Vec<Listener>,
}

impl Store {
    pub(crate) fn new(history_limit: usize, seed: u64) -> Self {
        Self {
            rv: 1,
            tables: BTreeMap::new(),
            dependents: BTreeMap::new(),
            waiting_owners: BTreeSet::new(),
            uids: BTreeSet::new(),
            history_limit: history_limit.max(1),
            uid_state: seed | 1,
            listeners: Vec::new(),
        }
    }

    pub(crate) fn table(&mut self, storage: &StorageKey) -> &mut Table {
        self.tables.entry(storage.clone()).or_default()
    }

    pub(crate) fn existing(&self, storage: &str) -> Option<&Table> {
        self.tables.get(storage)
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = (&StorageKey, &Table)> {
        self.tables.iter()
    }

    pub(crate) fn tables_mut(&mut self) -> impl Iterator<Item = &mut Table> {
        self.tables.values_mut()
    }

    pub(crate) fn get(&self, storage: &str, key: &Key) -> Option<Arc<Stored>> {
        self.tables.get(storage)?.get(key).cloned()
    }

    /// A uid in the usual form, from the seeded sequence of this store.
    pub(crate) fn next_uid(&mut self) -> String {
        let mut word = || {
            self.uid_state ^= self.uid_state << 13;
            self.uid_state ^= self.uid_state >> 7;
            self.uid_state ^= self.uid_state << 17;
            self.uid_state
        };
        let (high, low) = (word(), word());
        uuid::Builder::from_random_bytes(((u128::from(high) << 64) | u128::from(low)).to_be_bytes())
            .into_uuid()
            .to_string()
    }

    /// A short random-looking suffix for `generateName`.
    pub(crate) fn next_suffix(&mut self) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let uid = self.next_uid();
        uid.bytes()
            .filter(|b| *b != b'-')
            .take(5)
            .map(|b| char::from(LETTERS[usize::from(b) % LETTERS.len()]))
            .collect()
    }

    /// Stores a new state of an object under the next version.
    pub(crate) fn put(&mut self, storage: &StorageKey, mut object: Value, selectable: &[String]) -> Arc<Stored> {
        self.rv += 1;
        let rv = self.rv;
        object["metadata"]["resourceVersion"] = rv.to_string().into();
        let stored = Arc::new(index(object, rv, selectable));
        let before = self.table(storage).objects.insert(stored.key.clone(), stored.clone());
        self.relink(storage, before.as_deref(), Some(&stored));
        self.log(
            storage,
            Change {
                rv,
                before,
                object: stored.clone(),
                deleted: false,
            },
        );
        stored
    }

    /// Removes an object for good; the final state carries the version of the removal.
    pub(crate) fn remove(&mut self, storage: &StorageKey, key: &Key, selectable: &[String]) -> Option<Arc<Stored>> {
        let before = self.tables.get_mut(storage)?.objects.remove(key)?;
        self.rv += 1;
        let rv = self.rv;
        let mut last = before.value();
        last["metadata"]["resourceVersion"] = rv.to_string().into();
        let object = Arc::new(index(last, rv, selectable));
        self.relink(storage, Some(&before), None);
        self.log(
            storage,
            Change {
                rv,
                before: Some(before),
                object: object.clone(),
                deleted: true,
            },
        );
        Some(object)
    }

    /// Objects that name this uid among their owners.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<(StorageKey, Key)> {
        self.dependents
            .get(uid)
            .map(|set| set.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// Whether any object has this uid.
    pub(crate) fn uid_exists(&self, uid: &str) -> bool {
        self.uids.contains(uid)
    }

    /// Objects that are marked for deletion and wait for their dependents.
    pub(crate) fn waiting_owners(&self) -> Vec<(StorageKey, Key)> {
        self.waiting_owners.iter().cloned().collect()
    }

    fn relink(&mut self, storage: &StorageKey, before: Option<&Stored>, after: Option<&Stored>) {
        for (object, present) in [(before, false), (after, true)] {
            let Some(object) = object else { continue };
            if present {
                self.uids.insert(object.uid.clone());
            } else if after.is_none_or(|a| a.uid != object.uid) {
                self.uids.remove(&object.uid);
            }
            if object.waits_for_dependents {
                let place = (storage.clone(), object.key.clone());
                if present {
                    self.waiting_owners.insert(place)
                } else {
                    self.waiting_owners.remove(&place)
                };
            }
        }
        let empty: &[Box<str>] = &[];
        let (old, new) = (before.map_or(empty, |o| &o.owners), after.map_or(empty, |o| &o.owners));
        if old == new {
            return;
        }
        if let Some(object) = before {
            for owner in old {
                if let Some(set) = self.dependents.get_mut(owner) {
                    set.remove(&(storage.clone(), object.key.clone()));
                    if set.is_empty() {
                        self.dependents.remove(owner);
                    }
                }
            }
        }
        if let Some(object) = after {
            for owner in new {
                self.dependents
                    .entry(owner.clone())
                    .or_default()
                    .insert((storage.clone(), object.key.clone()));
            }
        }
    }

    /// From now on `listen` is told the table and each change to it.
    pub(crate) fn on_change(&mut self, listen: impl Fn(&str, &Change) + Send + 'static) {
        self.listeners.push(Listener(Box::new(listen)));
    }

    fn log(&mut self, storage: &StorageKey, change: Change) {
        for listener in &self.listeners {
            (listener.0)(storage, &change);
        }
        let limit = self.history_limit;
        let table = self.table(storage);
        table.history.push_back(change);
        while table.history.len() > limit {
            if let Some(oldest) = table.history.pop_front() {
                table.compacted = oldest.rv;
            }
        }
        table.changed.notify_waiters();
    }
}

fn index(mut object: Value, rv: u64, selectable: &[String]) -> Stored {
    let (json, header_len) = serialize(&mut object);
    let object = object;
    let meta = &object["metadata"];
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let labels = meta["labels"]
        .as_object()
        .map(|l| l.iter().map(|(k, v)| (k.as_str().into(), text(v).into())).collect())
        .unwrap_or_default();
    let owners = meta["ownerReferences"]
        .as_array()
        .map(|o| o.iter().filter_map(|r| r["uid"].as_str()).map(Into::into).collect())
        .unwrap_or_default();
    let fields = selectable
        .iter()
        .map(|path| {
            let path = path.trim_start_matches('.');
            (path.into(), crate::selectors::field_text(&object, path).into())
        })
        .collect();
    let deleting = meta::is_deleting(&object);
    Stored {
        key: Key::new(meta["namespace"].as_str(), meta["name"].as_str().unwrap_or_default()),
        rv,
        uid: text(&meta["uid"]).into(),
        labels,
        fields,
        owners,
        deleting,
        waits_for_dependents: deleting
            && meta::finalizers(&object)
                .iter()
                .any(|finalizer| [meta::ORPHAN, meta::FOREGROUND].contains(finalizer)),
        json,
        header_len,
    }
}

/// The bytes of an object, and the length of their header. Takes `apiVersion` and kind out of the object.
fn serialize(object: &mut Value) -> (Bytes, usize) {
    let mut take = |field: &str| match object.as_object_mut().and_then(|m| m.remove(field)) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let (api_version, kind) = (take("apiVersion"), take("kind"));
    let header = header(&api_version, &kind);
    let header_len = header.len();
    let mut out = header.into_bytes();
    // Writing a tree of JSON into memory cannot fail; the brace that opens it is already in the header.
    let rest = serde_json::to_vec(object).unwrap_or_default();
    out.extend_from_slice(rest.get(1..).unwrap_or_default());
    (out.into(), header_len)
}
