//! The report of `status`, made from what was gathered. Pure.

use api_types::cluster::{Cluster, condition};
use api_types::failover::FailoverPause;
use eviction_queue_api::v1;
use jiff::Timestamp;
use serde::Serialize;

use super::gather::{FromQueue, Gathered};
use super::views::{ClusterView, LaneView, PauseView, ProducerView, QueueView, RegimeView, TaintView, TotalsView};
use crate::controllers::{self, ControllerView, Mode, NotDone, Severity};
use crate::entry::{MoveView, at};
use crate::failure::{ExitStatus, Failure};
use crate::output::{At, relative};

/// The state of failover.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusReport {
    /// Standalone, beside a stock Karmada, or unknown.
    pub mode: Mode,
    /// How fast evictions go, and why; absent when the queue did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regime: Option<RegimeView>,
    /// The eviction queue; absent when it did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueView>,
    /// Why the queue did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_error: Option<String>,
    /// What is not done, and why; problems first.
    pub not_done: Vec<NotDone>,
    /// Pauses in effect; where the queue did not answer, those that are stored and not over.
    pub pauses: Vec<PauseView>,
    /// The clusters, or the one that was asked about.
    pub clusters: Vec<ClusterView>,
    /// The last outcomes, newest first.
    pub recent: Vec<MoveView>,
    /// The controllers.
    pub controllers: Vec<ControllerView>,
    #[serde(skip)]
    unreachable: Option<ExitStatus>,
}

/// Makes the report.
///
/// # Errors
/// The cluster that was asked about does not exist and has no lane.
pub fn report(gathered: &Gathered, now: Timestamp) -> Result<StatusReport, Failure> {
    let controllers = controllers::controllers(&gathered.leases, gathered.mode, now);
    let mut not_done = controllers::not_done(&controllers, &gathered.system_namespace, now);
    let queue = gathered.queue.as_ref();
    match queue {
        Ok(queue) => controllers::add(&mut not_done, queue_not_done(&queue.status, now)),
        // Without a leader the controller's own line has said it.
        Err(failure) if controllers::is_running(&controllers, "evictionQueue") => {
            let message = format!("what is queued is not known: {}", failure.one_line());
            controllers::add(&mut not_done, vec![NotDone::problem("queue", message)]);
        }
        Err(_) => {}
    }
    let answered = queue.ok();
    Ok(StatusReport {
        mode: gathered.mode,
        regime: answered.map(|queue| regime(&queue.status)),
        queue: answered.map(queue_view),
        queue_error: queue.err().map(Failure::one_line),
        not_done,
        pauses: match answered {
            Some(queue) => queue.status.pauses.iter().map(pause).collect(),
            None => stored_pauses(&gathered.stored_pauses, now),
        },
        clusters: clusters(gathered)?,
        recent: answered
            .map(|queue| queue.recent.iter().map(MoveView::of).collect())
            .unwrap_or_default(),
        unreachable: queue
            .err()
            .map(Failure::status)
            .filter(|_| controllers::is_running(&controllers, "evictionQueue")),
        controllers,
    })
}

impl StatusReport {
    /// How the program ends.
    #[must_use]
    pub fn exit_status(&self) -> ExitStatus {
        match self.unreachable {
            Some(status) => status,
            None if self.not_done.iter().any(|item| item.severity == Severity::Problem) => ExitStatus::Problem,
            None => ExitStatus::Fine,
        }
    }
}

/// How many entries are held because of second owners; nothing where none is.
#[must_use]
pub fn by_second_owners(status: &v1::GetStatusResponse) -> Option<u64> {
    let mut held = status.held.iter();
    held.find(|held| held.reason() == v1::HoldReason::SecondOwner)
        .map(|held| held.entries)
}

