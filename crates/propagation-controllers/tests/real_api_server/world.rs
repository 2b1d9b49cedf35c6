//! A control plane with propagation, two members, and a hand that plays the parts of the other components.

use std::time::Duration;

use controller_kit::{KitFlags, Process, Running};
use e2e_harness::{ControlPlane, Identity, Member, eventually};
use kube::api::PostParams;
use propagation_controllers::{Flags, controllers};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::identity::{Bound, Id};
use crate::server::Server;

pub const SOON: Duration = Duration::from_secs(60);
/// A lease that is not lost when the machine does much else: who leads is no question here.
const LEASE: Duration = Duration::from_secs(300);
pub const MEMBERS: [&str; 2] = ["m1", "m2"];
/// A namespace for each idea.
const NAMESPACES: [&str; 17] = [
    "shop",
    "kinds",
    "defaults",
    "retention",
    "scope",
    "suspension",
    "preserving",
    "conflicts",
    "purge",
    "refusals",
    "sizes",
    "replicas",
    "terminating",
    "leaving",
    "recreated",
    "credentials",
    "dependencies",
];

pub struct World {
    pub plane: Server,
    pub m1: Server,
    pub m2: Server,
    begun: Instant,
    process: Running,
    pub members: [Member; 2],
    pub control_plane: ControlPlane,
}

impl World {
    pub async fn start() -> Self {
        let begun = Instant::now();
        let control_plane = ControlPlane::start().await.unwrap();
        let (m1, m2) = tokio::try_join!(
            control_plane.start_member(MEMBERS[0]),
            control_plane.start_member(MEMBERS[1])
        )
        .unwrap();
        let members = [m1, m2];
        let client = control_plane.client().await.unwrap();
        let plane = Server::of(client.clone());
        furnish(&plane, &members).await;
        let process = Process::builder("propagation", client)
            .flags(KitFlags {
                leader_elect_lease_duration: LEASE,
                leader_elect_renew_deadline: LEASE / 2,
                ..KitFlags::default()
            })
            .controllers(controllers(Flags::default()))
            .start()
            .await
            .unwrap();
        let world = Self {
            plane,
            m1: Server::of(members[0].client().await.unwrap()),
            m2: Server::of(members[1].client().await.unwrap()),
            begun,
            process,
            members,
            control_plane,
        };
        for name in MEMBERS {
            world.ready(name, "True").await;
        }
        eprintln!("the fleet is there: {:.1} s", world.age().as_secs_f64());
        world
    }

    /// Nothing would come any more if propagation had ended.
    pub fn goes_on(&self) {
        assert_eq!(self.process.has_ended(), None, "propagation has ended");
    }

    /// For how long there is a world.
    pub fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    pub fn member(&self, name: &str) -> &Server {
        if name == "m1" { &self.m1 } else { &self.m2 }
    }

    /// What cluster health would say.
    pub async fn ready(&self, cluster: &str, status: &str) {
        let now = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(controller_kit::Clock::system().now());
        let condition =
            json!({"type": "Ready", "status": status, "reason": "Test", "message": "", "lastTransitionTime": now});
        self.plane
            .merge_status(&Id::cluster(cluster), json!({"conditions": [condition]}))
            .await;
    }

    /// A template and a policy for it alone, with these fields besides.
    pub async fn spread(&self, template: Value, fields: Value) -> Bound {
        let bound = Bound::of(self.plane.create(template).await);
        let (template, policy) = (&bound.template, &bound.policy);
        let mut spec = json!({"placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}},
            "resourceSelectors": [{"apiVersion": template.api_version, "kind": template.kind, "name": template.name}]});
        merge_into(&mut spec, &fields);
        let mut object = json!({"apiVersion": policy.api_version, "kind": policy.kind,
            "metadata": {"name": policy.name}, "spec": spec});
        if let Some(namespace) = &policy.namespace {
            object["metadata"]["namespace"] = json!(namespace);
        }
        self.plane.create(object).await;
        bound
    }

    /// What the scheduler would write: so many replicas on each, none for a kind without.
    pub async fn place(&self, bound: &Bound, clusters: &[(&str, i32)]) {
        self.plane.until(&bound.binding, "is there", |_| true).await;
        let targets: Vec<Value> = clusters
            .iter()
            .map(|(name, replicas)| match replicas {
                0 => json!({"name": name}),
                _ => json!({"name": name, "replicas": replicas}),
            })
            .collect();
        self.plane
            .merge(&bound.binding, json!({"spec": {"clusters": targets}}))
            .await;
        self.scheduled(bound).await;
    }

    /// What the scheduler would say of its result, for the generation that there is.
    pub async fn scheduled(&self, bound: &Bound) {
        let now = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(controller_kit::Clock::system().now());
        self.plane
            .edit_status(&bound.binding, |binding| {
                binding["status"]["schedulerObservedGeneration"] = binding["metadata"]["generation"].clone();
                let mut conditions = binding["status"]["conditions"].as_array().cloned().unwrap_or_default();
                conditions.retain(|condition| condition["type"] != "Scheduled");
                conditions.push(
                    json!({"type": "Scheduled", "status": "True", "reason": "Success", "message": "",
                    "lastTransitionTime": now}),
                );
                binding["status"]["conditions"] = json!(conditions);
            })
            .await;
    }

