//! Everything that is stored, in order, for those who must miss nothing.
//!
//! Guarantee: from the moment it is begun, each version of the resources asked for is told once, in the order of
//! storing and with the time of it. Unlike a watch it can be neither late nor cut: when a write is served, its version
//! is there to be taken.

use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use crate::sandbox::Sandbox;
use crate::store::{Change, Stored};

/// One version of one object.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When it was stored.
    pub at: Timestamp,
    /// Group and plural of its resource, such as `work.karmada.io/works`; the core group has no name: `/secrets`.
    pub resource: &'static str,
    /// Whether the object was removed; this is its last state then.
    pub is_gone: bool,
    stored: Arc<Stored>,
}

impl Entry {
    /// The object.
    ///
    /// # Errors
    /// When what is stored is no such object.
    pub fn object<K: DeserializeOwned>(&self) -> Result<K, serde_json::Error> {
        serde_json::from_slice(&self.stored.json)
    }

    /// Its `metadata.resourceVersion`.
    #[must_use]
    pub fn resource_version(&self) -> String {
        self.stored.rv.to_string()
    }

    /// Namespace and name, as `namespace/name`, or the name alone.
    #[must_use]
    pub fn key(&self) -> &str {
        self.stored.key.as_str()
    }
}

/// What was stored and not yet taken.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    entries: Arc<Mutex<Vec<Entry>>>,
}

impl Journal {
    /// The entries since they were last taken, oldest first.
    #[must_use]
    pub fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut *self.entries.lock())
    }
}

impl Sandbox {
    /// Begins a journal of these resources, named by group and plural (`work.karmada.io/works`, `/secrets`). What is
    /// stored already stands at its beginning. It goes on, and keeps what is not taken, for as long as the server lives.
    #[must_use]
    pub fn journal(&self, resources: &[&'static str]) -> Journal {
        let journal = Journal::default();
        let mut state = self.inner.state.lock();
        let now = self.inner.now.clone();
        for resource in resources {
            let known = state.store.existing(resource).into_iter();
            let known = known.flat_map(|table| table.range(None, None));
            journal.entries.lock().extend(known.map(|stored| Entry {
                at: now(),
                resource,
                is_gone: false,
                stored: stored.clone(),
            }));
        }
        let (entries, resources) = (journal.entries.clone(), resources.to_vec());
        state.store.on_change(move |storage, change: &Change| {
            if let Some(resource) = resources.iter().find(|resource| **resource == storage) {
                entries.lock().push(Entry {
                    at: now(),
                    resource,
                    is_gone: change.deleted,
                    stored: change.object.clone(),
                });
            }
        });
        journal
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::SandboxOptions;

    #[test]
    fn every_version_is_told_once_and_in_order() {
        let sandbox = Sandbox::new(SandboxOptions::new(Arc::new(|| Timestamp::UNIX_EPOCH)));
        let map = |name: &str, text: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {"k": text}});
        sandbox.put(map("a", "1")).unwrap();
        let journal = sandbox.journal(&["/configmaps"]);
        sandbox.put(map("a", "2")).unwrap();
        sandbox.put(map("a", "2")).unwrap();
        sandbox.compact();
        sandbox.put(map("b", "1")).unwrap();
        let told = |entries: Vec<Entry>| -> Vec<String> {
            let tell = |entry: &Entry| {
                let text = entry.object::<Value>().unwrap()["data"]["k"].clone();
                format!("{} {} {text} {}", entry.resource, entry.key(), entry.is_gone)
            };
            entries.iter().map(tell).collect()
        };
        assert_eq!(
            told(journal.take()),
            [
                r#"/configmaps default/a "1" false"#,
                r#"/configmaps default/a "2" false"#,
                r#"/configmaps default/b "1" false"#,
            ]
        );
        sandbox
            .put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}))
            .unwrap();
        assert_eq!(told(journal.take()), [""; 0], "another resource");
    }
}
