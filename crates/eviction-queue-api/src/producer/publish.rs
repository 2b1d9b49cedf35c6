//! The stream by which the published set reaches the queue.
//!
//! Guarantee: level-triggered. A new stream begins with the whole set and goes on with changes; whatever went wrong on
//! an earlier one is made good by the snapshot.

use std::time::Duration;

use api_types::{BindingKey, ClusterName};
use controller_kit::Context;
use controller_kit::telemetry::Traces;
use failover_core::eviction::queue::{EntryKey, Published};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};
use tracing::{info, warn};

use super::confirmations::Confirmation;
use super::{Producer, Shared};
use crate::link::Link;
use crate::v1::{
    Epoch, PublishHello, PublishRequest, PublishResponse, PublishedEntry, SnapshotComplete, Upserts, Withdrawal,
    Withdrawals, publish_request, publish_response,
};
use crate::{ENTRIES_PER_MESSAGE, QueueClient, convert};

/// Messages that may wait for the queue to take them.
const MESSAGES_AHEAD: usize = 4;
/// How long the queue may take to accept a stream.
const ACCEPT_WITHIN: Duration = Duration::from_secs(10);

/// The names of one who publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publisher {
    /// The producer's name in the queue: its entries are told by it from those of others.
    pub producer: &'static str,
    /// The stream's name in readiness and metrics, unique in the process.
    pub stream: &'static str,
}

/// Publishes until shutdown: whenever a stream ends another one begins, after a back-off.
pub async fn publish<P: Producer>(ctx: &Context, publisher: Publisher, shared: &Shared<P>, queue: &QueueClient) {
    let link = Link::new(ctx, publisher.stream);
    let forever = async {
        loop {
            let why = session(ctx, publisher.producer, shared, queue, &link).await;
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
async fn session<P: Producer>(
    ctx: &Context,
    producer: &str,
    shared: &Shared<P>,
    queue: &QueueClient,
    link: &Link,
) -> String {
    let mut service = match queue.queue().await {
        Ok(service) => service,
        Err(error) => return error.to_string(),
    };
    let (up, requests) = mpsc::channel(MESSAGES_AHEAD);
    let begin = async {
        // The channel is empty, so this waits for nothing.
        let _ = up.send(message(hello(ctx, producer))).await;
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
        () = tell(shared, &ctx.traces, &up) => "the stream has ended".to_owned(),
    }
}

fn ended(queue: &QueueClient, status: &Status) -> String {
    queue.learn(status);
    format!("{:?}: {}", status.code(), status.message())
}

/// Sends the whole set, then its changes.
async fn tell<P: Producer>(shared: &Shared<P>, traces: &Traces, up: &mpsc::Sender<PublishRequest>) {
    let snapshot = shared.index.lock().ledger().snapshot();
    for chunk in snapshot.chunks(ENTRIES_PER_MESSAGE) {
        let entries = chunk.iter().map(|entry| traced(entry, traces)).collect();
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
        let delta = shared.index.lock().ledger().next_delta(ENTRIES_PER_MESSAGE);
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
        for (key, reason) in &delta.withdrawals {
            info!(
                binding = %key.binding, cluster = %key.cluster, cause = key.cause.identity(), reason = ?reason,
                "the entry is taken back"
            );
        }
        for entry in &delta.upserts {
            let (key, hold) = (&entry.key, entry.hold.as_ref().map(|hold| hold.reason.as_str()));
            info!(
                binding = %key.binding, cluster = %key.cluster, cause = key.cause.identity(), due_at = %entry.due_at,
                hold, "has to leave: {}", entry.reason
            );
        }
        let entries: Vec<_> = delta.upserts.iter().map(|entry| traced(entry, traces)).collect();
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

/// An entry with what joins the trace of its move, where this process tells spans. The same move has the same trace,
/// whichever process publishes it.
fn traced(entry: &Published, traces: &Traces) -> PublishedEntry {
    let mut message = convert::to_published(entry);
    let key = &entry.key;
    let identity = format!("{} {} {}", key.binding_uid, key.cluster_uid, key.cause.identity());
    if let Some(context) = traces.begin(&identity) {
        message.traceparent = context.to_string();
    }
    message
}

/// Takes the queue's answers until the stream ends.
async fn hear<P: Producer>(
    shared: &Shared<P>,
    queue: &QueueClient,
    link: &Link,
    mut answers: Streaming<PublishResponse>,
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
                        take_question(shared, key, confirmation);
                        shared.changed.notify_one();
                    }
                    Err(error) => warn!("the queue asks for an entry that cannot be understood: {error}"),
                }
            }
            Some(publish_response::Message::Accepted(_)) | None => {}
        }
    }
}

/// The queue asks: what is known already may be new enough.
fn take_question<P: Producer>(shared: &Shared<P>, key: EntryKey, asked: Confirmation) {
    let (cluster, binding): (ClusterName, BindingKey) = (key.cluster.clone(), key.binding.clone());
    let mut index = shared.index.lock();
    index.ledger().ask(key, asked);
    index.judge_pair(&cluster, &binding);
}

fn hello(ctx: &Context, producer: &str) -> publish_request::Message {
    let epoch = ctx.leadership.epoch();
    publish_request::Message::Hello(PublishHello {
        producer: producer.to_owned(),
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
