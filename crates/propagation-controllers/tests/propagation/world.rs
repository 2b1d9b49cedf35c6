//! A control plane, members, the propagation process, and a hand that plays the parts of the other components.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use api_types::names::work_name;
use controller_kit::{ConnectMember, KitFlags, MemberError, MemberTarget, Process, Running};
use kube_sandbox::{Housekeeping, Sandbox, WriteRecord};
use propagation_controllers::{Flags, controllers};
use serde_json::{Value, json};
use test_bench::Bench;

use crate::log::Log;

/// Runs a test body with a limit in simulated time, so that a deadlock fails instead of hanging.
pub async fn limited(body: impl Future<Output = ()>) {
    tokio::time::timeout(Duration::from_secs(86_400), body)
        .await
        .expect("a day has passed: deadlock");
}

pub struct World {
    /// Where the requests to the control plane are noted, if they are.
    pub noted: Option<Log>,
    process: Option<Running>,
    starts: u32,
    bench: Bench,
}

impl Deref for World {
    type Target = Bench;

    fn deref(&self) -> &Self::Target {
        &self.bench
    }
}

impl World {
    /// A fleet of Ready members; propagation does not run yet. Without garbage collection: clean-up is our own.
    pub fn new(members: &[&str]) -> Self {
        Self::with_housekeeping(members, Housekeeping::Off)
    }

