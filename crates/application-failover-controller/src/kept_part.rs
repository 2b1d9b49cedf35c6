//! What is kept of a binding. Most bindings ask for no failover of their application: of those only identity and version
//! are kept, by which the queue's questions are answered.
//!
//! Guarantees: [`failover_core::application`] says of the kept part what it says of the whole; and an annotation that is
//! written on the version of the kept part leaves the others as they are. For anything else a binding is read anew.

use std::collections::BTreeMap;

use api_types::BindingKey;
use api_types::names::annotation::{HEALTH_CLOCK, STAY};
use api_types::policy::{ApplicationFailoverBehavior, FailoverBehavior};
use api_types::work::{
    AggregatedStatusItem, Binding, BindingKind, GracefulEvictionTask, ObjectReference, ResourceBindingSpec,
    ResourceBindingStatus, TargetCluster,
};
use controller_kit::{Context, Informer, Scope};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

/// The kept part of a binding, whose name the informer keeps.
#[derive(Debug)]
pub(crate) enum KeptPart {
    /// It asks for no failover of its application.
    Plain {
        uid: Option<Box<str>>,
        version: Option<Box<str>>,
    },
    /// It asks for it, or has a clock from the time when it did.
    Watched(Box<Binding>),
}

/// The informers that keep this part of both kinds of binding.
pub(crate) fn informers(ctx: &Context) -> [Informer<KeptPart>; 2] {
    BindingKind::ALL.map(|kind| ctx.informers.keeping(Scope::all(), &kind, KeptPart::of))
}

impl KeptPart {
    /// The kept part.
    pub(crate) fn of(binding: Binding) -> Self {
        let asks = binding.spec.failover.as_ref().is_some_and(|f| f.application.is_some());
        let has = |name: &str| {
            let annotations = binding.metadata.annotations.as_ref();
            annotations.is_some_and(|all| all.contains_key(name))
        };
        if asks || has(HEALTH_CLOCK) {
            return Self::Watched(Box::new(watched(binding)));
        }
        Self::Plain {
            uid: binding.metadata.uid.map(Into::into),
            version: binding.metadata.resource_version.map(Into::into),
        }
    }

    /// The binding, if its application is watched.
    pub(crate) fn watched(&self) -> Option<&Binding> {
        match self {
            Self::Plain { .. } => None,
            Self::Watched(binding) => Some(binding),
        }
    }

    /// A binding that has what verdicts ask for.
    pub(crate) fn judged(&self, key: &BindingKey) -> Binding {
        let (uid, version) = match self {
            Self::Watched(binding) => return (**binding).clone(),
            Self::Plain { uid, version } => (uid, version),
        };
        let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
        Binding {
            types: None,
            metadata: ObjectMeta {
                namespace: key.namespace.clone(),
                name: Some(key.name.clone()),
                uid: text(uid),
                resource_version: text(version),
                ..ObjectMeta::default()
            },
            spec: ResourceBindingSpec::default(),
            status: None,
        }
    }

    /// The clusters that a watched binding is on.
    pub(crate) fn clusters(&self) -> Vec<String> {
        let targets = self.watched().into_iter().flat_map(|binding| &binding.spec.clusters);
        targets.map(|target| target.name.clone()).collect()
    }
}

fn watched(binding: Binding) -> Binding {
    let Binding {
        metadata, spec, status, ..
    } = binding;
    Binding {
        types: None,
        metadata: ObjectMeta {
            namespace: metadata.namespace,
            name: metadata.name,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            generation: metadata.generation,
            creation_timestamp: metadata.creation_timestamp,
            deletion_timestamp: metadata.deletion_timestamp,
            annotations: metadata.annotations.map(ours),
            ..ObjectMeta::default()
        },
        spec: ResourceBindingSpec {
            resource: ObjectReference {
                api_version: spec.resource.api_version,
                kind: spec.resource.kind,
                namespace: spec.resource.namespace,
                name: spec.resource.name,
                uid: spec.resource.uid,
                ..ObjectReference::default()
            },
            clusters: spec.clusters.into_iter().map(target).collect(),
            graceful_eviction_tasks: spec.graceful_eviction_tasks.into_iter().map(task).collect(),
            failover: spec.failover.map(|failover| FailoverBehavior {
                application: failover.application.map(behavior),
                cluster: None,
            }),
            schedule_priority: spec.schedule_priority,
            ..ResourceBindingSpec::default()
        },
        status: status.map(|status| ResourceBindingStatus {
            aggregated_status: status.aggregated_status.into_iter().map(item).collect(),
            ..ResourceBindingStatus::default()
        }),
    }
}

/// An empty map stays one: who writes the first annotation of an object writes all of them.
fn ours(mut annotations: BTreeMap<String, String>) -> BTreeMap<String, String> {
    annotations.retain(|name, _| name == STAY || name == HEALTH_CLOCK);
    annotations
}

fn target(target: TargetCluster) -> TargetCluster {
    TargetCluster {
        name: target.name,
        replicas: target.replicas,
        ..TargetCluster::default()
    }
}

fn task(task: GracefulEvictionTask) -> GracefulEvictionTask {
    GracefulEvictionTask {
        from_cluster: task.from_cluster,
        ..GracefulEvictionTask::default()
    }
}

/// How the state of the old copy is kept is the evictor's matter, which reads the binding anew.
fn behavior(behavior: ApplicationFailoverBehavior) -> ApplicationFailoverBehavior {
    ApplicationFailoverBehavior {
        state_preservation: None,
        ..behavior
    }
}

/// Of what a copy reports only that it does.
fn item(item: AggregatedStatusItem) -> AggregatedStatusItem {
    AggregatedStatusItem {
        status: item.status.map(|_| Value::Null),
        applied_message: None,
        ..item
    }
}

#[cfg(test)]
#[path = "kept_part_tests.rs"]
mod tests;
