//! A control plane on the sandbox, replicas of the queue on it, and producers and consumers that speak gRPC with the
//! leader over a network inside the process; all under paused time.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use api_types::BindingKey;
use controller_kit::{KitFlags, Running};
use eviction_queue::{Flags, Transport, controllers};
use eviction_queue_api::convert::{to_key, to_published, to_withdraw_reason};
use eviction_queue_api::memory::MemoryNetwork;
use eviction_queue_api::{QueueClient, v1};
use failover_core::eviction::Cause;
use failover_core::eviction::queue::{BindingVersions, EntryKey, Published, Purge, TemplateRef, WithdrawReason};
use jiff::{SignedDuration, Timestamp};
use kube_sandbox::Sandbox;
use parking_lot::Mutex;
use serde_json::{Value, json};
use test_bench::Bench;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Status, Streaming};

pub struct World {
    bench: Bench,
    pub plane: Sandbox,
    pub network: MemoryNetwork,
}

impl Deref for World {
    type Target = Bench;

    fn deref(&self) -> &Self::Target {
        &self.bench
    }
}

impl World {
    /// With healthy clusters `h1` to `h3` and tainted ones `m1` and `m2`.
    pub fn new() -> Self {
        let bench = Bench::new(&[]);
        let plane = bench.plane().clone();
        let world = Self {
            bench,
            plane,
            network: MemoryNetwork::default(),
        };
        for name in ["h1", "h2", "h3"] {
            world.heal(name);
        }
        world.fail("m1");
        world.fail("m2");
        world
    }

    pub fn put_cluster(&self, name: &str, taints: &Value) {
        self.put(json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"syncMode": "Push", "taints": taints},
        }));
    }

    pub fn fail(&self, name: &str) {
        self.put_cluster(
            name,
            &json!([{"key": "k", "effect": "NoExecute", "timeAdded": self.started}]),
        );
    }

    pub fn heal(&self, name: &str) {
        self.put_cluster(name, &json!([]));
    }

    /// Takes a cluster out of the fleet.
    pub async fn remove_cluster(&self, name: &str) {
        let clusters = kube::Api::<api_types::cluster::Cluster>::all(self.plane.observer());
        clusters
            .delete(name, &kube::api::DeleteParams::default())
            .await
            .unwrap();
        self.settle().await;
    }

    /// Flags without a leader's grace, so that tests count from the start.
    pub fn flags(&self, evictions_per_second: f64) -> Flags {
        Flags {
            resource_eviction_rate: evictions_per_second,
            leader_grace: Duration::ZERO,
            transport: Transport::Memory(self.network.clone()),
            ..Flags::default()
        }
    }

    pub async fn queue(&self, identity: &str, flags: Flags) -> Running {
        self.allow_evictions_per_second(flags.resource_eviction_rate);
        let running = self
            .process("eviction-queue", identity, KitFlags::default())
            .controllers(controllers(flags))
            .start()
            .await
            .unwrap();
        self.settle().await;
        running
    }

    /// Time for everything that is due now.
    pub async fn settle(&self) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    pub fn client(&self) -> QueueClient {
        QueueClient::by_lease(self.plane.observer(), "karmada-system", "test").through(self.network.clone())
    }

    pub async fn status(&self) -> v1::GetStatusResponse {
        let call = |mut service: eviction_queue_api::v1::queue_inspection_client::QueueInspectionClient<_>| async move {
            service.get_status(v1::GetStatusRequest {}).await
        };
        self.client().inspect(Duration::from_secs(60), call).await.unwrap()
    }

    pub async fn entries(&self, filter: v1::EntryFilter) -> Vec<v1::Entry> {
        let mut service = self.client().inspection().await.unwrap();
        let request = v1::ListEntriesRequest {
            filter: Some(filter),
            page_size: 1_000,
            page_token: String::new(),
        };
        service.list_entries(request).await.unwrap().into_inner().entries
    }

    /// An entry of a binding on a cluster, due so many seconds after the start.
    pub fn entry(&self, cluster: &str, name: &str, due_seconds: i64) -> Published {
        let stored = self
            .plane
            .get("cluster.karmada.io/v1alpha1", "Cluster", None, cluster)
            .unwrap();
        let text = |path: &str| stored["metadata"][path].as_str().unwrap_or_default().to_owned();
        Published {
            key: EntryKey {
                cluster: cluster.into(),
                cluster_uid: text("uid").into(),
                binding: BindingKey::namespaced("default", name),
                binding_uid: format!("uid-{name}").into(),
                cause: "k:NoExecute@2026-01-01T00:00:00Z".parse::<Cause>().unwrap().into(),
            }
            .into(),
            due_at: self.started + SignedDuration::from_secs(due_seconds),
            priority: 0,
            template: TemplateRef {
                api_version: "apps/v1".into(),
                kind: "Deployment".into(),
                namespace: Some("default".into()),
                name: name.into(),
            },
            replicas: 1,
            purge_mode: Purge::Gracefully,
            grace_period_seconds: None,
            reason: "taint k:NoExecute is not tolerated".into(),
            hold: None,
            versions: BindingVersions {
                binding_generation: 1,
                binding: "10".into(),
                cluster: text("resourceVersion").into(),
            },
            traceparent: None,
        }
    }

    pub fn entries_of(&self, cluster: &str, count: usize) -> Vec<Published> {
        (0..count)
            .map(|n| self.entry(cluster, &format!("{cluster}-{n:04}"), 0))
            .collect()
    }
}

