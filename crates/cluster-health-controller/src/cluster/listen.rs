//! The task that listens: it tells the monitor what changed, has it judge when it is time, and wakes the clusters whose
//! standing is another one then. It writes nothing but events.

use std::time::Duration;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use controller_kit::leader::lease_name;
use controller_kit::{Change, Changes, Context, EventType, ObjectKey, Store, WorkQueue, api_errors};
use failover_core::cluster_health::on_leases::not_isolated_until;
use failover_core::cluster_health::watch::{Hearing, Rule, Voice};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Api;
use tokio::time::{Instant, sleep_until};
use tracing::{info, warn};

use super::monitor::{Changed, Election, Monitor, Overall, Trouble};

/// Name of the controller whose Lease speaks for the Push clusters.
pub(super) const REPORTER: &str = "clusterStatus";

/// What is listened to.
pub(super) struct Ears {
    pub clusters: Changes<Cluster>,
    pub agents: Changes<Lease>,
    pub controllers: Changes<Lease>,
    pub cluster_store: Store<Cluster>,
    pub agent_store: Store<Lease>,
    pub controller_store: Store<Lease>,
}

pub(super) struct Listener {
    pub ctx: Context,
    pub monitor: Monitor,
    pub queue: WorkQueue<ObjectKey>,
    pub agents_namespace: String,
    pub period: Duration,
}

impl Listener {
    /// Listens until shutdown.
    pub async fn run(self, mut ears: Ears) {
        let mut rule = Rule::InForce;
        let mut told: Option<Trouble> = None;
        let mut complained = String::new();
        let mut judge_at: Option<Instant> = None;
        let mut look_at: Option<Instant> = None;
        loop {
            tokio::select! {
                biased;
                () = self.ctx.shutdown.cancelled() => return,
                change = ears.clusters.recv() => {
                    let Some(change) = change else { return };
                    self.on_cluster(&change, &ears);
                }
                change = ears.agents.recv() => {
                    let Some(change) = change else { return };
                    self.on_cluster_named(&change.key.name, &ears);
                }
                change = ears.controllers.recv() => {
                    let Some(change) = change else { return };
                    self.on_controller(&change);
                }
                () = self.monitor.noted() => judge_at = Some(Instant::now()),
                () = at(look_at) => {
                    rule = self.persons_word(rule, &mut complained).await;
                    look_at = Some(Instant::now() + self.period);
                    judge_at = Some(Instant::now());
                }
                () = at(judge_at) => {
                    let Changed { clusters, again_in } = self.monitor.judge(rule);
                    judge_at = again_in.map(|wait| Instant::now() + wait);
                    for name in clusters {
                        self.queue.add(ObjectKey::cluster_scoped(name.as_str()));
                    }
                    let overall = self.monitor.overall();
                    // What the conditions say already has been told by whoever was before us.
                    let before = *told.get_or_insert_with(|| self.monitor.said());
                    told = Some(self.tell(before, &overall));
                    let is_isolated = matches!(overall.hearing, Hearing::Isolated { .. });
                    if is_isolated || rule == Rule::Overridden {
                        look_at.get_or_insert_with(Instant::now);
                    } else {
                        look_at = None;
                    }
                }
            }
        }
    }

    fn on_cluster(&self, change: &Change<Cluster>, ears: &Ears) {
        // One that was made anew meanwhile is another one; what was known of the old is forgotten with its UID.
        if change.after.is_none() {
            self.monitor
                .forget_cluster(&ClusterName::from(change.key.name.as_str()));
        }
        self.on_cluster_named(&change.key.name, ears);
        // Whether a reporter is needed, and what there is to lose by it, depends on the clusters.
        let reporter = ObjectKey::namespaced(self.ctx.system_namespace.as_ref(), lease_name(REPORTER));
        self.monitor
            .note_reporter(ears.controller_store.get(&reporter).as_deref());
    }

    fn on_cluster_named(&self, name: &str, ears: &Ears) {
        let lease = ears
            .agent_store
            .get(&ObjectKey::namespaced(self.agents_namespace.as_str(), name));
        if let Some(cluster) = ears.cluster_store.get(&ObjectKey::cluster_scoped(name)) {
            self.monitor.note_cluster(&cluster, lease.as_deref());
        }
    }

