//! Clusters and bindings on the sandbox, a real eviction queue and the controller of this crate, under paused time.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use api_types::BindingKey;
use api_types::cluster::Cluster;
use api_types::names::annotation::HEALTH_CLOCK;
use api_types::work::Binding;
use application_failover_controller::{Flags, controllers};
use controller_kit::{KitFlags, Mode, Running};
use eviction_queue_api::memory::MemoryNetwork;
use eviction_queue_api::v1::{Entry, EntryState, ListEntriesRequest};
use eviction_queue_api::{QueueClient, QueueConnector};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube_sandbox::{Sandbox, WriteRecord};
use serde_json::{Value, json};
use test_bench::stock::Company;
use test_bench::{Bench, QueueWatch};

/// Name under which the requests of the controller under test are known.
pub const CLIENT: &str = "application-failover-controller";

pub struct Scene {
    bench: Bench,
    pub plane: Sandbox,
    pub network: MemoryNetwork,
    pub company: Company,
    _queue: QueueWatch,
}

impl Deref for Scene {
    type Target = Bench;

    fn deref(&self) -> &Self::Target {
        &self.bench
    }
}

/// `spec.failover` that moves an application after so many seconds.
pub fn after(seconds: i64) -> Value {
    json!({"application": {"decisionConditions": {"tolerationSeconds": seconds}}})
}

impl Scene {
    /// Clusters of these names that are Ready since before the start.
    pub fn new(clusters: &[&str]) -> Self {
        Self::in_mode(Mode::Standalone, clusters)
    }

    /// The same in this mode.
    pub fn in_mode(mode: Mode, clusters: &[&str]) -> Self {
        let bench = Bench::new(&[]);
        let company = Company::on(bench.plane(), mode);
        let network = MemoryNetwork::default();
        let queue = QueueClient::by_lease(bench.client(), "karmada-system", "rules").through(network.clone());
        let scene = Self {
            plane: bench.plane().clone(),
            _queue: QueueWatch::start(queue, &bench),
            bench,
            network,
            company,
        };
        for name in clusters {
            scene.cluster(name);
        }
        scene
    }