/// A producer with its stream.
pub struct Producer {
    pub up: mpsc::UnboundedSender<v1::PublishRequest>,
    pub down: Streaming<v1::PublishResponse>,
}

impl Producer {
    pub async fn connect(world: &World, epoch: (&str, i64)) -> Self {
        Self::connect_as(world, ("taintManager", "p"), epoch).await
    }

    /// Under a name and from a process of this identity.
    pub async fn connect_as(world: &World, who: (&str, &str), epoch: (&str, i64)) -> Self {
        let mut service = world.client().queue().await.unwrap();
        let (up, messages) = mpsc::unbounded_channel();
        let down = service
            .publish(UnboundedReceiverStream::new(messages))
            .await
            .unwrap()
            .into_inner();
        let producer = Self { up, down };
        producer.say(v1::publish_request::Message::Hello(v1::PublishHello {
            producer: who.0.into(),
            epoch: Some(v1::Epoch {
                lease_uid: epoch.0.into(),
                lease_transitions: epoch.1,
            }),
            identity: who.1.into(),
        }));
        producer
    }

    /// Connected, with this set published and accepted.
    pub async fn publish(world: &World, entries: Vec<Published>) -> Self {
        let mut producer = Self::connect(world, ("lease", 0)).await;
        producer.upsert(&entries);
        producer.complete();
        loop {
            let message = producer.next().await.unwrap();
            if matches!(message, v1::publish_response::Message::SnapshotAccepted(_)) {
                return producer;
            }
        }
    }

    pub fn say(&self, message: v1::publish_request::Message) {
        let _ = self.up.send(v1::PublishRequest { message: Some(message) });
    }

    pub fn upsert(&self, entries: &[Published]) {
        for chunk in entries.chunks(1_000) {
            let entries = chunk.iter().map(to_published).collect();
            self.say(v1::publish_request::Message::Upserts(v1::Upserts { entries }));
        }
    }

    pub fn withdraw<'a>(&self, keys: impl IntoIterator<Item = &'a EntryKey>, reason: WithdrawReason) {
        let withdrawals = keys.into_iter().map(|key| v1::Withdrawal {
            key: Some(to_key(key)),
            reason: to_withdraw_reason(reason).into(),
        });
        let withdrawals = withdrawals.collect();
        self.say(v1::publish_request::Message::Withdrawals(v1::Withdrawals {
            withdrawals,
        }));
    }

    pub fn complete(&self) {
        self.say(v1::publish_request::Message::SnapshotComplete(v1::SnapshotComplete {}));
    }

    pub async fn next(&mut self) -> Result<v1::publish_response::Message, Status> {
        match self.down.message().await? {
            Some(response) => Ok(response.message.unwrap()),
            None => Err(Status::cancelled("the stream ended")),
        }
    }
}

/// What consumers did: time of the lease and key of each eviction, in order of the leases.
#[derive(Clone, Default)]
pub struct Evictions {
    all: Arc<Mutex<Vec<(Timestamp, v1::EntryKey)>>>,
}

impl Evictions {
    pub fn count(&self) -> usize {
        self.all.lock().len()
    }