    fn on_controller(&self, change: &Change<Lease>) {
        self.monitor.note_controller(&change.key.name, change.after.as_deref());
        if change.key.name == lease_name(REPORTER) {
            self.monitor.note_reporter(change.after.as_deref());
        }
    }

    /// Whether a person says that the monitor is not isolated. Asked of the API server itself: what the monitor is shown
    /// may be old, which is the question here.
    async fn persons_word(&self, before: Rule, complained: &mut String) -> Rule {
        if self.monitor.election() == Election::Off {
            return Rule::InForce;
        }
        let name = lease_name(self.ctx.controller);
        let leases = Api::<Lease>::namespaced(self.ctx.client.clone(), &self.ctx.system_namespace);
        let lease = match leases.get_opt(&name).await {
            Ok(Some(lease)) => lease,
            Ok(None) => return Rule::InForce,
            Err(error) => {
                warn!(
                    error = api_errors::one_line(&error),
                    "the monitor's own Lease cannot be read"
                );
                return before;
            }
        };
        let rule = match not_isolated_until(&lease) {
            Ok(Some(until)) if self.ctx.clock.now() < until => Rule::Overridden,
            Ok(_) => Rule::InForce,
            Err(complaint) => {
                if *complained != complaint {
                    self.publish(&name, EventType::Warning, "MonitorOverrideUnreadable", &complaint);
                    *complained = complaint;
                }
                Rule::InForce
            }
        };
        match (before, rule) {
            (Rule::InForce, Rule::Overridden) => {
                let note =
                    "a person says that the monitor is not isolated: clusters whose lease is stale are marked Unknown";
                self.publish(&name, EventType::Warning, "MonitorOverridden", note);
            }
            (Rule::Overridden, Rule::InForce) => {
                let note = "the time of the person's word is over: when all leases are stale nothing is marked again";
                self.publish(&name, EventType::Normal, "MonitorOverrideEnded", note);
            }
            _ => {}
        }
        rule
    }

    /// One event when trouble of all clusters begins, and one when it is over, on the Lease that it is about.
    fn tell(&self, before: Trouble, overall: &Overall) -> Trouble {
        let mut told = before;
        let reporter = lease_name(REPORTER);
        match overall.reporter {
            Some(Voice::GivenUp) if !before.reporter_down => {
                let note =
                    "clusterStatus does not renew this Lease: no Push cluster is probed, and none is marked for that";
                self.publish(&reporter, EventType::Warning, "ReporterDown", note);
                told.reporter_down = true;
            }
            Some(Voice::Alive) if before.reporter_down => {
                self.publish(
                    &reporter,
                    EventType::Normal,
                    "ReporterUp",
                    "clusterStatus renews this Lease again",
                );
                told.reporter_down = false;
            }
            _ => {}
        }
        let monitor = lease_name(self.ctx.controller);
        match overall.hearing {
            Hearing::Isolated { leases } if !before.monitor_isolated => {
                let note = format!(
                    "none of the {leases} leases that count is renewed, so probably it is this monitor that is cut off: \
                     nothing is marked Unknown until one of them is"
                );
                self.publish(&monitor, EventType::Warning, "MonitorIsolated", &note);
                told.monitor_isolated = true;
            }
            Hearing::Clear if before.monitor_isolated && overall.somebody_heard => {
                let note = "the monitor is not isolated any more; who is not heard has a full grace period from now";
                self.publish(&monitor, EventType::Normal, "MonitorHears", note);
                told.monitor_isolated = false;
            }
            _ => {}
        }
        told
    }

    fn publish(&self, lease: &str, event_type: EventType, reason: &str, note: &str) {
        match event_type {
            EventType::Warning => warn!(lease, reason, note),
            EventType::Normal => info!(lease, reason, note),
        }
        let about = ObjectReference {
            api_version: Some("coordination.k8s.io/v1".to_owned()),
            kind: Some("Lease".to_owned()),
            namespace: Some(self.ctx.system_namespace.to_string()),
            name: Some(lease.to_owned()),
            ..ObjectReference::default()
        };
        self.ctx.events.publish(&about, event_type, reason, note);
    }
}

async fn at(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
