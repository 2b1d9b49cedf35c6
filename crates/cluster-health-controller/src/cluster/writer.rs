//! Carries out the steps of the controller `cluster`: the only place that writes.

use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::{Cluster, condition};
use api_types::conditions::{self, Say};
use api_types::names::{execution_namespace, finalizer, label};
use controller_kit::informer::Stopped;
use controller_kit::{Context, EventType, Next, ObjectKey, WorkQueue, api_errors};
use failover_core::cluster_health::deletion::{Ended, Patience, patience, waits_since};
use failover_core::cluster_health::{transition, words};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::index::Index;
use super::reconcile::{Step, has_finalizer, of_deleted, of_living};
use super::{blocked, mark};
use crate::conditional::{self, Half, Outcome};

/// Looks at one Cluster and does what is next.
pub(super) async fn bring_about(
    ctx: &Context,
    index: &Index,
    queue: &WorkQueue<ObjectKey>,
    key: &ObjectKey,
    deletion_timeout: Duration,
) -> Result<Next, kube::Error> {
    let Some(cluster) = index.clusters.get(key) else {
        index.forget(key);
        return Ok(Next::Done);
    };
    // Also while it is being deleted: whether the member answers decides how that ends.
    let health = mark::health(ctx, index, key, &cluster).await;
    if let Ok(mark::Wrote::Something) = health {
        return Ok(Next::Done);
    }
    let next = structure(ctx, index, queue, key, cluster, deletion_timeout).await?;
    // What could not be said must not keep the rest from being done, and is tried again.
    health.map(|_| next)
}

/// What a Cluster has and how it ends.
async fn structure(
    ctx: &Context,
    index: &Index,
    queue: &WorkQueue<ObjectKey>,
    key: &ObjectKey,
    cluster: Arc<Cluster>,
    deletion_timeout: Duration,
) -> Result<Next, kube::Error> {
    let name = cluster.cluster_name();
    let namespace = index.namespace(&name);
    let mut waits = Patience::For(None);
    let mut bindings = Vec::new();
    let step = if !cluster.is_being_deleted() {
        of_living(&cluster, namespace)
    } else if has_finalizer(&cluster) {
        bindings = match index.bindings_naming(ctx, queue, &name).await {
            Ok(bindings) => bindings,
            // The process ends: whoever comes next looks again.
            Err(Stopped) => return Ok(Next::Done),
        };
        let waited = index.waits.waited(key, waits_since(&cluster), ctx.clock.now());
        waits = patience(&cluster, deletion_timeout, waited);
        of_deleted(&cluster, namespace, bindings.len(), waits)
    } else {
        Step::Nothing
    };
    match step {
        // Each write changes an object that we follow, which brings the Cluster back for its next step.
        Step::Nothing => {}
        Step::AwaitNamespace => {
            return blocked::say_namespace(ctx, index, key, cluster, deletion_timeout, waits).await;
        }
        Step::SayNeverObserved => say_never_observed(ctx, cluster).await?,
        Step::AddFinalizer => {
            conditional::patch(ctx, cluster, Half::Main, add_finalizer).await?;
        }
        Step::CreateNamespace => create_namespace(ctx, &cluster).await?,
        Step::LabelNamespace => label_namespace(ctx, &cluster).await?,
        Step::SayBlocked => {
            return blocked::say_bindings(ctx, index, key, cluster, &bindings, deletion_timeout, waits).await;
        }
        Step::DeleteNamespace { ended } => {
            if let Some(ended) = ended {
                tell_ended(ctx, &cluster, ended, bindings.len());
            }
            delete_namespace(ctx, &cluster).await?;
        }
        Step::RemoveFinalizer => {
            conditional::patch(ctx, cluster, Half::Main, remove_finalizer).await?;
        }
    }
    Ok(Next::Done)
}

/// A deletion that does not wait for the bindings leaves something behind, on a member perhaps; it is told.
fn tell_ended(ctx: &Context, cluster: &Cluster, ended: Ended, bindings: usize) {
    let why = match ended {
        Ended::ByForce => "its annotation force-delete says so",
        Ended::ByTimeout => "--cluster-deletion-timeout has passed and the member is not Ready",
    };
    let note = format!(
        "deleted although {bindings} binding(s) name it: {why}; what runs in the member is not removed from there"
    );
    ctx.events
        .publish_for(cluster, EventType::Warning, "DeletionNotAwaited", note);
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
            None => condition_operations(current, &[say], now),
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

/// Operations that make the conditions say this; none when they do.
pub(super) fn condition_operations(cluster: &Cluster, all: &[Say<'_>], now: jiff::Timestamp) -> Vec<Value> {
    let before = cluster.status.as_ref().map(|status| status.conditions.clone());
    let mut after = before.clone().unwrap_or_default();
    let mut changed = false;
    for say in all {
        changed |= conditions::set(&mut after, *say, None, now);
    }
    if !changed {
        return Vec::new();
    }
    let mut operations = Vec::new();
    if before.is_none() {
        operations.push(json!({"op": "add", "path": "/status", "value": {}}));
    }
    operations.push(json!({"op": "add", "path": "/status/conditions", "value": after}));
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
