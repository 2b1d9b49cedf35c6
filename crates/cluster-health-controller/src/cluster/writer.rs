//! Carries out the steps of the controller `cluster`: the only place that writes.

use std::sync::Arc;

use api_types::cluster::{Cluster, condition};
use api_types::conditions::{self, Say};
use api_types::names::{execution_namespace, finalizer, label};
use controller_kit::informer::Stopped;
use controller_kit::{Context, EventType, Next, ObjectKey, WorkQueue, api_errors};
use failover_core::cluster_health::{transition, words};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::index::Index;
use super::reconcile::{Step, blocked_message, has_finalizer, of_deleted, of_living};
use crate::conditional::{self, Half, Outcome};

/// Looks at one Cluster and does what is next.
pub(super) async fn bring_about(
    ctx: &Context,
    index: &Index,
    queue: &WorkQueue<ObjectKey>,
    key: &ObjectKey,
) -> Result<Next, kube::Error> {
    let Some(cluster) = index.clusters.get(key) else {
        index.said.forget(key);
        return Ok(Next::Done);
    };
    let name = cluster.cluster_name();
    let namespace = index.namespace(&name);
    let step = if !cluster.is_being_deleted() {
        of_living(&cluster, namespace)
    } else if has_finalizer(&cluster) {
        match index.bindings_naming(ctx, queue, &name).await {
            Ok(bindings) => of_deleted(&cluster, namespace, bindings),
            // The process ends: whoever comes next looks again.
            Err(Stopped) => return Ok(Next::Done),
        }
    } else {
        Step::Nothing
    };
    match step {
        // Each write changes an object that we follow, which brings the Cluster back for its next step.
        Step::Nothing | Step::AwaitNamespace => {}
        Step::SayNeverObserved => say_never_observed(ctx, cluster).await?,
        Step::AddFinalizer => {
            conditional::patch(ctx, cluster, Half::Main, add_finalizer).await?;
        }
        Step::CreateNamespace => create_namespace(ctx, &cluster).await?,
        Step::LabelNamespace => label_namespace(ctx, &cluster).await?,
        Step::SayBlocked { bindings } => {
            if let Some(wait) = index.said.wait(key) {
                return Ok(Next::After(wait));
            }
            say_blocked(ctx, cluster, bindings).await?;
            index.said.note(key);
        }
        Step::DeleteNamespace => delete_namespace(ctx, &cluster).await?,
        Step::RemoveFinalizer => {
            conditional::patch(ctx, cluster, Half::Main, remove_finalizer).await?;
        }
    }
    Ok(Next::Done)
}

async fn say_never_observed(ctx: &Context, cluster: Arc<Cluster>) -> Result<(), kube::Error> {
    let now = ctx.clock.now();
    let say = Say {
        type_: condition::READY,
        status: "Unknown",
        reason: words::NEVER_UPDATED,
        message: words::NEVER_UPDATED_MESSAGE,
    };
    let written = conditional::patch(ctx, cluster, Half::Status, |current| {
        match current.condition(condition::READY) {
            Some(_) => Vec::new(),
            None => condition_operations(current, say, now),
        }
    })
    .await?;
    if let (Outcome::Written { before }, Some(settled)) = (written, transition(None, say.status)) {
        // Nothing is wrong with a Cluster that has just been made.
        let note = "Ready is Unknown: nobody has looked at the member yet";
        ctx.events
            .publish_for(before.as_ref(), EventType::Normal, settled.event_reason, note);
    }
    Ok(())
}

async fn say_blocked(ctx: &Context, cluster: Arc<Cluster>, bindings: usize) -> Result<(), kube::Error> {
    let (now, message) = (ctx.clock.now(), blocked_message(bindings));
    let say = Say {
        type_: condition::DELETION_BLOCKED,
        status: "True",
        reason: "NamedByBindings",
        message: &message,
    };
    conditional::patch(ctx, cluster, Half::Status, |current| {
        condition_operations(current, say, now)
    })
    .await?;
    Ok(())
}

