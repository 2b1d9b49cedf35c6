//! One look at one Cluster: ask the core, write what it says, remember what it saw.

use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use controller_kit::informer::is_older;
use controller_kit::second_owners::{self, SecondOwners};
use controller_kit::{Context, EventType, Next, ObjectKey, api_errors};
use failover_core::second_owner::{self, Job};
use failover_core::taint_policy::{Companion, Evaluation, FailoverGate, Input, Notice, evaluate};
use kube::Resource;
use tracing::{debug, info};

use crate::index::{Index, Look};
use crate::steady::SteadyClock;
use crate::writer::{self, EffectRefused, WriteOutcome};

/// Conflicts in a row before others get a moment to finish.
const TRIES: u32 = 5;
/// That moment.
const AFTER_CONFLICTS: Duration = Duration::from_millis(100);

pub(crate) struct Reconciler {
    pub ctx: Context,
    pub index: Index,
    pub gate: FailoverGate,
    pub companion: Companion,
    pub clock: SteadyClock,
    pub effect_refused: EffectRefused,
    /// What is seen of others who do the job of this controller.
    pub others: SecondOwners,
}

impl Reconciler {
    /// `tell` is called with each policy whose status may say something else now.
    pub async fn look_at(&self, key: &ObjectKey, tell: impl Fn(String)) -> Result<Next, kube::Error> {
        let Some(mut cluster) = self.index.clusters.get(key) else {
            self.index.gone(key).into_iter().for_each(tell);
            return Ok(Next::Done);
        };
        if self.is_outdated(key, &cluster) {
            // The watch has not told our own write yet: what is missing here, nobody took away.
            match writer::read_again(&self.ctx, &cluster).await? {
                Some(live) => cluster = Arc::new(live),
                None => return Ok(Next::Done),
            }
        }
        let mut tries = 0;
        let evaluation = loop {
            let mut evaluation = self.evaluate(key, &cluster);
            self.look_for_a_second_owner(&cluster, &evaluation);
            // What was seen is remembered before anything is written, what is ours by it only when it is stored.
            let look = Look {
                memory: std::mem::take(&mut evaluation.memory),
                version: cluster.metadata.resource_version.clone(),
                reports: std::mem::take(&mut evaluation.reports),
            };
            self.index.looked(key, look).into_iter().for_each(&tell);
            if !evaluation.has_changes() {
                break evaluation;
            }
            tries += 1;
            match writer::write(&self.ctx, &cluster, &evaluation, &self.effect_refused).await {
                Ok(WriteOutcome::Written { version }) => {
                    self.index.answered(key, |look| {
                        look.memory.written(&evaluation);
                        look.version = version;
                    });
                    if evaluation.taints.is_empty() {
                        debug!(cluster = %key, "windows recorded");
                    } else {
                        info!(cluster = %key, changes = writer::summary(&evaluation), "taints changed");
                    }
                    break evaluation;
                }
                Ok(WriteOutcome::Gone) => return Ok(Next::Done),
                Ok(WriteOutcome::Conflict) if tries < TRIES => {}
                Ok(WriteOutcome::Conflict) => return Ok(Next::After(AFTER_CONFLICTS)),
                Err(error) => {
                    self.index
                        .answered(key, |look| look.memory.unanswered(&cluster, &evaluation));
                    writer::tell_failure(&self.ctx, &cluster, &evaluation, &api_errors::one_line(&error));
                    return Err(error);
                }
            }
            match writer::read_again(&self.ctx, &cluster).await? {
                Some(live) => cluster = Arc::new(live),
                None => return Ok(Next::Done),
            }
        };
        Ok(match evaluation.next_look {
            None => Next::Done,
            // By elapsed time: a wall clock that is set must not move it.
            Some(at) => Next::After(at.duration_since(self.clock.now()).try_into().unwrap_or_default()),
        })
    }

    /// Nobody but us writes what says which taints are ours.
    fn look_for_a_second_owner(&self, cluster: &Cluster, evaluation: &Evaluation) {
        let mut notices = evaluation.notices.iter();
        let job = Job::ClusterTaintPolicy;
        if notices.any(|notice| notice.reason == Notice::RECORD_LOST) && self.others.saw(job.name()) {
            let note = second_owner::in_words(job, "our record of taints was changed, unless a person did it");
            let about = cluster.object_ref(&());
            self.ctx
                .events
                .publish(&about, EventType::Warning, second_owners::EVENT, note);
        }
    }

    /// Whether this version is older than one that was looked at or written. Another Cluster of the name never is.
    fn is_outdated(&self, key: &ObjectKey, cluster: &Cluster) -> bool {
        let version = cluster.metadata.resource_version.as_deref();
        let look = self.index.last_look(key);
        look.is_some_and(|look| is_older(version, look.version.as_deref()))
    }

    fn evaluate(&self, key: &ObjectKey, cluster: &Cluster) -> Evaluation {
        let policies = self.index.policies.list();
        let policies: Vec<&ClusterTaintPolicy> = policies.iter().map(Arc::as_ref).collect();
        let last_look = self.index.last_look(key);
        let wall = self.ctx.clock.now();
        let evaluation = evaluate(Input {
            policies: &policies,
            cluster,
            memory: last_look.as_ref().map(|look| &look.memory),
            gate: self.gate,
            now: self.clock.now(),
            wall,
        });
        evaluation.with_companion(cluster, self.companion, wall)
    }
}
