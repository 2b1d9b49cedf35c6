//! One lease from its grant to its completion.
//!
//! Guarantee: right before the write the Cluster and the binding were read live and judged, with nothing waited for in
//! between; before those reads the queue had confirmed the lease and led; and the lease is in force by this process's
//! own clock, and was not revoked, when the write is sent. A conflict goes back to the beginning.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::{Binding, GracefulEvictionTask};
use controller_kit::{Context, Store, api_errors};
use failover_core::eviction::Switches;
use failover_core::eviction::queue::{Completion, OutcomeKind};
use failover_core::eviction::recheck::Live;
use failover_core::taint_policy::{Recovering, TaintId, recovering};
use kube::Api;
use scheduler_filters::{Fleet, Plugins, PreEvictionCheck};

use super::fence::Fence;
use super::judge::{Decision, Places, judge};
use super::lease::{Lease, Over, Term};
use super::plan;
use super::reads::SharedReads;
use super::writer::{Writer, Written};

/// Tries against a binding that others write at the same time, before the lease goes back.
const TRIES: usize = 5;

/// What every worker needs.
pub(crate) struct Bench {
    pub ctx: Context,
    pub clusters: Store<Cluster>,
    pub policies: Store<ClusterTaintPolicy>,
    pub plugins: Plugins,
    pub switches: Switches,
    pub check: PreEvictionCheck,
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

fn lease_over(over: &Over) -> Done {
    Done::failed("LeaseOver", over.to_string())
}

impl Bench {
    /// Works on a lease.
    pub async fn work(&self, lease: &Lease, term: &mut Term) -> Done {
        for _ in 0..TRIES {
            if let Some(done) = self.attempt(lease, term).await {
                return done;
            }
        }
        Done::failed(
            "Conflict",
            format!("others changed the binding {TRIES} times meanwhile"),
        )
    }

    /// One try; nothing comes of it when somebody else wrote the binding meanwhile.
    async fn attempt(&self, lease: &Lease, term: &mut Term) -> Option<Done> {
        let key = &lease.entry.key;
        if let Err(over) = term.usable_until().await {
            return Some(lease_over(&over));
        }
        if let Err(fenced) = self.fence.check(&lease.queue_epoch).await {
            return Some(Done::failed("Fenced", fenced.to_string()));
        }
        let api = binding_writer::api(&self.ctx.client, &key.binding);
        let (cluster, binding) = match tokio::try_join!(self.cluster(lease), api.get_opt(&key.binding.name)) {
            Ok(read) => read,
            Err(error) => return Some(Done::failed("ReadFailed", api_errors::one_line(&error))),
        };
        let decision = self.decide(lease, binding.as_ref(), cluster.as_deref());
        let affected = match decision {
            Decision::Evict(affected) => affected,
            Decision::End(completion) => return Some(Done::Complete(completion)),
        };
        let (Some(cluster), Some(binding)) = (cluster, binding) else {
            return None;
        };
        let task = plan::task(&binding, lease, &affected, self.ctx.clock.now());
        // It was confirmed: this waits for nothing, and sees what became of the lease meanwhile.
        let until = match term.usable_until().await {
            Ok(until) => until,
            Err(over) => return Some(lease_over(&over)),
        };
        match self.writer.evict(&binding, &task, until).await {
            Written::Yes => Some(self.written(&binding, &cluster, lease, &task).await),
            Written::Conflict => {
                self.ctx.metrics.counter("evictor_conflicts_total", &[]).increment(1);
                None
            }
            Written::Gone => Some(Done::as_so(
                OutcomeKind::NotNeeded {
                    binding_version: String::new(),
                    cluster_version: cluster.metadata.resource_version.clone().unwrap_or_default(),
                },
                "BindingGone",
                format!("binding {} is gone", key.binding),
            )),
            Written::Refused(why) => Some(Done::failed("Refused", why)),
            Written::Unknown(why) => Some(Done::Lapses(why)),
        }
    }

    async fn written(&self, binding: &Binding, cluster: &Cluster, lease: &Lease, task: &GracefulEvictionTask) -> Done {
        let record = plan::record(binding, cluster, lease, task, &self.ctx.system_namespace);
        self.writer.record(&record).await;
        self.writer.tell(binding, lease, task);
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
        let places = Places {
            fleet: &fleet,
            plugins: &self.plugins,
            check: self.check,
        };
        judge(&live, &places)
    }

    fn recovering(&self, cluster: Option<&Cluster>) -> BTreeMap<TaintId, Recovering> {
        let policies = self.policies.list();
        let policies: Vec<&ClusterTaintPolicy> = policies.iter().map(AsRef::as_ref).collect();
        cluster
            .map(|cluster| recovering(cluster, &policies))
            .unwrap_or_default()
    }
}
