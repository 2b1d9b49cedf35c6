//! What publishes failovers of applications, without a shell: it keeps the clocks on the bindings and tells the queue,
//! by the rules of the core, looking at everything once a second.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::work::{Binding, BindingKind};
use controller_kit::Clock;
use eviction_queue_api::QueueClient;
use eviction_queue_api::convert::{to_key, to_published, to_withdraw_reason};
use eviction_queue_api::memory::MemoryNetwork;
use eviction_queue_api::v1::publish_request::Message;
use eviction_queue_api::v1::{Epoch, PublishHello, PublishRequest, SnapshotComplete, Upserts, Withdrawal, Withdrawals};
use failover_core::application::{HealthClock, wanted, withdraw_reason};
use failover_core::eviction::desired_entry::Wanted;
use failover_core::eviction::queue::{EntryKey, Published};
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::json;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio_stream::wrappers::UnboundedReceiverStream;

use super::super::scene::Scene;

/// A producer at work; it stops when this is dropped.
pub struct Producer {
    _work: JoinSet<()>,
}

struct Work {
    client: Client,
    network: MemoryNetwork,
    clock: Clock,
}

/// What stands on the API server, as far as it matters here.
struct World {
    clusters: BTreeMap<ClusterName, Arc<Cluster>>,
    bindings: Vec<Binding>,
}

impl Producer {
    pub fn start(scene: &Scene) -> Self {
        let work = Work {
            client: scene.plane.observer(),
            network: scene.network.clone(),
            clock: scene.clock.clone(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(work.run());
        Self { _work: tasks }
    }
}

impl Work {
    async fn run(self) {
        let queue =
            QueueClient::by_lease(self.client.clone(), "karmada-system", "producer").through(self.network.clone());
        let (up, messages) = unbounded_channel();
        let mut service = queue.queue().await.unwrap();
        let answers = service.publish(UnboundedReceiverStream::new(messages));
        say(
            &up,
            Message::Hello(PublishHello {
                producer: "applicationFailover".into(),
                epoch: Some(Epoch {
                    lease_uid: "lease".into(),
                    lease_transitions: 0,
                }),
                identity: "producer".into(),
            }),
        );
        let _answers = answers.await.unwrap().into_inner();
        let mut known = BTreeMap::new();
        let mut complete = Some(Message::SnapshotComplete(SnapshotComplete {}));
        loop {
            let world = self.look().await;
            self.keep_clocks(&world).await;
            let world = self.look().await;
            let now = wanted_of(&world);
            // All of them, which also answers what the evictor asked.
            let entries = now.values().map(to_published).collect();
            say(&up, Message::Upserts(Upserts { entries }));
            say(&up, Message::Withdrawals(withdrawals(&known, &now, &world)));
            complete.take().into_iter().for_each(|complete| say(&up, complete));
            known = now;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    async fn look(&self) -> World {
        let clusters: Api<Cluster> = Api::all(self.client.clone());
        let clusters = clusters.list(&ListParams::default()).await.unwrap().items;
        let mut bindings = Vec::new();
        for kind in BindingKind::ALL {
            let all: Api<Binding> = Api::all_with(self.client.clone(), &kind);
            bindings.extend(all.list(&ListParams::default()).await.unwrap().items);
        }
        World {
            clusters: clusters
                .into_iter()
                .map(|cluster| (cluster.cluster_name(), Arc::new(cluster)))
                .collect(),
            bindings,
        }
    }

    async fn keep_clocks(&self, world: &World) {
        for binding in &world.bindings {
            let known = HealthClock::of(binding).unwrap_or_default();
            let next = known.next(binding, &|name| world.clusters.get(name).cloned(), self.clock.now());
            if next == known {
                continue;
            }
            let patch = json!({"metadata": {
                "resourceVersion": binding.metadata.resource_version,
                "annotations": {"failover.karmada.io/health-clock": next.annotation()},
            }});
            let key = binding.key();
            // Who loses against another writer looks again.
            let _ = binding_writer::api(&self.client, &key)
                .patch(&key.name, &PatchParams::default(), &Patch::Merge(patch))
                .await;
        }
    }
}

fn wanted_of(world: &World) -> BTreeMap<EntryKey, Published> {
    let pairs = world.bindings.iter().flat_map(|binding| {
        let targets = binding.spec.clusters.iter();
        targets.map(move |target| (binding, world.clusters.get(target.name.as_str())))
    });
    pairs
        .filter_map(
            |(binding, cluster)| match wanted(Some(binding), cluster.map(AsRef::as_ref)) {
                Wanted::Entry(entry) => Some((EntryKey::clone(&entry.key), *entry)),
                Wanted::Nothing(_) => None,
            },
        )
        .collect()
}

fn withdrawals(
    before: &BTreeMap<EntryKey, Published>,
    now: &BTreeMap<EntryKey, Published>,
    world: &World,
) -> Withdrawals {
    let gone = before.keys().filter(|key| !now.contains_key(key));
    let withdrawal = |key: &EntryKey| {
        let binding = world.bindings.iter().find(|binding| binding.key() == key.binding);
        let cluster = world.clusters.get(&key.cluster).map(AsRef::as_ref);
        let reason = withdraw_reason(key, &wanted(binding, cluster), cluster);
        Withdrawal {
            key: Some(to_key(key)),
            reason: to_withdraw_reason(reason).into(),
        }
    };
    Withdrawals {
        withdrawals: gone.map(withdrawal).collect(),
    }
}

fn say(up: &UnboundedSender<PublishRequest>, message: Message) {
    let _ = up.send(PublishRequest { message: Some(message) });
}
