//! The stream by which the published set reaches the queue.
//!
//! Guarantee: level-triggered. A new stream begins with the whole set and goes on with changes; whatever went wrong on
//! an earlier one is made good by the snapshot.

use std::time::Duration;

use controller_kit::Context;
use eviction_queue_api::v1::{
    Epoch, PublishHello, PublishRequest, SnapshotComplete, Upserts, Withdrawal, Withdrawals, publish_request,
    publish_response,
};
use eviction_queue_api::{ENTRIES_PER_MESSAGE, QueueClient, convert};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};
use tracing::warn;

use super::confirmations::Confirmation;
use super::{PRODUCER, Shared};
use crate::link::Link;

/// Messages that may wait for the queue to take them.
const MESSAGES_AHEAD: usize = 4;
/// How long the queue may take to accept a stream.
const ACCEPT_WITHIN: Duration = Duration::from_secs(10);

/// Publishes until shutdown.
pub(crate) async fn run(ctx: &Context, shared: &Shared, queue: &QueueClient) {
    let link = Link::new(ctx, "publish");
    let forever = async {
        loop {
            let why = session(ctx, shared, queue, &link).await;
            link.down(&why);
            queue.back_off().await;
        }
    };
    tokio::select! {
        biased;
        () = ctx.shutdown.cancelled() => {}
        () = forever => {}
    }
}

/// One stream, until it ends; says why it did.
async fn session(ctx: &Context, shared: &Shared, queue: &QueueClient, link: &Link) -> String {
    let mut service = match queue.queue().await {
        Ok(service) => service,
        Err(error) => return error.to_string(),
    };
    let (up, requests) = mpsc::channel(MESSAGES_AHEAD);
    let begin = async {
        // The channel is empty, so this waits for nothing.
        let _ = up.send(message(hello(ctx))).await;
        service.publish(ReceiverStream::new(requests)).await
    };
    let answers = match tokio::time::timeout(ACCEPT_WITHIN, begin).await {
        Ok(Ok(answers)) => answers.into_inner(),
        Ok(Err(status)) => return ended(queue, &status),
        Err(_) => return ended(queue, &Status::cancelled("the queue does not accept the stream")),
    };
    tokio::select! {
        biased;
        status = hear(shared, queue, link, answers) => ended(queue, &status),
        () = tell(shared, &up) => "the stream has ended".to_owned(),
    }
}

fn ended(queue: &QueueClient, status: &Status) -> String {
    queue.learn(status);
    format!("{:?}: {}", status.code(), status.message())
}

/// Sends the whole set, then its changes.
async fn tell(shared: &Shared, up: &mpsc::Sender<PublishRequest>) {
    let snapshot = shared.index.lock().snapshot();
    for chunk in snapshot.chunks(ENTRIES_PER_MESSAGE) {
        let entries = chunk.iter().map(|entry| convert::to_published(entry)).collect();
        if send(up, publish_request::Message::Upserts(Upserts { entries }))
            .await
            .is_err()
        {
            return;
        }
    }
    drop(snapshot);
    let complete = publish_request::Message::SnapshotComplete(SnapshotComplete {});
    if send(up, complete).await.is_err() {
        return;
    }
    loop {
        let delta = shared.index.lock().published.next_delta(ENTRIES_PER_MESSAGE);
        let Some(delta) = delta else {
            shared.changed.notified().await;
            continue;
        };
        let withdrawals: Vec<Withdrawal> = delta
            .withdrawals
            .iter()
            .map(|(key, reason)| Withdrawal {
                key: Some(convert::to_key(key)),
                reason: convert::to_withdraw_reason(*reason).into(),
            })
            .collect();
        let entries: Vec<_> = delta.upserts.iter().map(|entry| convert::to_published(entry)).collect();
        if !withdrawals.is_empty() {
            let message = publish_request::Message::Withdrawals(Withdrawals { withdrawals });
            if send(up, message).await.is_err() {
                return;
            }
        }
        if !entries.is_empty()
            && send(up, publish_request::Message::Upserts(Upserts { entries }))
                .await
                .is_err()
        {
            return;
        }
    }
}

/// Takes the queue's answers until the stream ends.
async fn hear(
    shared: &Shared,
    queue: &QueueClient,
    link: &Link,
    mut answers: Streaming<eviction_queue_api::v1::PublishResponse>,
) -> Status {
    loop {
        let answer = match answers.message().await {
            Ok(Some(answer)) => answer,
            Ok(None) => return Status::unavailable("the queue has closed the stream"),
            Err(status) => return status,
        };
        match answer.message {
            Some(publish_response::Message::SnapshotAccepted(_)) => {
                queue.succeeded();
                link.up();
            }
            Some(publish_response::Message::Confirm(asked)) => {
                let confirmation = Confirmation {
                    binding_version: asked.binding_resource_version,
                    cluster_version: asked.cluster_resource_version,
                };
                match convert::from_key(asked.key) {
                    Ok(key) => {
                        shared.index.lock().confirm(key, confirmation);
                        shared.changed.notify_one();
                    }
                    Err(error) => warn!("the queue asks for an entry that cannot be understood: {error}"),
                }
            }
            Some(publish_response::Message::Accepted(_)) | None => {}
        }
    }
}

fn hello(ctx: &Context) -> publish_request::Message {
    let epoch = ctx.leadership.epoch();
    publish_request::Message::Hello(PublishHello {
        producer: PRODUCER.to_owned(),
        epoch: Some(Epoch {
            lease_uid: epoch.lease_uid,
            lease_transitions: epoch.transitions.into(),
        }),
        identity: ctx.identity.to_string(),
    })
}

fn message(message: publish_request::Message) -> PublishRequest {
    PublishRequest { message: Some(message) }
}

async fn send(up: &mpsc::Sender<PublishRequest>, what: publish_request::Message) -> Result<(), Closed> {
    up.send(message(what)).await.map_err(|_| Closed)
}

/// The stream takes no more messages.
struct Closed;
