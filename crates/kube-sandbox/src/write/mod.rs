//! Create, update, patch and delete: the road of an object from a request into the store.
//!
//! Guarantee: a write either stores exactly one new version (or removes the object) or changes nothing at all;
//! a write that would store what is there already stores nothing and answers with the version that is there.

mod create;
mod delete;
mod update;

use std::sync::Arc;

use serde_json::Value;

use crate::registry::ResourceDef;
use crate::state::State;
use crate::store::{Key, Stored};
use crate::{crd, meta};

pub(crate) use delete::{DeleteOptions, Deleted};

/// How a write is to be done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteOptions {
    pub now: jiff::Timestamp,
    pub dry_run: bool,
    pub unknown_fields: UnknownFields,
    pub half: Half,
}

/// What happens to fields that the schema does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnknownFields {
    Dropped,
    Refused,
}

/// Which half of the object a write owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Main,
    Status,
    /// `spec.finalizers` of a namespace.
    Finalizers,
}

impl State {
    /// Stores a new version, with what follows from it for the server itself.
    pub(crate) fn put(&mut self, def: &Arc<ResourceDef>, object: Value) -> Arc<Stored> {
        if def.is("CustomResourceDefinition") && !meta::is_deleting(&object) {
            crd::register(&mut self.registry, &object);
        }
        let storage = def.storage.clone();
        self.store.put(&storage, object, &def.selectable)
    }

    fn put_or_keep(
        &mut self,
        def: &Arc<ResourceDef>,
        current: &Arc<Stored>,
        object: Value,
        old: &Value,
    ) -> Arc<Stored> {
        if &object == old {
            current.clone()
        } else {
            self.put(def, object)
        }
    }

    /// Takes an object out of the store.
    pub(crate) fn remove(&mut self, def: &Arc<ResourceDef>, key: &Key) -> Option<Arc<Stored>> {
        let storage = def.storage.clone();
        let gone = self.store.remove(&storage, key, &def.selectable)?;
        self.removed.push_back(gone.uid.clone());
        Some(gone)
    }
}

fn waits_for_something(object: &Value) -> bool {
    !meta::finalizers(object).is_empty()
        || (object["kind"] == "Namespace"
            && object["apiVersion"] == "v1"
            && object["spec"]["finalizers"].as_array().is_some_and(|f| !f.is_empty()))
}
