//! What is kept of a binding: the part that verdicts are made of, in as little memory as it takes. A fleet has a hundred
//! thousand of them, and most of each is of no interest here.
//!
//! Guarantee: [`judged`](JudgedPart::judged) gives a binding on which [`failover_core::eviction::desired_entry::wanted`]
//! says what it says on the whole one, and [`failover_core::eviction::stay_edit::over`], too. It is not for writing: what is not kept is missing in it. Beside it the owners of
//! an attached binding are kept, by which the evictor finds it, and what stock's controllers wrote, by which it sees them.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::BindingKey;
use api_types::names::{annotation, label};
use api_types::placement::Placement;
use api_types::policy::{ClusterFailoverBehavior, FailoverBehavior};
use api_types::work::condition::EVICTION_PENDING;
use api_types::work::{
    Binding, BindingKind, GracefulEvictionTask, ObjectReference, ResourceBindingSpec, SchedulePriority, TargetCluster,
};
use controller_kit::{Commons, Context, Identity, Informer, Scope};
use failover_core::graceful::mirrors::owner_labels;
use failover_core::second_owner::StocksTask;
use k8s_openapi::api::core::v1::Toleration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use parking_lot::Mutex;
use serde_json::json;

/// The kept part of a binding, whose name the informer keeps.
#[derive(Debug)]
pub(crate) struct JudgedPart {
    identity: Identity,
    generation: Option<i64>,
    deleted_at: Option<Time>,
    stay: Option<Box<str>>,
    /// The annotation `failover.karmada.io/health-clock`; only where a drop may rest on it.
    clock: Option<Box<str>>,
    template: Template,
    priority: Option<i32>,
    /// One for all that run on the same clusters with as many replicas on each.
    clusters: Arc<Targets>,
    tasks: Box<[Arc<str>]>,
    /// Those of them that a stock controller wrote; empty, and without an allocation, nearly everywhere.
    of_stock: Box<[StocksTask]>,
    /// Empty, and without an allocation, for all that are not attached.
    owners: Box<[Arc<str>]>,
    rules: Arc<Rules>,
    pending: Option<Box<PendingSaid>>,
    claim: Option<Arc<Claim>>,
}

/// By which policy a binding is claimed, as stock records it, and what was carried from there. The same for all bindings
/// of a policy.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// `namespace/name`, or the name of a ClusterPropagationPolicy.
    pub policy: String,
    /// Its permanent id.
    pub id: Option<String>,
    /// The annotation `failover.karmada.io/failover` of the binding.
    pub failover: Option<String>,
}

impl Claim {
    fn of(metadata: &ObjectMeta) -> Option<Self> {
        let annotated = |name: &str| metadata.annotations.as_ref()?.get(name).cloned();
        let labelled = |name: &str| metadata.labels.as_ref()?.get(name).cloned();
        let namespaced = annotated(annotation::PROPAGATION_POLICY_NAMESPACE)
            .zip(annotated(annotation::PROPAGATION_POLICY_NAME))
            .map(|(namespace, name)| (format!("{namespace}/{name}"), label::PROPAGATION_POLICY_ID));
        let cluster_wide = || {
            let name = annotated(annotation::CLUSTER_PROPAGATION_POLICY_NAME)?;
            Some((name, label::CLUSTER_PROPAGATION_POLICY_ID))
        };
        let (policy, id) = namespaced.or_else(cluster_wide)?;
        Some(Self {
            policy,
            id: labelled(id),
            failover: annotated(annotation::FAILOVER),
        })
    }
}

#[derive(Debug)]
struct Template {
    api_version: Arc<str>,
    kind: Arc<str>,
    namespace: Option<Arc<str>>,
    name: Box<str>,
}

/// Clusters with replicas.
type Targets = [(Arc<str>, i32)];

/// What a policy says about staying and leaving: the same for all of its bindings.
#[derive(Debug, Default)]
struct Rules {
    tolerations: Vec<Toleration>,
    cluster_failover: Option<ClusterFailoverBehavior>,
}