fn condition_operations(cluster: &Cluster, say: Say<'_>, now: jiff::Timestamp) -> Vec<Value> {
    let mut all = cluster
        .status
        .as_ref()
        .map(|status| status.conditions.clone())
        .unwrap_or_default();
    if !conditions::set(&mut all, say, None, now) {
        return Vec::new();
    }
    let mut operations = Vec::new();
    if cluster.status.is_none() {
        operations.push(json!({"op": "add", "path": "/status", "value": {}}));
    }
    operations.push(json!({"op": "add", "path": "/status/conditions", "value": all}));
    operations
}

fn add_finalizer(cluster: &Cluster) -> Vec<Value> {
    // A Cluster that is being deleted takes no new finalizers.
    if has_finalizer(cluster) || cluster.is_being_deleted() {
        return Vec::new();
    }
    match cluster.metadata.finalizers {
        None => vec![json!({"op": "add", "path": "/metadata/finalizers", "value": [finalizer::CLUSTER]})],
        Some(_) => vec![json!({"op": "add", "path": "/metadata/finalizers/-", "value": finalizer::CLUSTER})],
    }
}

fn remove_finalizer(cluster: &Cluster) -> Vec<Value> {
    let position = cluster
        .metadata
        .finalizers
        .iter()
        .flatten()
        .position(|name| name == finalizer::CLUSTER);
    match position {
        Some(index) if cluster.is_being_deleted() => {
            vec![json!({"op": "remove", "path": format!("/metadata/finalizers/{index}")})]
        }
        _ => Vec::new(),
    }
}

async fn create_namespace(ctx: &Context, cluster: &Cluster) -> Result<(), kube::Error> {
    let name = execution_namespace(&cluster.cluster_name());
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(name.clone());
    namespace.metadata.labels = Some([(label::SYSTEM.to_owned(), "true".to_owned())].into());
    match Api::<Namespace>::all(ctx.client.clone())
        .create(&PostParams::default(), &namespace)
        .await
    {
        Ok(_) => {
            let note = format!("Created execution space({name}) for the cluster");
            ctx.events
                .publish_for(cluster, EventType::Normal, "CreateExecutionSpaceSucceed", note);
            Ok(())
        }
        // Our own, which the informer has not shown yet.
        Err(error) if api_errors::is_already_exists(&error) => Ok(()),
        Err(error) => {
            let note = format!("execution space({name}): {}", api_errors::one_line(&error));
            ctx.events
                .publish_for(cluster, EventType::Warning, "CreateExecutionSpaceFailed", note);
            Err(error)
        }
    }
}

async fn label_namespace(ctx: &Context, cluster: &Cluster) -> Result<(), kube::Error> {
    let name = execution_namespace(&cluster.cluster_name());
    let patch = Patch::Merge(json!({"metadata": {"labels": {label::SYSTEM: "true"}}}));
    Api::<Namespace>::all(ctx.client.clone())
        .patch(&name, &PatchParams::default(), &patch)
        .await
        .map(|_| ())
}

async fn delete_namespace(ctx: &Context, cluster: &Cluster) -> Result<(), kube::Error> {
    let name = execution_namespace(&cluster.cluster_name());
    match Api::<Namespace>::all(ctx.client.clone())
        .delete(&name, &DeleteParams::default())
        .await
    {
        Ok(_) => {
            let note = format!("Removed execution space({name}) of the cluster");
            ctx.events
                .publish_for(cluster, EventType::Normal, "RemoveExecutionSpaceSucceed", note);
            Ok(())
        }
        Err(error) if api_errors::is_not_found(&error) || api_errors::is_conflict(&error) => Ok(()),
        Err(error) => {
            let note = format!("execution space({name}): {}", api_errors::one_line(&error));
            ctx.events
                .publish_for(cluster, EventType::Warning, "RemoveExecutionSpaceFailed", note);
            Err(error)
        }
    }
}
