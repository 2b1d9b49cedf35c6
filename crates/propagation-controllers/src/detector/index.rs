//! What the detector knows: templates, policies and bindings.

use std::sync::Arc;

use api_types::BindingKey;
use api_types::policy::{Policy, PolicyKind};
use api_types::work::{Binding, BindingKind};
use controller_kit::informer::Stopped;
use controller_kit::{Context, Informer, ObjectKey, Scope, Store};
use kube::core::DynamicObject;

use super::matching::{Claim, permanent_id};
use crate::binding::index::templates;
use crate::kinds::Kind;
use crate::objects::TemplateKey;

/// Index of objects by the permanent id of the policy that claims them.
const BY_CLAIM: &str = "claim";

/// The informers, before they have synced.
pub struct Sources {
    /// Templates by kind.
    pub templates: Vec<(Kind, Informer<DynamicObject>)>,
    /// PropagationPolicies and ClusterPropagationPolicies.
    pub policies: [Informer<Policy>; 2],
    /// ResourceBindings and ClusterResourceBindings.
    pub bindings: [Informer<Binding>; 2],
}

impl Sources {
    /// The shared informers of the process.
    #[must_use]
    pub fn of(ctx: &Context) -> Self {
        let templates = templates(ctx);
        for (_, informer) in &templates {
            informer.index(BY_CLAIM, |object: &DynamicObject| {
                Claim::on(&object.metadata).map(|claim| claim.id).into_iter().collect()
            });
        }
        let bindings: [Informer<Binding>; 2] = BindingKind::ALL.map(|kind| ctx.informers.get(Scope::all(), &kind));
        for informer in &bindings {
            informer.index(BY_CLAIM, |binding: &Binding| {
                Claim::on(&binding.metadata).map(|claim| claim.id).into_iter().collect()
            });
        }
        Self {
            templates,
            policies: [PolicyKind::Namespaced, PolicyKind::Cluster].map(|kind| ctx.informers.get(Scope::all(), &kind)),
            bindings,
        }
    }

    /// Waits until everything is read: an object without a policy is one whose policy is not read yet, until then.
    ///
    /// # Errors
    /// [`Stopped`] when the process stops first.
    pub async fn synced(&self) -> Result<Index, Stopped> {
        let mut templates = Vec::new();
        for (kind, informer) in &self.templates {
            templates.push((kind.clone(), informer.synced().await?));
        }
        let ([policies, cluster_policies], [bindings, cluster_bindings]) = (&self.policies, &self.bindings);
        Ok(Index {
            templates,
            policies: [policies.synced().await?, cluster_policies.synced().await?],
            bindings: [bindings.synced().await?, cluster_bindings.synced().await?],
        })
    }
}

/// Everything read.
#[derive(Clone)]
pub struct Index {
    templates: Vec<(Kind, Store<DynamicObject>)>,
    policies: [Store<Policy>; 2],
    bindings: [Store<Binding>; 2],
}

impl Index {
    /// A template as it was read.
    #[must_use]
    pub fn template(&self, key: &TemplateKey) -> Option<Arc<DynamicObject>> {
        self.templates_of(&key.kind)?.get(&key.object)
    }

    fn templates_of(&self, kind: &Kind) -> Option<&Store<DynamicObject>> {
        self.templates
            .iter()
            .find(|(known, _)| known == kind)
            .map(|(_, store)| store)
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
        for (kind, store) in &self.templates {
            keys.extend(
                store
                    .by_index(BY_CLAIM, &id)
                    .iter()
                    .map(|object| TemplateKey::new(kind.clone(), ObjectKey::of(object.as_ref()))),
            );
            let selected = policy
                .spec
                .resource_selectors
                .iter()
                .any(|selector| selector.kind == kind.kind());
            if selected {
                let within = |key: &ObjectKey| own.is_none() || key.namespace.as_deref() == own;
                keys.extend(
                    store
                        .keys()
                        .into_iter()
                        .filter(within)
                        .map(|key| TemplateKey::new(kind.clone(), key)),
                );
            }
        }
        keys
    }

    /// Whether anything still says that it goes by this policy.
    #[must_use]
    pub fn is_claiming(&self, policy: &Policy) -> bool {
        let id = permanent_id(policy);
        self.templates
            .iter()
            .any(|(_, store)| !store.by_index(BY_CLAIM, &id).is_empty())
            || self
                .bindings
                .iter()
                .any(|store| !store.by_index(BY_CLAIM, &id).is_empty())
    }
}