/// What the condition `EvictionPending` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PendingSaid {
    /// `True` while an eviction is pending.
    pub status: String,
    /// One word.
    pub reason: String,
    /// A sentence.
    pub message: String,
}

impl PendingSaid {
    /// As a binding has it.
    pub fn of(binding: &Binding) -> Option<Self> {
        let condition = binding.condition(EVICTION_PENDING)?;
        Some(Self {
            status: condition.status.clone(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
        })
    }
}

/// The informers that keep this part of both kinds of binding: one of each in the process, whoever asks.
pub(crate) fn informers(ctx: &Context) -> [Informer<JudgedPart>; 2] {
    let keeper = Arc::new(Keeper::default());
    BindingKind::ALL.map(|kind| {
        let keeper = keeper.clone();
        let keep = move |binding: Binding, identity: &Identity| keeper.keep(binding, identity);
        ctx.informers.keeping_identified(Scope::all(), &kind, keep)
    })
}

impl JudgedPart {
    /// The clusters that the binding is on.
    pub fn clusters(&self) -> impl Iterator<Item = &str> {
        self.clusters.iter().map(|(name, _)| &**name)
    }

    /// The labels of the bindings that need this one's object, as [`owner_labels`] has them; none where it is not attached.
    pub fn owners(&self) -> impl Iterator<Item = &str> {
        self.owners.iter().map(|label| &**label)
    }

    /// The tasks that a stock controller wrote.
    pub fn of_stock(&self) -> &[StocksTask] {
        &self.of_stock
    }

    /// The annotation `failover.karmada.io/stay` as it is written; absent is empty.
    pub fn stay(&self) -> &str {
        self.stay.as_deref().unwrap_or_default()
    }

    /// By which policy it is claimed.
    pub fn claim(&self) -> Option<&Arc<Claim>> {
        self.claim.as_ref()
    }

    /// What its condition `EvictionPending` says, if it has one.
    pub fn pending(&self) -> Option<&PendingSaid> {
        self.pending.as_deref()
    }

    /// A binding with what verdicts ask for, and nothing else.
    pub fn judged(&self, key: &BindingKey) -> Binding {
        let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
        let target = |(name, replicas): &(Arc<str>, i32)| TargetCluster {
            name: name.to_string(),
            replicas: *replicas,
            ..TargetCluster::default()
        };
        let task = |from: &Arc<str>| GracefulEvictionTask {
            from_cluster: from.to_string(),
            ..GracefulEvictionTask::default()
        };
        let annotations = [(annotation::STAY, &self.stay), (annotation::HEALTH_CLOCK, &self.clock)];
        let annotations: BTreeMap<String, String> = annotations
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), text(value)?)))
            .collect();
        Binding {
            types: None,
            metadata: ObjectMeta {
                namespace: key.namespace.clone(),
                name: Some(key.name.clone()),
                uid: self.identity.uid().map(str::to_owned),
                resource_version: self.identity.version().map(str::to_owned),
                generation: self.generation,
                deletion_timestamp: self.deleted_at.clone(),
                annotations: Some(annotations).filter(|annotations| !annotations.is_empty()),
                ..ObjectMeta::default()
            },
            spec: ResourceBindingSpec {
                resource: ObjectReference {
                    api_version: self.template.api_version.to_string(),
                    kind: self.template.kind.to_string(),
                    namespace: self.template.namespace.as_deref().map(str::to_owned),
                    name: self.template.name.to_string(),
                    ..ObjectReference::default()
                },
                clusters: self.clusters.iter().map(target).collect(),
                graceful_eviction_tasks: self.tasks.iter().map(task).collect(),
                placement: (!self.rules.tolerations.is_empty()).then(|| Placement {
                    cluster_tolerations: self.rules.tolerations.clone(),
                    ..Placement::default()
                }),
                failover: self.rules.cluster_failover.clone().map(|cluster| FailoverBehavior {
                    cluster: Some(cluster),
                    application: None,
                }),
                schedule_priority: self.priority.map(|priority| SchedulePriority { priority }),
                ..ResourceBindingSpec::default()
            },
            status: None,
        }
    }
}

