//! The webhook is rolled while people write, and their writes depend on it: of two replicas behind one address the old one is
//! asked to end when the new one is ready.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use e2e_harness::{ControlPlane, Process, Programs, Tool, available_with, eventually, free_port};
use kube::client::Body;
use kube::{Client, Config};
use serde_json::{Value, json};
use test_bench::{Authority, Of};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::{
    PATIENCE, PAUSES, POLICIES, Said, TAINT_POLICIES, WEBHOOK, asked, configurations, create, furnish, install,
    is_asked, judged, pause, try_out,
};

/// How many write at once.
const WRITERS: usize = 4;
/// How much is written in each stage of the rollout.
const WRITES: usize = 50;
/// How long an address leads to a replica that was asked to end, as a Service does.
const LED_THERE_FOR: Duration = Duration::from_secs(1);
/// What a Pod has for its end.
const ENDS_WITHIN: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_that_is_rolled_fails_no_write() {
    let Some(binaries) = available_with(Tool::Helm, "a rollout of the webhook on a real API server") else {
        return;
    };
    let control_plane = ControlPlane::start().await.unwrap();
    let client = control_plane.client().await.unwrap();
    furnish(&client).await;
    let authority = Authority::new("webhook authority");
    let folder = tempfile::tempdir().unwrap();
    let files = authority.issue("webhook", Of::Server).write(folder.path(), "webhook");
    let service = Service::open().await;
    let url = format!("https://{}", service.address);
    let fail = ["webhook.failurePolicy=Fail"];
    install(&client, &configurations(&binaries, &url, &authority.pem(), &fail)).await;
    nobody_is_there(&client).await;

    let old = Replica::start(&control_plane, "old", &files).await;
    service.leads_to(&old);
    asked(&client).await;
    let writers = Writers::begin(&client);
    writers.go_on().await;
    let new = Replica::start(&control_plane, "new", &files).await;
    service.leads_to(&new);
    writers.go_on().await;
    let before = writers.written();
    let (mut process, leaving) = (old.process, old.address);
    let stopping = async {
        tokio::time::sleep(LED_THERE_FOR).await;
        service.leads_no_longer_to(leaving);
    };
    let (ended, ()) = tokio::join!(process.stop(ENDS_WITHIN), stopping);
    assert!(ended.unwrap().success());
    assert!(writers.written() > before, "they wrote while it ended");
    writers.go_on().await;
    assert_eq!(writers.end().await, [""; 0]);
}

/// A policy depends on an answer, and a pause goes through without one.
async fn nobody_is_there(client: &Client) {
    eventually("the API server misses the webhook", PATIENCE, async || {
        let said = try_out(client, POLICIES, &judged::tolerates_everything("early")).await;
        let missed = "failed calling webhook \"propagationpolicies.policy.karmada.io\"";
        if said.status == 500 && said.message().contains(missed) {
            Ok(())
        } else {
            Err(format!("{said:?}"))
        }
    })
    .await
    .unwrap();
    let said = create(client, PAUSES, &pause("early", &json!({}))).await;
    assert_eq!(said.status, 201, "{said:?}");
}

/// An address that leads to replicas in turn, a connection each, as a Service does.
struct Service {
    address: SocketAddr,
    replicas: Arc<Replicas>,
    _forwarding: JoinSet<()>,
}

#[derive(Default)]
struct Replicas {
    addresses: parking_lot::Mutex<Vec<SocketAddr>>,
    turn: AtomicUsize,
}

impl Replicas {
    fn next(&self) -> Option<SocketAddr> {
        let addresses = self.addresses.lock();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        addresses.get(turn % addresses.len().max(1)).copied()
    }
}

impl Service {
    async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let replicas = Arc::<Replicas>::default();
        let mut forwarding = JoinSet::new();
        let led = replicas.clone();
        forwarding.spawn(async move {
            // With it end the connections.
            let mut connections = JoinSet::new();
            while let Ok((mut caller, _)) = listener.accept().await {
                // Without anybody there it ends at once.
                let Some(replica) = led.next() else { continue };
                connections.spawn(async move {
                    if let Ok(mut callee) = TcpStream::connect(replica).await {
                        let _ = tokio::io::copy_bidirectional(&mut caller, &mut callee).await;
                    }
                });
            }
        });
        Self {
            address,
            replicas,
            _forwarding: forwarding,
        }
    }

    fn leads_to(&self, replica: &Replica) {
        self.replicas.addresses.lock().push(replica.address);
    }

    fn leads_no_longer_to(&self, address: SocketAddr) {
        self.replicas.addresses.lock().retain(|known| *known != address);
    }
}

/// The program as it is shipped.
struct Replica {
    process: Process,
    address: SocketAddr,
}

