//! A fleet on the sandbox and the controllers on it, under paused time.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::Cluster;
use cluster_health_controller::{Flags, controllers};
use controller_kit::{KitFlags, MemberTarget, Running};
use kube::Client;
use kube::api::Api;
use kube::client::Body;
use kube_sandbox::Verb;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;
use tower::service_fn;

pub struct Bench {
    bench: test_bench::Bench,
    probes: Probes,
}

impl Deref for Bench {
    type Target = test_bench::Bench;

    fn deref(&self) -> &Self::Target {
        &self.bench
    }
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

impl Bench {
    pub fn new(members: &[&str]) -> Self {
        let bench = Self {
            bench: test_bench::Bench::new(members),
            probes: Arc::default(),
        };
        for name in members {
            bench.put_secret(name);
            bench.put_cluster(name);
        }
        bench
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

    pub async fn start(&self, identity: &str) -> Running {
        self.start_with(identity, "*").await
    }

    pub async fn start_with(&self, identity: &str, selection: &str) -> Running {
        self.start_as(identity, KitFlags::default().with_controllers(selection))
            .await
    }

    pub async fn start_as(&self, identity: &str, kit: KitFlags) -> Running {
        let (roads, probes) = (self.roads(), Arc::clone(&self.probes));
        let start = Instant::now() - Duration::try_from(self.clock.now().duration_since(self.started)).unwrap();
        let members = move |target: &MemberTarget| {
            let client = roads.connect(target)?;
            Ok(noting(client, &target.name, start, &probes))
        };
        self.process("health", identity, kit)
            .members(Arc::new(members))
            .controllers(controllers(Flags::default()))
            .start()
            .await
            .unwrap()
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
        self.bench.events("Cluster", name)
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
