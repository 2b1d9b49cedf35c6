//! `execution`: brings Works to members and takes away what deleted Works brought.
//!
//! Guarantees: a deleted Work waits for a member that is away, and is dealt with as soon as the member is Ready again,
//! before anything is applied there, unless the member does not answer; only objects that Karmada made are deleted; a member that hangs delays no other;
//! a Work whose member is gone for good is let go.

mod conditions;
pub mod index;
mod losses;
pub mod member;
mod member_writes;
pub mod memory;
mod object;
mod reconcile;
mod removal;
pub mod slow_lane;
mod unserved;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::names::{cluster_of_execution_namespace, execution_namespace};
use api_types::work::Work;
use controller_kit::{Change, Context, EventType, Next, ObjectKey, RequiredKind, Store, WorkQueue};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::core::DynamicObject;
use tokio::time::Instant;

use self::conditions::is_applied;
use self::index::WorkIndex;
use self::losses::Losses;
use self::member::Member;
use self::member_writes::MemberWrites;
use self::memory::Memory;
use self::reconcile::{MemberExecution, Told};
use self::slow_lane::SlowLane;
use self::unserved::Unserved;
use crate::MemberFlags;
use crate::binding::index::BY_NAMESPACE;
use crate::interpreter::{Interpreters, Interpreting};
use crate::kinds::Kind;
use crate::members::{Interests, Pool, Presence, Reach, Session, per_ready_member, presence, work_of};
use crate::objects::reference_of_cluster;

/// Runs the controller until shutdown.
///
/// # Errors
/// When the API server does not serve our kinds.
pub async fn run(
    ctx: Context,
    reach: Reach,
    flags: MemberFlags,
    pool: Arc<Pool>,
    rules: Interpreters,
) -> anyhow::Result<()> {
    ctx.require_kinds(&[RequiredKind::of::<Cluster>(), RequiredKind::of::<Work>()])
        .await?;
    let informer = reach.works(&ctx);
    let Ok(store) = informer.synced().await else {
        return Ok(());
    };
    let Ok(rules) = rules.of(&ctx).await else {
        return Ok(());
    };
    let index = WorkIndex::new(store.clone());
    index.dispatch(&ctx, informer.changes(), changes_objects);
    let told = Told::by(&reach);
    let timeout = flags.member_object_timeout;
    let members = per_ready_member(ctx.clone(), reach.clone(), "execution members", pool, timeout, {
        let index = index.clone();
        move |ctx, session| {
            on_member(
                ctx,
                session,
                index.clone(),
                told,
                rules.clone(),
                flags.concurrent_work_syncs,
            )
        }
    });
    match reach {
        Reach::PushMembers => {
            let (_, orphans) = futures::join!(members, release_works_of_gone_members(&ctx, &informer, &store));
            Ok(orphans?)
        }
        // Whether a member is gone for good is not for its own agent to say; the control plane lets go what it leaves.
        Reach::Own(_) => {
            let _ = members.await;
            Ok(())
        }
    }
}

/// Of a Work's status, our own word, only this matters: that Applied is taken back. We may have judged by a version from
/// before we said that, found that all was said already, and have to say it again.
fn changes_objects(change: &Change<Work>) -> bool {
    let parts = |work: &Option<Arc<Work>>| {
        work.as_ref().map(|work| {
            (
                work.metadata.generation,
                work.metadata.deletion_timestamp.clone(),
                work.metadata.uid.clone(),
            )
        })
    };
    let applied = |work: &Option<Arc<Work>>| work.as_ref().is_some_and(|work| is_applied(work));
    change.before.is_none()
        || parts(&change.before) != parts(&change.after)
        || (applied(&change.before) && !applied(&change.after))
}

