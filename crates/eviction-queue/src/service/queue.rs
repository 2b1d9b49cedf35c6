//! `EvictionQueue`: streams of producers and consumers, and outcomes.

use std::pin::Pin;
use std::sync::Arc;

use eviction_queue_api::convert::{Malformed, from_key, from_time};
use eviction_queue_api::v1;
use eviction_queue_api::v1::eviction_queue_server::EvictionQueue;
use failover_core::eviction::queue::{CompleteResult, Completion, Event, OutcomeKind};
use futures::Stream;
use tonic::{Request, Response, Status, Streaming};

use crate::server::Server;

/// Messages down a stream.
pub(super) type Down<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

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
        Ok(Response::new(super::publish::serve(
            &self.server,
            &shell,
            request.into_inner(),
        )))
    }

    async fn lease(
        &self,
        request: Request<Streaming<v1::LeaseRequest>>,
    ) -> Result<Response<Self::LeaseStream>, Status> {
        let shell = self.server.leader().await?;
        Ok(Response::new(super::lease::serve(&shell, request.into_inner())))
    }

    async fn complete(&self, request: Request<v1::CompleteRequest>) -> Result<Response<v1::CompleteResponse>, Status> {
        let shell = self.server.leader().await?;
        let request = request.into_inner();
        let answer = |result: v1::CompleteResult| Ok(Response::new(v1::CompleteResponse { result: result.into() }));
        if request.queue_epoch != shell.epoch() {
            return answer(v1::CompleteResult::OtherEpoch);
        }
        let outcome = outcome(&request)?;
        let event = Event::Complete {
            lease: request.lease_id,
            key: from_key(request.key)?,
            completion: Completion {
                outcome,
                reason: request.reason,
                message: request.message,
            },
        };
        match shell.tell(event) {
            Some(CompleteResult::Accepted) => answer(v1::CompleteResult::Accepted),
            Some(CompleteResult::Late) => answer(v1::CompleteResult::Late),
            None => Err(Status::internal("the queue did not answer")),
        }
    }
}

fn outcome(request: &v1::CompleteRequest) -> Result<OutcomeKind, Malformed> {
    let wait_until = || {
        request
            .wait_until
            .as_ref()
            .map(|at| from_time("wait_until", at))
            .transpose()
    };
    Ok(match request.outcome() {
        v1::Outcome::Unspecified => return Err(Malformed::Missing { field: "outcome" }),
        v1::Outcome::Evicted => OutcomeKind::Evicted,
        v1::Outcome::NotNeeded => OutcomeKind::NotNeeded {
            binding_version: request.binding_resource_version.clone(),
            cluster_version: request.cluster_resource_version.clone(),
        },
        v1::Outcome::NoTarget => OutcomeKind::NoTarget {
            recheck_at: wait_until()?,
        },
        v1::Outcome::Failed => OutcomeKind::Failed,
        v1::Outcome::Wait => OutcomeKind::Wait {
            until: wait_until()?.ok_or(Malformed::Missing { field: "wait_until" })?,
        },
    })
}
