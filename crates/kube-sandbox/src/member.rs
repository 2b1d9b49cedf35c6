//! A simulated member cluster: an API server of its own, a node, and workloads that follow a script.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;

use crate::behaviour::{Behaviour, Script, Who};
use crate::faults::Faults;
use crate::link::Reachability;
use crate::sandbox::{Now, Sandbox, SandboxOptions};
use crate::simulator::{self, Stage};

/// How a member is to be.
#[derive(Clone, Debug)]
pub struct MemberOptions {
    /// Name, also the first label of the in-process endpoint.
    pub name: String,
    /// Its API server.
    pub sandbox: SandboxOptions,
    /// What workloads do for which nothing else is said.
    pub behaviour: Behaviour,
    /// CPU cores of its node.
    pub cpu_cores: u32,
    /// Memory of its node, in GiB.
    pub memory_gib: u32,
}

impl MemberOptions {
    /// Workloads are ready after a second; one node of 64 cores and 256 GiB. The seed comes from the name, so that
    /// uids differ between members and repeat between runs.
    #[must_use]
    pub fn new(name: &str, now: Now) -> Self {
        let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
        });
        Self {
            name: name.to_owned(),
            sandbox: SandboxOptions {
                seed,
                ..SandboxOptions::new(now)
            },
            behaviour: Behaviour::ReadyAfter(Duration::from_secs(1)),
            cpu_cores: 64,
            memory_gib: 256,
        }
    }
}

#[derive(Debug)]
struct Shared {
    name: String,
    sandbox: Sandbox,
    stage: Arc<Stage>,
    // Ends with the last handle.
    _tasks: JoinSet<()>,
}

/// A running member. Clones are handles to the same one; the simulation ends with the last of them.
#[derive(Clone, Debug)]
pub struct Member {
    shared: Arc<Shared>,
}

impl Member {
    /// Starts a member. Needs a tokio runtime, in which its workloads are simulated.
    #[must_use]
    pub fn start(options: MemberOptions) -> Self {
        let sandbox = Sandbox::new(options.sandbox);
        let capacity = json!({
            "cpu": options.cpu_cores.to_string(),
            "memory": format!("{}Gi", options.memory_gib),
            "pods": "1000",
        });
        let now = crate::meta::time_text((sandbox.inner.now)());
        let node = format!("{}-node", options.name);
        // Cannot fail: a valid object in an empty server.
        let _ = sandbox.create(json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": node, "labels": {"kubernetes.io/os": "linux"}},
            "status": {
                "capacity": capacity,
                "allocatable": capacity,
                "conditions": [{
                    "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status",
                    "lastHeartbeatTime": now, "lastTransitionTime": now,
                }],
                "nodeInfo": {
                    "kubeletVersion": "v1.36.3-sandbox", "osImage": "", "kernelVersion": "", "operatingSystem": "linux",
                    "architecture": "amd64", "containerRuntimeVersion": "", "kubeProxyVersion": "", "machineID": "",
                    "systemUUID": "", "bootID": "",
                },
            },
        }));
        let stage = Arc::new(Stage {
            script: parking_lot::Mutex::new(Script::new(options.behaviour)),
            node,
            has_pods: AtomicBool::new(false),
            changed: tokio::sync::Notify::new(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(simulator::run(sandbox.inner.clone(), stage.clone()));
        Self {
            shared: Arc::new(Shared {
                name: options.name,
                sandbox,
                stage,
                _tasks: tasks,
            }),
        }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The endpoint by which a fleet finds it in process: `http://<name>.sandbox`.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}.sandbox", self.shared.name)
    }

    /// Its API server.
    #[must_use]
    pub fn sandbox(&self) -> &Sandbox {
        &self.shared.sandbox
    }

    /// A client through the link and the faults of this member.
    #[must_use]
    pub fn client(&self) -> kube::Client {
        self.shared.sandbox.client()
    }

    /// Faults and observations of its API server.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.shared.sandbox.faults()
    }

    /// Says what workloads do from now on; those that run are judged by it too, from the start of their pods.
    pub fn behave(&self, who: Who, behaviour: Behaviour) {
        self.shared.stage.script.lock().add(who, behaviour);
        self.shared.stage.changed.notify_waiters();
    }

    /// Its node has so many cores from now on. And from now on the pods of Deployments are objects, too: without them
    /// nothing of the node would ever be taken.
    pub fn set_cpu_cores(&self, cores: u32) {
        let stage = &self.shared.stage;
        let sandbox = self.sandbox();
        if let Some(mut node) = sandbox.get("v1", "Node", None, &stage.node) {
            for amounts in ["capacity", "allocatable"] {
                node["status"][amounts]["cpu"] = cores.to_string().into();
            }
            // Cannot fail: the object that is stored, with another number.
            let _ = sandbox.put(node);
        }
        stage.has_pods.store(true, Ordering::Relaxed);
        stage.changed.notify_waiters();
    }

    /// The API server refuses connections; workloads run on.
    pub fn stop(&self) {
        self.set(Reachability::Stopped);
    }

    /// The API server takes requests and never answers.
    pub fn hang(&self) {
        self.set(Reachability::Hanging);
    }

    /// Every answer takes this much longer.
    pub fn slow(&self, by: Duration) {
        self.set(Reachability::Slow(by));
    }

    /// Every request fails with this HTTP code.
    pub fn fail(&self, code: u16) {
        self.set(Reachability::Failing(code));
    }

    /// Health checks fail, everything else works.
    pub fn unready(&self) {
        self.set(Reachability::Unready);
    }

    /// Every answer is no JSON.
    pub fn garbage(&self) {
        self.set(Reachability::Garbage);
    }

    /// Back to normal, with everything that is stored.
    pub fn resume(&self) {
        self.set(Reachability::Up);
    }

    fn set(&self, to: Reachability) {
        self.shared.sandbox.set_reachability(to);
    }
}
