//! `QueueInspection`: the queue as people and tools see it.

use std::sync::Arc;

use api_types::{BindingKey, ClusterName};
use eviction_queue_api::convert::{known, to_entry, to_hold_reason, to_key, to_template, to_time};
use eviction_queue_api::v1;
use eviction_queue_api::v1::queue_inspection_server::QueueInspection;
use failover_core::eviction::queue::{
    Entry, LaneView, LeaseEnd, Moment, PauseScopeView, Place, Queue, RecentOutcome, State, Totals,
};
use failover_core::eviction::regime::{Regime, RegimeVerdict};
use tonic::{Request, Response, Status};

use super::listing::Snapshot;
use super::{callers, refusal};
use crate::outlet::Down;
use crate::server::Server;
use crate::shell::Shell;

const DEFAULT_RECENT: usize = 100;
const LARGEST_RECENT: usize = 10_000;

/// The service for people and tools.
#[derive(Clone, Debug)]
pub struct Inspection {
    server: Arc<Server>,
}

impl Inspection {
    /// Answers for whom the server answers.
    #[must_use]
    pub fn new(server: Arc<Server>) -> Self {
        Self { server }
    }
}

#[tonic::async_trait]
impl QueueInspection for Inspection {
    type WatchEntriesStream = Down<v1::WatchEntriesResponse>;

    async fn get_status(&self, _: Request<v1::GetStatusRequest>) -> Result<Response<v1::GetStatusResponse>, Status> {
        let shell = self.server.leader().await?;
        Ok(Response::new(shell.look(|queue, now| status(&shell, queue, now))))
    }

    async fn list_entries(
        &self,
        request: Request<v1::ListEntriesRequest>,
    ) -> Result<Response<v1::ListEntriesResponse>, Status> {
        let shell = self.server.leader().await?;
        let request = request.into_inner();
        counted(&shell, "ListEntries", understood(request.filter.as_ref()))?;
        let page = shell.lists().page(&request, shell.epoch(), |filter| {
            let cluster = Some(filter.cluster.as_str())
                .filter(|name| !name.is_empty())
                .map(ClusterName::from);
            let (lanes, as_of, revision) = shell.look(|queue, now| {
                let lanes = queue.lane_entries(cluster.as_ref(), now.wall);
                (lanes, now.wall, queue.revision())
            });
            Snapshot::of(lanes, filter, as_of, revision)
        });
        let page = counted(&shell, "ListEntries", page)?;
        Ok(Response::new(v1::ListEntriesResponse {
            entries: page.entries.iter().map(|entry| to_entry(entry)).collect(),
            next_page_token: page.next_page_token,
            total: page.snapshot.total as u64,
            as_of: Some(to_time(page.snapshot.as_of)),
            revision: page.snapshot.revision,
            queue_epoch: shell.epoch().to_owned(),
        }))
    }

    async fn get_entry(&self, request: Request<v1::GetEntryRequest>) -> Result<Response<v1::GetEntryResponse>, Status> {
        let shell = self.server.leader().await?;
        let request = request.into_inner();
        if request.name.is_empty() {
            let missing = Status::invalid_argument("field name is missing: the name of a binding");
            return counted(&shell, "GetEntry", Err(missing));
        }
        let binding = BindingKey {
            namespace: Some(request.namespace).filter(|name| !name.is_empty()),
            name: request.name,
        };
        let cluster = Some(request.cluster)
            .filter(|name| !name.is_empty())
            .map(ClusterName::from);
        shell.look(|queue, now| {
            let entry = queue
                .entry_of(&binding, cluster.as_ref())
                .ok_or_else(|| Status::not_found(format!("the queue has no entry of binding {binding}")))?;
            let place = queue.place(entry.key(), now);
            Ok(Response::new(v1::GetEntryResponse {
                entry: Some(to_entry(entry)),
                position: place.map_or(0, |place| place.position as u64),
                estimated_release_at: place.and_then(|place| place.estimated_release_at).map(to_time),
                explanation: explain(entry, place, queue.verdict(), &queue.notes(now)),
                as_of: Some(to_time(now.wall)),
            }))
        })
    }