/// Whether a text of the annotation `failover.karmada.io/stay` may have items of drops.
pub(crate) fn may_have_drops(stay: &str) -> bool {
    stay.contains("droppedBy")
}

/// Makes kept parts, and keeps once what many of them have in common.
#[derive(Debug, Default)]
pub(crate) struct Keeper {
    texts: Mutex<Commons<str>>,
    targets: Mutex<Commons<Targets>>,
    rules: Mutex<Commons<Rules>>,
    claims: Mutex<Commons<Claim>>,
}

impl Keeper {
    /// The kept part.
    pub fn keep(&self, binding: Binding, identity: &Identity) -> JudgedPart {
        let pending = PendingSaid::of(&binding).map(Box::new);
        let owners = owner_labels(&binding);
        let of_stock = StocksTask::all_of(&binding);
        let claim = Claim::of(&binding.metadata).map(|claim| {
            let name = json!([claim.policy, claim.id, claim.failover]).to_string();
            self.claims.lock().get(&name, || Arc::new(claim))
        });
        let Binding { metadata, spec, .. } = binding;
        let mut texts = self.texts.lock();
        let mut common = |text: &str| texts.text(text);
        let targets = spec.clusters.iter();
        let clusters: Arc<Targets> = targets.map(|target| (common(&target.name), target.replicas)).collect();
        // With as many replicas everywhere, as Duplicated gives them, there are few such sets; of others many are the only
        // one.
        let clusters = if clusters.windows(2).all(|pair| pair[0].1 == pair[1].1) {
            let name = json!(
                clusters
                    .iter()
                    .map(|(name, replicas)| (&**name, replicas))
                    .collect::<Vec<_>>()
            );
            self.targets.lock().get(&name.to_string(), || clusters)
        } else {
            clusters
        };
        let tasks = spec.graceful_eviction_tasks.iter();
        let annotated = |name: &str| metadata.annotations.as_ref().and_then(|all| all.get(name));
        let stay = annotated(annotation::STAY);
        let clock = annotated(annotation::HEALTH_CLOCK).filter(|_| stay.is_some_and(|text| may_have_drops(text)));
        JudgedPart {
            identity: identity.clone(),
            generation: metadata.generation,
            deleted_at: metadata.deletion_timestamp,
            stay: stay.map(|text| text.as_str().into()),
            clock: clock.map(|text| text.as_str().into()),
            template: Template {
                api_version: common(&spec.resource.api_version),
                kind: common(&spec.resource.kind),
                namespace: spec.resource.namespace.as_deref().map(&mut common),
                name: spec.resource.name.into(),
            },
            priority: spec.schedule_priority.map(|priority| priority.priority),
            clusters,
            tasks: tasks.map(|task| common(&task.from_cluster)).collect(),
            of_stock,
            owners: owners.iter().map(|label| common(label)).collect(),
            rules: self.rules(
                spec.placement.map(|placement| placement.cluster_tolerations),
                spec.failover.and_then(|failover| failover.cluster),
            ),
            pending,
            claim,
        }
    }

    fn rules(
        &self,
        tolerations: Option<Vec<Toleration>>,
        cluster_failover: Option<ClusterFailoverBehavior>,
    ) -> Arc<Rules> {
        let rules = Rules {
            tolerations: tolerations.unwrap_or_default(),
            // How the state of the old copy is kept is the evictor's matter, which reads the binding anew.
            cluster_failover: cluster_failover.map(|cluster| ClusterFailoverBehavior {
                state_preservation: None,
                ..cluster
            }),
        };
        let name = json!([rules.tolerations, rules.cluster_failover]).to_string();
        self.rules.lock().get(&name, || Arc::new(rules))
    }
}

#[cfg(test)]
#[path = "judged_part_tests.rs"]
mod tests;
