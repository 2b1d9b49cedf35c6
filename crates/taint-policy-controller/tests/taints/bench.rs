//! A control plane on the sandbox with members, and the controllers on it, under paused time.

use std::ops::Deref;

use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use controller_kit::{Controller, KitFlags, Running};
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

pub struct Bench {
    bench: test_bench::Bench,
}

impl Deref for Bench {
    type Target = test_bench::Bench;

    fn deref(&self) -> &Self::Target {
        &self.bench
    }
}

impl Bench {
    pub fn new(members: &[&str]) -> Self {
        let bench = test_bench::Bench::new(members);
        for name in members {
            bench.put(
                json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "karmada-cluster"},
                "data": {"token": "dG9rZW4="}}),
            );
            bench.put(
                json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
                "spec": {"syncMode": "Push", "apiEndpoint": format!("http://{name}.sandbox"),
                         "secretRef": {"namespace": "karmada-cluster", "name": name}}}),
            );
        }
        Self { bench }
    }

    /// Serves Clusters as a stock Karmada does: what a condition has is not checked, nor how many taints there are.
    pub fn serve_clusters_like_stock(&self) {
        let crds = api_types::crds();
        let clusters = crds.iter().find(|crd| crd.spec.names.plural == "clusters").unwrap();
        let mut crd = serde_json::to_value(clusters).unwrap();
        let properties = "/spec/versions/0/schema/openAPIV3Schema/properties";
        let schema = crd.pointer_mut(properties).unwrap();
        let condition = &mut schema["status"]["properties"]["conditions"]["items"];
        condition["required"] = json!(["type"]);
        for (_, property) in condition["properties"].as_object_mut().unwrap() {
            property["nullable"] = json!(true);
        }
        let taints = schema["spec"]["properties"]["taints"].as_object_mut().unwrap();
        taints.retain(|key, _| key == "type" || key == "items");
        self.plane().apply_crd(crd).unwrap();
    }

    /// Serves ClusterTaintPolicies as a stock Karmada does: they have no status.
    pub fn serve_policies_like_stock(&self) {
        let crds = api_types::crds();
        let policies = crds.iter().find(|crd| crd.spec.names.plural == "clustertaintpolicies");
        let mut crd = serde_json::to_value(policies.unwrap()).unwrap();
        let version = crd.pointer_mut("/spec/versions/0").unwrap().as_object_mut().unwrap();
        version.remove("subresources");
        self.plane().apply_crd(crd).unwrap();
    }

    /// Writes the conditions of a Cluster as they are given.
    pub async fn set_conditions(&self, name: &str, conditions: Value) {
        let api = Api::<Cluster>::all(self.plane().observer());
        let patch = Patch::Merge(json!({"status": {"conditions": conditions}}));
        api.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub fn put_policy(&self, name: &str, spec: &Value) {
        self.put(json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": {"name": name},
            "spec": spec,
        }));
    }

    /// NoExecute on Ready=False or Unknown, after 300 s and away after 180 s.
    pub fn put_not_ready_policy(&self) {
        self.put_policy("not-ready", &not_ready_spec());
    }

    pub async fn start_health(&self, identity: &str) -> Running {
        let flags = cluster_health_controller::Flags::default();
        self.start("health", identity, cluster_health_controller::controllers(flags))
            .await
    }

    pub async fn start_taints(&self, identity: &str) -> Running {
        let flags = taint_policy_controller::Flags::default();
        self.start("taints", identity, taint_policy_controller::controllers(flags))
            .await
    }

    async fn start(&self, component: &'static str, identity: &str, controllers: Vec<Controller>) -> Running {
        self.start_with_gates(component, identity, controllers, "Failover=true")
            .await
    }

    pub async fn start_with_gates(
        &self,
        component: &'static str,
        identity: &str,
        controllers: Vec<Controller>,
        gates: &str,
    ) -> Running {
        self.process(component, identity, KitFlags::default().with_feature_gates(gates))
            .controllers(controllers)
            .start()
            .await
            .unwrap()
    }

    pub async fn cluster(&self, name: &str) -> Cluster {
        Api::<Cluster>::all(self.plane().observer()).get(name).await.unwrap()
    }

    pub async fn taints(&self, name: &str) -> Vec<String> {
        self.cluster(name)
            .await
            .spec
            .taints
            .iter()
            .map(|t| format!("{}:{}", t.key, t.effect))
            .collect()
    }

    pub async fn edit_cluster(&self, name: &str, patch: Value) {
        let api = Api::<Cluster>::all(self.plane().observer());
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// Sets the Ready condition by hand, as of now.
    pub async fn set_ready(&self, name: &str, status: &str) {
        let condition = json!({"type": "Ready", "status": status, "reason": "Set", "message": "", "lastTransitionTime":
            k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(self.clock.now())});
        self.set_conditions(name, json!([condition])).await;
    }

    pub async fn policy(&self, name: &str) -> ClusterTaintPolicy {
        Api::<ClusterTaintPolicy>::all(self.plane().observer())
            .get(name)
            .await
            .unwrap()
    }

    /// Status, reason and message of a policy's condition.
    pub async fn policy_condition(&self, name: &str, type_: &str) -> (String, String, String) {
        let status = self.policy(name).await.status.expect("a status is written");
        let found = api_types::conditions::get(&status.conditions, type_)
            .expect("all three conditions are said")
            .clone();
        (found.status, found.reason, found.message)
    }

    /// Reason and note of the events on a Cluster.
    pub async fn events(&self, name: &str) -> Vec<(String, String)> {
        self.bench.events("Cluster", name)
    }

    /// Writes of a component that are neither renewals of leases nor events.
    pub fn writes(&self, component: &str) -> Vec<String> {
        let writes = self.all_writes(component);
        writes.into_iter().filter(|write| !write.contains(" events ")).collect()
    }

    /// Writes of a component that are no renewals of leases.
    pub fn all_writes(&self, component: &str) -> Vec<String> {
        let writes = self.plane().faults().writes().into_iter();
        writes
            .filter(|w| w.client == component && w.resource != "leases")
            .map(|w| {
                format!(
                    "{} {:?} {} {:?} {:?} {}",
                    w.at, w.verb, w.resource, w.subresource, w.name, w.code
                )
            })
            .collect()
    }
}

/// In stock's form: NoSchedule while Ready is not True.
pub fn stock_spec() -> Value {
    json!({
        "addOnConditions": [{"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}],
        "removeOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["True"]}],
        "taints": [{"key": "stock", "effect": "NoSchedule"}]
    })
}

pub fn not_ready_spec() -> Value {
    json!({
        "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False", "Unknown"]}],
        "taintsToAdd": [{"key": "cluster.karmada.io/not-ready", "effect": "NoExecute"}]
    })
}
