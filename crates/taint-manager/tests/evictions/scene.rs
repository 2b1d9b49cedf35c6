//! Clusters and bindings on the sandbox, a real eviction queue and the controllers of this crate, under paused time.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::{Binding, GracefulEvictionTask};
use api_types::{BindingKey, ClusterName};
use controller_kit::{Clock, KitFlags, Mode, Process, Running};
use eviction_queue_api::QueueClient;
use eviction_queue_api::memory::MemoryNetwork;
use eviction_queue_api::v1::{Entry, ListEntriesRequest};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Event;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube_sandbox::{Sandbox, WriteRecord};
use serde_json::{Value, json};
use taint_manager::{Flags, Wiring, controllers_with};
use test_bench::stock::{Company, Excepted};
use test_bench::{Bench, QueueWatch};

/// Name under which the requests of the controllers under test are known.
pub const CLIENT: &str = "taint-manager";
pub const NOT_READY: &str = "cluster.karmada.io/not-ready";

pub struct Scene {
    bench: Bench,
    pub plane: Sandbox,
    pub network: MemoryNetwork,
    pub company: Company,
    _queue: Option<QueueWatch>,
}

/// A machine that processes run on.
pub struct Machine {
    /// Its name, by which its requests are known after an `@`; empty for the only one.
    pub name: &'static str,
    /// Its clock.
    pub clock: Clock,
    /// What reaches the queue from here, and on which the queue is served here.
    pub network: MemoryNetwork,
}

/// What the policy behind a taint says of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyNow {
    Matches,
    /// The removal window runs.
    NoLongerMatches,
}

impl Deref for Scene {
    type Target = Bench;

    fn deref(&self) -> &Self::Target {
        &self.bench
    }
}

impl Scene {
    /// Healthy clusters of these names, and a look at the queue from time to time.
    pub fn new(clusters: &[&str]) -> Self {
        Self::in_mode(Mode::Standalone, clusters)
    }

    /// The same in this mode.
    pub fn in_mode(mode: Mode, clusters: &[&str]) -> Self {
        let mut scene = Self::on(Bench::new(&[]), mode, clusters);
        let queue = QueueClient::by_lease(scene.client(), "karmada-system", "rules").through(scene.network.clone());
        scene._queue = Some(QueueWatch::start(queue, &scene.bench));
        scene
    }

    /// Healthy clusters of these names on a bench.
    pub fn on(bench: Bench, mode: Mode, clusters: &[&str]) -> Self {
        let company = Company::on(bench.plane(), mode);
        if !company.expects(Excepted::ResultAtEveryMoment) {
            // Nobody is here to take a cluster out again that stock's scheduler put back.
            bench.rules.set(|settings| settings.settle = SignedDuration::MAX);
        }
        let scene = Self {
            plane: bench.plane().clone(),
            bench,
            network: MemoryNetwork::default(),
            company,
            _queue: None,
        };
        for name in clusters {
            scene.cluster(name, &json!({}), &json!([]));
        }
        scene
    }

    /// An object as its owner writes it.
    pub fn store(&self, object: Value) -> Value {
        self.bench.put(self.company.object(object))
    }

