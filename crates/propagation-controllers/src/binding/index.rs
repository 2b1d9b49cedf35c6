//! What the binding controller knows: bindings, their templates, their Works and the clusters.

use std::sync::Arc;

use api_types::cluster::Cluster;
use api_types::names::annotation;
use api_types::work::{Binding, BindingKind, Work};
use api_types::{BindingKey, ClusterName};
use controller_kit::informer::Stopped;
use controller_kit::{Change, Context, Informer, ObjectKey, RequiredKind, Store};
use serde_json::Value;

use crate::interpreter::KindName;
use crate::members::{Presence, presence};
use crate::objects::TemplateKey;
use crate::templates::wanted::is_of;
use crate::templates::{Templates, Unread};

/// Index of Works by the binding they belong to.
const BY_BINDING: &str = "binding";
/// Index of Works by namespace.
pub const BY_NAMESPACE: &str = "namespace";

/// The informers, before they have synced.
pub struct Sources {
    /// ResourceBindings and ClusterResourceBindings.
    pub bindings: [Informer<Binding>; 2],
    /// Works.
    pub works: Informer<Work>,
    /// Clusters.
    pub clusters: Informer<Cluster>,
}

impl Sources {
    /// The shared informers of the process.
    #[must_use]
    pub fn of(ctx: &Context) -> Self {
        Self {
            bindings: BindingKind::ALL.map(|kind| ctx.informers.get(controller_kit::Scope::all(), &kind)),
            works: works(ctx),
            clusters: ctx.informers.of::<Cluster>(),
        }
    }

    /// The shared informers and what they have read, once everything is; nothing when the process stops first.
    ///
    /// # Errors
    /// When the API server does not serve our kinds.
    pub async fn read(ctx: &Context, templates: &Templates) -> anyhow::Result<Option<(Self, Index)>> {
        ctx.require_kinds(&[
            RequiredKind::of::<Cluster>(),
            RequiredKind::of::<Work>(),
            RequiredKind::with::<Binding>(&BindingKind::Namespaced),
            RequiredKind::with::<Binding>(&BindingKind::Cluster),
        ])
        .await?;
        let sources = Self::of(ctx);
        let read = async {
            let index = sources.synced(templates).await?;
            templates.begin(ctx).await?;
            Ok::<_, Stopped>(index)
        };
        let index = read.await;
        Ok(index.ok().map(|index| (sources, index)))
    }

    /// Waits until everything but templates is read: a decision on half of it could delete what is only not read yet.
    ///
    /// # Errors
    /// [`Stopped`] when the process stops first.
    pub async fn synced(&self, templates: &Templates) -> Result<Index, Stopped> {
        let [namespaced, cluster] = &self.bindings;
        Ok(Index {
            bindings: [namespaced.synced().await?, cluster.synced().await?],
            works: self.works.synced().await?,
            clusters: self.clusters.synced().await?,
            templates: templates.clone(),
        })
    }
}

/// Works, indexed by binding and by namespace.
#[must_use]
pub fn works(ctx: &Context) -> Informer<Work> {
    let works = ctx.informers.of::<Work>();
    index_works(&works);
    works
}

/// Adds the indexes by binding and by namespace.
pub fn index_works(works: &Informer<Work>) {
    works.index(BY_BINDING, |work: &Work| {
        binding_of(work).map(|key| key.to_string()).into_iter().collect()
    });
    works.index(BY_NAMESPACE, |work: &Work| {
        work.metadata.namespace.clone().into_iter().collect()
    });
}

/// Everything read.
#[derive(Clone)]
pub struct Index {
    bindings: [Store<Binding>; 2],
    works: Store<Work>,
    clusters: Store<Cluster>,
    /// The templates.
    pub templates: Templates,
}

impl Index {
    /// The binding.
    #[must_use]
    pub fn binding(&self, key: &BindingKey) -> Option<Arc<Binding>> {
        let [namespaced, cluster] = &self.bindings;
        let store = match key.kind() {
            BindingKind::Namespaced => namespaced,
            BindingKind::Cluster => cluster,
        };
        store.get(&ObjectKey {
            namespace: key.namespace.clone(),
            name: key.name.clone(),
        })
    }

    /// The Works of a binding.
    #[must_use]
    pub fn works_of(&self, key: &BindingKey) -> Vec<Arc<Work>> {
        self.works.by_index(BY_BINDING, &key.to_string())
    }

    /// Bindings whose templates are of a kind.
    #[must_use]
    pub fn bindings_of(&self, name: &KindName) -> Vec<BindingKey> {
        let bindings = self.bindings.iter().flat_map(Store::list);
        let of_kind = bindings.filter(|binding| is_of(binding, name));
        of_kind.map(|binding| binding.key()).collect()
    }

    /// The template of a binding; `None` when there is none.
    ///
    /// # Errors
    /// [`Unread`] when that is not known.
    pub fn template_of(&self, binding: &Binding) -> Result<Option<Value>, Unread> {
        self.template(&self.templates.key_of(binding)?)
    }

    /// A template; `None` when there is none.
    ///
    /// # Errors
    /// [`Unread`] when that is not known.
    pub fn template(&self, key: &TemplateKey) -> Result<Option<Value>, Unread> {
        let template = self.templates.get(key)?;
        Ok(template.map(|template| template.value(&key.kind)))
    }

    /// Whether a cluster is there and answers.
    #[must_use]
    pub fn presence(&self, cluster: &ClusterName) -> Presence {
        presence(&self.clusters, cluster)
    }

    /// The Cluster of this name.
    #[must_use]
    pub fn cluster(&self, cluster: &ClusterName) -> Option<Arc<Cluster>> {
        self.clusters.get(&ObjectKey::cluster_scoped(cluster.as_str()))
    }

    /// Bindings that have a Work on a cluster.
    #[must_use]
    pub fn bindings_on(&self, cluster: &ClusterName) -> Vec<BindingKey> {
        let works = self
            .works
            .by_index(BY_NAMESPACE, &api_types::names::execution_namespace(cluster));
        works.iter().filter_map(|work| binding_of(work)).collect()
    }

    /// The same when the cluster became Ready, or is no longer; otherwise a change of a cluster concerns no binding.
    #[must_use]
    pub fn bindings_concerned_by(&self, change: &Change<Cluster>) -> Vec<BindingKey> {
        let ready = |cluster: &Option<Arc<Cluster>>| cluster.as_ref().map(|cluster| cluster.is_ready());
        if ready(&change.before) == ready(&change.after) {
            Vec::new()
        } else {
            self.bindings_on(&ClusterName::from(change.key.name.as_str()))
        }
    }
}

/// The binding that a Work belongs to; `None` for one that belongs to none.
#[must_use]
pub fn binding_of(work: &Work) -> Option<BindingKey> {
    let annotations = work.metadata.annotations.as_ref()?;
    if let Some(name) = annotations.get(annotation::RESOURCE_BINDING_NAME) {
        return Some(BindingKey::namespaced(
            annotations.get(annotation::RESOURCE_BINDING_NAMESPACE)?,
            name,
        ));
    }
    annotations
        .get(annotation::CLUSTER_RESOURCE_BINDING_NAME)
        .map(BindingKey::cluster)
}
