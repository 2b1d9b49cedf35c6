//! What the detector knows: templates, policies and bindings.

use std::sync::Arc;

use api_types::BindingKey;
use api_types::policy::{Policy, PolicyKind};
use api_types::work::{Binding, BindingKind};
use controller_kit::informer::Stopped;
use controller_kit::{Context, Informer, ObjectKey, Scope, Store};

use super::matching::{Claim, permanent_id};
use crate::interpreter::KindName;
use crate::kinds::group_of;
use crate::objects::TemplateKey;
use crate::templates::wanted::{by_policy, is_of};
use crate::templates::{BY_CLAIM, Templates, Unread};

/// The informers, before they have synced.
pub struct Sources {
    /// PropagationPolicies and ClusterPropagationPolicies.
    pub policies: [Informer<Policy>; 2],
    /// ResourceBindings and ClusterResourceBindings.
    pub bindings: [Informer<Binding>; 2],
}

impl Sources {
    /// The shared informers of the process.
    #[must_use]
    pub fn of(ctx: &Context) -> Self {
        let bindings: [Informer<Binding>; 2] = BindingKind::ALL.map(|kind| ctx.informers.get(Scope::all(), &kind));
        for informer in &bindings {
            informer.index(BY_CLAIM, |binding: &Binding| {
                Claim::on(&binding.metadata).map(|claim| claim.id).into_iter().collect()
            });
        }
        Self {
            policies: [PolicyKind::Namespaced, PolicyKind::Cluster].map(|kind| ctx.informers.get(Scope::all(), &kind)),
            bindings,
        }
    }

    /// Waits until policies and bindings are read: an object without a policy is one whose policy is not read yet, until
    /// then.
    ///
    /// # Errors
    /// [`Stopped`] when the process stops first.
    pub async fn synced(&self, templates: &Templates) -> Result<Index, Stopped> {
        let ([policies, cluster_policies], [bindings, cluster_bindings]) = (&self.policies, &self.bindings);
        Ok(Index {
            templates: templates.clone(),
            policies: [policies.synced().await?, cluster_policies.synced().await?],
            bindings: [bindings.synced().await?, cluster_bindings.synced().await?],
        })
    }
}

/// Everything read.
#[derive(Clone)]
pub struct Index {
    /// The templates.
    pub templates: Templates,
    policies: [Store<Policy>; 2],
    bindings: [Store<Binding>; 2],
}

impl Index {
    /// The templates of a kind that have a binding, whether they are there or not.
    #[must_use]
    pub fn bound_of(&self, name: &KindName) -> Vec<TemplateKey> {
        let bindings = self.bindings.iter().flat_map(Store::list);
        let of_kind = bindings.filter(|binding| is_of(binding, name));
        of_kind
            .filter_map(|binding| self.templates.key_of(&binding).ok())
            .collect()
    }

    /// All templates of a kind.
    #[must_use]
    pub fn all_of(&self, name: &KindName) -> Vec<TemplateKey> {
        let Ok((kind, store)) = self.templates.store(name) else {
            return Vec::new();
        };
        let keys = store.keys().into_iter();
        keys.map(|key| TemplateKey::new(kind.clone(), key)).collect()
    }

    /// All templates of a kind in the versions other than this one that were read.
    #[must_use]
    pub fn in_other_versions(&self, name: &KindName) -> Vec<TemplateKey> {
        let read = self.templates.read().into_iter();
        let same = read.filter(|(kind, _)| kind.group() == group_of(&name.api_version) && kind.kind() == name.kind);
        same.flat_map(|(kind, store)| {
            let keys = store.keys().into_iter();
            keys.map(move |key| TemplateKey::new(kind.clone(), key))
                .collect::<Vec<_>>()
        })
        .collect()
    }

    /// A binding.
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

    /// The policy of this kind and name.
    #[must_use]
    pub fn policy(&self, kind: PolicyKind, key: &ObjectKey) -> Option<Arc<Policy>> {
        let [namespaced, cluster] = &self.policies;
        match kind {
            PolicyKind::Namespaced => namespaced.get(key),
            PolicyKind::Cluster => cluster.get(key),
        }
    }

    /// The policy that holds a claim, while it is the one that made it.
    #[must_use]
    pub fn holder(&self, claim: &Claim) -> Option<Arc<Policy>> {
        let namespace = Some(claim.namespace.clone()).filter(|namespace| !namespace.is_empty());
        self.policy(
            claim.kind,
            &ObjectKey {
                namespace,
                name: claim.name.clone(),
            },
        )
        .filter(|policy| permanent_id(policy) == claim.id)
    }

    /// Policies of one kind; of the namespaced ones those of `namespace`.
    #[must_use]
    pub fn policies(&self, kind: PolicyKind, namespace: Option<&str>) -> Vec<Arc<Policy>> {
        let [namespaced, cluster] = &self.policies;
        match kind {
            PolicyKind::Cluster => cluster.list(),
            PolicyKind::Namespaced => {
                let mut policies = namespaced.list();
                policies.retain(|policy| policy.metadata.namespace.as_deref() == namespace);
                policies
            }
        }
    }

    /// Templates that a policy claims or could select.
    #[must_use]
    pub fn templates_near(&self, policy: &Policy) -> Vec<TemplateKey> {
        let id = permanent_id(policy);
        let own = policy
            .metadata
            .namespace
            .as_deref()
            .filter(|namespace| !namespace.is_empty());
        let mut keys = Vec::new();
        for (kind, store) in self.templates.read() {
            let claimed = store.entries_by_index(BY_CLAIM, &id).into_iter();
            keys.extend(claimed.map(|(key, _)| TemplateKey::new(kind.clone(), key)));
            let selected = policy
                .spec
                .resource_selectors
                .iter()
                .any(|selector| selector.kind == kind.kind() && selector.api_version == kind.api_version());
            if selected {
                let within = |key: &ObjectKey| own.is_none() || key.namespace.as_deref() == own;
                let all = store.keys().into_iter().filter(within);
                keys.extend(all.map(|key| TemplateKey::new(kind.clone(), key)));
            }
        }
        keys
    }

    /// Why it is not known of some kinds that a policy selects from whether their objects say that they go by it; nothing
    /// when that is known of all.
    #[must_use]
    pub fn hidden_from(&self, policy: &Policy) -> Vec<Unread> {
        let kinds = by_policy(policy).into_iter();
        kinds
            .filter_map(|name| self.templates.store(&name).err())
            .filter(Unread::hides_objects)
            .collect()
    }

    /// Whether anything that was read says that it goes by this policy.
    #[must_use]
    pub fn is_claiming(&self, policy: &Policy) -> bool {
        let id = permanent_id(policy);
        self.templates
            .read()
            .iter()
            .any(|(_, store)| !store.by_index(BY_CLAIM, &id).is_empty())
            || self
                .bindings
                .iter()
                .any(|store| !store.by_index(BY_CLAIM, &id).is_empty())
    }
}
