//! The task of one member: probe, decide, collect, write, wait.

use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::{Cluster, condition};
use controller_kit::durations::format_duration;
use controller_kit::{Context, EventType, MemberTarget, ObjectKey, Store, api_errors};
use failover_core::cluster_health::{
    Memory, Observation, StoredReady, Thresholds, Verdict, cannot_connect, step, transition,
};
use kube::Client;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tracing::{info, warn};

use super::Office;
use super::collect::Collector;
use super::credentials::{Named, NoTarget};
use super::overdue::{Look, Overdue};
use super::pace::Pace;
use super::probe::probe;
use super::report;
use super::subject::Subject;
use crate::conditional::{self, Half, Outcome};
use crate::metrics::Timings;

pub(super) struct Reporter {
    ctx: Context,
    key: ObjectKey,
    subject: Subject,
    clusters: Store<Cluster>,
    pace: Pace,
    thresholds: Thresholds,
    timings: Arc<Timings>,
    overdue: Arc<Overdue>,
    /// Zero of this task's monotonic time line, and of the grid of its looks.
    started: Instant,
    memory: Option<Memory>,
    collector: Collector,
    secret: Named,
    /// What the collector's connections were made from.
    target: Option<MemberTarget>,
    /// A write of which it is not known whether it was stored.
    unsure: Option<Unsure>,
    /// Why the member cannot be asked, and why nothing can be written of it, as they were said last.
    not_probed: Said,
    not_written: Said,
}

/// What was to be written, and the Cluster before.
struct Unsure {
    before: Arc<Cluster>,
    observation: Observation,
    held_for: Duration,
}

/// A trouble that is said once, not with every look: a control plane that is away has as many reporters as it has members.
#[derive(Default)]
struct Said(Option<String>);

impl Said {
    fn say(&mut self, cluster: &ObjectKey, what: String) {
        if self.0.as_ref() != Some(&what) {
            warn!(%cluster, "{what}");
            self.0 = Some(what);
        }
    }
}

impl Reporter {
    pub fn new(office: &Office, key: ObjectKey) -> Self {
        Self {
            collector: Collector::new(&office.ctx, &key.name),
            ctx: office.ctx.clone(),
            key,
            subject: office.subject.clone(),
            clusters: office.store.clone(),
            pace: Pace::new(office.flags.cluster_status_update_frequency),
            thresholds: office.flags.thresholds(),
            timings: Arc::clone(&office.timings),
            overdue: Arc::clone(&office.overdue),
            started: Instant::now(),
            memory: None,
            secret: Named::default(),
            target: None,
            unsure: None,
            not_probed: Said::default(),
            not_written: Said::default(),
        }
    }

