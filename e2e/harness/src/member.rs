//! A member cluster: an API server, the workload controllers, the scheduler, and one node that kwok plays.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use e2e_control_plane::Tool;
use k8s_openapi::api::core::v1::{Node, NodeStatus, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::{ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::api_server::ApiServer;
use crate::control_plane::{ControlPlane, Shared, controllers};
use crate::credentials::Identity;
use crate::error::Error;
use crate::process::{Launch, Process};
use crate::wait::eventually;

/// What becomes of nodes and pods.
const STAGES: &str = include_str!("stages.yaml");
const CONTROLLERS: [&str; 7] = [
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "job-controller",
    "endpointslice-controller",
    "namespace-controller",
    "garbage-collector-controller",
];
const NODE_READY_WITHIN: Duration = Duration::from_secs(60);

/// A member cluster. A pod's image says what becomes of it: `never-ready`, `crash`, `finish` and `fail` (of any
/// registry and tag) do what they are called, every other image becomes ready.
#[derive(Debug)]
pub struct Member {
    kwok: Process,
    scheduler: Process,
    controllers: Process,
    api: ApiServer,
    /// Keeps etcd and the folder for as long as the member lives.
    _shared: Shared,
}

impl Member {
    /// Starts a member named `name` beside `control_plane`; comes back when its node is ready.
    ///
    /// # Errors
    /// Whatever kept one of its servers from coming up.
    pub async fn start(control_plane: &ControlPlane, name: &str) -> Result<Self, Error> {
        let shared = control_plane.shared().clone();
        let (folder, binaries) = (&shared.folder, &shared.binaries);
        let api = ApiServer::start(name, folder, binaries, &shared.etcd, shared.auditing).await?;
        let kubeconfig = format!("--kubeconfig={}", api.kubeconfig(Identity::Admin).display());
        let controllers = Process::start(folder, controllers(&api, binaries, &CONTROLLERS))?;
        let scheduler = Launch::new(format!("{name}-scheduler"), binaries.path(Tool::KubeScheduler)).args([
            kubeconfig.as_str(),
            "--leader-elect=false",
            "--secure-port=0",
        ]);
        let scheduler = Process::start(folder, scheduler)?;
        let stages = folder.write(&format!("{name}/stages.yaml"), STAGES.as_bytes())?;
        let kwok = Launch::new(format!("{name}-kwok"), binaries.path(Tool::Kwok))
            .args([
                kubeconfig.as_str(),
                "--manage-all-nodes",
                // Nobody watches the node's lease.
                "--node-lease-duration-seconds=0",
            ])
            .arg(format!("--config={}", stages.display()))
            // kwok also reads a configuration from the home folder: it shall be ours.
            .env("HOME", folder.path());
        let kwok = Process::start(folder, kwok)?;
        let mut member = Self {
            kwok,
            scheduler,
            controllers,
            api,
            _shared: shared,
        };
        member.add_node().await?;
        Ok(member)
    }

    /// The cluster's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.api.name()
    }

    /// Its API server: address, certificates and tokens for a Cluster object and its Secret.
    #[must_use]
    pub fn api(&self) -> &ApiServer {
        &self.api
    }

    /// A client that may do everything.
    ///
    /// # Errors
    /// [`Error::Api`] or [`Error::Kubeconfig`] when no client can be made.
    pub async fn client(&self) -> Result<Client, Error> {
        self.api.client(Identity::Admin).await
    }

    /// The kubeconfig of a user.
    #[must_use]
    pub fn kubeconfig(&self, identity: Identity) -> PathBuf {
        self.api.kubeconfig(identity)
    }

    /// Takes the API server away at once. Its pods "run" on; nobody can see or change them.
    ///
    /// # Errors
    /// [`Error::System`] when the system refuses.
    pub fn stop_apiserver(&mut self) -> Result<(), Error> {
        self.api.kill()
    }

    /// Brings the API server back, on the same port and data.
    ///
    /// # Errors
    /// [`Error::Ended`] or [`Error::TooLate`] when it does not come up.
    pub async fn start_apiserver(&mut self) -> Result<(), Error> {
        self.api.start_again().await
    }

    /// Freezes the API server: connections are taken, nothing is answered.
    ///
    /// # Errors
    /// [`Error::NotRunning`] when it does not run.
    pub fn pause(&self) -> Result<(), Error> {
        self.api.pause()
    }

    /// Lets the API server go on after [`Member::pause`].
    ///
    /// # Errors
    /// [`Error::NotRunning`] when it does not run.
    pub fn resume(&self) -> Result<(), Error> {
        self.api.resume()
    }

    /// Makes the pods with the label `app=NAME` ready or not, as their kubelet would report it.
    ///
    /// # Errors
    /// [`Error::Api`] or [`Error::Kubeconfig`] when they cannot be read or written.
    pub async fn set_pods_ready(&self, namespace: &str, name: &str, ready: bool) -> Result<(), Error> {
        let pods: Api<Pod> = Api::namespaced(self.client().await?, namespace);
        let condition = |type_: &str| json!({"type": type_, "status": if ready { "True" } else { "False" }});
        let patch = json!({"status": {"conditions": [condition("Ready"), condition("ContainersReady")]}});
        let of_app = ListParams::default().labels(&format!("app={name}"));
        let asked = |what: String| {
            move |source| Error::Api {
                what,
                source: Box::new(source),
            }
        };
        let found = pods.list(&of_app).await;
        for pod in found.map_err(asked(format!("list the pods of {name}")))? {
            let pod = pod.name_any();
            let patched = pods
                .patch_status(&pod, &PatchParams::default(), &Patch::Strategic(&patch))
                .await;
            patched.map_err(asked(format!("change the status of pod {pod}")))?;
        }
        Ok(())
    }

    /// Lets its node have so many CPUs to give from now on, as its kubelet would report it.
    ///
    /// # Errors
    /// [`Error::Api`] or [`Error::Kubeconfig`] when it cannot be written.
    pub async fn set_cpus(&self, cpus: u32) -> Result<(), Error> {
        let nodes: Api<Node> = Api::all(self.client().await?);
        let amount = json!({"cpu": cpus.to_string()});
        let patch = json!({"status": {"capacity": amount, "allocatable": amount}});
        nodes
            .patch_status(&self.node(), &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .map_err(Error::api("change the status of a Node"))?;
        Ok(())
    }

    /// Ends the whole member at once; its data stay.
    ///
    /// # Errors
    /// [`Error::System`] when the system refuses.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.api.kill()?;
        self.kwok.kill()?;
        self.scheduler.kill()?;
        self.controllers.kill()
    }

    /// Ends the whole member at once and starts it again, on the same port and data.
    ///
    /// # Errors
    /// [`Error::Ended`] or [`Error::TooLate`] when its API server does not come up.
    pub async fn restart(&mut self) -> Result<(), Error> {
        self.stop()?;
        self.api.start_again().await?;
        self.controllers.start_again()?;
        self.scheduler.start_again()?;
        self.kwok.start_again()
    }

    /// The name of its node.
    fn node(&self) -> String {
        format!("{}-node", self.name())
    }

    async fn add_node(&mut self) -> Result<(), Error> {
        let resources: BTreeMap<String, Quantity> = [("cpu", "32"), ("memory", "256Gi"), ("pods", "1000")]
            .into_iter()
            .map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned())))
            .collect();
        let name = self.node();
        let labels = BTreeMap::from([("kubernetes.io/hostname".to_owned(), name.clone())]);
        let node = Node {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                labels: Some(labels),
                ..ObjectMeta::default()
            },
            status: Some(NodeStatus {
                allocatable: Some(resources.clone()),
                capacity: Some(resources),
                ..NodeStatus::default()
            }),
            ..Node::default()
        };
        let nodes: Api<Node> = Api::all(self.client().await?);
        nodes
            .create(&PostParams::default(), &node)
            .await
            .map_err(Error::api("create a Node"))?;
        eventually(
            &format!("the node of {} is ready", self.name()),
            NODE_READY_WITHIN,
            async || {
                for process in [&mut self.kwok, &mut self.scheduler, &mut self.controllers] {
                    process.must_run().map_err(|error| error.to_string())?;
                }
                let node = nodes.get(&name).await.map_err(|error| error.to_string())?;
                let conditions = node.status.and_then(|status| status.conditions).unwrap_or_default();
                let ready = conditions
                    .iter()
                    .any(|condition| condition.type_ == "Ready" && condition.status == "True");
                if ready {
                    Ok(())
                } else {
                    Err(format!("its conditions are {conditions:?}"))
                }
            },
        )
        .await
    }
}
