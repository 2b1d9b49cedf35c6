//! Every command against a real API (the sandbox) and a real eviction queue, in process.

use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::Cluster;
use api_types::crds;
use api_types::work::Binding;
use clap::Parser;
use controller_kit::{Clock, Process, Running};
use eviction_queue::{Flags, Transport};
use eviction_queue_api::memory::MemoryNetwork;
use eviction_queue_api::{QueueClient, v1};
use failoverctl::Cli;
use failoverctl::control_plane::ControlPlane;
use failoverctl::failure::{ExitStatus, Failure};
use failoverctl::run::{Answer, Surroundings, answer};
use futures::StreamExt;
use kube_sandbox::{Sandbox, SandboxOptions};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;

use crate::console::Recorded;
use crate::objects::{self, CONTROLLERS, binding, cluster, entry, lease, now, tainted};

pub const LIMIT: Duration = Duration::from_secs(600);

pub struct World {
    pub sandbox: Sandbox,
    pub around: Surroundings,
    pub network: MemoryNetwork,
    pub console: Arc<Recorded>,
}

impl World {
    /// A fleet whose member1 is away, and Leases of all controllers but these; the queue takes its own.
    pub fn new(off: &[&str]) -> Self {
        let clock = Clock::simulated(now());
        let time = clock.clone();
        let sandbox = Sandbox::new(SandboxOptions::new(Arc::new(move || time.now())));
        for crd in crds() {
            sandbox.apply_crd(json!(crd)).unwrap();
        }
        let network = MemoryNetwork::default();
        let console = Arc::new(Recorded::default());
        let around = Surroundings {
            console: console.clone(),
            network: Some(network.clone()),
            ..Surroundings::plain(clock)
        };
        let world = Self {
            sandbox,
            around,
            network,
            console,
        };
        world.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}}));
        for cluster in [
            tainted("member1", "NoExecute"),
            cluster("member2", "True"),
            cluster("member3", "True"),
        ] {
            world.put(typed("cluster.karmada.io/v1alpha1", "Cluster", json!(cluster)));
        }
        world.put(typed("work.karmada.io/v1alpha2", "ResourceBinding", json!(binding())));
        for policy in crate::taints::policies() {
            world.put(typed("policy.karmada.io/v1alpha1", "ClusterTaintPolicy", json!(policy)));
        }
        for about in ["member1", "member2"] {
            world.put(json!({
                "apiVersion": "v1", "kind": "Event", "metadata": {"name": about, "namespace": "default"},
                "involvedObject": {"kind": "Cluster", "name": about}, "reason": "ClusterNotReady",
                "message": about, "count": 1, "lastTimestamp": objects::after(-600),
            }));
        }
        for name in CONTROLLERS
            .iter()
            .filter(|name| **name != "eviction-queue" && !off.contains(name))
        {
            world.put(typed(
                "coordination.k8s.io/v1",
                "Lease",
                json!(lease(name, 0, "Failover=true")),
            ));
        }
        world
    }

    /// Stores an object with its status.
    pub fn put(&self, object: Value) {
        self.sandbox.put(object).unwrap();
    }

    pub fn get<K: DeserializeOwned>(&self, api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> K {
        serde_json::from_value(self.sandbox.get(api_version, kind, namespace, name).unwrap()).unwrap()
    }

    pub async fn start_queue(&self) -> Running {
        self.start_queue_as("queue-1").await
    }

    /// The same, reached by sockets, as any other program reaches it.
    pub fn over_sockets(off: &[&str]) -> Self {
        let mut world = Self::new(off);
        world.around.network = None;
        world
    }

    pub async fn start_queue_as(&self, identity: &str) -> Running {
        let flags = Flags {
            leader_grace: Duration::ZERO,
            transport: Transport::Memory(self.network.clone()),
            ..Flags::default()
        };
        self.start_queue_with(flags, identity).await
    }

    pub async fn start_queue_with(&self, flags: Flags, identity: &str) -> Running {
        let kit = controller_kit::KitFlags::default().with_feature_gates("Failover=true");
        Process::builder("eviction-queue", self.sandbox.client_named("queue"))
            .flags(kit)
            .controllers(eviction_queue::controllers(flags))
            .clock(self.around.clock.clone())
            .identity(identity)
            .start()
            .await
            .unwrap()
    }

    /// The entry of the binding, as the taint manager would publish it.
    pub fn entry(&self) -> v1::PublishedEntry {
        let cluster: Cluster = self.get("cluster.karmada.io/v1alpha1", "Cluster", None, "member1");
        let binding: Binding = self.get(
            "work.karmada.io/v1alpha2",
            "ResourceBinding",
            Some("default"),
            "nginx-deployment",
        );
        let published = entry("nginx-deployment", -60, v1::EntryState::Ready).published.unwrap();
        v1::PublishedEntry {
            key: Some(v1::EntryKey {
                cluster_uid: cluster.metadata.uid.unwrap(),
                uid: binding.metadata.uid.unwrap(),
                ..published.key.unwrap()
            }),
            binding_resource_version: binding.metadata.resource_version.unwrap(),
            cluster_resource_version: cluster.metadata.resource_version.unwrap(),
            ..published
        }
    }

    /// Publishes these entries and waits until the queue has them. They stay while the sender lives.
    pub async fn publish(&self, entries: Vec<v1::PublishedEntry>) -> mpsc::UnboundedSender<v1::PublishRequest> {
        use v1::publish_request::Message;
        let lease: Value = self.get(
            "coordination.k8s.io/v1",
            "Lease",
            Some("karmada-system"),
            "taint-manager",
        );
        let (send, receive) = mpsc::unbounded_channel();
        let epoch = v1::Epoch {
            lease_uid: lease["metadata"]["uid"].as_str().unwrap().to_owned(),
            lease_transitions: 1,
        };
        let hello = v1::PublishHello {
            producer: "taintManager".to_owned(),
            epoch: Some(epoch),
            identity: "manager-1".to_owned(),
        };
        for message in [
            Message::Hello(hello),
            Message::Upserts(v1::Upserts { entries }),
            Message::SnapshotComplete(v1::SnapshotComplete {}),
        ] {
            send.send(v1::PublishRequest { message: Some(message) }).unwrap();
        }
        let client =
            QueueClient::by_lease(self.sandbox.client(), "karmada-system", "manager-1").through(self.network.clone());
        client
            .inspect(LIMIT, async |mut service| {
                service.get_status(v1::GetStatusRequest {}).await
            })
            .await
            .unwrap();
        let mut queue = client.queue().await.unwrap();
        let mut answers = queue
            .publish(UnboundedReceiverStream::new(receive))
            .await
            .unwrap()
            .into_inner();
        while let Some(answer) = answers.next().await {
            if let Some(v1::publish_response::Message::SnapshotAccepted(_)) = answer.unwrap().message {
                break;
            }
        }
        send
    }

    /// Renews the Leases that no process here renews.
    pub fn renew(&self) {
        let at = format!("{:.6}", self.around.clock.now());
        for mut lease in self.sandbox.list("coordination.k8s.io/v1", "Lease") {
            if lease["metadata"]["name"] != "eviction-queue" {
                lease["spec"]["renewTime"] = json!(at);
                self.put(lease);
            }
        }
    }

    pub async fn ask(&self, args: &[&str]) -> Answer {
        self.try_ask(args).await.unwrap()
    }

    pub async fn try_ask(&self, args: &[&str]) -> Result<Answer, Failure> {
        self.renew();
        let cli = Cli::try_parse_from([&["failoverctl"], args].concat()).unwrap();
        let control_plane = ControlPlane::new(self.sandbox.client_named("failoverctl"), "karmada-system");
        answer(&cli, &control_plane, &self.around).await
    }

    pub async fn ask_json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ask(&[args, &["-o", "json"]].concat()).await.text).unwrap()
    }
}