    pub async fn run(mut self) {
        let shutdown = self.ctx.shutdown.clone();
        loop {
            let began = Instant::now();
            let settles_in = self.look(began).await;
            self.timings.record(&self.key.name, began.elapsed());
            let wait = self.pace.wait(self.started.elapsed(), settles_in);
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                () = sleep(wait) => {}
            }
        }
    }

    /// One look. Returns when the condition would follow if nothing changes.
    async fn look(&mut self, began: Instant) -> Option<Duration> {
        let cluster = self.clusters.get(&self.key)?;
        let (observation, client) = self.observe(&cluster).await?;
        let look = if client.is_some() { Look::Asked } else { Look::NotAsked };
        self.overdue.looked(&self.key.name, look);
        let stored = StoredReady::from(cluster.condition(condition::READY));
        let step = step(
            self.memory,
            &observation,
            stored,
            &self.thresholds,
            self.started.elapsed(),
        );
        self.memory = Some(step.memory);
        self.tell_if_it_was_stored(&cluster);
        match client {
            Some(client) if observation.is_healthy() && step.verdict == Verdict::Follow => {
                // What takes longer comes with the next look: neither the condition nor the next probe waits for it.
                let patience = (began + self.pace.probe_limit()).min(Instant::now() + self.pace.collect_limit());
                let _ = timeout_at(patience, self.collector.refresh(&client)).await;
            }
            _ if observation.is_healthy() => {}
            _ => self.collector.lost(),
        }
        self.write(&cluster, &observation, step.held_for).await;
        match step.verdict {
            Verdict::Keep { settles_in } => Some(settles_in),
            Verdict::Follow => None,
        }
    }

    /// What is seen of the member; nothing when this process knows too little to say anything.
    async fn observe(&mut self, cluster: &Cluster) -> Option<(Observation, Option<Client>)> {
        let patience = self.pace.probe_limit();
        let target = self
            .subject
            .target(&self.ctx, cluster, &mut self.secret, patience)
            .await;
        let target = match target {
            Ok(target) => target,
            Err(NoTarget::Wrong(what_to_do)) => return Some((cannot_connect(what_to_do), None)),
            Err(NoTarget::Denied { what, at }) => {
                self.not_probed.say(&self.key, format!("not probed: {what}"));
                // It is the member's own trouble when others could be asked all the while. When none can, it is ours.
                return self.overdue.others_were_asked(at).then(|| (cannot_connect(what), None));
            }
            Err(NoTarget::NotReadYet(why)) => {
                self.not_probed.say(&self.key, format!("not probed: {why}"));
                return None;
            }
        };
        self.not_probed = Said::default();
        let connected = self.ctx.members.connect(&target);
        if self.target.as_ref() != Some(&target) {
            // Watches with the old credentials or address would go on failing, or succeeding, for the wrong reason.
            self.collector.lost();
            self.target = Some(target);
        }
        match connected {
            Err(error) => Some((cannot_connect(error.to_string()), None)),
            Ok(client) => {
                let credentials = self.subject.credentials(cluster);
                let observation = probe(&client, self.pace.probe_limit(), &credentials).await;
                Some((observation, Some(client)))
            }
        }
    }

    async fn write(&mut self, cluster: &Arc<Cluster>, observation: &Observation, held_for: Duration) {
        let now = self.ctx.clock.now();
        let follows = |current: &Cluster| {
            // Judged again on every version: another writer may have changed the condition meanwhile.
            let stored = StoredReady::from(current.condition(condition::READY));
            step(
                self.memory,
                observation,
                stored,
                &self.thresholds,
                self.started.elapsed(),
            )
            .verdict
                == Verdict::Follow
        };
        let change = |current: &Cluster| {
            if follows(current) {
                report::operations(current, observation, self.collector.facts(), now)
            } else {
                Vec::new()
            }
        };
        // A control plane that is slow to answer must not keep the next probes waiting: each look writes anew.
        let writing = conditional::patch(&self.ctx, Arc::clone(cluster), Half::Status, change);
        let error = match timeout(self.pace.period(), writing).await {
            Ok(Ok(Outcome::Written { before })) => {
                self.not_written = Said::default();
                self.unsure = None;
                self.tell(&before, observation, held_for);
                return;
            }
            Ok(Ok(Outcome::Unchanged | Outcome::Gone)) => {
                self.not_written = Said::default();
                return;
            }
            Ok(Err(error)) => api_errors::one_line(&error),
            Err(_) => format!("no answer within {}", format_duration(self.pace.period())),
        };
        // The next look tries again: nothing is lost but a period.
        self.not_written.say(&self.key, format!("status not written: {error}"));
        self.unsure = Some(Unsure {
            before: Arc::clone(cluster),
            observation: observation.clone(),
            held_for,
        });
    }

    /// Of a write that was stored only the answer was lost: its transition has not been told, whatever is seen by now.
    fn tell_if_it_was_stored(&mut self, cluster: &Cluster) {
        let status = |cluster: &Cluster| cluster.condition(condition::READY).map(|ready| ready.status.clone());
        let now = status(cluster);
        // Until it shows, it may still come.
        let Some(unsure) = self.unsure.take_if(|unsure| status(&unsure.before) != now) else {
            return;
        };
        if now.as_deref() == Some(unsure.observation.status()) {
            self.tell(&unsure.before, &unsure.observation, unsure.held_for);
        }
    }

    /// An event for a settled transition, in the probe's own words.
    fn tell(&self, before: &Cluster, observation: &Observation, held_for: Duration) {
        let status = before.condition(condition::READY).map(|c| c.status.as_str());
        let Some(settled) = transition(status, observation.status()) else {
            return;
        };
        let held = Duration::from_secs(held_for.as_secs());
        let note = if held.is_zero() {
            format!("Ready is {}: {}", observation.status(), observation.words)
        } else {
            format!(
                "Ready is {} after {}: {}",
                observation.status(),
                format_duration(held),
                observation.words
            )
        };
        info!(cluster = %self.key, reason = settled.event_reason, note, "Ready has settled");
        let event_type = if settled.is_warning {
            EventType::Warning
        } else {
            EventType::Normal
        };
        self.ctx
            .events
            .publish_for(before, event_type, settled.event_reason, note);
    }
}