    async fn list_lanes(&self, _: Request<v1::ListLanesRequest>) -> Result<Response<v1::ListLanesResponse>, Status> {
        let shell = self.server.leader().await?;
        Ok(Response::new(shell.look(|queue, now| v1::ListLanesResponse {
            lanes: queue.lanes().map(|lane| to_lane(&lane)).collect(),
            as_of: Some(to_time(now.wall)),
        })))
    }

    async fn watch_entries(
        &self,
        request: Request<v1::WatchEntriesRequest>,
    ) -> Result<Response<Self::WatchEntriesStream>, Status> {
        let shell = self.server.leader().await?;
        let caller = callers::name(&request);
        let down = super::watching::serve(&shell, caller, request.into_inner());
        Ok(Response::new(counted(&shell, "WatchEntries", down)?))
    }

    async fn list_recent(
        &self,
        request: Request<v1::ListRecentRequest>,
    ) -> Result<Response<v1::ListRecentResponse>, Status> {
        let shell = self.server.leader().await?;
        let request = request.into_inner();
        let limit = match usize::try_from(request.limit).unwrap_or(usize::MAX) {
            0 => DEFAULT_RECENT,
            limit => limit.min(LARGEST_RECENT),
        };
        let outcomes = shell.look(|queue, _| {
            let wanted = |outcome: &&RecentOutcome| {
                request.cluster.is_empty() || outcome.key.cluster.as_str() == request.cluster
            };
            queue.recent().filter(wanted).take(limit).map(to_recent).collect()
        });
        Ok(Response::new(v1::ListRecentResponse { outcomes }))
    }
}

fn counted<T>(shell: &Shell, method: &'static str, answer: Result<T, Status>) -> Result<T, Status> {
    answer.inspect_err(|status| refusal::count(shell.metrics(), method, status))
}

/// A filter for something that this version does not know would match everything.
fn understood(filter: Option<&v1::EntryFilter>) -> Result<(), Status> {
    let Some(filter) = filter else { return Ok(()) };
    known::<v1::EntryState>("filter.state", filter.state)?;
    known::<v1::CauseKind>("filter.cause_kind", filter.cause_kind)?;
    Ok(())
}

fn held(queue: &Queue) -> Vec<v1::HeldEntries> {
    let held = queue.held().into_iter();
    held.map(|(reason, entries)| v1::HeldEntries {
        reason: to_hold_reason(reason).into(),
        entries: entries as u64,
    })
    .collect()
}

fn status(shell: &Shell, queue: &Queue, now: Moment) -> v1::GetStatusResponse {
    let status = queue.status(now);
    v1::GetStatusResponse {
        regime: to_regime(status.verdict.regime).into(),
        reason: status.verdict.reason,
        evictions_per_second: status.verdict.evictions_per_second,
        clusters: count(status.verdict.clusters),
        faulty_clusters: count(status.verdict.faulty),
        faulty_share: status.verdict.faulty_share,
        unhealthy_threshold: status.unhealthy_threshold,
        faulty: status
            .faulty
            .into_iter()
            .map(|(cluster, fault)| v1::FaultyCluster {
                cluster: cluster.to_string(),
                taint: fault.taint,
                since: fault.since.map(to_time),
            })
            .collect(),
        totals: Some(to_totals(status.totals)),
        leader: shell.identity().to_owned(),
        queue_epoch: shell.epoch().to_owned(),
        as_of: Some(to_time(now.wall)),
        producers: status
            .producers
            .into_iter()
            .map(|producer| v1::ProducerStatus {
                producer: producer.name,
                identity: producer.identity,
                synced: producer.is_synced,
                gone_since: producer.gone_since.map(to_time),
                entries: producer.entries as u64,
                takeovers: producer.takeovers,
            })
            .collect(),
        held: held(queue),
        consumers: count(status.consumers),
        max_outstanding_leases: count(status.max_outstanding_leases),
        oldest_ready_since: status.oldest_ready_since.map(to_time),
        tokens: status.tokens,
        pauses: status
            .pauses
            .into_iter()
            .map(|held| v1::PauseStatus {
                name: held.pause.name,
                scope: match held.pause.scope {
                    PauseScopeView::All => "All",
                    PauseScopeView::Clusters(_) => "Clusters",
                    PauseScopeView::Namespaces(_) => "Namespaces",
                }
                .to_owned(),
                reason: held.pause.reason,
                until: held.pause.until.map(to_time),
                held_entries: held.held_entries as u64,
            })
            .collect(),
        revision: queue.revision(),
        notes: status.notes,
    }
}

