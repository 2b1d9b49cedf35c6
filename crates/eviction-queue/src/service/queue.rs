//! `EvictionQueue`: streams of producers and consumers, and outcomes.

use std::sync::Arc;

use eviction_queue_api::convert::{Malformed, from_key, from_time, short_name, short_text};
use eviction_queue_api::v1;
use eviction_queue_api::v1::eviction_queue_server::EvictionQueue;
use failover_core::eviction::queue::{CompleteResult, Completion, Event, NoTargetRestsOn, OutcomeKind};
use tonic::{Request, Response, Status, Streaming};

use super::{callers, refusal};
use crate::outlet::Down;
use crate::server::Server;
use crate::shell::Shell;
use crate::streams::StreamKind;

/// The service for controllers.
#[derive(Clone, Debug)]
pub struct Queue {
    server: Arc<Server>,
}

impl Queue {
    /// Answers for whom the server answers.
    #[must_use]
    pub fn new(server: Arc<Server>) -> Self {
        Self { server }
    }
}

#[tonic::async_trait]
impl EvictionQueue for Queue {
    type PublishStream = Down<v1::PublishResponse>;
    type LeaseStream = Down<v1::LeaseResponse>;

    async fn publish(
        &self,
        request: Request<Streaming<v1::PublishRequest>>,
    ) -> Result<Response<Self::PublishStream>, Status> {
        let shell = self.server.leader().await?;
        let caller = callers::name(&request);
        let down = super::publish::serve(&self.server, &shell, caller, request.into_inner())
            .inspect_err(|status| refusal::count(shell.metrics(), StreamKind::Publish.as_str(), status))?;
        Ok(Response::new(down))
    }

    async fn lease(
        &self,
        request: Request<Streaming<v1::LeaseRequest>>,
    ) -> Result<Response<Self::LeaseStream>, Status> {
        let shell = self.server.leader().await?;
        let caller = callers::name(&request);
        let down = super::lease::serve(&shell, caller, request.into_inner())
            .inspect_err(|status| refusal::count(shell.metrics(), StreamKind::Lease.as_str(), status))?;
        Ok(Response::new(down))
    }

    async fn complete(&self, request: Request<v1::CompleteRequest>) -> Result<Response<v1::CompleteResponse>, Status> {
        let shell = self.server.leader().await?;
        let result = complete(&shell, request.into_inner())
            .inspect_err(|status| refusal::count(shell.metrics(), "Complete", status))?;
        Ok(Response::new(v1::CompleteResponse { result: result.into() }))
    }

    async fn order_written(
        &self,
        request: Request<v1::OrderWrittenRequest>,
    ) -> Result<Response<v1::OrderWrittenResponse>, Status> {
        let shell = self.server.leader().await?;
        order_written(&shell, request.into_inner()).inspect_err(|malformed| {
            refusal::count(shell.metrics(), "OrderWritten", &Status::from(malformed.clone()));
        })?;
        Ok(Response::new(v1::OrderWrittenResponse {}))
    }
}

fn complete(shell: &Shell, request: v1::CompleteRequest) -> Result<v1::CompleteResult, Status> {
    if request.queue_epoch != shell.epoch() {
        return Ok(v1::CompleteResult::OtherEpoch);
    }
    let lease = request.lease_id;
    let outcome = outcome(&request)?;
    let key = Arc::new(from_key(request.key)?);
    let consumer = short_name("consumer_identity", request.consumer_identity)?;
    let consumer = Some(consumer).filter(|consumer| !consumer.is_empty());
    let other_entry = format!("lease {lease} is not of entry {key}: nothing was changed");
    let other_consumer = format!("lease {lease} was granted to another consumer: nothing was changed");
    let completion = Completion {
        outcome,
        reason: short_text(request.reason),
        message: short_text(request.message),
    };
    let event = Event::Complete {
        lease,
        key,
        consumer,
        completion,
    };
    match shell.tell(event) {
        Some(CompleteResult::Accepted) => Ok(v1::CompleteResult::Accepted),
        Some(CompleteResult::Late) => Ok(v1::CompleteResult::Late),
        Some(CompleteResult::OtherEntry) => Err(Status::invalid_argument(other_entry)),
        Some(CompleteResult::OtherConsumer) => Err(Status::failed_precondition(other_consumer)),
        None => Err(Status::internal("the queue did not answer")),
    }
}

fn order_written(shell: &Shell, request: v1::OrderWrittenRequest) -> Result<(), Malformed> {
    let key = from_key(request.key)?;
    let field = "binding_resource_version";
    let binding_version = short_name(field, request.binding_resource_version)?;
    if binding_version.is_empty() {
        return Err(Malformed::Missing { field });
    }
    if request.queue_epoch == shell.epoch() {
        shell.tell(Event::OrderWritten {
            key,
            id: request.order_id,
            binding_version,
        });
    }
    Ok(())
}

fn outcome(request: &v1::CompleteRequest) -> Result<OutcomeKind, Malformed> {
    let wait_until = || {
        request
            .wait_until
            .as_ref()
            .map(|at| from_time("wait_until", at))
            .transpose()
    };
    // A newer consumer's outcome: whatever it is, the entry is not known to be done.
    Ok(
        match v1::Outcome::try_from(request.outcome).unwrap_or(v1::Outcome::Failed) {
            v1::Outcome::Unspecified => return Err(Malformed::Missing { field: "outcome" }),
            v1::Outcome::Evicted => OutcomeKind::Evicted,
            v1::Outcome::NotNeeded => OutcomeKind::NotNeeded {
                binding_version: short_name("binding_resource_version", request.binding_resource_version.clone())?,
                cluster_version: short_name("cluster_resource_version", request.cluster_resource_version.clone())?,
            },
            v1::Outcome::NoTarget => OutcomeKind::NoTarget {
                recheck_at: wait_until()?,
                rests_on: if request.capacity_checked {
                    NoTargetRestsOn::PlacesAndResources
                } else {
                    NoTargetRestsOn::Places
                },
            },
            v1::Outcome::Failed => OutcomeKind::Failed,
            v1::Outcome::Wait => OutcomeKind::Wait {
                until: wait_until()?.ok_or(Malformed::Missing { field: "wait_until" })?,
            },
        },
    )
}
