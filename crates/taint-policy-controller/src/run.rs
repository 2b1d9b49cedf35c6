//! Wiring of the controller `clusterTaintPolicy`.
//!
//! Guarantees: every change of a Cluster, and every change of a policy's spec, brings a look at the Clusters that it
//! can matter to; windows wake exactly when they end; nothing is decided before Clusters and policies are known.

use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::Cluster;
use api_types::second_home::{self, Unreadable};
use api_types::taint_policy::ClusterTaintPolicy;
use controller_kit::backoff::Backoff;
use controller_kit::informer::Stopped;
use controller_kit::second_owners::SecondOwners;
use controller_kit::{Change, Context, Gate, ObjectKey, RequiredKind, WorkQueue, complaints};
use failover_core::second_owner::{self, Job};
use failover_core::taint_policy::{Companion, FailoverGate};
use kube::Resource;

use crate::flags::Flags;
use crate::index::Index;
use crate::metrics;
use crate::policy_status::PolicyStatus;
use crate::reconcile::Reconciler;
use crate::steady::SteadyClock;
use crate::writer::EffectRefused;

/// A window that is due must not wait long for an API server that has come back.
const BACKOFF: Backoff = Backoff {
    base: Duration::from_millis(100),
    max: Duration::from_secs(10),
};

/// A policy's status sums up all Clusters: changes of many at once are one write.
const STATUS_AFTER: Duration = Duration::from_millis(200);

pub(crate) async fn run(ctx: Context, flags: Flags, companion: Companion) -> anyhow::Result<()> {
    ctx.require_kinds(&[RequiredKind::of::<Cluster>(), RequiredKind::of::<ClusterTaintPolicy>()])
        .await?;
    let (clusters, policies) = (ctx.informers.of::<Cluster>(), ctx.informers.of::<ClusterTaintPolicy>());
    let index = match (clusters.synced().await, policies.synced().await) {
        (Ok(clusters), Ok(policies)) => Index::new(clusters, policies),
        (Err(Stopped), _) | (_, Err(Stopped)) => return Ok(()),
    };
    complaints::tell(
        &ctx,
        clusters.changes(),
        Unreadable::EVENT,
        |cluster: &Cluster| second_home::cluster::complaint(cluster).map(|unreadable| unreadable.to_string()),
        |cluster: &Cluster| cluster.object_ref(&()),
    );
    complaints::tell(
        &ctx,
        policies.changes(),
        Unreadable::EVENT,
        |policy: &ClusterTaintPolicy| {
            second_home::taint_policy::complaint(policy).map(|unreadable| unreadable.to_string())
        },
        |policy: &ClusterTaintPolicy| policy.object_ref(&()),
    );
    let gate = if ctx.gates.enabled(Gate::Failover) {
        FailoverGate::Enabled
    } else {
        FailoverGate::Disabled
    };
    let others = second_owners(&ctx);
    let clock = SteadyClock::starting_now(&ctx.clock);
    metrics::publish(&ctx, &index);

    let looks: WorkQueue<ObjectKey> = WorkQueue::with_backoff("clusterTaintPolicy", &ctx, BACKOFF);
    looks.follow(&ctx, clusters.changes(), |change| [change.key.clone()]);
    let all = index.clone();
    looks.follow(&ctx, policies.changes(), move |change: &Change<ClusterTaintPolicy>| {
        if says_the_same(change) {
            Vec::new()
        } else {
            all.clusters.keys()
        }
    });

    // Windows are stored by the wall clock: once it is set, they are to be stored again.
    let (again, all) = (looks.clone(), index.clone());
    let look_at_all = move || all.clusters.keys().into_iter().for_each(|key| again.add(key));
    let (shutdown, watch) = (
        ctx.shutdown.clone(),
        clock.clone().watch(ctx.clock.clone(), look_at_all),
    );
    ctx.tasks.spawn("wall clock", async move {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => {}
            () = watch => {}
        }
    });

    let statuses: WorkQueue<ObjectKey> = WorkQueue::new("clusterTaintPolicyStatus", &ctx);
    statuses.follow(&ctx, policies.changes(), |change| {
        change.after.as_ref().map(|_| change.key.clone())
    });

    let status = Arc::new(PolicyStatus::new(&ctx, &index, gate));
    let reconciler = Arc::new(Reconciler {
        ctx: ctx.clone(),
        index,
        gate,
        companion,
        clock,
        effect_refused: EffectRefused::default(),
        others,
    });
    let due = statuses.clone();
    let looking = looks.run(&ctx, flags.concurrent_cluster_taint_policy_syncs.max(1), move |key| {
        let (reconciler, due) = (Arc::clone(&reconciler), due.clone());
        async move {
            let tell = |policy: String| due.add_after(ObjectKey::cluster_scoped(policy), STATUS_AFTER);
            reconciler.look_at(&key, tell).await
        }
    });
    let telling = statuses.run(&ctx, 1, move |key| {
        let status = Arc::clone(&status);
        async move { status.bring_up_to_date(&key).await }
    });
    futures::future::join(looking, telling).await;
    Ok(())
}

/// Stock's engine for these policies, which should be off, shows in its Events.
fn second_owners(ctx: &Context) -> SecondOwners {
    let job = Job::ClusterTaintPolicy;
    let others = SecondOwners::watched(ctx, &[job.name()]);
    for source in job.sources() {
        let words = move |sign: &str| second_owner::in_words(job, sign);
        others.follow_events(ctx, job.name(), source, second_owner::is_stocks_event, words);
    }
    others
}

/// Whether a change of a policy, such as our own write of its status, leaves its meaning as it was.
fn says_the_same(change: &Change<ClusterTaintPolicy>) -> bool {
    match (&change.before, &change.after) {
        (Some(before), Some(after)) => before.spec == after.spec && before.metadata.uid == after.metadata.uid,
        _ => false,
    }
}
