//! A control plane on the sandbox with clusters and bindings, and processes on it, under paused time.

use std::ops::Deref;

use api_types::work::{Binding, BindingKind};
use controller_kit::{Controller, KitFlags, Mode, Running};
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube_sandbox::{Sandbox, WriteRecord};
use serde_json::{Value, json};
use test_bench::stock::Company;

/// The bench with clusters and bindings put on it by hand.
pub struct Bench {
    bench: test_bench::Bench,
    pub plane: Sandbox,
    pub company: Company,
}

impl Deref for Bench {
    type Target = test_bench::Bench;

    fn deref(&self) -> &Self::Target {
        &self.bench
    }
}

impl Bench {
    /// With Ready clusters of these names.
    pub fn new(clusters: &[&str]) -> Self {
        Self::in_mode(Mode::Standalone, clusters)
    }

    /// The same in this mode.
    pub fn in_mode(mode: Mode, clusters: &[&str]) -> Self {
        let bench = test_bench::Bench::new(&[]);
        let plane = bench.plane().clone();
        let company = Company::on(&plane, mode);
        let bench = Self { bench, plane, company };
        for name in clusters {
            bench.put_cluster(name, "True", &json!([]));
        }
        bench
    }

    pub fn put_cluster(&self, name: &str, ready: &str, taints: &Value) {
        self.put(json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"syncMode": "Push", "taints": taints},
            "status": {
                "conditions": [{
                    "type": "Ready", "status": ready, "reason": "R", "message": "",
                    "lastTransitionTime": self.clock.now(),
                }],
                "apiEnablements": [
                    {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]},
                    {"groupVersion": "v1", "resources": [{"name": "configmaps", "kind": "ConfigMap"}]},
                    {
                        "groupVersion": "rbac.authorization.k8s.io/v1",
                        "resources": [{"name": "clusterroles", "kind": "ClusterRole"}],
                    },
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

    /// Deletes a Cluster that is held by its finalizer.
    #[allow(dead_code, reason = "shared by two test binaries")]
    pub async fn begin_deletion(&self, name: &str) {
        let clusters = Api::<api_types::cluster::Cluster>::all(self.client());
        let held = Patch::Merge(json!({"metadata": {"finalizers": ["karmada.io/cluster-controller"]}}));
        clusters.patch(name, &PatchParams::default(), &held).await.unwrap();
        clusters
            .delete(name, &kube::api::DeleteParams::default())
            .await
            .unwrap();
    }

    /// A binding of a Deployment `nginx` of 3 replicas, as the detector makes it.
    pub fn put_deployment(&self, more: &Value) {
        let mut spec = json!({
            "resource": {
                "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "nginx", "uid": "t",
            },
            "replicas": 3, "replicaRequirements": {}, "schedulerName": "default-scheduler",
        });
        for (key, value) in more.as_object().unwrap() {
            spec[key] = value.clone();
        }
        self.put(self.company.object(json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {
                "namespace": "default", "name": "nginx-deployment",
                "labels": {"propagationpolicy.karmada.io/permanent-id": "p"},
            },
            "spec": spec,
        })));
    }

    pub async fn start(
        &self,
        component: &'static str,
        identity: &str,
        gates: &str,
        controllers: Vec<Controller>,
    ) -> Running {
        self.process(component, identity, KitFlags::default().with_feature_gates(gates))
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

    fn bindings(&self) -> Api<Binding> {
        Api::namespaced_with(self.plane.observer(), "default", &BindingKind::Namespaced)
    }

    pub async fn binding(&self) -> Binding {
        self.bindings().get("nginx-deployment").await.unwrap()
    }

    /// Merges `patch` into the binding.
    pub async fn patch(&self, patch: Value) {
        let patch = self.company.patch("ResourceBinding", patch);
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

    /// Reasons of the events on the binding.
    pub fn reasons(&self) -> Vec<String> {
        self.reasons_on("ResourceBinding", "nginx-deployment")
    }

    /// Reasons of the events on an object.
    pub fn reasons_on(&self, kind: &str, name: &str) -> Vec<String> {
        self.events(kind, name).into_iter().map(|(reason, _)| reason).collect()
    }

    /// What a component has written, but for Leases and Events, in short.
    pub fn writes(&self, component: &str) -> Vec<String> {
        let half = |write: &WriteRecord| write.subresource.clone().unwrap_or_else(|| "spec".to_owned());
        let writes = self.bench.writes(component);
        writes
            .iter()
            .map(|write| format!("{} {} {}", write.resource, half(write), write.code))
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
pub fn task(from: &str, replicas: i32, at: jiff::Timestamp) -> Value {
    json!({
        "fromCluster": from, "purgeMode": "Gracefully", "replicas": replicas, "reason": "TaintUntolerated",
        "producer": "TaintManager", "creationTimestamp": at, "clustersBeforeFailover": ["member1", "member2"],
        // By its words a task is known as ours: stock's taint manager writes none.
        "message": "taint cluster.karmada.io/not-ready:NoExecute is not tolerated",
    })
}
