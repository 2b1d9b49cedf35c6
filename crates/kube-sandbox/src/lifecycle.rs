//! What follows from deletions: dependents of owners, contents of namespaces, objects of CRDs.
//!
//! Guarantee: [`State::settle`] leaves nothing to do; it runs at the end of each write, inside the same lock, so that
//! every run of a test sees the same order.

use std::sync::Arc;

use serde_json::Value;

use crate::meta;
use crate::registry::ResourceDef;
use crate::state::{Housekeeping, State};
use crate::store::Key;
use crate::write::{DeleteOptions, Half, UnknownFields, WriteOptions};

pub(crate) const CRD_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

impl State {
    /// Carries deletions on until nothing changes any more.
    pub(crate) fn settle(&mut self, now: jiff::Timestamp) {
        let options = WriteOptions {
            now,
            dry_run: false,
            unknown_fields: UnknownFields::Dropped,
            half: Half::Main,
        };
        loop {
            let before = self.store.rv;
            // The objects of a CRD are removed by the API server itself, whoever else runs.
            self.settle_crds(options);
            if self.housekeeping == Housekeeping::Off {
                self.removed.clear();
            } else {
                while let Some(uid) = self.removed.pop_front() {
                    self.collect_dependents(&uid, options);
                }
                self.settle_waiting_owners(options);
                self.settle_namespaces(options);
            }
            if self.store.rv == before && self.removed.is_empty() {
                return;
            }
        }
    }

    fn collect_dependents(&mut self, uid: &str, options: WriteOptions) {
        for (storage, key) in self.store.dependents(uid) {
            let Some(def) = self.registry.by_storage(&storage) else {
                continue;
            };
            let Some(stored) = self.store.get(&storage, &key) else {
                continue;
            };
            let others = stored.owners.iter().any(|o| &**o != uid && self.store.uid_exists(o));
            if others {
                self.drop_owner(&def, &key, uid);
            } else {
                self.delete_quietly(&def, &key, options);
            }
        }
    }

    /// Owners that were deleted with `Foreground` or `Orphan` and wait for their dependents.
    fn settle_waiting_owners(&mut self, options: WriteOptions) {
        for (storage, key) in self.store.waiting_owners() {
            let Some(def) = self.registry.by_storage(&storage) else {
                continue;
            };
            let Some(stored) = self.store.get(&storage, &key) else {
                continue;
            };
            let object = stored.value();
            let finalizers = meta::finalizers(&object);
            let dependents = self.store.dependents(&stored.uid);
            let done = if finalizers.contains(&meta::ORPHAN) {
                for (storage, key) in dependents {
                    if let Some(def) = self.registry.by_storage(&storage) {
                        self.drop_owner(&def, &key, &stored.uid);
                    }
                }
                Some(meta::ORPHAN)
            } else if finalizers.contains(&meta::FOREGROUND) {
                for (storage, key) in dependents {
                    if let Some(def) = self.registry.by_storage(&storage) {
                        self.delete_quietly(&def, &key, options);
                    }
                }
                self.store
                    .dependents(&stored.uid)
                    .is_empty()
                    .then_some(meta::FOREGROUND)
            } else {
                None
            };
            if let Some(finalizer) = done {
                self.drop_finalizer(&def, &stored.key, finalizer);
            }
        }
    }

    fn settle_namespaces(&mut self, options: WriteOptions) {
        for name in self.terminating_namespaces.clone() {
            let mut left = false;
            let defs: Vec<Arc<ResourceDef>> = self.registry.all().filter(|d| d.namespaced).cloned().collect();
            for def in defs {
                let keys = self.keys(&def, Some(&name));
                for key in keys {
                    self.delete_quietly(&def, &key, options);
                }
                left |= !self.keys(&def, Some(&name)).is_empty();
            }
            if left {
                continue;
            }
            let Some(def) = self.registry.get("", "v1", "namespaces") else {
                continue;
            };
            let key = Key::new(None, &name);
            let Some(stored) = self.store.get(&def.storage, &key) else {
                self.terminating_namespaces.remove(&name);
                continue;
            };
            let mut object = stored.value();
            if object["spec"]["finalizers"].as_array().is_some_and(|f| !f.is_empty()) {
                object["spec"] = serde_json::json!({});
            }
            if meta::finalizers(&object).is_empty() {
                self.terminating_namespaces.remove(&name);
                self.remove(&def, &key);
            } else if object != stored.value() {
                self.put(&def, object);
            }
        }
    }

    fn settle_crds(&mut self, options: WriteOptions) {
        for name in self.terminating_crds.clone() {
            let Some((plural, group)) = name.split_once('.') else {
                continue;
            };
            let served = self
                .registry
                .all()
                .find(|d| d.is_custom() && d.group == group && d.plural == plural)
                .cloned();
            if let Some(def) = served {
                for key in self.keys(&def, None) {
                    self.delete_quietly(&def, &key, options);
                }
                if !self.keys(&def, None).is_empty() {
                    continue;
                }
            }
            let Some(crds) = self
                .registry
                .get("apiextensions.k8s.io", "v1", "customresourcedefinitions")
            else {
                continue;
            };
            self.terminating_crds.remove(&name);
            self.registry.remove_resource(group, plural);
            self.drop_finalizer(&crds, &Key::new(None, &name), CRD_FINALIZER);
        }
    }

    fn keys(&self, def: &ResourceDef, namespace: Option<&str>) -> Vec<Key> {
        self.store
            .existing(&def.storage)
            .map(|t| t.range(namespace, None).map(|o| o.key.clone()).collect())
            .unwrap_or_default()
    }

    pub(crate) fn delete_quietly(&mut self, def: &Arc<ResourceDef>, key: &Key, options: WriteOptions) {
        let (namespace, name) = (key.namespace().map(str::to_owned), key.name().to_owned());
        // Not found is what is wanted, and nothing else can go wrong without preconditions.
        let _ = self.delete(def, namespace.as_deref(), &name, &DeleteOptions::default(), options);
    }

    fn drop_owner(&mut self, def: &Arc<ResourceDef>, key: &Key, uid: &str) {
        let Some(stored) = self.store.get(&def.storage, key) else {
            return;
        };
        let mut object = stored.value();
        if let Some(owners) = object["metadata"]["ownerReferences"].as_array_mut() {
            owners.retain(|o| o["uid"] != uid);
            if owners.is_empty() {
                meta::metadata(&mut object).remove("ownerReferences");
            }
            self.put(def, object);
        }
    }

    fn drop_finalizer(&mut self, def: &Arc<ResourceDef>, key: &Key, finalizer: &str) {
        let Some(stored) = self.store.get(&def.storage, key) else {
            return;
        };
        let mut object = stored.value();
        let left: Vec<Value> = meta::finalizers(&object)
            .into_iter()
            .filter(|f| *f != finalizer)
            .map(Value::from)
            .collect();
        if left.is_empty() {
            self.remove(def, key);
        } else {
            object["metadata"]["finalizers"] = Value::Array(left);
            self.put(def, object);
        }
    }
}
