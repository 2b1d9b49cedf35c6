//! One call of each kind, and what became of it.

use eviction_queue_api::{QueueClient, v1};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Code, Status, Streaming};

/// A kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Status,
    Entries,
    Watch,
    Publish,
    Lease,
    Complete,
    Drop,
}

impl Call {
    pub const ALL: [Self; 7] = [
        Self::Status,
        Self::Entries,
        Self::Watch,
        Self::Publish,
        Self::Lease,
        Self::Complete,
        Self::Drop,
    ];

    /// Makes it. `Ok` says that the call was let in: what the service makes of an empty request is its own matter.
    pub async fn make(self, client: &QueueClient) -> Result<(), Status> {
        let answer = self.ask(client).await;
        match answer {
            Err(status)
                if matches!(
                    status.code(),
                    Code::InvalidArgument | Code::NotFound | Code::FailedPrecondition | Code::Unimplemented
                ) =>
            {
                Ok(())
            }
            other => other,
        }
    }

    async fn ask(self, client: &QueueClient) -> Result<(), Status> {
        let no_way = |error: eviction_queue_api::ClientError| Status::unavailable(error.to_string());
        match self {
            Self::Status => status(client).await.map(|_| ()),
            Self::Entries => {
                let mut service = client.inspection().await.map_err(no_way)?;
                service
                    .list_entries(v1::ListEntriesRequest::default())
                    .await
                    .map(|_| ())
            }
            Self::Watch => watch(client).await.map(|_| ()),
            Self::Publish => publish(client, Vec::new()).await.map(|_| ()),
            Self::Lease => {
                let mut service = client.queue().await.map_err(no_way)?;
                let (_up, messages) = mpsc::unbounded_channel();
                service.lease(UnboundedReceiverStream::new(messages)).await.map(|_| ())
            }
            Self::Complete => {
                let mut service = client.queue().await.map_err(no_way)?;
                service.complete(v1::CompleteRequest::default()).await.map(|_| ())
            }
            Self::Drop => {
                let mut service = client.admin().await.map_err(no_way)?;
                service.drop(v1::DropRequest::default()).await.map(|_| ())
            }
        }
    }
}

pub async fn status(client: &QueueClient) -> Result<v1::GetStatusResponse, Status> {
    let service = client.inspection().await;
    let mut service = service.map_err(|error| Status::unavailable(error.to_string()))?;
    Ok(service.get_status(v1::GetStatusRequest {}).await?.into_inner())
}

pub async fn watch(client: &QueueClient) -> Result<Streaming<v1::WatchEntriesResponse>, Status> {
    let service = client.inspection().await;
    let mut service = service.map_err(|error| Status::unavailable(error.to_string()))?;
    let answer = service.watch_entries(v1::WatchEntriesRequest::default()).await?;
    Ok(answer.into_inner())
}

/// A producer that has published its set.
pub struct Publishing {
    up: mpsc::UnboundedSender<v1::PublishRequest>,
    pub down: Streaming<v1::PublishResponse>,
}

impl Publishing {
    pub fn say(&self, message: v1::publish_request::Message) {
        let _ = self.up.send(v1::PublishRequest { message: Some(message) });
    }

    pub fn upsert(&self, entries: Vec<v1::PublishedEntry>) {
        self.say(v1::publish_request::Message::Upserts(v1::Upserts { entries }));
    }

    /// How the stream ends.
    pub async fn ended(&mut self) -> Option<Status> {
        loop {
            match self.down.message().await {
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(status) => return Some(status),
            }
        }
    }
}

/// Publishes a whole set, and waits until it is accepted.
pub async fn publish(client: &QueueClient, entries: Vec<v1::PublishedEntry>) -> Result<Publishing, Status> {
    let service = client.queue().await;
    let mut service = service.map_err(|error| Status::unavailable(error.to_string()))?;
    let (up, messages) = mpsc::unbounded_channel();
    let down = service
        .publish(UnboundedReceiverStream::new(messages))
        .await?
        .into_inner();
    let mut publishing = Publishing { up, down };
    publishing.say(v1::publish_request::Message::Hello(v1::PublishHello {
        producer: "taintManager".into(),
        epoch: Some(v1::Epoch {
            lease_uid: "lease".into(),
            lease_transitions: 0,
        }),
        identity: "p".into(),
    }));
    if !entries.is_empty() {
        publishing.upsert(entries);
    }
    publishing.say(v1::publish_request::Message::SnapshotComplete(v1::SnapshotComplete {}));
    loop {
        let message = publishing.down.message().await?;
        let Some(message) = message.and_then(|response| response.message) else {
            return Err(Status::cancelled("the stream ended"));
        };
        if matches!(message, v1::publish_response::Message::SnapshotAccepted(_)) {
            return Ok(publishing);
        }
    }
}

/// Entries of bindings `b0`, `b1`, … that are due in a hundred years.
pub fn entries(count: usize) -> Vec<v1::PublishedEntry> {
    let entry = |n: usize| v1::PublishedEntry {
        key: Some(v1::EntryKey {
            cause: "k:NoExecute@2026-01-01T00:00:00Z".into(),
            cluster: "m1".into(),
            cluster_uid: "cu".into(),
            namespace: "default".into(),
            name: format!("b{n}"),
            uid: format!("bu{n}"),
        }),
        due_at: Some(eviction_queue_api::Timestamp {
            seconds: 4_900_000_000,
            nanos: 0,
        }),
        resource: Some(v1::ResourceRef {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            namespace: "default".into(),
            name: format!("b{n}"),
        }),
        purge_mode: v1::PurgeMode::Gracefully.into(),
        ..v1::PublishedEntry::default()
    };
    (0..count).map(entry).collect()
}

/// How many entries the queue has.
pub async fn count(client: &QueueClient) -> u64 {
    let totals = status(client).await.unwrap().totals.unwrap();
    totals.waiting + totals.ready + totals.leased + totals.held
}
