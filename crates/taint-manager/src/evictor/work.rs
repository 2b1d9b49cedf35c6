//! One lease from its grant to its completion.
//!
//! Guarantee: right before the write the Cluster and the binding were read live and judged, with nothing waited for in
//! between; before those reads, and a few seconds ago at most, the queue had confirmed the lease and led; and the lease is
//! in force by this process's own clock, and was not revoked, when the write is sent. What is attached to the binding, read
//! live before the two, has its mirror tasks by then.
//! A conflict, and a mirror that was written, go back to the beginning.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::{Binding, GracefulEvictionTask};
use controller_kit::{Context, Store, api_errors};
use failover_core::eviction::queue::{Completion, OutcomeKind};
use failover_core::eviction::recheck::Live;
use failover_core::eviction::{CauseKind, Switches};
use failover_core::graceful::mirrors::{RELIED_ON_FOR, needed};
use failover_core::graceful::task::of_eviction;
use failover_core::taint_policy::{Recovering, TaintId, recovering};
use kube::Api;
use scheduler_filters::{Fleet, PreEvictionCheck, Schedulers};
use tokio::time::Instant;

use super::attached::Attached;
use super::fence::Fence;
use super::judge::{Basis, Decision, Eviction, judge};
use super::lease::{Lease, Over, Term};
use super::others::Others;
use super::plan;
use super::reads::SharedReads;
use super::writer::{Writer, Written};

/// Tries against bindings that others write at the same time, before the lease goes back.
const TRIES: usize = 5;

/// So long after the queue was seen to lead, what was read since is looked at again rather than written upon: a successor
/// releases nothing for its `--leader-grace` (10 s), but it hears of pauses and recoveries that the old term knew nothing of.
const LOOK_COUNTS_FOR: Duration = Duration::from_secs(5);

/// What every worker needs.
pub(crate) struct Bench {
    pub ctx: Context,
    pub clusters: Store<Cluster>,
    pub policies: Store<ClusterTaintPolicy>,
    pub attached: Attached,
    pub others: Others,
    pub schedulers: Schedulers,
    pub switches: Switches,
    pub check: PreEvictionCheck,
    pub state_wait: Duration,
    pub fence: Fence,
    pub writer: Writer,
    pub reads: SharedReads<Option<Arc<Cluster>>>,
}

/// What is to be said to the queue. A lease of which nobody knows what happened lapses.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Done {
    /// It ends like this.
    Complete(Completion),
    /// Nothing can be said.
    Lapses(String),
}

impl Done {
    fn as_so(outcome: OutcomeKind, reason: &str, message: String) -> Self {
        Self::Complete(Completion {
            outcome,
            reason: reason.to_owned(),
            message,
        })
    }

    fn failed(reason: &str, message: String) -> Self {
        Self::as_so(OutcomeKind::Failed, reason, message)
    }
}

/// Why a lease has to be worked on from the beginning.
enum Again {
    /// Something changed meanwhile.
    Changed,
    /// The server could not write, and nothing is written.
    Failed(String),
    /// What was read came too late to be written upon.
    Slow,
}

/// The mirrors of what is attached.
enum Mirrors {
    /// Every one that is needed.
    AreThere,
    /// They are now, or nearly: look again.
    Changed,
}

fn lease_over(over: &Over) -> Done {
    Done::failed("LeaseOver", over.to_string())
}

impl Bench {
    /// Works on a lease.
    pub async fn work(&self, lease: &Lease, term: &mut Term) -> Done {
        let (mut failed, mut slow) = (false, false);
        for _ in 0..TRIES {
            match self.attempt(lease, term).await {
                Ok(done) => return done,
                Err(Again::Changed) => {}
                // A lease has not the time for five slow reads.
                Err(Again::Slow) if slow => {
                    let most = LOOK_COUNTS_FOR.as_secs();
                    let why = format!("the API server took longer than {most} s to say how things stand, twice");
                    return Done::failed("ReadsSlow", why);
                }
                Err(Again::Slow) => slow = true,
                // A server that is unwell is asked twice; then the queue's back-off is kinder to it.
                Err(Again::Failed(why)) if failed => return Done::failed("WriteFailed", why),
                Err(Again::Failed(_)) => failed = true,
            }
        }
        Done::failed(
            "Conflict",
            format!("others changed the binding, or what is attached to it, {TRIES} times meanwhile"),
        )
    }

