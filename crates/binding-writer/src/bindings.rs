//! Bindings as this process knows them: both kinds as one, each read by the shared informer of its kind.

use std::sync::Arc;

use api_types::BindingKey;
use api_types::work::{Binding, BindingKind};
use controller_kit::informer::Stopped;
use controller_kit::{Context, Informer, Scope, Store};

use crate::keys::object_key;

/// The informers, before they have synced.
#[derive(Clone)]
pub struct BindingInformers([Informer<Binding>; 2]);

impl BindingInformers {
    /// The shared informers of the process; `index` adds the caller's indexes to each.
    pub fn of(ctx: &Context, index: impl Fn(&Informer<Binding>)) -> Self {
        Self(BindingKind::ALL.map(|kind| {
            let informer = ctx.informers.get::<Binding>(Scope::all(), &kind);
            index(&informer);
            informer
        }))
    }

    /// One after the other, for what follows their changes.
    pub fn each(&self) -> impl Iterator<Item = &Informer<Binding>> {
        self.0.iter()
    }

    /// Waits until both kinds are read.
    ///
    /// # Errors
    /// [`Stopped`] when the process stops first.
    pub async fn synced(&self) -> Result<BindingStores, Stopped> {
        let [first, second] = &self.0;
        Ok(BindingStores([first.synced().await?, second.synced().await?]))
    }
}

/// Reads of what has synced.
#[derive(Clone)]
pub struct BindingStores([Store<Binding>; 2]);

impl BindingStores {
    /// The binding of this key.
    #[must_use]
    pub fn get(&self, key: &BindingKey) -> Option<Arc<Binding>> {
        let object = object_key(key);
        // A namespaced object and one of cluster scope never have the same key.
        self.0.iter().find_map(|store| store.get(&object))
    }

    /// Bindings of both kinds by an index.
    pub fn by_index(&self, index: &str, value: &str) -> impl Iterator<Item = Arc<Binding>> {
        self.0.iter().flat_map(move |store| store.by_index(index, value))
    }
}