pub fn typed(api_version: &str, kind: &str, mut object: Value) -> Value {
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("uid");
    }
    object
}

#[tokio::test(start_paused = true)]
async fn an_entry_is_seen_by_every_command() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&["evictor"]);
        let queue = world.start_queue().await;
        let _published = world.publish(vec![world.entry()]).await;

        let list = world.ask_json(&["queue", "list"]).await;
        assert_eq!(list["total"], 1);
        let listed = &list["entries"][0];
        assert_eq!(
            (&listed["binding"], &listed["state"]),
            (&json!("default/nginx-deployment"), &json!("Ready"))
        );
        assert_eq!(
            (&listed["position"], &listed["cluster"]),
            (&json!(1), &json!("member1"))
        );
        assert_eq!(listed["cause"]["identity"], json!(objects::cause()));
        assert_eq!(
            world
                .ask(&["queue", "list", "--cluster", "member2", "-o", "name"])
                .await
                .text,
            ""
        );

        let shown = world.ask(&["queue", "show", "default/nginx-deployment"]).await;
        assert!(
            shown.text.contains("taintManager, which judged generation 3"),
            "{}",
            shown.text
        );

        let status = world.ask(&["status"]).await;
        assert_eq!(status.status, ExitStatus::Problem);
        assert!(
            status.text.contains("0 waiting, 1 ready, 0 leased, 0 held"),
            "{}",
            status.text
        );
        assert!(
            status
                .text
                .contains("nothing is evicted: controller evictor is not running"),
            "{}",
            status.text
        );
        assert!(
            status.text.contains("by cluster.karmada.io/not-ready:NoExecute"),
            "{}",
            status.text
        );

        let cluster = world.ask_json(&["explain", "cluster", "member1"]).await;
        assert_eq!(cluster["leaving"]["total"], 1);
        assert_eq!(cluster["leaving"]["entries"][0]["binding"], "default/nginx-deployment");
        assert_eq!(cluster["taints"][0]["policies"], json!([]), "nobody recorded it");
        assert_eq!(cluster["reporter"]["state"], "Fresh");
        assert_eq!(cluster["history"][0]["reason"], "ClusterNotReady");

        let explained = world.ask(&["explain", "binding", "default/nginx-deployment"]).await;
        assert_eq!(explained.status, ExitStatus::Problem);
        let last = explained.text.lines().last().unwrap();
        assert!(
            last.starts_with("default/nginx-deployment is due to leave member1 since "),
            "{last}"
        );
        assert!(last.ends_with("; start the evictor."), "{last}");
        queue.stop().await;
    })
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn policies_are_explained_on_what_is_stored() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&[]);
        let policy = world.ask_json(&["explain", "policy", crate::taints::NO_EXECUTE]).await;
        let states: Vec<(&str, &str)> = policy["clusters"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                (
                    row["cluster"].as_str().unwrap(),
                    row["taints"][0]["state"].as_str().unwrap(),
                )
            })
            .collect();
        // The taint that stands has no record, so its window begins now.
        assert_eq!(
            states,
            [("member1", "PendingAdd"), ("member2", "Absent"), ("member3", "Absent")]
        );
        assert_eq!(policy["clusters"][0]["recorded"], false);
        let cluster = world.ask(&["explain", "cluster", "member1"]).await;
        assert!(
            cluster.text.contains("cannot ask the eviction queue"),
            "{}",
            cluster.text
        );
        assert!(
            !cluster.text.contains("member2"),
            "events of others are of no interest: {}",
            cluster.text
        );
    })
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_component_is_off_and_the_rest_is_shown() {
    tokio::time::timeout(LIMIT, async {
        let world = World::new(&[]);
        let queue = world.start_queue().await;
        let published = world.publish(vec![]).await;
        // No entry although the taint is not tolerated: that is the taint manager's to answer for.
        let explained = world
            .ask_json(&["explain", "binding", "default/nginx-deployment"])
            .await;
        assert_eq!(explained["conclusion"]["severity"], "Note");
        assert_eq!(explained["clusters"][0]["verdict"]["affected"], true);
        drop(published);
        queue.stop().await;

        let status = world.ask_json(&["status"]).await;
        assert_eq!(status["notDone"][0]["subject"], "controller/evictionQueue");
        assert_eq!(status["clusters"].as_array().unwrap().len(), 3);
        let explained = world.ask(&["explain", "binding", "default/nginx-deployment"]).await;
        assert!(
            explained.text.contains("controller evictionQueue is not running"),
            "{}",
            explained.text
        );
    })
    .await
    .unwrap();
}

/// The program itself, over HTTP, on a control plane on which nothing of ours runs.
#[tokio::test(flavor = "multi_thread")]
async fn the_program_on_a_served_control_plane() {
    let world = World::new(&CONTROLLERS);
    let served = world.sandbox.serve_http("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), served.kubeconfig()).unwrap();
    let program = async |args: &'static [&'static str]| {
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_failoverctl"));
        command.arg("--kubeconfig").arg(file.path()).args(args);
        tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap()
    };
    let status = program(&["status", "-o", "json"]).await;
    assert_eq!(status.status.code(), Some(1), "{status:?}");
    let document: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(document["mode"], "standalone");
    assert_eq!(document["notDone"].as_array().unwrap().len(), CONTROLLERS.len());
    let explained = program(&["explain", "binding", "default/nginx-deployment"]).await;
    assert_eq!(explained.status.code(), Some(1), "{explained:?}");
    let queue = program(&["queue", "list"]).await;
    assert_eq!(queue.status.code(), Some(3), "{queue:?}");
    assert!(
        String::from_utf8(queue.stderr)
            .unwrap()
            .starts_with("error: cannot ask the eviction queue: ")
    );
}
