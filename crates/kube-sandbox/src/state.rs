//! The state behind one server, and the parts of request handling that reads and writes share.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::registry::{Registry, ResourceDef};
use crate::status::ApiError;
use crate::store::{Key, Store, Stored};

/// What the server does on its own, besides answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Housekeeping {
    /// Owned objects go with their owners, and deleted namespaces are emptied and removed, within the request that
    /// caused it: a cluster with a controller manager, without its delays.
    #[default]
    AtOnce,
    /// Neither happens: an API server that runs alone.
    Off,
}

#[derive(Debug)]
pub(crate) struct State {
    pub store: Store,
    pub registry: Registry,
    pub housekeeping: Housekeeping,
    /// Uids of objects that are gone and whose dependents were not looked at yet.
    pub removed: VecDeque<Box<str>>,
    pub terminating_namespaces: BTreeSet<String>,
    pub terminating_crds: BTreeSet<String>,
}

/// One version of an object, stored or (for a dry run) not.
#[derive(Debug)]
pub(crate) enum Outcome {
    Stored(Arc<Stored>),
    Dry(Value),
}

impl State {
    pub(crate) fn new(history_limit: usize, seed: u64, housekeeping: Housekeeping) -> Self {
        let mut registry = Registry::default();
        crate::builtin::register(&mut registry);
        Self {
            store: Store::new(history_limit, seed),
            registry,
            housekeeping,
            removed: VecDeque::new(),
            terminating_namespaces: BTreeSet::new(),
            terminating_crds: BTreeSet::new(),
        }
    }

    pub(crate) fn current(
        &self,
        def: &ResourceDef,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Arc<Stored>, ApiError> {
        self.store
            .get(&def.storage, &Key::new(namespace, name))
            .ok_or_else(|| ApiError::not_found(def, name))
    }
}

/// The object as the given version of its resource shows it.
pub(crate) fn render(def: &ResourceDef, stored: &Stored) -> Bytes {
    if def.kind == "Event" && def.group == "events.k8s.io" {
        return bytes_of(&crate::events::from_core(stored.value()));
    }
    stored.json_as(&def.api_version(), &def.kind)
}

/// The same as a tree.
pub(crate) fn render_value(def: &ResourceDef, stored: &Stored) -> Value {
    from_storage(def, stored.value())
}

pub(crate) fn from_storage(def: &ResourceDef, mut object: Value) -> Value {
    if def.kind == "Event" && def.group == "events.k8s.io" {
        return crate::events::from_core(object);
    }
    object["apiVersion"] = def.api_version().into();
    object["kind"] = def.kind.clone().into();
    object
}

pub(crate) fn to_storage(def: &ResourceDef, mut object: Value) -> Value {
    if def.kind == "Event" && def.group == "events.k8s.io" {
        return crate::events::to_core(object);
    }
    object["apiVersion"] = def.storage_api_version.clone().into();
    object
}

pub(crate) fn bytes_of(value: &Value) -> Bytes {
    // Writing a tree of JSON into memory cannot fail.
    serde_json::to_vec(value).map(Bytes::from).unwrap_or_default()
}

impl Outcome {
    pub(crate) fn render(&self, def: &ResourceDef) -> Bytes {
        match self {
            Self::Stored(stored) => render(def, stored),
            Self::Dry(object) => bytes_of(&from_storage(def, object.clone())),
        }
    }

    pub(crate) fn rv(&self) -> Option<u64> {
        match self {
            Self::Stored(stored) => Some(stored.rv),
            Self::Dry(_) => None,
        }
    }

    pub(crate) fn value(&self, def: &ResourceDef) -> Value {
        match self {
            Self::Stored(stored) => render_value(def, stored),
            Self::Dry(object) => from_storage(def, object.clone()),
        }
    }
}