    pub fn cluster(&self, name: &str) {
        let enabled = json!([
            {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]},
            {"groupVersion": "autoscaling/v2", "resources": [{"name": "horizontalpodautoscalers", "kind": "HorizontalPodAutoscaler"}]},
            {"groupVersion": "rbac.authorization.k8s.io/v1", "resources": [{"name": "clusterroles", "kind": "ClusterRole"}]},
        ]);
        self.put(json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": name},
            "spec": {"syncMode": "Push", "apiEndpoint": format!("http://{name}.sandbox")},
            "status": {"conditions": [ready("True", "2025-12-31T00:00:00Z")], "apiEnablements": enabled},
        }));
    }

    /// The cluster becomes Ready, or not, now.
    pub async fn ready(&self, cluster: &str, status: &str) {
        let clusters: Api<Cluster> = Api::all(self.plane.observer());
        let patch = json!({"status": {"conditions": [ready(status, &self.now_text())]}});
        clusters
            .patch_status(cluster, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// A NoExecute taint comes to a cluster, now.
    pub async fn taint(&self, cluster: &str, key: &str) {
        let clusters: Api<Cluster> = Api::all(self.plane.observer());
        let taint = json!({"key": key, "effect": "NoExecute", "timeAdded": self.now_text()});
        clusters
            .patch(
                cluster,
                &PatchParams::default(),
                &Patch::Merge(json!({"spec": {"taints": [taint]}})),
            )
            .await
            .unwrap();
    }

    pub fn now_text(&self) -> String {
        Timestamp::from_second(self.clock.now().as_second())
            .unwrap()
            .to_string()
    }

    /// A Duplicated Deployment with two replicas on each of these clusters; `spec` is merged over.
    pub fn binding(&self, name: &str, clusters: &[&str], spec: Value) {
        let targets: Vec<Value> = clusters.iter().map(|c| json!({"name": c, "replicas": 2})).collect();
        let mut binding = json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {
                "namespace": "default", "name": name, "annotations": {"somebody": "else's"},
                "labels": {"propagationpolicy.karmada.io/permanent-id": "p"},
            },
            "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name, "uid": "t"},
                "replicas": 2, "clusters": targets, "placement": {"clusterAffinity": {}},
            },
        });
        merge(&mut binding["spec"], spec);
        self.put(self.company.object(binding));
    }

    /// The same of cluster scope, of a ClusterRole.
    pub fn cluster_binding(&self, name: &str, clusters: &[&str], spec: Value) {
        let targets: Vec<Value> = clusters.iter().map(|c| json!({"name": c})).collect();
        let mut binding = json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ClusterResourceBinding",
            "metadata": {"name": name},
            "spec": {
                "resource": {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": name, "uid": "t"},
                "clusters": targets, "placement": {"clusterAffinity": {}},
            },
        });
        merge(&mut binding["spec"], spec);
        self.put(self.company.object(binding));
    }

    pub fn api(&self, key: &BindingKey) -> Api<Binding> {
        binding_writer::api(&self.plane.observer(), key)
    }

    pub async fn get(&self, key: &str) -> Binding {
        let key: BindingKey = key.parse().unwrap();
        self.api(&key).get(&key.name).await.unwrap()
    }

    pub async fn patch(&self, key: &str, patch: Value) {
        let key: BindingKey = key.parse().unwrap();
        let patch = self.company.patch("ResourceBinding", patch);
        self.api(&key)
            .patch(&key.name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    pub async fn delete(&self, key: &str) {
        let key: BindingKey = key.parse().unwrap();
        self.api(&key).delete(&key.name, &Default::default()).await.unwrap();
    }

    /// What is reported of the copies: of each cluster its health.
    pub async fn health(&self, key: &str, copies: &[(&str, &str)]) {
        let items: Vec<Value> = copies
            .iter()
            .map(|(cluster, health)| json!({"clusterName": cluster, "applied": true, "health": health, "status": {}}))
            .collect();
        self.report(key, json!(items)).await;
    }

    pub async fn report(&self, key: &str, items: Value) {
        let key: BindingKey = key.parse().unwrap();
        let patch = json!({"status": {"aggregatedStatus": items}});
        self.api(&key)
            .patch_status(&key.name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// The annotation of a binding.
    pub async fn clock(&self, key: &str) -> Option<Value> {
        let text = self.get(key).await.metadata.annotations?.get(HEALTH_CLOCK)?.clone();
        Some(serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    pub async fn queue(&self, identity: &str, evictions_per_second: f64) -> Running {
        self.allow_evictions_per_second(evictions_per_second);
        let flags = eviction_queue::Flags {
            resource_eviction_rate: evictions_per_second,
            transport: eviction_queue::Transport::Memory(self.network.clone()),
            ..eviction_queue::Flags::default()
        };
        self.process("eviction-queue", identity, KitFlags::default())
            .controllers(eviction_queue::controllers(flags))
            .start()
            .await
            .unwrap()
    }

    /// The way to the queue inside of this process.
    pub fn way(&self) -> QueueConnector {
        let network = self.network.clone();
        Arc::new(move |ctx| {
            QueueClient::by_lease(ctx.client.clone(), &ctx.system_namespace, &ctx.identity).through(network.clone())
        })
    }

    pub async fn controller(&self, identity: &str) -> Running {
        self.process(CLIENT, identity, KitFlags::default())
            .controllers(controllers(Flags::default(), self.way()))
            .start()
            .await
            .unwrap()
    }

    /// What the queue holds.
    pub async fn entries(&self) -> Vec<Entry> {
        let client =
            QueueClient::by_lease(self.plane.observer(), "karmada-system", "test").through(self.network.clone());
        let request = ListEntriesRequest {
            page_size: 1000,
            ..ListEntriesRequest::default()
        };
        client
            .inspect(Duration::from_secs(20), |mut service| {
                let request = request.clone();
                async move { service.list_entries(request).await }
            })
            .await
            .unwrap()
            .entries
    }

    /// The entries as `name cause-second due-second State`, seconds since the start.
    pub async fn seen(&self) -> Vec<String> {
        let mut seen: Vec<String> = self.entries().await.iter().map(|entry| self.shown(entry)).collect();
        seen.sort();
        seen
    }

    fn shown(&self, entry: &Entry) -> String {
        let published = entry.published.as_ref().unwrap();
        let key = published.key.as_ref().unwrap();
        let since = key.cause.strip_prefix("application@").unwrap();
        let since: Timestamp = since.parse().unwrap();
        let state = EntryState::try_from(entry.state).unwrap();
        format!(
            "{} on {} since {} due {} {}",
            key.name,
            key.cluster,
            since.as_second() - self.started.as_second(),
            published.due_at.unwrap().seconds - self.started.as_second(),
            state.as_str_name().trim_start_matches("ENTRY_STATE_"),
        )
    }

    /// Writes on bindings by the controller under test that were stored.
    pub fn own_writes(&self) -> Vec<WriteRecord> {
        let writes = self.writes(CLIENT).into_iter();
        writes
            .filter(|write| write.changed)
            .inspect(|write| {
                let bindings = ["resourcebindings", "clusterresourcebindings"];
                assert!(bindings.contains(&write.resource.as_str()), "{write:?}");
                assert_eq!(write.subresource, None, "{write:?}");
            })
            .collect()
    }

    /// Events of this reason as `KIND/name: message`, sorted.
    pub async fn said(&self, reason: &str) -> Vec<String> {
        let events: Api<Event> = Api::all(self.plane.observer());
        let events = events.list(&ListParams::default()).await.unwrap().items;
        let shown = |event: Event| {
            let about = event.involved_object;
            let text = |text: Option<String>| text.unwrap_or_default();
            format!("{}/{}: {}", text(about.kind), text(about.name), text(event.message))
        };
        let events = events
            .into_iter()
            .filter(|event| event.reason.as_deref() == Some(reason));
        let mut said: Vec<String> = events.map(shown).collect();
        said.sort();
        said
    }
}

fn ready(status: &str, since: &str) -> Value {
    json!({"type": "Ready", "status": status, "reason": "r", "message": "", "lastTransitionTime": since})
}

fn merge(into: &mut Value, from: Value) {
    let Value::Object(from) = from else { return };
    for (field, value) in from {
        into[field] = value;
    }
}