    pub fn names(&self) -> Vec<String> {
        self.all.lock().iter().map(|(_, key)| key.name.clone()).collect()
    }

    /// When the leases were released, in order.
    pub fn times(&self) -> Vec<Timestamp> {
        let mut times: Vec<_> = self.all.lock().iter().map(|(at, _)| *at).collect();
        times.sort_unstable();
        times
    }

    /// The least time between two leases.
    pub fn closest(&self) -> Option<SignedDuration> {
        self.times()
            .windows(2)
            .map(|pair| pair[1].duration_since(pair[0]))
            .min()
    }
}

/// A consumer that completes everything at once, after the queue has confirmed the lease.
pub struct Consumer {
    pub up: mpsc::UnboundedSender<v1::LeaseRequest>,
    pub down: Streaming<v1::LeaseResponse>,
    identity: String,
    held: BTreeMap<u64, v1::LeaseGranted>,
}

impl Consumer {
    pub async fn connect(client: &QueueClient, credit: u32) -> Result<Self, Status> {
        Self::connect_as(client, "c", credit).await
    }

    /// From a process of this identity.
    pub async fn connect_as(client: &QueueClient, identity: &str, credit: u32) -> Result<Self, Status> {
        let mut service = client
            .queue()
            .await
            .map_err(|error| Status::unavailable(error.to_string()))?;
        let (up, messages) = mpsc::unbounded_channel();
        let down = service
            .lease(UnboundedReceiverStream::new(messages))
            .await?
            .into_inner();
        let consumer = Self {
            up,
            down,
            identity: identity.to_owned(),
            held: BTreeMap::new(),
        };
        consumer.say(v1::lease_request::Message::Hello(v1::LeaseHello {
            identity: identity.to_owned(),
        }));
        consumer.say(v1::lease_request::Message::Credit(v1::LeaseCredit { leases: credit }));
        Ok(consumer)
    }

    pub fn say(&self, message: v1::lease_request::Message) {
        let _ = self.up.send(v1::LeaseRequest { message: Some(message) });
    }

    pub async fn granted(&mut self) -> Result<v1::LeaseGranted, Status> {
        loop {
            if let v1::lease_response::Message::Granted(granted) = self.next().await? {
                self.held.insert(granted.lease_id, granted.clone());
                return Ok(granted);
            }
        }
    }

    pub async fn next(&mut self) -> Result<v1::lease_response::Message, Status> {
        match self.down.message().await? {
            Some(response) => Ok(response.message.unwrap()),
            None => Err(Status::cancelled("the stream ended")),
        }
    }

    pub async fn complete(
        &mut self,
        client: &QueueClient,
        lease: &v1::LeaseGranted,
        outcome: v1::Outcome,
    ) -> Result<v1::CompleteResult, Status> {
        self.held.remove(&lease.lease_id);
        let mut service = client
            .queue()
            .await
            .map_err(|error| Status::unavailable(error.to_string()))?;
        let request = v1::CompleteRequest {
            queue_epoch: lease.queue_epoch.clone(),
            lease_id: lease.lease_id,
            key: lease.entry.as_ref().and_then(|entry| entry.key.clone()),
            outcome: outcome.into(),
            reason: "R".into(),
            message: "m".into(),
            binding_resource_version: "12".into(),
            cluster_resource_version: "1".into(),
            wait_until: None,
            capacity_checked: false,
            consumer_identity: self.identity.clone(),
        };
        Ok(service.complete(request).await?.into_inner().result())
    }
}

/// Evicts whatever is released until the future is dropped, and follows the leader.
pub async fn evict(world: &World, evictions: Evictions) {
    let client = world.client();
    loop {
        if let Ok(mut consumer) = Consumer::connect(&client, 4).await {
            while let Ok(lease) = consumer.granted().await {
                let key = lease.entry.clone().unwrap().key.unwrap();
                let at = lease.released_at.unwrap();
                if consumer.complete(&client, &lease, v1::Outcome::Evicted).await.is_ok() {
                    evictions
                        .all
                        .lock()
                        .push((Timestamp::new(at.seconds, at.nanos).unwrap(), key));
                }
                consumer.say(v1::lease_request::Message::Credit(v1::LeaseCredit { leases: 1 }));
            }
        }
        client.learn(&Status::unavailable("gone"));
        client.back_off().await;
    }
}