    pub fn with_housekeeping(members: &[&str], housekeeping: Housekeeping) -> Self {
        let world = Self {
            noted: None,
            process: None,
            starts: 0,
            bench: Bench::with_housekeeping(members, housekeeping),
        };
        world.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}));
        for name in members {
            world.join(name);
        }
        world
    }

    /// The Cluster of a member, its execution namespace, and its Secret.
    pub fn join(&self, name: &str) {
        self.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": format!("karmada-es-{name}")}}));
        self.put(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "karmada-cluster", "name": name},
            "data": {"token": "dG9rZW4="}}),
        );
        let endpoint = format!("http://{name}.sandbox");
        self.put(json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"syncMode": "Push", "apiEndpoint": endpoint, "secretRef": {"namespace": "karmada-cluster", "name": name}}}));
        self.ready(name, "True");
    }

    /// What cluster health would say.
    pub fn ready(&self, name: &str, status: &str) {
        let now = self.clock.now().round(jiff::Unit::Second).unwrap().to_string();
        self.edit("cluster.karmada.io/v1alpha1", "Cluster", None, name, |cluster| {
            cluster["status"] = json!({"conditions": [{"type": "Ready", "status": status, "reason": "Test", "message": "",
                "lastTransitionTime": now}]});
        });
    }

    /// A member that does not answer, and whose Cluster says so.
    pub fn lose(&self, name: &str) {
        self.member(name).stop();
        self.ready(name, "False");
    }

    /// It answers again, and its Cluster says so.
    pub fn regain(&self, name: &str) {
        self.member(name).resume();
        self.ready(name, "True");
    }

    /// Starts propagation, and lets it settle.
    pub async fn start(&mut self) {
        self.start_only("*").await;
        self.settle().await;
    }

    /// Starts some of its controllers, and does not wait.
    pub async fn start_only(&mut self, names: &str) {
        let members = Arc::new(self.roads());
        self.start_reaching(names, members).await;
    }

    /// The way to the members.
    pub fn roads(&self) -> impl ConnectMember {
        let connector = self.fleet.member_connector();
        move |target: &MemberTarget| {
            connector
                .connect_named(&target.api_endpoint, "propagation")
                .map_err(|_| MemberError::Unknown {
                    cluster: target.name.clone(),
                    endpoint: target.api_endpoint.clone(),
                })
        }
    }

    /// The same on another way to the members.
    pub async fn start_reaching(&mut self, names: &str, members: Arc<dyn ConnectMember>) {
        self.starts += 1;
        let identity = format!("propagation-{}", self.starts);
        let flags = KitFlags::default().with_controllers(names);
        let client = self.plane().client_named("propagation");
        let client = match &self.noted {
            Some(log) => log.noting(client),
            None => client,
        };
        let process = Process::builder("propagation", client)
            .clock(self.clock.clone())
            .identity(identity)
            .flags(flags)
            .members(members)
            .controllers(controllers(Flags::default()))
            .start()
            .await
            .unwrap();
        self.process = Some(process);
    }

    pub async fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            process.stop().await;
        }
    }

    pub fn crash(&mut self) {
        if let Some(process) = self.process.take() {
            process.crash();
        }
    }

    /// Lets everything that happens by itself happen.
    pub async fn settle(&self) {
        self.pass(5_000).await;
    }

    /// Lets simulated time pass.
    pub async fn pass(&self, milliseconds: u64) {
        tokio::time::sleep(Duration::from_millis(milliseconds + 1)).await;
        if let Some(process) = &self.process {
            assert_eq!(process.has_ended(), None, "propagation has ended");
        }
    }

    /// What `/metrics` shows.
    pub fn metrics(&self) -> String {
        self.process.as_ref().unwrap().metrics().render()
    }

    pub fn control_plane(&self) -> &Sandbox {
        self.plane()
    }

    pub fn edit(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) {
        edit(self.control_plane(), api_version, kind, namespace, name, change);
    }

    /// Deletes an object as a person would.
    pub async fn delete(&self, api_version: &str, kind: &str, namespace: Option<&str>, name: &str) {
        delete(self.control_plane(), api_version, kind, namespace, name).await;
    }

    pub fn policy(&self, name: &str, spec: Value) {
        self.put(
            json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
            "metadata": {"namespace": "shop", "name": name}, "spec": spec}),
        );
    }

    /// A policy for one kind, on some clusters, by weight.
    pub fn propagate(&self, api_version: &str, kind: &str, more: Value) {
        let mut spec = json!({"resourceSelectors": [{"apiVersion": api_version, "kind": kind}],
            "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}}});
        for (field, value) in more.as_object().unwrap() {
            spec[field] = value.clone();
        }
        self.policy(&kind.to_lowercase(), spec);
    }

    pub fn deployment(&self, name: &str, replicas: i32) {
        self.put(json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"namespace": "shop", "name": name, "labels": {"app": name}},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}}}));
    }

    /// What the scheduler would write: a result, and that it is for this generation.
    pub fn schedule(&self, binding: &str, clusters: &[(&str, i32)]) {
        let clusters: Vec<Value> = clusters
            .iter()
            .map(|(name, replicas)| {
                if *replicas == 0 {
                    json!({"name": name})
                } else {
                    json!({"name": name, "replicas": replicas})
                }
            })
            .collect();
        self.edit_binding(binding, |binding| binding["spec"]["clusters"] = json!(clusters));
        self.scheduled(binding);
    }

    pub fn scheduled(&self, binding: &str) {
        self.edit_binding(binding, |binding| {
            binding["status"]["schedulerObservedGeneration"] = binding["metadata"]["generation"].clone();
            let mut conditions = binding["status"]["conditions"].as_array().cloned().unwrap_or_default();
            conditions.retain(|c| c["type"] != "Scheduled");
            conditions.push(json!({"type": "Scheduled", "status": "True", "reason": "Success",
                "message": "Binding has been scheduled successfully.", "lastTransitionTime": "2026-01-01T00:00:00Z"}));
            binding["status"]["conditions"] = json!(conditions);
        });
    }

    /// What evictor and scheduler would write: away from one cluster, to others.
    pub fn evict(&self, binding: &str, from: &str, purge_mode: &str, to: &[(&str, i32)]) {
        let now = self.clock.now().round(jiff::Unit::Second).unwrap().to_string();
        self.edit("cluster.karmada.io/v1alpha1", "Cluster", None, from, |cluster| {
            cluster["spec"]["taints"] = json!([{"key": "test", "effect": "NoExecute", "timeAdded": now}]);
        });
        self.edit_binding(binding, |binding| {
            binding["spec"]["gracefulEvictionTasks"] = json!([{"fromCluster": from, "purgeMode": purge_mode,
                "reason": "TaintUntolerated", "producer": "TaintManager"}]);
            let left = binding["spec"]["clusters"].as_array().cloned().unwrap_or_default();
            binding["spec"]["clusters"] = left.into_iter().filter(|cluster| cluster["name"] != from).collect();
        });
        self.schedule(binding, to);
    }

    pub fn drop_tasks(&self, binding: &str) {
        self.edit_binding(binding, |binding| binding["spec"]["gracefulEvictionTasks"] = json!([]));
        self.scheduled(binding);
    }

    pub fn edit_binding(&self, name: &str, change: impl FnOnce(&mut Value)) {
        self.edit(
            "work.karmada.io/v1alpha2",
            "ResourceBinding",
            Some("shop"),
            name,
            change,
        );
    }

    pub fn binding(&self, name: &str) -> Option<Value> {
        self.control_plane()
            .get("work.karmada.io/v1alpha2", "ResourceBinding", Some("shop"), name)
    }

    pub fn item(&self, binding: &str, cluster: &str) -> Value {
        let binding = self.binding(binding).unwrap();
        let items = binding["status"]["aggregatedStatus"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        items
            .into_iter()
            .find(|item| item["clusterName"] == cluster)
            .unwrap_or_default()
    }

    pub fn condition(&self, binding: &str, type_: &str) -> Value {
        let binding = self.binding(binding).unwrap();
        let all = binding["status"]["conditions"].as_array().cloned().unwrap_or_default();
        all.into_iter()
            .find(|condition| condition["type"] == type_)
            .unwrap_or_default()
    }

    pub fn work(&self, cluster: &str, kind: &str, name: &str) -> Option<Value> {
        let namespace = format!("karmada-es-{cluster}");
        self.control_plane().get(
            "work.karmada.io/v1alpha1",
            "Work",
            Some(&namespace),
            &work_name(kind, Some("shop"), name),
        )
    }

    pub fn works(&self) -> Vec<Value> {
        self.control_plane().list("work.karmada.io/v1alpha1", "Work")
    }

    pub fn on(&self, cluster: &str, api_version: &str, kind: &str, name: &str) -> Option<Value> {
        self.member(cluster)
            .sandbox()
            .get(api_version, kind, Some("shop"), name)
    }

    pub fn deployment_on(&self, cluster: &str, name: &str) -> Option<Value> {
        self.on(cluster, "apps/v1", "Deployment", name)
    }

    /// Reasons of events about an object of this name.
    pub fn events(&self, about: &str) -> Vec<String> {
        let events = self.control_plane().list("v1", "Event");
        let about = events.iter().filter(|event| event["involvedObject"]["name"] == about);
        about
            .filter_map(|event| event["reason"].as_str().map(str::to_owned))
            .collect()
    }

    /// Events that a component has signed: about what, reason, and words.
    pub fn events_from(&self, component: &str) -> Vec<String> {
        let events = self.control_plane().list("v1", "Event");
        let signed = events.iter().filter(|event| event["source"]["component"] == component);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        signed
            .map(|event| {
                let about = &event["involvedObject"];
                let (kind, name) = (text(&about["kind"]), text(&about["name"]));
                format!("{kind} {name} {}: {}", text(&event["reason"]), text(&event["message"]))
            })
            .collect()
    }

    /// Writes of propagation to the control plane, Leases left out.
    pub fn writes(&self) -> Vec<WriteRecord> {
        own(self.control_plane().faults().writes())
    }

    pub fn member_writes(&self, cluster: &str) -> Vec<WriteRecord> {
        own(self.member(cluster).faults().writes())
    }

    pub fn forget_writes(&self) {
        self.control_plane().faults().reset_counts();
        for member in self.fleet.members() {
            member.faults().reset_counts();
        }
    }

    /// A Deployment of three replicas on m1 and m2 in the ratio 1:2, all running.
    pub async fn running_web() -> Self {
        let mut world = Self::new(&["m1", "m2"]);
        world.start().await;
        world.propagate("apps/v1", "Deployment", json!({}));
        world.deployment("web", 3);
        world.settle().await;
        world.schedule("web-deployment", &[("m1", 1), ("m2", 2)]);
        world.settle().await;
        assert_eq!(world.item("web-deployment", "m1")["health"], "Healthy");
        assert_eq!(world.item("web-deployment", "m2")["health"], "Healthy");
        world
    }
}

fn own(writes: Vec<WriteRecord>) -> Vec<WriteRecord> {
    writes
        .into_iter()
        .filter(|write| write.client == "propagation" && write.resource != "leases")
        .collect()
}

pub fn edit(
    sandbox: &Sandbox,
    api_version: &str,
    kind: &str,
    namespace: Option<&str>,
    name: &str,
    change: impl FnOnce(&mut Value),
) {
    let mut object = sandbox
        .get(api_version, kind, namespace, name)
        .unwrap_or_else(|| panic!("no {kind} {name}"));
    change(&mut object);
    sandbox.put(object).unwrap();
}

pub async fn delete(sandbox: &Sandbox, api_version: &str, kind: &str, namespace: Option<&str>, name: &str) {
    use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let client = sandbox.observer();
    let api: kube::Api<DynamicObject> = match namespace {
        Some(namespace) => kube::Api::namespaced_with(client, namespace, &resource),
        None => kube::Api::all_with(client, &resource),
    };
    api.delete(name, &kube::api::DeleteParams::default()).await.unwrap();
}
