//! The webhook while it is rolled: replicas that answer over TLS, and callers that reach them as a Service leads them.
//!
//! Sockets know real time alone, so replicas and callers live on a runtime of their own, and the simulation stands still
//! while they are rolled, amid whatever goes on in it.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use controller_kit::process::AdminAddress;
use controller_kit::{Clock, Ended, KitFlags, Process, Running, api_errors};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kube_sandbox::Sandbox;
use parking_lot::Mutex;
use serde_json::{Value, json};
use test_bench::{Authority, Of};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

const POLICIES: &str = "/validate/propagationpolicies.policy.karmada.io";
/// How many ask at once, one review after another.
const CALLERS: usize = 4;
/// How long a Service leads to a replica that was asked to end.
const LED_THERE_FOR: Duration = Duration::from_secs(1);
/// How long each stage of a rollout is called at.
const CALLED_FOR: Duration = Duration::from_millis(500);

/// The webhook of a control plane, one replica of it.
pub struct Admission {
    runtime: Option<Runtime>,
    service: Service,
    replica: Option<Replica>,
}

/// What leads callers to replicas.
#[derive(Clone)]
struct Service {
    plane: Sandbox,
    authority: Arc<Authority>,
    authority_file: PathBuf,
    folder: Arc<tempfile::TempDir>,
    replicas: Arc<Mutex<Vec<SocketAddr>>>,
}

struct Replica {
    running: Running,
    address: SocketAddr,
    admin: SocketAddr,
}

/// What callers were told.
#[derive(Debug, Default)]
struct Heard {
    /// Reviews answered as they should be, by replica.
    answered: BTreeMap<SocketAddr, usize>,
    wrong: Vec<String>,
}