    pub fn cluster(&self, name: &str, annotations: &Value, taints: &Value) {
        let enabled = json!([
            {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]},
            {"groupVersion": "rbac.authorization.k8s.io/v1", "resources": [{"name": "clusterroles", "kind": "ClusterRole"}]},
        ]);
        let ready = json!({"type": "Ready", "status": "True", "reason": "ClusterReady", "message": "",
            "lastTransitionTime": "2025-12-31T00:00:00Z"});
        self.store(json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"syncMode": "Push", "apiEndpoint": format!("http://{name}.sandbox"), "taints": taints},
            "status": {"conditions": [ready], "apiEnablements": enabled},
        }));
    }

    /// Sets the taints of a cluster.
    pub async fn taint(&self, cluster: &str, taints: &Value) {
        let patch = self.company.patch("Cluster", json!({"spec": {"taints": taints}}));
        self.clusters()
            .patch(cluster, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    pub async fn patch_cluster_status(&self, cluster: &str, patch: &Value) {
        self.clusters()
            .patch_status(cluster, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// A NoExecute taint, added now.
    pub fn no_execute(&self, key: &str) -> Value {
        json!({"key": key, "effect": "NoExecute", "timeAdded": self.now_text()})
    }

    pub fn now_text(&self) -> String {
        Timestamp::from_second(self.clock.now().as_second())
            .unwrap()
            .to_string()
    }

    pub fn clusters(&self) -> Api<Cluster> {
        Api::all(self.plane.observer())
    }

    /// A Duplicated Deployment with two replicas on each of these clusters; `spec` is merged over.
    pub fn binding(&self, name: &str, clusters: &[&str], spec: Value) {
        let targets: Vec<Value> = clusters.iter().map(|c| json!({"name": c, "replicas": 2})).collect();
        let mut binding = json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"namespace": "default", "name": name},
            "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name, "uid": "t"},
                "replicas": 2, "clusters": targets, "placement": {"clusterAffinity": {}},
            },
        });
        merge(&mut binding["spec"], spec);
        self.store(binding);
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
        self.store(binding);
    }

    pub fn api(&self, key: &BindingKey) -> Api<Binding> {
        match &key.namespace {
            Some(namespace) => Api::namespaced_with(self.plane.observer(), namespace, &key.kind()),
            None => Api::all_with(self.plane.observer(), &key.kind()),
        }
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

    pub async fn patch_status(&self, key: &str, status: Value) {
        let key: BindingKey = key.parse().unwrap();
        let patch = json!({"status": status});
        self.api(&key)
            .patch_status(&key.name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// The scheduler has placed the binding on these clusters, with two replicas each.
    pub async fn placed(&self, key: &str, clusters: &[&str]) {
        let targets: Vec<Value> = clusters.iter().map(|c| json!({"name": c, "replicas": 2})).collect();
        self.patch(key, json!({"spec": {"clusters": targets}})).await;
        let generation = self.get(key).await.metadata.generation;
        let scheduled = json!({"type": "Scheduled", "status": "True", "reason": "Success", "message": "",
            "lastTransitionTime": self.now_text()});
        let status = json!({"schedulerObservedGeneration": generation, "conditions": [scheduled]});
        self.patch_status(key, status).await;
    }

    pub async fn delete(&self, key: &str) {
        let key: BindingKey = key.parse().unwrap();
        self.api(&key).delete(&key.name, &Default::default()).await.unwrap();
    }

    pub async fn patch_policy(&self, patch: Value) {
        let policies: Api<ClusterTaintPolicy> = Api::all(self.plane.observer());
        policies
            .patch("not-ready", &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// The cluster has a NoExecute taint, added now by a policy that asks whether it is Ready.
    pub async fn tainted_by_policy(&self, cluster: &str, policy_now: PolicyNow) {
        let policy = self.store(json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": {"name": "not-ready"},
            "spec": {
                "matchConditions": [{"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}],
                "taintsToAdd": [{"key": NOT_READY, "effect": "NoExecute", "addOnMatchSeconds": 5, "removeOnMismatchSeconds": 60}],
            },
        }));
        let uid = self.clusters().get(cluster).await.unwrap().metadata.uid;
        let (policy_uid, taint) = (&policy["metadata"]["uid"], self.no_execute(NOT_READY));
        let managed = json!({"cluster": uid, "taints": {
            format!("{NOT_READY}:NoExecute"): {"policies": {"not-ready": policy_uid}, "timeAdded": taint["timeAdded"]}}});
        let matching = policy_now == PolicyNow::Matches;
        let windows = json!({"cluster": uid, "windows": {policy_uid.as_str().unwrap(): {
            "policy": "not-ready", "matching": matching, "since": "2026-01-01T00:00:10Z"}}});
        let annotations = json!({"failover.karmada.io/managed-taints": managed.to_string(),
            "failover.karmada.io/taint-windows": windows.to_string()});
        self.cluster(cluster, &annotations, &json!([taint]));
    }

    pub async fn task(&self, key: &str, cluster: &str) -> Option<GracefulEvictionTask> {
        self.get(key).await.spec.task(&ClusterName::from(cluster)).cloned()
    }

    /// The clusters of the result are these, where that can be expected.
    pub fn assert_result(&self, binding: &Binding, clusters: &[&str]) {
        let result: Vec<&str> = binding.spec.clusters.iter().map(|target| &*target.name).collect();
        assert!(
            result == clusters || !self.company.expects(Excepted::ResultAtEveryMoment),
            "{result:?}"
        );
    }

    /// Second, since the start, at which the task was written.
    pub async fn evicted_at(&self, key: &str, cluster: &str) -> Option<i64> {
        let created = self.task(key, cluster).await?.creation_timestamp?;
        Some(created.0.as_second() - self.started.as_second())
    }

    /// How many of the namespaced bindings have a task.
    pub fn evicted(&self) -> usize {
        self.plane
            .list("work.karmada.io/v1alpha2", "ResourceBinding")
            .iter()
            .filter(|binding| {
                binding["spec"]["gracefulEvictionTasks"]
                    .as_array()
                    .is_some_and(|t| !t.is_empty())
            })
            .count()
    }

    /// The one machine on which everything runs, unless a test has several.
    fn machine(&self) -> Machine {
        Machine {
            name: "",
            clock: self.clock.clone(),
            network: self.network.clone(),
        }
    }

    fn process_at(&self, machine: &Machine, component: &'static str, identity: &str, kit: KitFlags) -> Process {
        let client = match machine.name {
            "" => component.to_owned(),
            name => format!("{component}@{name}"),
        };
        Process::builder(component, self.plane.client_named(&client))
            .clock(machine.clock.clone())
            .identity(identity)
            .flags(kit)
            .members(self.roads())
    }

    pub async fn queue(&self, identity: &str, evictions_per_second: f64) -> Running {
        self.queue_at(&self.machine(), identity, evictions_per_second).await
    }

    pub async fn queue_at(&self, machine: &Machine, identity: &str, evictions_per_second: f64) -> Running {
        self.allow_evictions_per_second(evictions_per_second);
        let flags = eviction_queue::Flags {
            resource_eviction_rate: evictions_per_second,
            transport: eviction_queue::Transport::Memory(machine.network.clone()),
            ..eviction_queue::Flags::default()
        };
        self.process_at(machine, "eviction-queue", identity, KitFlags::default())
            .controllers(eviction_queue::controllers(flags))
            .start()
            .await
            .unwrap()
    }

    pub async fn manager(&self, identity: &str) -> Running {
        self.manager_with(identity, Flags::default(), "Failover=true").await
    }

    pub async fn manager_with(&self, identity: &str, flags: Flags, gates: &str) -> Running {
        self.start(identity, flags, KitFlags::default().with_feature_gates(gates))
            .await
    }

    pub async fn start(&self, identity: &str, flags: Flags, kit: KitFlags) -> Running {
        self.start_at(&self.machine(), identity, flags, kit).await
    }

    pub async fn start_at(&self, machine: &Machine, identity: &str, flags: Flags, kit: KitFlags) -> Running {
        let network = machine.network.clone();
        let wiring = Wiring {
            queue: Arc::new(move |ctx| {
                QueueClient::by_lease(ctx.client.clone(), &ctx.system_namespace, &ctx.identity).through(network.clone())
            }),
            mode: self.company.mode(),
            ..Wiring::by_flags(&flags)
        };
        self.process_at(machine, CLIENT, identity, kit)
            .controllers(controllers_with(flags, wiring))
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

    /// Writes of the spec of bindings by the controllers under test that were stored.
    pub fn spec_writes(&self) -> Vec<WriteRecord> {
        self.binding_writes(None)
    }

    /// Writes of the status of bindings, likewise.
    pub fn status_writes(&self) -> Vec<WriteRecord> {
        self.binding_writes(Some("status"))
    }

    fn binding_writes(&self, subresource: Option<&str>) -> Vec<WriteRecord> {
        let writes = self.plane.faults().writes().into_iter();
        writes
            .filter(|write| write.client.split('@').next() == Some(CLIENT) && write.changed)
            .filter(|write| matches!(write.resource.as_str(), "resourcebindings" | "clusterresourcebindings"))
            .filter(|write| write.subresource.as_deref() == subresource)
            .collect()
    }

    /// Events as `KIND/name Reason: message`, in order of their times.
    pub async fn events(&self, reason: &str) -> Vec<String> {
        let events: Api<Event> = Api::all(self.plane.observer());
        let mut events = events.list(&ListParams::default()).await.unwrap().items;
        // Of one moment by what they are about: their names say nothing.
        events.sort_by_key(|event| {
            let about = &event.involved_object;
            (
                event.first_timestamp.clone().map(|time| time.0),
                about.kind.clone(),
                about.name.clone(),
            )
        });
        events
            .into_iter()
            .filter(|event| event.reason.as_deref() == Some(reason))
            .map(|event| {
                let about = event.involved_object;
                format!(
                    "{}/{}: {}",
                    about.kind.unwrap_or_default(),
                    about.name.unwrap_or_default(),
                    event.message.unwrap_or_default()
                )
            })
            .collect()
    }
}

fn merge(into: &mut Value, from: Value) {
    let Value::Object(from) = from else { return };
    for (field, value) in from {
        into[field] = value;
    }
}
