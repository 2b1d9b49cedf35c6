//! A control plane with its controllers, one member, and the member's agent.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use agent::{Flags, controllers};
use api_types::cluster::Cluster;
use api_types::work::Work;
use controller_kit::{Clock, KitFlags, MemberError, MemberTarget, OwnMember, Process, Running};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::Api;
use kube_sandbox::{Fleet, Member, Now, Sandbox};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::log::Log;

/// Runs a test on a paused runtime, with a limit on simulated time against deadlocks.
pub fn paused(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(86_400), test)
            .await
            .expect("stuck");
    });
}

pub struct World {
    pub clock: Clock,
    pub fleet: Fleet,
    pub started: Timestamp,
    /// What the agent asked the control plane, and the member.
    pub asked: [Log; 2],
    /// Members that the control plane's own controllers connected to.
    pub touched: Arc<Mutex<Vec<String>>>,
}

impl World {
    /// A control plane, and the members m1 and m2, of which the control plane knows nothing yet.
    pub fn new() -> Self {
        let started: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let clock = Clock::simulated(started);
        let shown = clock.clone();
        let now: Now = Arc::new(move || shown.now());
        let world = Self {
            fleet: Fleet::start(&now, &["m1", "m2"]),
            clock,
            started,
            asked: Default::default(),
            touched: Arc::default(),
        };
        for crd in api_types::crds() {
            world.plane().apply_crd(serde_json::to_value(crd).unwrap()).unwrap();
        }
        for namespace in ["karmada-system", "karmada-cluster"] {
            world.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
        }
        world
    }

    pub fn plane(&self) -> &Sandbox {
        self.fleet.control_plane()
    }

    pub fn put(&self, object: Value) {
        self.plane().put(object).unwrap();
    }

    pub fn member(&self) -> Member {
        self.fleet.member("m1").unwrap()
    }

    /// The control plane's controllers for health and propagation.
    pub async fn start_control_plane(&self) -> Running {
        let connector = self.fleet.member_connector();
        let touched = Arc::clone(&self.touched);
        let members = move |target: &MemberTarget| {
            touched.lock().push(target.name.clone());
            connector
                .connect(&target.api_endpoint)
                .map_err(|_| MemberError::Unknown {
                    cluster: target.name.clone(),
                    endpoint: target.api_endpoint.clone(),
                })
        };
        Process::builder("control-plane", self.plane().client_named("control-plane"))
            .clock(self.clock.clone())
            .identity("control-plane-0")
            .members(Arc::new(members))
            .controllers(cluster_health_controller::controllers(Default::default()))
            .controllers(propagation_controllers::controllers(Default::default()))
            .start()
            .await
            .unwrap()
    }

    pub async fn start_agent(&self, identity: &str) -> Running {
        let flags = Flags {
            cluster_name: "m1".to_owned(),
            cluster_region: Some("north".to_owned()),
            ..Flags::default()
        };
        self.start_agent_with(identity, flags, self.member().sandbox().client_named(identity))
            .await
    }

    pub async fn start_agent_with(&self, identity: &str, flags: Flags, member: Client) -> Running {
        let [plane_log, member_log] = &self.asked;
        Process::builder("agent", plane_log.noting(self.plane().client_named(identity)))
            .clock(self.clock.clone())
            .identity(identity)
            .flags(KitFlags::default())
            .members(Arc::new(OwnMember::new(member_log.noting(member))))
            .controllers(controllers(flags))
            .start()
            .await
            .unwrap()
    }

    /// Lets the time pass to `second` since the start, and one millisecond more: what is due then has been done.
    pub async fn until(&self, second: u64) {
        let due = self.started + Duration::from_secs(second) + Duration::from_millis(1);
        tokio::time::sleep(Duration::try_from(due.duration_since(self.clock.now())).unwrap_or_default()).await;
    }

    pub async fn cluster(&self) -> Option<Cluster> {
        let api = Api::<Cluster>::all(self.plane().observer());
        api.get_opt("m1").await.unwrap()
    }

    /// Status and reason of the Ready condition.
    pub async fn ready(&self) -> (String, String) {
        let cluster = self.cluster().await.expect("it has joined");
        let condition = cluster.condition("Ready").expect("Ready is said");
        (condition.status.clone(), condition.reason.clone())
    }

    pub async fn lease(&self) -> Option<Lease> {
        let api = Api::<Lease>::namespaced(self.plane().observer(), "karmada-cluster");
        api.get_opt("m1").await.unwrap()
    }

    /// A Work that brings a ConfigMap or a Deployment to the member.
    pub fn put_work(&self, kind: &str, name: &str) {
        let mut manifest = json!({"kind": kind, "metadata": {"name": name, "namespace": "default",
            "labels": {"karmada.io/managed": "true"},
            "annotations": {"work.karmada.io/namespace": "karmada-es-m1", "work.karmada.io/name": name}}});
        match kind {
            "Deployment" => {
                manifest["apiVersion"] = "apps/v1".into();
                manifest["spec"] = json!({"replicas": 2, "selector": {"matchLabels": {"app": name}},
                    "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}});
            }
            _ => {
                manifest["apiVersion"] = "v1".into();
                manifest["data"] = json!({"k": "v"});
            }
        }
        self.put(json!({"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
            "metadata": {"name": name, "namespace": "karmada-es-m1", "finalizers": ["karmada.io/execution-controller"]},
            "spec": {"workload": {"manifests": [manifest]}}}));
    }

    pub async fn work(&self, name: &str) -> Option<Work> {
        let api = Api::<Work>::namespaced(self.plane().observer(), "karmada-es-m1");
        api.get_opt(name).await.unwrap()
    }

    /// Reasons of Events about an object of this name.
    pub fn events(&self, about: &str) -> Vec<String> {
        let events = self.plane().list("v1", "Event");
        let about = events.iter().filter(|event| event["involvedObject"]["name"] == about);
        about
            .filter_map(|event| event["reason"].as_str().map(str::to_owned))
            .collect()
    }
}
