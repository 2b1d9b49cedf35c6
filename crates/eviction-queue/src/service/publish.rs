//! A producer's stream.

use std::sync::Arc;

use controller_kit::leader::lease_name;
use eviction_queue_api::convert::{from_key, from_published, from_withdraw_reason, short_name};
use eviction_queue_api::v1;
use eviction_queue_api::v1::publish_request::Message;
use failover_core::eviction::queue::{EpochCheck, Event, ProducerEpoch, StreamId};
use tonic::{Status, Streaming};

use super::bounds::{few_enough, hello_in_time, no_duplicates, producer_name};
use super::refusal;
use crate::outlet::{Down, Outlet};
use crate::server::Server;
use crate::shell::{Shell, Way};
use crate::streams::StreamKind;

/// Serves the stream: what comes up goes to the queue, what the queue wants said goes down.
pub(super) fn serve(
    server: &Arc<Server>,
    shell: &Arc<Shell>,
    caller: Arc<str>,
    up: Streaming<v1::PublishRequest>,
) -> Result<Down<v1::PublishResponse>, Status> {
    let slot = shell.streams().slot(StreamKind::Publish, caller)?;
    let (outlet, down) = Outlet::new(StreamKind::Publish.unread(), slot);
    let (server, term) = (server.clone(), shell.clone());
    shell.tasks().spawn("stream of a producer", async move {
        if let Err(status) = read(&server, &term, up, &outlet).await {
            refusal::count(term.metrics(), StreamKind::Publish.as_str(), &status);
            outlet.finish(status);
        }
    });
    Ok(down)
}

async fn read(
    server: &Server,
    shell: &Shell,
    mut up: Streaming<v1::PublishRequest>,
    down: &Outlet<v1::PublishResponse>,
) -> Result<(), Status> {
    let first = hello_in_time(up.message()).await?;
    let Some(Message::Hello(hello)) = first.and_then(|request| request.message) else {
        return Err(Status::invalid_argument("the first message of Publish must be hello"));
    };
    if hello.producer.is_empty() {
        return Err(Status::invalid_argument("hello.producer is missing"));
    }
    let hello = v1::PublishHello {
        producer: producer_name(hello.producer)?,
        identity: short_name("hello.identity", hello.identity)?,
        ..hello
    };
    let epoch = hello.epoch.unwrap_or_default();
    let epoch = ProducerEpoch {
        lease_uid: short_name("hello.epoch.lease_uid", epoch.lease_uid)?,
        transitions: epoch.lease_transitions,
    };
    check(server, shell, &hello.producer, &epoch).await?;

    let (stream, ended) = shell.open(Way::Producer(down.clone()));
    tracing::info!(
        producer = hello.producer,
        identity = hello.identity,
        stream,
        "a producer publishes"
    );
    let accepted = v1::PublishAccepted {
        queue_epoch: shell.epoch().to_owned(),
    };
    let message = Some(v1::publish_response::Message::Accepted(accepted));
    // It is the first, so there is room.
    let _ = down.send(v1::PublishResponse { message });
    let producer = hello.producer.clone();
    shell.tell(Event::ProducerHello {
        stream,
        producer: hello.producer,
        epoch,
        identity: hello.identity,
    });
    let result = tokio::select! {
        biased;
        () = ended.cancelled() => Ok(()),
        result = follow(shell, stream, up) => result,
    };
    tracing::info!(producer, stream, "the stream of a producer ended");
    shell.tell(Event::ProducerLeft { stream });
    result
}

async fn follow(shell: &Shell, stream: StreamId, mut up: Streaming<v1::PublishRequest>) -> Result<(), Status> {
    while let Some(request) = up.message().await.map_err(refusal::of_reading)? {
        let event = match request.message {
            // A newer producer's message, which asks for nothing that is done here.
            None => continue,
            Some(Message::Hello(_)) => return Err(Status::invalid_argument("hello was said already")),
            Some(Message::Upserts(upserts)) => {
                few_enough("upserts.entries", upserts.entries.len())?;
                let entries = {
                    let mut common = shell.in_common().lock();
                    let entries = upserts.entries.into_iter();
                    let read = entries.map(|entry| from_published(entry, &mut common));
                    read.collect::<Result<Vec<_>, _>>()?
                };
                no_duplicates("upserts.entries", entries.iter().map(|entry| &*entry.key))?;
                Event::Upsert { stream, entries }
            }
            Some(Message::Withdrawals(withdrawals)) => {
                few_enough("withdrawals.withdrawals", withdrawals.withdrawals.len())?;
                let entries = withdrawals
                    .withdrawals
                    .into_iter()
                    .map(|item| {
                        // A reason that this version does not know takes an entry back like any other.
                        let reason = from_withdraw_reason(item.reason());
                        Ok((from_key(item.key)?, reason))
                    })
                    .collect::<Result<Vec<_>, Status>>()?;
                no_duplicates("withdrawals.withdrawals", entries.iter().map(|(key, _)| key))?;
                Event::Withdraw { stream, entries }
            }
            Some(Message::SnapshotComplete(_)) => Event::SnapshotComplete { stream },
        };
        shell.tell(event);
    }
    Ok(())
}

/// A lower term of the same Lease is refused; another Lease is believed when the API server confirms it.
async fn check(server: &Server, shell: &Shell, producer: &str, epoch: &ProducerEpoch) -> Result<(), Status> {
    match shell.look(|queue, _| queue.check_epoch(producer, epoch)) {
        EpochCheck::Accept => Ok(()),
        EpochCheck::Refuse { known_transitions } => Err(Status::failed_precondition(format!(
            "producer {producer} publishes from term {}, but term {known_transitions} of the same Lease has published already",
            epoch.transitions
        ))),
        EpochCheck::TooMany { most } => Err(Status::resource_exhausted(format!(
            "{most} producers are known, which is the most: is {producer} one that calls itself by another name each time?"
        ))),
        EpochCheck::ConfirmLive => match server.lease_uid(&lease_name(producer)).await {
            Ok(Some(uid)) if uid == epoch.lease_uid => Ok(()),
            Ok(uid) => Err(Status::failed_precondition(format!(
                "producer {producer} names Lease UID {:?}, but the Lease has {:?}",
                epoch.lease_uid,
                uid.unwrap_or_default()
            ))),
            Err(error) => Err(Status::unavailable(format!(
                "cannot confirm the Lease of producer {producer}: {error}"
            ))),
        },
    }
}
