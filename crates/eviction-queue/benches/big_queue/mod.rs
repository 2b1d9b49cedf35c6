//! A queue of 100,000 entries, as several benchmarks want it.

use std::sync::Arc;

use api_types::BindingKey;
use controller_kit::Clock;
use eviction_queue_api::convert::to_published;
use eviction_queue_api::v1::publish_request::Message;
use eviction_queue_api::{ENTRIES_PER_MESSAGE, QueueClient, v1};
use failover_core::eviction::Cause;
use failover_core::eviction::queue::{BindingVersions, EntryKey, Published, Purge, TemplateRef};
use kube_sandbox::{Sandbox, SandboxOptions};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;

const CLUSTERS: usize = 100;
const ENTRIES: usize = 100_000;

/// A control plane with 100 tainted clusters.
pub fn control_plane(clock: &Clock) -> Sandbox {
    let now = clock.clone();
    let plane = Sandbox::new(SandboxOptions::new(Arc::new(move || now.now())));
    for crd in api_types::crds() {
        plane.apply_crd(serde_json::to_value(crd).unwrap()).unwrap();
    }
    plane
        .put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}}))
        .unwrap();
    for number in 0..CLUSTERS {
        plane
            .put(json!({
                "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": cluster(number)},
                "spec": {"syncMode": "Push", "taints": [
                    {"key": "cluster.karmada.io/not-ready", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}
                ]},
            }))
            .unwrap();
    }
    plane
}

fn cluster(number: usize) -> String {
    format!("member-{number:03}")
}

/// 100,000 entries, evenly spread over the clusters; due long ago.
pub fn entries(plane: &Sandbox) -> Vec<Published> {
    let uids: Vec<String> = (0..CLUSTERS)
        .map(|number| {
            let stored = plane.get("cluster.karmada.io/v1alpha1", "Cluster", None, &cluster(number));
            stored.unwrap()["metadata"]["uid"].as_str().unwrap().to_owned()
        })
        .collect();
    let entry = |number: usize| {
        let name = format!("workload-{number:06}");
        Published {
            key: EntryKey {
                cluster: cluster(number % CLUSTERS).as_str().into(),
                cluster_uid: uids[number % CLUSTERS].as_str().into(),
                binding: BindingKey::namespaced(format!("team-{:03}", number % 317), format!("{name}-deployment")),
                binding_uid: format!("6f1d2c1e-0000-4000-8000-{number:012}").into(),
                cause: "cluster.karmada.io/not-ready:NoExecute@2026-01-01T00:00:00Z"
                    .parse::<Cause>()
                    .unwrap()
                    .into(),
            }
            .into(),
            due_at: "2026-01-01T00:00:00Z".parse().unwrap(),
            priority: i32::try_from(number % 3).unwrap(),
            template: TemplateRef {
                api_version: "apps/v1".into(),
                kind: "Deployment".into(),
                namespace: Some(format!("team-{:03}", number % 317).into()),
                name: name.into(),
            },
            replicas: 3,
            purge_mode: Purge::Gracefully,
            grace_period_seconds: Some(600),
            reason: "taint cluster.karmada.io/not-ready:NoExecute, added at 2026-01-01T00:00:00Z, is not tolerated"
                .into(),
            hold: None,
            versions: BindingVersions {
                binding_generation: 2,
                binding: (1_000_000 + number).to_string().into(),
                cluster: "1234".into(),
            },
            traceparent: None,
        }
    };
    (0..ENTRIES).map(entry).collect()
}

/// Publishes all of them on a new stream, until the queue has accepted the snapshot.
pub async fn publish(client: &QueueClient, entries: &[Published], transitions: i64) {
    let mut service = client.queue().await.unwrap();
    let (up, messages) = mpsc::unbounded_channel();
    let say = |message: Message| drop(up.send(v1::PublishRequest { message: Some(message) }));
    say(Message::Hello(v1::PublishHello {
        producer: "taintManager".into(),
        epoch: Some(v1::Epoch {
            lease_uid: "lease".into(),
            lease_transitions: transitions,
        }),
        identity: "p".into(),
    }));
    let mut down = service
        .publish(UnboundedReceiverStream::new(messages))
        .await
        .unwrap()
        .into_inner();
    for chunk in entries.chunks(ENTRIES_PER_MESSAGE) {
        say(Message::Upserts(v1::Upserts {
            entries: chunk.iter().map(to_published).collect(),
        }));
        tokio::task::yield_now().await;
    }
    say(Message::SnapshotComplete(v1::SnapshotComplete {}));
    loop {
        if let Some(v1::publish_response::Message::SnapshotAccepted(accepted)) =
            down.message().await.unwrap().unwrap().message
        {
            assert_eq!(usize::try_from(accepted.entries).unwrap(), entries.len());
            return;
        }
    }
}