/// What is not done because of the queue's state.
#[must_use]
pub fn queue_not_done(status: &v1::GetStatusResponse, now: Timestamp) -> Vec<NotDone> {
    let mut found = Vec::new();
    let regime = status.regime();
    let said = format!("regime {}: {}", regime_name(regime), status.reason);
    match regime {
        v1::Regime::AllFaulty | v1::Regime::Halted => {
            found.push(NotDone::problem("regime", format!("nothing is released: {said}")));
        }
        v1::Regime::Starting | v1::Regime::Paused => {
            found.push(NotDone::note("regime", format!("nothing is released: {said}")));
        }
        // The reason names the flag.
        v1::Regime::Normal | v1::Regime::Reduced | v1::Regime::Unspecified if status.evictions_per_second <= 0.0 => {
            let message = format!("nothing is released: {}", status.reason);
            found.push(NotDone::note("regime", message));
        }
        v1::Regime::Reduced => {
            let rate = status.evictions_per_second;
            found.push(NotDone::note(
                "regime",
                format!("evictions are slowed down to {rate}/s: {said}"),
            ));
        }
        v1::Regime::Normal | v1::Regime::Unspecified => {}
    }
    for pause in &status.pauses {
        found.push(NotDone::note(
            format!("pause/{}", pause.name),
            format!(
                "{} held by FailoverPause {} (scope {}): {}",
                if pause.held_entries == 1 {
                    "1 entry is".to_owned()
                } else {
                    format!("{} entries are", pause.held_entries)
                },
                pause.name,
                pause.scope,
                pause.reason
            ),
        ));
    }
    if let Some(entries) = by_second_owners(status) {
        let entries = match entries {
            1 => "1 entry is".to_owned(),
            more => format!("{more} entries are"),
        };
        let message = format!(
            "{entries} held because a second controller does the same job there: failoverctl queue list --state held says where, \
             which one, and how it is switched off; they go on by themselves a while after that"
        );
        found.push(NotDone::problem("second-owner", message));
    }
    for producer in &status.producers {
        let subject = format!("producer/{}", producer.producer);
        if let Some(since) = at(producer.gone_since.as_ref()) {
            let message = format!(
                "the {} entries of {} are not released: it left the queue {}",
                producer.entries,
                producer.producer,
                relative(since.0, now)
            );
            found.push(NotDone::problem(subject, message));
        } else if !producer.synced {
            let message = format!("{} has not told the queue yet who has to leave", producer.producer);
            found.push(NotDone::note(subject, message));
        }
    }
    if status.consumers == 0 {
        let message = "nothing released is carried out: no evictor is connected to the queue";
        found.push(NotDone::problem("controller/evictor", message));
    }
    found
}

/// The regime's name.
#[must_use]
pub fn regime_name(regime: v1::Regime) -> &'static str {
    match regime {
        v1::Regime::Starting => "Starting",
        v1::Regime::Paused => "Paused",
        v1::Regime::AllFaulty => "AllFaulty",
        v1::Regime::Halted => "Halted",
        v1::Regime::Reduced => "Reduced",
        v1::Regime::Normal => "Normal",
        v1::Regime::Unspecified => "Unknown",
    }
}

fn regime(status: &v1::GetStatusResponse) -> RegimeView {
    RegimeView {
        name: regime_name(status.regime()),
        reason: status.reason.clone(),
        evictions_per_second: status.evictions_per_second,
        clusters: status.clusters,
        faulty_clusters: status.faulty_clusters,
        faulty_share: status.faulty_share,
        unhealthy_threshold: status.unhealthy_threshold,
    }
}

fn queue_view(queue: &FromQueue) -> QueueView {
    let status = &queue.status;
    QueueView {
        address: queue.address.clone(),
        leader: status.leader.clone(),
        epoch: status.queue_epoch.clone(),
        totals: totals(status.totals.as_ref()),
        oldest_ready_since: at(status.oldest_ready_since.as_ref()),
        tokens: status.tokens,
        consumers: status.consumers,
        max_outstanding_leases: status.max_outstanding_leases,
        producers: status
            .producers
            .iter()
            .map(|producer| ProducerView {
                name: producer.producer.clone(),
                identity: producer.identity.clone(),
                synced: producer.synced,
                gone_since: at(producer.gone_since.as_ref()),
                entries: producer.entries,
            })
            .collect(),
    }
}