fn explain(entry: &Entry, place: Option<Place>, verdict: &RegimeVerdict, notes: &[String]) -> String {
    match &entry.state {
        State::Waiting => format!("due at {}: {}", entry.published.due_at, entry.published.reason),
        State::Leased(_) => format!("released at {}; an evictor works on it", entry.since),
        State::Held { reason, message, .. } => format!("held, {}: {message}", reason.as_str()),
        State::Ready => match (place, entry.past.not_before) {
            (None, Some(not_before)) => {
                format!(
                    "tried again at {not_before}, after {} failures: {}",
                    entry.past.failures, entry.past.last_outcome
                )
            }
            (Some(place), _) if notes.is_empty() => format!(
                "number {} in the order of release, at {} evictions a second ({})",
                place.position, verdict.evictions_per_second, verdict.reason
            ),
            (Some(place), _) => format!(
                "number {} in the order of release; {}",
                place.position,
                notes.join("; ")
            ),
            (None, None) => notes.join("; "),
        },
    }
}

fn to_lane(lane: &LaneView) -> v1::Lane {
    v1::Lane {
        cluster: lane.cluster.to_string(),
        cluster_uid: lane.cluster_uid.clone(),
        faulty: lane.fault.is_some(),
        since: Some(to_time(lane.since)),
        totals: Some(to_totals(lane.totals)),
        next_due_at: lane.next_due_at.map(to_time),
    }
}

fn to_totals(totals: Totals) -> v1::Totals {
    v1::Totals {
        waiting: totals.waiting as u64,
        ready: totals.ready as u64,
        leased: totals.leased as u64,
        held: totals.held as u64,
    }
}

fn to_recent(outcome: &RecentOutcome) -> v1::RecentOutcome {
    let kind = match outcome.end {
        LeaseEnd::Evicted => v1::Outcome::Evicted,
        LeaseEnd::NotNeeded => v1::Outcome::NotNeeded,
        LeaseEnd::NoTarget => v1::Outcome::NoTarget,
        LeaseEnd::Failed => v1::Outcome::Failed,
        LeaseEnd::Wait => v1::Outcome::Wait,
        // It has no word for what nobody said; the reason tells it.
        LeaseEnd::Lapsed => v1::Outcome::Unspecified,
    };
    v1::RecentOutcome {
        key: Some(to_key(&outcome.key)),
        resource: Some(to_template(&outcome.published.template)),
        outcome: kind.into(),
        reason: outcome.reason.clone(),
        message: outcome.message.clone(),
        due_at: Some(to_time(outcome.published.due_at)),
        released_at: Some(to_time(outcome.released_at)),
        ended_at: Some(to_time(outcome.ended_at)),
        consumer: outcome.consumer.to_string(),
    }
}

fn to_regime(regime: Regime) -> v1::Regime {
    match regime {
        Regime::Starting => v1::Regime::Starting,
        Regime::Paused => v1::Regime::Paused,
        Regime::AllFaulty => v1::Regime::AllFaulty,
        Regime::Halted => v1::Regime::Halted,
        Regime::Reduced => v1::Regime::Reduced,
        Regime::Normal => v1::Regime::Normal,
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