impl Replica {
    /// Starts one, and waits until it is ready.
    async fn start(control_plane: &ControlPlane, name: &str, (certificate, key): &(PathBuf, PathBuf)) -> Self {
        let [reviews, admin] = [free_port().unwrap(), free_port().unwrap()];
        let file = |flag: &str, file: &Path| format!("--{flag}={}", file.display());
        let arguments = [
            format!("--webhook-bind-address=127.0.0.1:{reviews}"),
            format!("--admin-bind-address=127.0.0.1:{admin}"),
            file("tls-cert-file", certificate),
            file("tls-key-file", key),
        ];
        let program = Programs::find().unwrap().path("webhook").unwrap();
        let name = format!("webhook-{name}");
        let process = control_plane.spawn(&name, &program, WEBHOOK, arguments).unwrap();
        let admin = Config::new(format!("http://127.0.0.1:{admin}").parse().unwrap());
        let admin = Client::try_from(admin).unwrap();
        eventually(&format!("{name} to be ready"), PATIENCE, async || {
            let request = http::Request::get("/readyz").body(Body::empty()).unwrap();
            match admin.send(request).await {
                Ok(answer) if answer.status().is_success() => Ok(()),
                Ok(answer) => Err(answer.status().to_string()),
                Err(error) => Err(error.to_string()),
            }
        })
        .await
        .unwrap();
        Self {
            process,
            address: ([127, 0, 0, 1], reviews).into(),
        }
    }
}

/// People who write without a pause.
struct Writers {
    tasks: JoinSet<()>,
    notes: Arc<Notes>,
}

#[derive(Default)]
struct Notes {
    is_over: AtomicBool,
    written: AtomicUsize,
    failed: parking_lot::Mutex<Vec<String>>,
}

impl Writers {
    fn begin(client: &Client) -> Self {
        let (mut tasks, notes) = (JoinSet::new(), Arc::<Notes>::default());
        for number in 0..WRITERS {
            tasks.spawn(write(client.clone(), number, notes.clone()));
        }
        Self { tasks, notes }
    }

    /// How much was written by now.
    fn written(&self) -> usize {
        self.notes.written.load(Ordering::Relaxed)
    }

    /// Waits until they have written some more.
    async fn go_on(&self) {
        let enough = self.written() + WRITES;
        eventually("they write on", PATIENCE, async || match self.written() {
            written if written >= enough => Ok(()),
            written => Err(format!("{written}, and {:?} failed", self.notes.failed.lock())),
        })
        .await
        .unwrap();
    }

    /// What failed.
    async fn end(self) -> Vec<String> {
        self.notes.is_over.store(true, Ordering::Relaxed);
        self.tasks.join_all().await;
        std::mem::take(&mut *self.notes.failed.lock())
    }
}

/// Each write, what it has to be answered, and by which codes the webhook shows that it was asked.
async fn write(client: Client, number: usize, notes: Arc<Notes>) {
    for turn in 0.. {
        let name = format!("writer{number}-{turn}");
        let mut endless = pause(&name, &json!({}));
        endless["spec"].as_object_mut().unwrap().remove("until");
        let never = taint_policy(&name);
        let taken: [(&str, Value, &str); 3] = [
            (
                POLICIES,
                judged::tolerates_everything(&name),
                judged::TOLERATES_EVERYTHING,
            ),
            (TAINT_POLICIES, never, "never-matches"),
            (PAUSES, endless, "pause-without-end"),
        ];
        for (path, object, code) in taken {
            if notes.is_over.load(Ordering::Relaxed) {
                return;
            }
            let said = create(&client, path, &object).await;
            notes.note(said.status == 201 && said.codes() == [code], &said);
        }
        let said = try_out(&client, POLICIES, &judged::selects_elsewhere(&name)).await;
        let is_denied = said.status == 422 && said.message().contains(judged::SELECTOR_ELSEWHERE);
        notes.note(is_denied, &said);
        if let Err(said) = is_asked(&client).await {
            notes.failed.lock().push(said);
        }
    }
}

fn taint_policy(name: &str) -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy", "metadata": {"name": name},
        "spec": {
            "matchConditions": [
                {"conditionType": "Ready", "operator": "In", "statusValues": ["False"]},
                {"conditionType": "Ready", "operator": "In", "statusValues": ["True"]},
            ],
            "taintsToAdd": [{"key": "k", "effect": "NoSchedule"}],
        },
    })
}

impl Notes {
    fn note(&self, is_right: bool, said: &Said) {
        if is_right {
            self.written.fetch_add(1, Ordering::Relaxed);
        } else {
            self.failed.lock().push(format!("{said:?}"));
        }
    }
}
