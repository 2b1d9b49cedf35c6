//! Controller `clusterStatus`: probes members and writes what it sees.
//!
//! Guarantees: each member has its own task, so that one that hangs never delays another; looks keep to their period
//! and never follow each other without a pause ([`pace`]); the condition follows what is seen by the thresholds alone,
//! whatever went wrong; the status is written only when it changes, and only the parts that are ours; whoever is not
//! looked at for too long is named on our Lease ([`overdue`]).
//!
//! In the control plane it probes the Push members; in an agent the one member that the agent lives in, and renews
//! that Cluster's [`lease`].

mod collect;
mod credentials;
mod flags;
mod lease;
mod overdue;
mod pace;
mod probe;
mod report;
mod reporter;
mod subject;

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use controller_kit::informer::Stopped;
use controller_kit::tasks::TaskGuard;
use controller_kit::{Context, Informer, ObjectKey, RequiredKind, Store};
use tracing::debug;

use crate::flags::Flags;
use crate::metrics::{self, Timings};
use overdue::Overdue;
use reporter::Reporter;

pub(crate) use collect::quantity_as_number;
pub use flags::StatusFlags;
pub use lease::LeaseFlags;
pub(crate) use subject::Subject;

/// Reports on the Push members until shutdown.
pub(crate) async fn run(ctx: Context, flags: Flags) -> anyhow::Result<()> {
    ctx.require_kinds(&[RequiredKind::of::<Cluster>()]).await?;
    let subject = Subject::PushMembers;
    let clusters = subject.clusters(&ctx);
    let Ok(store) = clusters.synced().await else {
        return Ok(());
    };
    let overdue = Arc::new(Overdue::new(flags.cluster_monitor_grace_period));
    let (saying, say_ctx) = (Arc::clone(&overdue), ctx.clone());
    ctx.tasks
        .spawn("members not probed in time", async move { saying.run(&say_ctx).await });
    report_on(&ctx, subject, &flags.status, &clusters, store, overdue).await;
    Ok(())
}

/// Reports on one Pull member from within, until shutdown: its Cluster's status, and its Lease, which says that
/// somebody reports.
///
/// # Errors
/// When the control plane does not serve our kinds.
pub async fn report_on_own(
    ctx: Context,
    cluster: ClusterName,
    status: StatusFlags,
    lease: LeaseFlags,
) -> anyhow::Result<()> {
    ctx.require_kinds(&[RequiredKind::of::<Cluster>()]).await?;
    let subject = Subject::Own(cluster.clone());
    let clusters = subject.clusters(&ctx);
    let store = match clusters.synced().await {
        Ok(store) => store,
        Err(Stopped) => return Ok(()),
    };
    // As long as a renewal is good for: who renews without looking must not be believed for longer.
    let overdue = Arc::new(Overdue::new(lease.duration()));
    let keeper = lease::Keeper::new(&ctx, &cluster, &lease, store.clone(), Arc::clone(&overdue));
    ctx.tasks.spawn("the member's lease", keeper.run());
    report_on(&ctx, subject, &status, &clusters, store, overdue).await;
    Ok(())
}

/// Runs a reporter for each Cluster of the subject, until shutdown.
async fn report_on(
    ctx: &Context,
    subject: Subject,
    flags: &StatusFlags,
    clusters: &Informer<Cluster>,
    store: Store<Cluster>,
    overdue: Arc<Overdue>,
) {
    let timings = metrics::publish(ctx, &store, &subject);
    let office = Office {
        ctx: ctx.clone(),
        subject,
        flags: flags.clone(),
        store,
        timings,
        overdue,
    };
    let mut changes = clusters.changes();
    let mut reporters: BTreeMap<ObjectKey, (Option<String>, TaskGuard)> = BTreeMap::new();
    loop {
        let change = tokio::select! {
            biased;
            () = ctx.shutdown.cancelled() => break,
            change = changes.recv() => change,
        };
        let Some(change) = change else { break };
        match change.after.filter(|cluster| office.subject.includes(cluster)) {
            Some(cluster) => {
                let uid = cluster.metadata.uid.clone();
                if reporters.get(&change.key).is_some_and(|(known, _)| *known == uid) {
                    continue;
                }
                debug!(cluster = %change.key, "probing begins");
                office.forget(&change.key.name);
                office.overdue.begin(&change.key.name);
                let reporter = Reporter::new(&office, change.key.clone());
                let task = ctx
                    .tasks
                    .spawn(format!("cluster status of {}", change.key), reporter.run());
                reporters.insert(change.key, (uid, task.abort_on_drop()));
            }
            None => {
                if reporters.remove(&change.key).is_some() {
                    debug!(cluster = %change.key, "probing ends");
                    office.forget(&change.key.name);
                }
            }
        }
    }
}

/// What all reporters of a process share.
struct Office {
    ctx: Context,
    subject: Subject,
    flags: StatusFlags,
    store: Store<Cluster>,
    timings: Arc<Timings>,
    overdue: Arc<Overdue>,
}

impl Office {
    /// Nothing is left of a member that is no longer reported on; one that comes again begins anew.
    fn forget(&self, member: &str) {
        self.overdue.end(member);
        self.timings.forget(member);
        self.ctx.forget_member(member);
    }
}
