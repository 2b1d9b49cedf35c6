//! A fleet on the sandbox and the controllers on it, under paused time.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::Cluster;
use cluster_health_controller::{Flags, controllers};
use controller_kit::{Clock, KitFlags, MemberError, MemberTarget, Process, Running};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::Client;
use kube::api::{Api, ListParams};
use kube::client::Body;
use kube_sandbox::{Fleet, Member, Now, Sandbox, Verb};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::service_fn;

pub struct Bench {
    pub clock: Clock,
    pub fleet: Fleet,
    pub started: Timestamp,
    probes: Probes,
}

/// When each member was asked whether it is ready, since the start.
type Probes = Arc<Mutex<BTreeMap<String, Vec<Duration>>>>;

/// A client that notes when the member is asked whether it is ready.
fn noting(client: Client, member: &str, started: Instant, probes: &Probes) -> Client {
    let (member, probes) = (member.to_owned(), Arc::clone(probes));
    let namespace = client.default_namespace().to_owned();
    let service = service_fn(move |request: http::Request<Body>| {
        if request.uri().path() == "/readyz" {
            probes.lock().entry(member.clone()).or_default().push(started.elapsed());
        }
        let client = client.clone();
        async move { client.send(request).await }
    });
    Client::new(service, namespace)
}

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

impl Bench {
    pub fn new(members: &[&str]) -> Self {
        let started: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let clock = Clock::simulated(started);
        let shown = clock.clone();
        let now: Now = Arc::new(move || shown.now());
        let fleet = Fleet::start(&now, members);
        for crd in api_types::crds() {
            fleet
                .control_plane()
                .apply_crd(serde_json::to_value(crd).unwrap())
                .unwrap();
        }
        let bench = Self {
            clock,
            fleet,
            started,
            probes: Arc::default(),
        };
        for namespace in ["karmada-system", "karmada-cluster"] {
            bench.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
        }
        for name in members {
            bench.put_secret(name);
            bench.put_cluster(name);
        }
        bench
    }

    pub fn plane(&self) -> &Sandbox {
        self.fleet.control_plane()
    }

    pub fn put(&self, object: Value) {
        self.plane().put(object).unwrap();
    }

    pub fn put_secret(&self, name: &str) {
        self.put(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "karmada-cluster"},
            "data": {"token": "dG9rZW4="}}),
        );
    }

    pub fn put_cluster(&self, name: &str) {
        self.put(
            json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"syncMode": "Push", "apiEndpoint": format!("http://{name}.sandbox"),
                     "secretRef": {"namespace": "karmada-cluster", "name": name}}}),
        );
    }

    pub fn member(&self, name: &str) -> Member {
        self.fleet.member(name).unwrap()
    }

    pub async fn start(&self, identity: &str) -> Running {
        self.start_with(identity, "*").await
    }

    pub async fn start_with(&self, identity: &str, selection: &str) -> Running {
        let connector = self.fleet.member_connector();
        let (probes, started) = (Arc::clone(&self.probes), self.clock.clone());
        let start = Instant::now() - Duration::try_from(started.now().duration_since(self.started)).unwrap();
        let members = move |target: &MemberTarget| {
            connector
                .connect(&target.api_endpoint)
                .map(|client| noting(client, &target.name, start, &probes))
                .map_err(|_| MemberError::Unknown {
                    cluster: target.name.clone(),
                    endpoint: target.api_endpoint.clone(),
                })
        };
        Process::builder("cluster-health-controller", self.plane().client_named("health"))
            .clock(self.clock.clone())
            .identity(identity)
            .flags(KitFlags::default().with_controllers(selection))
            .members(Arc::new(members))
            .controllers(controllers(Flags::default()))
            .start()
            .await
            .unwrap()
    }

    /// Lets the time pass to `second` since the start, and one millisecond more: what is due then has been done.
    pub async fn until(&self, second: u64) {
        let due = self.started + Duration::from_secs(second) + Duration::from_millis(1);
        tokio::time::sleep(Duration::try_from(due.duration_since(self.clock.now())).unwrap_or_default()).await;
    }

    pub async fn cluster(&self, name: &str) -> Cluster {
        Api::<Cluster>::all(self.plane().observer()).get(name).await.unwrap()
    }

    /// When each member was asked whether it is ready, since the start.
    pub fn probes(&self) -> BTreeMap<String, Vec<Duration>> {
        self.probes.lock().clone()
    }

    /// Since when Ready says what it says, in seconds since the start.
    pub async fn since_start(&self, name: &str) -> i64 {
        let cluster = self.cluster(name).await;
        let at = cluster.condition("Ready").unwrap().last_transition_time.0;
        at.duration_since(self.started).as_secs()
    }

    /// Status and reason of the Ready condition.
    pub async fn ready(&self, name: &str) -> (String, String) {
        let cluster = self.cluster(name).await;
        let condition = cluster.condition("Ready").expect("Ready is said from the first moment");
        (condition.status.clone(), condition.reason.clone())
    }

    /// Reason and note of the events on a Cluster.
    pub async fn events(&self, name: &str) -> Vec<(String, String)> {
        let all = Api::<Event>::namespaced(self.plane().observer(), "default")
            .list(&ListParams::default())
            .await
            .unwrap();
        all.items
            .into_iter()
            .filter(|event| event.involved_object.name.as_deref() == Some(name))
            .map(|event| (event.reason.unwrap_or_default(), event.message.unwrap_or_default()))
            .collect()
    }

    /// Writes of the controllers that are not renewals of leases.
    pub fn writes(&self) -> Vec<String> {
        let writes = self
            .plane()
            .faults()
            .writes()
            .into_iter()
            .filter(|w| w.client == "health" && w.resource != "leases");
        writes
            .map(|w| format!("{:?} {} {:?} {:?}", w.verb, w.resource, w.subresource, w.name))
            .collect()
    }

    /// Requests of the controllers that are neither renewals of leases nor watches.
    pub fn requests(&self) -> u64 {
        let counts = self.plane().faults().counts();
        counts
            .iter()
            .filter(|((verb, resource), _)| resource != "leases" && *verb != Verb::Watch)
            .map(|(_, n)| n)
            .sum()
    }
}
