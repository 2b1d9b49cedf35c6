//! What `dependencies` knows: bindings, by those that need their objects.

use std::sync::Arc;

use api_types::BindingKey;
use api_types::names::depended_by_label;
use api_types::work::{Binding, BindingKind};
use controller_kit::informer::Stopped;
use controller_kit::{Context, Informer, Scope, Store};
use failover_core::graceful::mirrors::{key_of, owner_labels};

use crate::templates::Templates;

/// Index of attached bindings by the labels of those that need their objects.
const BY_REFERRER: &str = "dependencies/referrers";

/// The shared informers of both kinds of binding.
#[must_use]
pub fn bindings(ctx: &Context) -> [Informer<Binding>; 2] {
    let informers = BindingKind::ALL.map(|kind| ctx.informers.get(Scope::all(), &kind));
    for informer in &informers {
        informer.index(BY_REFERRER, |binding: &Binding| {
            owner_labels(binding).into_iter().collect()
        });
    }
    informers
}

/// Everything read.
#[derive(Clone)]
pub struct Index {
    /// The templates.
    pub templates: Templates,
    bindings: [Store<Binding>; 2],
}

impl Index {
    /// Waits until the bindings are read: one that is not there has been let go, from then on.
    ///
    /// # Errors
    /// [`Stopped`] when the process stops first.
    pub async fn of(bindings: &[Informer<Binding>; 2], templates: &Templates) -> Result<Self, Stopped> {
        let [namespaced, cluster] = bindings;
        Ok(Self {
            templates: templates.clone(),
            bindings: [namespaced.synced().await?, cluster.synced().await?],
        })
    }

    /// The binding.
    #[must_use]
    pub fn binding(&self, key: &BindingKey) -> Option<Arc<Binding>> {
        let [namespaced, cluster] = &self.bindings;
        let store = match key.kind() {
            BindingKind::Namespaced => namespaced,
            BindingKind::Cluster => cluster,
        };
        store.get(&binding_writer::object_key(key))
    }

    /// Bindings of which something holds.
    #[must_use]
    pub fn bindings_that(&self, holds: impl Fn(&Binding) -> bool) -> Vec<Arc<Binding>> {
        let all = self.bindings.iter().flat_map(Store::list);
        all.filter(|binding| holds(binding)).collect()
    }

    /// The bindings of objects that a binding's template needs, or needed.
    #[must_use]
    pub fn attached_to(&self, referrer: &BindingKey) -> Vec<Arc<Binding>> {
        let label = depended_by_label(referrer);
        let stores = self.bindings.iter();
        stores.flat_map(|store| store.by_index(BY_REFERRER, &label)).collect()
    }

    /// The other bindings that need an attached binding's object, as far as they are there.
    #[must_use]
    pub fn others(&self, attached: Option<&Binding>, referrer: &BindingKey) -> Vec<Arc<Binding>> {
        let required_by = attached
            .map(|attached| attached.spec.required_by.as_slice())
            .unwrap_or_default();
        let keys = required_by.iter().map(key_of).filter(|key| key != referrer);
        keys.filter_map(|key| self.binding(&key)).collect()
    }
}