/// Works on one member until its group is stopped: deletions first, then everything.
async fn on_member(
    ctx: Context,
    session: Arc<Session>,
    works: WorkIndex,
    told: Told,
    rules: Interpreting,
    concurrency: usize,
) {
    let cluster = session.cluster.clone();
    let queue: WorkQueue<ObjectKey> = WorkQueue::for_member("execution", cluster.as_str(), &ctx);
    let unserved = Arc::new(Unserved::default());
    let (defined, kinds) = (unserved.clone(), session.kinds.clone());
    let interests = Arc::new(Interests::new(
        &ctx,
        &session,
        &queue,
        Arc::new(move |kind: &Kind, change: &Change<DynamicObject>| {
            let mut works = defined.defined(kind, change, &kinds);
            works.extend(change.newest().and_then(|object| work_of(object)));
            works
        }),
    ));
    let _rules = interests.follow_rules(&rules);
    reconcile::describe(&ctx.metrics);
    let execution = Arc::new(MemberExecution {
        ctx: ctx.clone(),
        cluster: cluster.clone(),
        member: Member::new(&ctx, &session),
        session,
        works: works.clone(),
        interpreter: rules.interpreter(),
        told,
        memory: Memory::default(),
        losses: Losses::of(&ctx, &cluster),
        writes: MemberWrites::to(&ctx, &cluster),
        interests,
        unserved,
        slow: SlowLane::default(),
    });
    remove_first(&execution, concurrency).await;
    if ctx.shutdown.is_cancelled() {
        return;
    }
    let _served = works.serve(&cluster, &queue);
    queue
        .run(&ctx, concurrency, move |key| {
            let execution = execution.clone();
            async move { execution.sync(&key).await }
        })
        .await;
}

/// For how long deletions may keep the rest waiting while none comes to an end: as long as one request, and a moment to
/// note that it was not answered.
fn patience(session: &Session) -> Duration {
    session.request_timeout + Duration::from_secs(1)
}

/// Deals with the Works that are going while the member answers. What fails or hangs comes back through the queue: it
/// must not keep the rest for ever.
async fn remove_first(execution: &MemberExecution, concurrency: usize) {
    let going = execution.works.of(&execution.cluster).into_iter();
    let going = going.filter(|work| work.metadata.deletion_timestamp.is_some());
    let mut removals = futures::stream::iter(going)
        .map(|work| async move {
            let removed = execution.remove(&work).await;
            if let Err(error) = &removed {
                tracing::warn!(cluster = %execution.cluster, %error, "removing what a deleted Work brought failed");
            }
            // One that is left for later, behind others of a slow kind, is no sign that the member answers.
            matches!(removed, Ok(Next::Done))
        })
        .buffer_unordered(concurrency.max(1));
    let limit = patience(&execution.session);
    let mut until = Instant::now() + limit;
    loop {
        match tokio::time::timeout_at(until, removals.next()).await {
            Ok(Some(true)) => until = Instant::now() + limit,
            Ok(Some(false)) => {}
            Ok(None) => return,
            Err(_) => {
                tracing::warn!(cluster = %execution.cluster, "deletions are not answered: the rest goes on beside them");
                return;
            }
        }
    }
}

/// Lets go deleted Works whose member is given up, many at once.
async fn release_works_of_gone_members(
    ctx: &Context,
    informer: &controller_kit::Informer<Work>,
    works: &Store<Work>,
) -> Result<(), controller_kit::informer::Stopped> {
    const AT_ONCE: usize = 16;
    let clusters = ctx.informers.of::<Cluster>();
    let cluster_store = clusters.synced().await?;
    let queue: WorkQueue<ObjectKey> = WorkQueue::new("execution released", ctx);
    queue.follow(ctx, informer.changes(), |change| {
        let going = change
            .after
            .as_ref()
            .is_some_and(|work| work.metadata.deletion_timestamp.is_some());
        (going && changes_objects(change)).then(|| change.key.clone())
    });
    let of_cluster = works.clone();
    queue.follow(ctx, clusters.changes(), move |change| {
        let namespace = execution_namespace(&ClusterName::from(change.key.name.as_str()));
        let works = if may_be_given_up_now(change) {
            of_cluster.by_index(BY_NAMESPACE, &namespace)
        } else {
            Vec::new()
        };
        works
            .iter()
            .map(|work| ObjectKey::of(work.as_ref()))
            .collect::<Vec<_>>()
    });
    let namespaces = ctx.informers.of::<Namespace>();
    let of_namespace = works.clone();
    queue.follow(ctx, namespaces.changes(), move |change| {
        let going = change
            .after
            .as_ref()
            .is_some_and(|namespace| namespace.metadata.deletion_timestamp.is_some());
        let works = if going {
            of_namespace.by_index(BY_NAMESPACE, &change.key.name)
        } else {
            Vec::new()
        };
        works
            .iter()
            .map(|work| ObjectKey::of(work.as_ref()))
            .collect::<Vec<_>>()
    });
    let (worker, works) = (ctx.clone(), works.clone());
    queue
        .run(ctx, AT_ONCE, move |key| {
            let (ctx, works, clusters) = (worker.clone(), works.clone(), cluster_store.clone());
            async move { release_if_gone(&ctx, &works, &clusters, &key).await }
        })
        .await;
    Ok(())
}

