//! A consumer's stream.

use std::sync::Arc;

use eviction_queue_api::convert::short_name;
use eviction_queue_api::v1;
use eviction_queue_api::v1::lease_request::Message;
use failover_core::eviction::queue::{Event, StreamId};
use tonic::{Status, Streaming};

use super::bounds::{MAX_LEASES_RENEWED, hello_in_time};
use super::refusal;
use crate::outlet::{Down, Outlet};
use crate::shell::{Shell, Way};
use crate::streams::StreamKind;

/// Serves the stream: credit and renewals come up, leases go down.
pub(super) fn serve(
    shell: &Arc<Shell>,
    caller: Arc<str>,
    up: Streaming<v1::LeaseRequest>,
) -> Result<Down<v1::LeaseResponse>, Status> {
    let slot = shell.streams().slot(StreamKind::Lease, caller)?;
    let (outlet, down) = Outlet::new(StreamKind::Lease.unread(), slot);
    let term = shell.clone();
    shell.tasks().spawn("stream of a consumer", async move {
        if let Err(status) = read(&term, up, &outlet).await {
            refusal::count(term.metrics(), StreamKind::Lease.as_str(), &status);
            outlet.finish(status);
        }
    });
    Ok(down)
}

async fn read(
    shell: &Shell,
    mut up: Streaming<v1::LeaseRequest>,
    down: &Outlet<v1::LeaseResponse>,
) -> Result<(), Status> {
    let first = hello_in_time(up.message()).await?;
    let Some(Message::Hello(hello)) = first.and_then(|request| request.message) else {
        return Err(Status::invalid_argument("the first message of Lease must be hello"));
    };
    let identity = short_name("hello.identity", hello.identity)?;
    let (stream, ended) = shell.open(Way::Consumer(down.clone()));
    tracing::info!(identity, stream, "a consumer takes leases");
    shell.tell(Event::ConsumerHello {
        stream,
        identity: identity.clone(),
    });
    let result = tokio::select! {
        biased;
        () = ended.cancelled() => Ok(()),
        result = follow(shell, stream, up) => result,
    };
    tracing::info!(identity, stream, "the stream of a consumer ended");
    shell.tell(Event::ConsumerLeft { stream });
    result
}

async fn follow(shell: &Shell, stream: StreamId, mut up: Streaming<v1::LeaseRequest>) -> Result<(), Status> {
    while let Some(request) = up.message().await.map_err(refusal::of_reading)? {
        let event = match request.message {
            // A newer consumer's message, which asks for nothing that is done here.
            None => continue,
            Some(Message::Hello(_)) => return Err(Status::invalid_argument("hello was said already")),
            Some(Message::Credit(credit)) => Event::Credit {
                stream,
                leases: credit.leases,
            },
            Some(Message::Renewal(renewal)) if renewal.lease_ids.len() > MAX_LEASES_RENEWED => {
                return Err(Status::resource_exhausted(format!(
                    "renewal.lease_ids: {} are too many in one message, at most {MAX_LEASES_RENEWED}",
                    renewal.lease_ids.len()
                )));
            }
            Some(Message::Renewal(renewal)) => Event::Renew {
                stream,
                leases: if renewal.queue_epoch.is_empty() || renewal.queue_epoch == shell.epoch() {
                    renewal.lease_ids
                } else {
                    // Of another term: ids say nothing here, and none of them lives on.
                    Vec::new()
                },
            },
        };
        shell.tell(event);
    }
    Ok(())
}
