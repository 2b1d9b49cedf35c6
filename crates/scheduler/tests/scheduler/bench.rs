//! A control plane on the sandbox with clusters and bindings, and processes on it, under paused time.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use api_types::work::{Binding, BindingKind};
use controller_kit::{Clock, Controller, KitFlags, Process, Running};
use jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube_sandbox::{Now, Sandbox, SandboxOptions};
use serde_json::{Value, json};

pub struct Bench {
    pub clock: Clock,
    pub plane: Sandbox,
    pub started: Timestamp,
}

/// Runs a test on a paused runtime, with a limit on simulated time against deadlocks.
pub fn paused<T>(test: impl Future<Output = T>) -> T {
    controller_kit::telemetry::ask_every_time();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(86_400), test)
            .await
            .expect("stuck")
    })
}

impl Bench {
    /// With Ready clusters of these names.
    pub fn new(clusters: &[&str]) -> Self {
        let started: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let clock = Clock::simulated(started);
        let plane = Sandbox::new(SandboxOptions::new(Self::now_of(&clock)));
        for crd in api_types::crds() {
            plane.apply_crd(serde_json::to_value(crd).unwrap()).unwrap();
        }
        let bench = Self { clock, plane, started };
        bench.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}}));
        for name in clusters {
            bench.put_cluster(name, "True", &json!([]));
        }
        bench
    }

    fn now_of(clock: &Clock) -> Now {
        let clock = clock.clone();
        Arc::new(move || clock.now())
    }

    /// The clock, for those who want a function.
    #[allow(dead_code, reason = "shared by two test binaries")]
    pub fn now(&self) -> Now {
        Self::now_of(&self.clock)
    }

    pub fn put(&self, object: Value) {
        self.plane.put(object).unwrap();
    }

    pub fn put_cluster(&self, name: &str, ready: &str, taints: &Value) {
        self.put(json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"syncMode": "Push", "taints": taints},
            "status": {
                "conditions": [{
                    "type": "Ready", "status": ready, "reason": "R", "message": "", "lastTransitionTime": self.clock.now(),
                }],
                "apiEnablements": [
                    {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]},
                    {"groupVersion": "v1", "resources": [{"name": "configmaps", "kind": "ConfigMap"}]},
                    {"groupVersion": "rbac.authorization.k8s.io/v1", "resources": [{"name": "clusterroles", "kind": "ClusterRole"}]},
                ],
            },
        }));
    }

    /// Not Ready and tainted since now.
    pub fn fail_cluster(&self, name: &str) {
        self.put_cluster(
            name,
            "False",
            &json!([{"key": "down", "effect": "NoExecute", "timeAdded": self.clock.now()}]),
        );
    }

    /// A binding of a Deployment `nginx` of 3 replicas, as the detector makes it.
    pub fn put_deployment(&self, more: &Value) {
        let mut spec = json!({
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "nginx", "uid": "t"},
            "replicas": 3, "replicaRequirements": {}, "schedulerName": "default-scheduler",
        });
        for (key, value) in more.as_object().unwrap() {
            spec[key] = value.clone();
        }
        self.put(json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {
                "namespace": "default", "name": "nginx-deployment",
                "labels": {"propagationpolicy.karmada.io/permanent-id": "p"},
            },
            "spec": spec,
        }));
    }

    pub async fn start(
        &self,
        component: &'static str,
        identity: &str,
        gates: &str,
        controllers: Vec<Controller>,
    ) -> Running {
        Process::builder(component, self.plane.client_named(component))
            .clock(self.clock.clone())
            .identity(identity)
            .flags(KitFlags::default().with_feature_gates(gates))
            .controllers(controllers)
            .start()
            .await
            .unwrap()
    }

    pub async fn start_scheduler(&self, identity: &str) -> Running {
        self.start(
            "scheduler",
            identity,
            "Failover=true",
            scheduler::controllers(scheduler::Flags::default()),
        )
        .await
    }

    /// Who has signed events.
    #[allow(dead_code, reason = "shared by two test binaries")]
    pub fn event_sources(&self) -> Vec<String> {
        let events = self.plane.list("v1", "Event");
        let mut sources: Vec<String> = events
            .iter()
            .map(|event| event["source"]["component"].as_str().unwrap_or_default().to_owned())
            .collect();
        sources.sort();
        sources.dedup();
        sources
    }

    /// Lets the time pass to `second` since the start, and one millisecond more: what is due then has been done.
    pub async fn until(&self, second: u64) {
        let due = self.started + Duration::from_secs(second) + Duration::from_millis(1);
        tokio::time::sleep(Duration::try_from(due.duration_since(self.clock.now())).unwrap_or_default()).await;
    }

    fn bindings(&self) -> Api<Binding> {
        Api::namespaced_with(self.plane.observer(), "default", &BindingKind::Namespaced)
    }

    pub async fn binding(&self) -> Binding {
        self.bindings().get("nginx-deployment").await.unwrap()
    }

    /// Merges `patch` into the binding.
    pub async fn patch(&self, patch: Value) {
        self.bindings()
            .patch("nginx-deployment", &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// Merges `patch` into the binding's status.
    pub async fn patch_status(&self, patch: Value) {
        let patch = json!({"status": patch});
        self.bindings()
            .patch_status("nginx-deployment", &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// Deletes the binding.
    #[allow(dead_code, reason = "shared by two test binaries")]
    pub async fn delete(&self) {
        self.bindings()
            .delete("nginx-deployment", &kube::api::DeleteParams::default())
            .await
            .unwrap();
    }

    /// Clusters and replicas of the result.
    pub async fn placed(&self) -> String {
        shown(&self.binding().await)
    }

    /// Reason and note of the events on an object, each as often as it was published.
    pub fn events(&self, kind: &str, name: &str) -> Vec<(String, String)> {
        let about = |event: &Value| event["involvedObject"]["kind"] == kind && event["involvedObject"]["name"] == name;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let events = self.plane.list("v1", "Event").into_iter().filter(about);
        events
            .flat_map(|event| {
                let count = usize::try_from(event["count"].as_u64().unwrap_or(1)).unwrap();
                vec![(text(&event["reason"]), text(&event["message"])); count]
            })
            .collect()
    }

    /// Reasons of the events on the binding.
    pub fn reasons(&self) -> Vec<String> {
        self.events("ResourceBinding", "nginx-deployment")
            .into_iter()
            .map(|(reason, _)| reason)
            .collect()
    }

    /// Writes of a component that are neither Leases nor Events.
    pub fn writes(&self, component: &str) -> Vec<String> {
        let writes = self.plane.faults().writes();
        let own = writes
            .into_iter()
            .filter(|w| w.client == component && w.resource != "leases" && w.resource != "events");
        own.map(|w| {
            format!(
                "{} {} {}",
                w.resource,
                w.subresource.unwrap_or_else(|| "spec".to_owned()),
                w.code
            )
        })
        .collect()
    }
}

/// Clusters and replicas of the result.
pub fn shown(binding: &Binding) -> String {
    let targets = binding.spec.clusters.iter();
    targets
        .map(|target| format!("{}:{}", target.name, target.replicas))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The placement of the worked example: member1 and member2 with weights 1:2.
pub fn one_to_two() -> Value {
    json!({
        "clusterAffinity": {"clusterNames": ["member1", "member2"]},
        "replicaScheduling": {
            "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
            "weightPreference": {"staticWeightList": [
                {"targetCluster": {"clusterNames": ["member1"]}, "weight": 1},
                {"targetCluster": {"clusterNames": ["member2"]}, "weight": 2},
            ]},
        },
    })
}

/// What the evictor writes when a cluster leaves.
#[allow(dead_code, reason = "shared by two test binaries")]
pub fn task(from: &str, replicas: i32, at: Timestamp) -> Value {
    json!({
        "fromCluster": from, "purgeMode": "Gracefully", "replicas": replicas, "reason": "TaintUntolerated",
        "producer": "TaintManager", "creationTimestamp": at, "clustersBeforeFailover": ["member1", "member2"],
    })
}
