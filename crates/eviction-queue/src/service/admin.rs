//! `QueueAdmin`: what operators order.

use std::sync::Arc;

use eviction_queue_api::convert::{from_key, to_entry};
use eviction_queue_api::v1;
use eviction_queue_api::v1::queue_admin_server::QueueAdmin;
use failover_core::eviction::queue::{OrderKind, OrderRefused, OrderRequest};
use tonic::{Request, Response, Status};

use super::{callers, refusal};
use crate::server::Server;
use crate::shell::{Run, Shell};

/// The longest reason that is taken. In bytes.
const MAX_REASON_BYTES: usize = 256;

/// The service for people who change the queue.
#[derive(Clone, Debug)]
pub struct Admin {
    server: Arc<Server>,
}

impl Admin {
    /// Answers for whom the server answers.
    #[must_use]
    pub fn new(server: Arc<Server>) -> Self {
        Self { server }
    }
}

#[tonic::async_trait]
impl QueueAdmin for Admin {
    async fn drop(&self, request: Request<v1::DropRequest>) -> Result<Response<v1::DropResponse>, Status> {
        let entry = self.order(OrderKind::Drop, request).await?;
        Ok(Response::new(v1::DropResponse { entry: Some(entry) }))
    }

    async fn undrop(&self, request: Request<v1::UndropRequest>) -> Result<Response<v1::UndropResponse>, Status> {
        let entry = self.order(OrderKind::Undrop, request).await?;
        Ok(Response::new(v1::UndropResponse { entry: Some(entry) }))
    }
}

impl Admin {
    /// The entry as it is after the order.
    async fn order(&self, kind: OrderKind, request: Request<impl Into<Ask>>) -> Result<v1::Entry, Status> {
        let shell = self.server.leader().await?;
        let caller = callers::name(&request);
        order(&shell, kind, caller, request.into_inner().into())
            .inspect_err(|status| refusal::count(shell.metrics(), method(kind), status))
    }
}

/// What both orders say.
struct Ask {
    key: Option<v1::EntryKey>,
    reason: String,
    run: Run,
}

impl From<v1::DropRequest> for Ask {
    fn from(request: v1::DropRequest) -> Self {
        Self {
            key: request.key,
            reason: request.reason,
            run: run(request.dry_run),
        }
    }
}

impl From<v1::UndropRequest> for Ask {
    fn from(request: v1::UndropRequest) -> Self {
        Self {
            key: request.key,
            reason: request.reason,
            run: run(request.dry_run),
        }
    }
}

fn run(dry_run: bool) -> Run {
    if dry_run { Run::Dry } else { Run::ForReal }
}

fn method(kind: OrderKind) -> &'static str {
    match kind {
        OrderKind::Drop => "Drop",
        OrderKind::Undrop => "Undrop",
    }
}

fn order(shell: &Shell, kind: OrderKind, caller: Arc<str>, ask: Ask) -> Result<v1::Entry, Status> {
    let reason = ask.reason.trim();
    if reason.is_empty() && kind == OrderKind::Drop {
        return Err(Status::invalid_argument(
            "field reason is missing: say why, for those who find the workload where it is",
        ));
    }
    if reason.len() > MAX_REASON_BYTES {
        return Err(Status::invalid_argument(format!(
            "field reason: {} bytes are too many, at most {MAX_REASON_BYTES}",
            reason.len()
        )));
    }
    let key = from_key(ask.key)?;
    let request = OrderRequest {
        kind,
        caller,
        reason: reason.to_owned(),
    };
    let plan = shell.order(&key, &request, ask.run).map_err(|refused| match refused {
        OrderRefused::NotFound(_) => Status::not_found(refused.to_string()),
        OrderRefused::KeptByPerson { .. } => Status::failed_precondition(refused.to_string()),
    })?;
    tracing::info!(
        binding = %key.binding,
        cluster = %key.cluster,
        cause = key.cause.identity(),
        caller = &*request.caller,
        reason = request.reason,
        dry_run = ask.run == Run::Dry,
        was_so = plan.is_done,
        "{}",
        match kind {
            OrderKind::Drop => "drop",
            OrderKind::Undrop => "undrop",
        }
    );
    Ok(to_entry(&plan.entry))
}