/// Whether a Cluster has gone, or has come to be one that is deleted and does not answer: its namespace may have begun to go
/// while it still did, and then nothing else comes to ask.
fn may_be_given_up_now(change: &Change<Cluster>) -> bool {
    let is_lost = |cluster: &Option<Arc<Cluster>>| {
        let lost = |cluster: &Arc<Cluster>| cluster.is_being_deleted() && !cluster.is_ready();
        cluster.as_ref().is_some_and(lost)
    };
    change.after.is_none() || (is_lost(&change.after) && !is_lost(&change.before))
}

async fn release_if_gone(
    ctx: &Context,
    works: &Store<Work>,
    clusters: &Store<Cluster>,
    key: &ObjectKey,
) -> Result<Next, kube::Error> {
    let Some(work) = works.get(key) else {
        return Ok(Next::Done);
    };
    let cluster = key.namespace.as_deref().and_then(cluster_of_execution_namespace);
    let Some(cluster) = cluster.filter(|_| work.metadata.deletion_timestamp.is_some() && writer::is_ours(&work)) else {
        return Ok(Next::Done);
    };
    if presence(clusters, &cluster) == Presence::Ready {
        return Ok(Next::Done);
    }
    if !is_given_up(ctx, &cluster).await? {
        // Asked of the API server itself, for what an old list does not show may still run there: if the store said
        // that the Cluster is gone, one of the two is about to change.
        let again = presence(clusters, &cluster) == Presence::Gone;
        return Ok(if again {
            Next::After(Duration::from_secs(1))
        } else {
            Next::Done
        });
    }
    writer::release(ctx, &work).await?;
    tracing::info!(%cluster, work = %key, "the Work is let go: its cluster is given up");
    tell_released(ctx, &cluster);
    Ok(Next::Done)
}

/// One event for the Cluster, however many Works it had: a Work's own could not be kept in a namespace that goes.
fn tell_released(ctx: &Context, cluster: &ClusterName) {
    let note = "Works are let go without a word from the member, which is given up; what they brought stays there";
    let about = reference_of_cluster(cluster);
    ctx.events.publish(&about, EventType::Warning, "WorksReleased", note);
}

/// Whether nothing will come back from this member: its Cluster is gone; or it is being deleted, does not answer, and
/// its execution namespace goes too, which is the last step of a deletion.
async fn is_given_up(ctx: &Context, cluster: &ClusterName) -> Result<bool, kube::Error> {
    let clusters: kube::Api<Cluster> = kube::Api::all(ctx.client.clone());
    let Some(object) = clusters.get_opt(cluster.as_str()).await? else {
        return Ok(true);
    };
    if !object.is_being_deleted() || object.is_ready() {
        return Ok(false);
    }
    let namespaces: kube::Api<Namespace> = kube::Api::all(ctx.client.clone());
    let namespace = namespaces.get_opt(&execution_namespace(cluster)).await?;
    Ok(namespace.is_none_or(|namespace| namespace.metadata.deletion_timestamp.is_some()))
}