    /// One try; nothing comes of it when somebody else wrote the binding meanwhile, or mirrors had to be written first.
    async fn attempt(&self, lease: &Lease, term: &mut Term) -> Result<Done, Again> {
        let key = &lease.entry.key;
        if let Err(over) = term.usable_until().await {
            return Ok(lease_over(&over));
        }
        // Before what is judged, so that nothing is waited for between that and the write.
        if key.cause.kind() == CauseKind::Application {
            self.writer.find_history_home(&key.binding, self.ctx.clock.now()).await;
        }
        let attached = match self.attached.read(&key.binding).await {
            Ok(attached) => attached,
            Err(why) => return Ok(Done::failed("ReadFailed", why)),
        };
        let led_at = match self.fence.check(&lease.queue_epoch).await {
            Ok(led_at) => led_at,
            Err(fenced) => return Ok(Done::failed("Fenced", fenced.to_string())),
        };
        let api = binding_writer::api(&self.ctx.client, &key.binding);
        let (cluster, binding) = match tokio::try_join!(self.cluster(lease), api.get_opt(&key.binding.name)) {
            Ok(read) => read,
            Err(error) => return Ok(Done::failed("ReadFailed", api_errors::one_line(&error))),
        };
        let decision = self.decide(lease, binding.as_ref(), cluster.as_deref());
        let eviction = match decision {
            Decision::Evict(eviction) => eviction,
            Decision::End(completion) => return Ok(Done::Complete(completion)),
        };
        let (Some(cluster), Some(binding)) = (cluster, binding) else {
            return Err(Again::Changed);
        };
        // It was confirmed: this waits for nothing, and sees what became of the lease meanwhile.
        let until = match term.usable_until().await {
            Ok(until) => until,
            Err(over) => return Ok(lease_over(&over)),
        };
        if led_at.elapsed() > LOOK_COUNTS_FOR {
            return Err(Again::Slow);
        }
        match self.mirror(lease, &attached, until).await {
            Ok(Mirrors::AreThere) => {}
            Ok(Mirrors::Changed) => return Err(Again::Changed),
            Err(why) => return Ok(Done::failed("MirrorFailed", why)),
        }
        let until = if attached.is_empty() {
            until
        } else {
            until.min(Instant::now() + RELIED_ON_FOR.unsigned_abs())
        };
        let task = of_eviction(
            &binding,
            &key.cluster,
            &eviction.affected,
            &eviction.state,
            self.ctx.clock.now(),
        );
        match self.writer.evict(&binding, &task, until).await {
            Written::Yes => Ok(self.written(&binding, &cluster, lease, &task, &eviction).await),
            Written::Failed(why) => Err(Again::Failed(why)),
            Written::Conflict => {
                self.ctx.metrics.counter("evictor_conflicts_total", &[]).increment(1);
                Err(Again::Changed)
            }
            Written::Gone => Ok(Done::as_so(
                OutcomeKind::NotNeeded {
                    binding_version: String::new(),
                    cluster_version: cluster.metadata.resource_version.clone().unwrap_or_default(),
                },
                "BindingGone",
                format!("binding {} is gone", key.binding),
            )),
            Written::Refused(why) => Ok(Done::failed("Refused", why)),
            Written::Unknown(why) => Ok(Done::Lapses(why)),
        }
    }

    /// Sees to the mirrors on what is attached to the binding. One that had to be written took time, in which anything may
    /// have happened to the binding and its cluster.
    async fn mirror(&self, lease: &Lease, attached: &[Arc<Binding>], until: Instant) -> Result<Mirrors, String> {
        let key = &lease.entry.key;
        let now = self.ctx.clock.now();
        let mut mirrors = Mirrors::AreThere;
        for attached in attached {
            if let Some(mirror) = needed(attached, &key.binding, &key.cluster, now) {
                self.writer.mirror(attached, &mirror, until).await?;
                mirrors = Mirrors::Changed;
            }
        }
        Ok(mirrors)
    }

    async fn written(
        &self,
        binding: &Binding,
        cluster: &Cluster,
        lease: &Lease,
        task: &GracefulEvictionTask,
        eviction: &Eviction,
    ) -> Done {
        let policies = self.policies.list();
        let policies: Vec<&ClusterTaintPolicy> = policies.iter().map(AsRef::as_ref).collect();
        let record = plan::record(binding, cluster, lease, task, &policies, &self.ctx.system_namespace);
        self.writer.record(&record).await;
        self.writer.tell(binding, lease, task, &eviction.state);
        let message = task.message.clone().unwrap_or_default();
        Done::as_so(OutcomeKind::Evicted, "Evicted", message)
    }

    async fn cluster(&self, lease: &Lease) -> Result<Option<Arc<Cluster>>, kube::Error> {
        let name = lease.entry.key.cluster.as_str();
        let clusters: Api<Cluster> = Api::all(self.ctx.client.clone());
        let read = || async { clusters.get_opt(name).await.map(|cluster| cluster.map(Arc::new)) };
        self.reads.get(name, read).await
    }

    fn decide(&self, lease: &Lease, binding: Option<&Binding>, cluster: Option<&Cluster>) -> Decision {
        let fleet: Fleet = self.clusters.list().into_iter().collect();
        let live = Live {
            key: &lease.entry.key,
            binding,
            cluster,
            recovering: &self.recovering(cluster),
            switches: &self.switches,
            now: self.ctx.clock.now(),
        };
        let held = self.others.hold(&lease.entry.key, binding);
        let basis = Basis {
            fleet: &fleet,
            schedulers: &self.schedulers,
            check: self.check,
            state_wait: self.state_wait,
            second_owner: held.as_ref(),
        };
        judge(&live, &basis)
    }

    fn recovering(&self, cluster: Option<&Cluster>) -> BTreeMap<TaintId, Recovering> {
        let policies = self.policies.list();
        let policies: Vec<&ClusterTaintPolicy> = policies.iter().map(AsRef::as_ref).collect();
        cluster
            .map(|cluster| recovering(cluster, &policies))
            .unwrap_or_default()
    }
}
