//! A consumer's stream.

use std::sync::Arc;

use eviction_queue_api::v1;
use eviction_queue_api::v1::lease_request::Message;
use failover_core::eviction::queue::{Event, StreamId};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Status, Streaming};

use super::queue::Down;
use crate::shell::{Outlet, Shell};

/// Serves the stream: credit and renewals come up, leases go down.
pub(super) fn serve(shell: &Arc<Shell>, up: Streaming<v1::LeaseRequest>) -> Down<v1::LeaseResponse> {
    let (down, received) = mpsc::unbounded_channel();
    let term = shell.clone();
    shell.tasks().spawn("stream of a consumer", async move {
        if let Err(status) = read(&term, up, &down).await {
            let _ = down.send(Err(status));
        }
    });
    Box::pin(UnboundedReceiverStream::new(received))
}

async fn read(
    shell: &Shell,
    mut up: Streaming<v1::LeaseRequest>,
    down: &mpsc::UnboundedSender<Result<v1::LeaseResponse, Status>>,
) -> Result<(), Status> {
    let Some(Message::Hello(hello)) = up.message().await?.and_then(|request| request.message) else {
        return Err(Status::invalid_argument("the first message of Lease must be hello"));
    };
    let (stream, ended) = shell.open(Outlet::Consumer(down.clone()));
    tracing::info!(identity = hello.identity, stream, "a consumer takes leases");
    let identity = hello.identity.clone();
    shell.tell(Event::ConsumerHello {
        stream,
        identity: hello.identity,
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
    while let Some(request) = up.message().await? {
        let event = match request.message {
            None => return Err(Status::invalid_argument("an empty message")),
            Some(Message::Hello(_)) => return Err(Status::invalid_argument("hello was said already")),
            Some(Message::Credit(credit)) => Event::Credit {
                stream,
                leases: credit.leases,
            },
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