fn totals(totals: Option<&v1::Totals>) -> TotalsView {
    totals.map_or_else(TotalsView::default, |totals| TotalsView {
        waiting: totals.waiting,
        ready: totals.ready,
        leased: totals.leased,
        held: totals.held,
    })
}

fn pause(pause: &v1::PauseStatus) -> PauseView {
    PauseView {
        name: pause.name.clone(),
        scope: pause.scope.clone(),
        reason: pause.reason.clone(),
        until: at(pause.until.as_ref()),
        held_entries: pause.held_entries,
    }
}

/// Those that are not over, with what the queue last wrote of them.
fn stored_pauses(stored: &[FailoverPause], now: Timestamp) -> Vec<PauseView> {
    let lasts = |pause: &&FailoverPause| pause.spec.until.as_ref().is_none_or(|until| until.0 > now);
    let view = |pause: &FailoverPause| PauseView {
        name: pause.metadata.name.clone().unwrap_or_default(),
        scope: pause.spec.scope.as_str().to_owned(),
        reason: pause.spec.reason.clone(),
        until: pause.spec.until.as_ref().map(|until| At(until.0)),
        held_entries: pause
            .status
            .as_ref()
            .and_then(|status| u64::try_from(status.held_entries).ok())
            .unwrap_or_default(),
    };
    stored.iter().filter(lasts).map(view).collect()
}

/// The Clusters, and those that only a lane remembers.
fn clusters(gathered: &Gathered) -> Result<Vec<ClusterView>, Failure> {
    let queue = gathered.queue.as_ref().ok();
    let mut views: Vec<ClusterView> = gathered
        .clusters
        .iter()
        .map(|cluster| cluster_view(cluster, queue))
        .collect();
    for lane in queue.map(|queue| queue.lanes.as_slice()).unwrap_or_default() {
        if !views.iter().any(|view| view.name == lane.cluster) {
            views.push(ClusterView {
                name: lane.cluster.clone(),
                ready: None,
                ready_since: None,
                ready_reason: Some("there is no such Cluster any more".to_owned()),
                being_deleted: false,
                faulty: Some(lane.faulty),
                faulty_taint: None,
                taints: Vec::new(),
                lane: Some(lane_view(lane)),
            });
        }
    }
    views.sort_by(|a, b| a.name.cmp(&b.name));
    let Some(only) = &gathered.only else { return Ok(views) };
    let known: Vec<String> = views.iter().map(|view| view.name.clone()).collect();
    views.retain(|view| view.name == *only);
    if views.is_empty() {
        let known = if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        };
        return Err(Failure::new(
            ExitStatus::Problem,
            format!("cannot show the status of Cluster {only}"),
            "there is no such Cluster",
            format!("choose one of those that there are: {known}"),
        ));
    }
    Ok(views)
}

fn cluster_view(cluster: &Cluster, queue: Option<&FromQueue>) -> ClusterView {
    let name = cluster.cluster_name().to_string();
    let ready = cluster.condition(condition::READY);
    let faulty = queue.map(|queue| queue.status.faulty.iter().find(|faulty| faulty.cluster == name));
    ClusterView {
        ready: ready.map(|ready| ready.status.clone()),
        ready_since: ready.map(|ready| At(ready.last_transition_time.0)),
        ready_reason: ready.map(|ready| {
            if ready.message.is_empty() {
                ready.reason.clone()
            } else {
                format!("{}: {}", ready.reason, ready.message)
            }
        }),
        being_deleted: cluster.is_being_deleted(),
        faulty: faulty.map(|faulty| faulty.is_some()),
        faulty_taint: faulty.flatten().map(|faulty| faulty.taint.clone()),
        taints: cluster.spec.taints.iter().map(TaintView::of).collect(),
        lane: queue
            .and_then(|queue| queue.lanes.iter().find(|lane| lane.cluster == name))
            .map(lane_view),
        name,
    }
}

fn lane_view(lane: &v1::Lane) -> LaneView {
    LaneView {
        since: at(lane.since.as_ref()),
        totals: totals(lane.totals.as_ref()),
        next_due_at: at(lane.next_due_at.as_ref()),
    }
}
