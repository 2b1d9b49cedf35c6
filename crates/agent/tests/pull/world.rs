//! A control plane with its controllers, one member, and the member's agent.

use std::ops::Deref;
use std::sync::Arc;

use agent::{Flags, controllers};
use api_types::cluster::Cluster;
use api_types::work::Work;
use controller_kit::{KitFlags, MemberTarget, OwnMember, Process, Running};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::Api;
use kube_sandbox::Member;
use parking_lot::Mutex;
use serde_json::json;
use test_bench::Bench;

use crate::log::Log;

pub struct World {
    bench: Bench,
    /// What the agent asked the control plane, and the member.
    pub asked: [Log; 2],
    /// Members that the control plane's own controllers connected to.
    pub touched: Arc<Mutex<Vec<String>>>,
    /// What every process is started with.
    kit: KitFlags,
}

impl Deref for World {
    type Target = Bench;

    fn deref(&self) -> &Bench {
        &self.bench
    }
}

impl World {
    /// A control plane, and the members m1 and m2, of which the control plane knows nothing yet.
    pub fn new() -> Self {
        Self::with(KitFlags::default())
    }

    /// The same where each process is started with these flags.
    pub fn with(kit: KitFlags) -> Self {
        Self {
            bench: Bench::new(&["m1", "m2"]),
            asked: Default::default(),
            touched: Arc::default(),
            kit,
        }
    }

    pub fn m1(&self) -> Member {
        self.member("m1")
    }

    /// The control plane's controllers for health and propagation.
    pub async fn start_control_plane(&self) -> Running {
        let (roads, touched) = (self.roads(), Arc::clone(&self.touched));
        let members = move |target: &MemberTarget| {
            touched.lock().push(target.name.clone());
            roads.connect(target)
        };
        self.process("control-plane", "control-plane-0", self.kit.clone())
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
        self.start_agent_with(identity, flags, self.m1().sandbox().client_named(identity))
            .await
    }

    pub async fn start_agent_with(&self, identity: &str, flags: Flags, member: Client) -> Running {
        let [plane_log, member_log] = &self.asked;
        Process::builder("agent", plane_log.noting(self.plane().client_named(identity)))
            .clock(self.clock.clone())
            .identity(identity)
            .flags(self.kit.clone())
            .members(Arc::new(OwnMember::new(member_log.noting(member))))
            .controllers(controllers(flags))
            .start()
            .await
            .unwrap()
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

    /// Reasons of Events about an object.
    pub fn reasons(&self, kind: &str, name: &str) -> Vec<String> {
        let events = self.events(kind, name);
        events.into_iter().map(|(reason, _)| reason).collect()
    }
}