impl Admission {
    /// Starts the first replica, and asks it.
    pub fn start(plane: &Sandbox) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        let (authority, folder) = (Authority::new("authority"), tempfile::tempdir().unwrap());
        let authority_file = folder.path().join("ca.crt");
        std::fs::write(&authority_file, authority.pem()).unwrap();
        let service = Service {
            plane: plane.clone(),
            authority: Arc::new(authority),
            authority_file,
            folder: Arc::new(folder),
            replicas: Arc::default(),
        };
        let mut admission = Self {
            runtime: Some(runtime.unwrap()),
            service,
            replica: None,
        };
        let replica = admission.aside(|| admission.service.start("old"));
        admission.replica = Some(replica);
        admission
    }

    /// A new replica, and when it is ready the old one is asked to end. Every review that comes meanwhile is answered, and
    /// by what it says.
    pub fn roll(&mut self) {
        let old = self.replica.take().unwrap();
        let (new, heard) = self.aside(|| rolled(self.service.clone(), &old));
        assert!(heard.wrong.is_empty(), "{:#?}", heard.wrong);
        for replica in [&old, &new] {
            let answered = heard.answered.get(&replica.address).copied().unwrap_or_default();
            assert!(answered >= CALLERS, "{heard:?}");
        }
        self.replica = Some(new);
    }

    /// Asks the replica that is there once more, and ends it.
    pub fn end(mut self) {
        let (replica, service) = (self.replica.take().unwrap(), self.service.clone());
        self.aside(|| async move {
            assert_eq!(service.ask(replica.address).await, Ok(()));
            assert_eq!(replica.running.stop().await, Ended::Stopped);
        });
    }

    /// Waits for something in real time.
    fn aside<T: Send, F: Future<Output = T>>(&self, what: impl FnOnce() -> F + Send) -> T {
        let runtime = self.runtime.as_ref().unwrap();
        let done = std::thread::scope(|scope| scope.spawn(|| runtime.block_on(what())).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn rolled(service: Service, old: &Replica) -> (Replica, Heard) {
    let (heard, is_over) = (Arc::new(Mutex::new(Heard::default())), Arc::new(AtomicBool::new(false)));
    let mut callers = JoinSet::new();
    for number in 0..CALLERS {
        callers.spawn(call(number, service.clone(), heard.clone(), is_over.clone()));
    }
    tokio::time::sleep(CALLED_FOR).await;
    let new = service.start("new").await;
    tokio::time::sleep(CALLED_FOR).await;
    let stopping = async {
        tokio::time::sleep(LED_THERE_FOR).await;
        service.replicas.lock().retain(|replica| *replica != old.address);
    };
    let (ended, ()) = tokio::join!(old.running.stop(), stopping);
    assert_eq!(ended, Ended::Stopped);
    tokio::time::sleep(CALLED_FOR).await;
    is_over.store(true, Ordering::Relaxed);
    callers.join_all().await;
    assert_eq!(get(new.admin, "/readyz").await, Ok(()));
    let heard = std::mem::take(&mut *heard.lock());
    (new, heard)
}

/// Asks whom the Service leads to, in turn, until it is over.
async fn call(number: usize, service: Service, heard: Arc<Mutex<Heard>>, is_over: Arc<AtomicBool>) {
    for turn in number.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let replica = {
            let replicas = service.replicas.lock();
            replicas[turn % replicas.len()]
        };
        let answer = service.ask(replica).await;
        let mut heard = heard.lock();
        match answer {
            Ok(()) => *heard.answered.entry(replica).or_default() += 1,
            Err(wrong) => heard.wrong.push(wrong),
        }
    }
}

impl Service {
    /// Starts a replica; it is one of the Service when it is ready.
    async fn start(&self, name: &str) -> Replica {
        let (certificate, key) = self
            .authority
            .issue("webhook", Of::Server)
            .write(self.folder.path(), name);
        let flags = webhook::Flags {
            webhook_bind_address: "127.0.0.1:0".parse().unwrap(),
            tls_cert_file: Some(certificate),
            tls_key_file: Some(key),
            tls_client_ca_file: None,
            bound: webhook::Bound::default(),
        };
        let bound = flags.bound.clone();
        let running = Process::builder("webhook", self.plane.client_named("webhook"))
            .clock(Clock::system())
            .identity(format!("webhook-{name}"))
            .flags(KitFlags {
                admin_bind_address: AdminAddress::At("127.0.0.1:0".parse().unwrap()),
                ..KitFlags::default()
            })
            .controllers(webhook::controllers(flags))
            .start()
            .await
            .unwrap();
        let (address, admin) = (bound.address().await, running.admin_address().unwrap());
        let ready = async {
            while get(admin, "/readyz").await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), ready)
            .await
            .expect("it is ready");
        self.replicas.lock().push(address);
        Replica {
            running,
            address,
            admin,
        }
    }

    /// Sends a policy that is fine and one that can never work, on a connection of their own. Whatever else is said than
    /// that is wrong.
    async fn ask(&self, replica: SocketAddr) -> Result<(), String> {
        let client = self.client(replica).await;
        for (selected, allowed) in [("shop", true), ("bank", false)] {
            let review = review(selected).to_string();
            let request = http::Request::post(POLICIES)
                .header("content-type", "application/json")
                .body(review.into_bytes());
            let answer: Value = client
                .request(request.unwrap())
                .await
                .map_err(|error| api_errors::one_line(&error))?;
            if answer["response"]["allowed"] != allowed {
                return Err(format!("a policy of shop that selects in {selected}: {answer}"));
            }
        }
        Ok(())
    }

    async fn client(&self, replica: SocketAddr) -> Client {
        let authority = &self.authority_file;
        let kubeconfig = json!({
            "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": format!("https://{replica}"), "certificate-authority": authority}}],
            "users": [{"name": "it", "user": {}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        });
        let kubeconfig: Kubeconfig = serde_json::from_value(kubeconfig).unwrap();
        let options = KubeConfigOptions::default();
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
        config.default_retry = false;
        Client::try_from(config).unwrap()
    }
}

fn review(selected: &str) -> Value {
    let policy = json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": "n", "namespace": "shop"},
        "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": selected}]},
    });
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "u", "operation": "CREATE", "name": "n", "object": policy, "oldObject": null},
    })
}

async fn get(admin: SocketAddr, path: &str) -> Result<(), String> {
    let mut config = Config::new(format!("http://{admin}").parse().unwrap());
    config.default_retry = false;
    let client = Client::try_from(config).unwrap();
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    let answer = client.request_text(request).await;
    answer.map(drop).map_err(|error| api_errors::one_line(&error))
}