    /// The same on both members, and waits until they have it.
    pub async fn on_both(&self, template: Value, fields: Value, replicas: i32) -> Bound {
        let bound = self.spread(template, fields).await;
        self.place(&bound, &MEMBERS.map(|name| (name, replicas))).await;
        for name in MEMBERS {
            self.applied(&bound, name).await;
        }
        bound
    }

    /// Waits until the newest version of the Work is applied.
    pub async fn applied(&self, bound: &Bound, cluster: &str) {
        self.plane
            .until(&bound.work(cluster), "is applied", |work| {
                let applied = condition(work, "Applied");
                applied["status"] == "True" && applied["observedGeneration"] == work["metadata"]["generation"]
            })
            .await;
    }

    /// Waits until the Work says that it is not applied, in these words.
    pub async fn refused(&self, bound: &Bound, cluster: &str, words: &str) -> Value {
        let what = format!("is refused with {words:?}");
        self.plane
            .until(&bound.work(cluster), &what, |work| {
                let applied = condition(work, "Applied");
                let message = applied["message"].as_str().unwrap_or_default();
                applied["status"] == "False" && message.contains(words)
            })
            .await
    }

    /// Waits until the binding says of this cluster's copy what `holds` wants.
    pub async fn item(&self, bound: &Bound, cluster: &str, what: &str, holds: impl Fn(&Value) -> bool) {
        self.plane
            .until(&bound.binding, &format!("says of {cluster} {what}"), |binding| {
                let items = binding["status"]["aggregatedStatus"].as_array();
                items
                    .into_iter()
                    .flatten()
                    .any(|item| item["clusterName"] == cluster && holds(item))
            })
            .await;
    }

    pub async fn healthy(&self, bound: &Bound, cluster: &str) {
        self.item(bound, cluster, "Healthy", |item| item["health"] == "Healthy")
            .await;
    }

    /// Deletes the template, and waits until nothing of it is left on the control plane.
    pub async fn withdraw(&self, bound: &Bound) {
        self.plane.delete(&bound.template).await;
        for cluster in MEMBERS {
            self.plane.until_gone(&bound.work(cluster)).await;
        }
        self.plane.until_gone(&bound.binding).await;
    }
}

async fn furnish(plane: &Server, members: &[Member; 2]) {
    for crd in api_types::crds() {
        let mut crd = serde_json::to_value(crd).unwrap();
        crd["apiVersion"] = json!("apiextensions.k8s.io/v1");
        crd["kind"] = json!("CustomResourceDefinition");
        plane.create(crd).await;
    }
    let execution = MEMBERS.map(|name| format!("karmada-es-{name}"));
    let own = ["karmada-system", "karmada-cluster"].into_iter().chain(NAMESPACES);
    for name in own.chain(execution.iter().map(String::as_str)) {
        plane
            .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
            .await;
    }
    for member in members {
        let (name, api) = (member.name(), member.api());
        plane
            .create(
                json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "karmada-cluster", "name": name},
                "stringData": {"token": api.token(Identity::Admin), "caBundle": api.ca_bundle()}}),
            )
            .await;
        let cluster = json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"syncMode": "Push", "apiEndpoint": api.endpoint(),
                "secretRef": {"namespace": "karmada-cluster", "name": name}}});
        eventually("the definition of Clusters is served", SOON, async || {
            let created = plane.try_create(&cluster, &PostParams::default()).await;
            created.map_err(|error| error.to_string())
        })
        .await
        .unwrap();
    }
    for name in MEMBERS {
        let there = json!({"kind": "Work", "apiVersion": "work.karmada.io/v1alpha1",
            "metadata": {"namespace": format!("karmada-es-{name}"), "name": "probe"}, "spec": {"workload": {}}});
        let dry = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        eventually("the definition of Works is served", SOON, async || {
            plane.try_create(&there, &dry).await.map_err(|error| error.to_string())
        })
        .await
        .unwrap();
    }
}

pub fn condition(object: &Value, type_: &str) -> Value {
    let all = object["status"]["conditions"].as_array();
    let found = all.into_iter().flatten().find(|condition| condition["type"] == type_);
    found.cloned().unwrap_or_default()
}

/// The fields of `more`, whole.
pub fn merge_into(object: &mut Value, more: &Value) {
    for (field, value) in more.as_object().unwrap() {
        object[field] = value.clone();
    }
}

pub fn config(namespace: &str, name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name}, "data": {"k": value}})
}

/// A Deployment whose pods, if it has any, become ready.
pub fn deployment(namespace: &str, name: &str, replicas: i32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": namespace, "name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": pod(name, "nginx")}})
}

/// A pod template; the image decides what becomes of its pods.
pub fn pod(app: &str, image: &str) -> Value {
    json!({"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "c", "image": image}]}})
}
