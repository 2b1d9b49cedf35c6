//! Servers to ask: an eviction queue with a fixed content on a real socket, and an API server that is a table of paths.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use eviction_queue_api::v1;
use eviction_queue_api::v1::queue_admin_server::{QueueAdmin, QueueAdminServer};
use eviction_queue_api::v1::queue_inspection_server::{QueueInspection, QueueInspectionServer};
use futures::Stream;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Identity, ServerTlsConfig};
use tonic::{Request, Response, Status};

/// An eviction queue with a fixed content.
#[derive(Clone, Default)]
pub struct FixedQueue {
    pub status: v1::GetStatusResponse,
    pub entries: Vec<v1::Entry>,
    pub lanes: Vec<v1::Lane>,
    pub recent: Vec<v1::RecentOutcome>,
    /// Every call fails with this.
    pub refusal: Option<Status>,
    /// Entries a page.
    pub page: usize,
    /// Orders fail with this.
    pub order_refusal: Option<Status>,
    /// Orders about bindings of these names are refused, and no others.
    pub refused: Vec<String>,
    /// So many orders are carried out; after that it does not lead any more.
    pub takes_orders: Option<usize>,
    /// What callers that listed entries showed as their authorization.
    pub authorizations: Arc<Mutex<Vec<String>>>,
    /// The orders that were carried out: verb, binding and reason.
    pub orders: Arc<Mutex<Vec<String>>>,
}

impl FixedQueue {
    /// Serves it on loopback for as long as the set lives.
    pub async fn serve(self, tasks: &mut JoinSet<()>) -> SocketAddr {
        self.serve_from(tonic::transport::Server::builder(), tasks).await
    }

    /// The same, with TLS.
    pub async fn serve_by_tls(self, identity: Identity, tasks: &mut JoinSet<()>) -> SocketAddr {
        let tls = ServerTlsConfig::new().identity(identity);
        let builder = tonic::transport::Server::builder().tls_config(tls).unwrap();
        self.serve_from(builder, tasks).await
    }

    async fn serve_from(self, mut builder: tonic::transport::Server, tasks: &mut JoinSet<()>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tasks.spawn(async move {
            let admin = QueueAdminServer::new(self.clone());
            let service = QueueInspectionServer::new(self);
            let incoming = TcpListenerStream::new(listener);
            builder
                .add_service(service)
                .add_service(admin)
                .serve_with_incoming(incoming)
                .await
                .unwrap();
        });
        address
    }

    fn answer<T>(&self, answer: T) -> Result<Response<T>, Status> {
        self.refusal.clone().map_or(Ok(Response::new(answer)), Err)
    }

    fn key(entry: &v1::Entry) -> v1::EntryKey {
        entry.published.clone().unwrap().key.unwrap()
    }
}

impl FixedQueue {
    /// The entry of a key as it is after an order.
    fn ordered(
        &self,
        key: Option<v1::EntryKey>,
        verb: &str,
        reason: &str,
        dry_run: bool,
    ) -> Result<Option<v1::Entry>, Status> {
        if let Some(refusal) = &self.order_refusal {
            return Err(refusal.clone());
        }
        let key = key.unwrap();
        if self.refused.contains(&key.name) {
            return Err(Status::failed_precondition("a person's annotation keeps it"));
        }
        let entry = self.entries.iter().find(|entry| Self::key(entry) == key);
        let entry = entry.ok_or_else(|| Status::not_found("no such entry"))?;
        if !dry_run {
            let mut orders = self.orders.lock().unwrap();
            if self.takes_orders.is_some_and(|takes| orders.len() >= takes) {
                return Err(Status::unavailable("this replica does not lead"));
            }
            orders.push(format!("{verb} {}: {reason}", key.name));
        }
        let (kind, hold) = if verb == "drop" {
            (v1::OrderKind::Drop, v1::HoldReason::Dropped)
        } else {
            (v1::OrderKind::Undrop, v1::HoldReason::Undropped)
        };
        Ok(Some(v1::Entry {
            state: v1::EntryState::Held.into(),
            hold: Some(v1::Hold {
                reason: hold.into(),
                message: format!("{verb} by alice: {reason}"),
                ..v1::Hold::default()
            }),
            order: Some(v1::OperatorOrder {
                kind: kind.into(),
                caller: "alice".to_owned(),
                reason: reason.to_owned(),
                at: crate::objects::proto(0),
                ..v1::OperatorOrder::default()
            }),
            ..entry.clone()
        }))
    }
}

#[tonic::async_trait]
impl QueueAdmin for FixedQueue {
    async fn drop(&self, request: Request<v1::DropRequest>) -> Result<Response<v1::DropResponse>, Status> {
        let request = request.into_inner();
        let entry = self.ordered(request.key, "drop", &request.reason, request.dry_run)?;
        Ok(Response::new(v1::DropResponse { entry }))
    }

    async fn undrop(&self, request: Request<v1::UndropRequest>) -> Result<Response<v1::UndropResponse>, Status> {
        let request = request.into_inner();
        let entry = self.ordered(request.key, "undrop", &request.reason, request.dry_run)?;
        Ok(Response::new(v1::UndropResponse { entry }))
    }
}

#[tonic::async_trait]
impl QueueInspection for FixedQueue {
    async fn get_status(&self, _: Request<v1::GetStatusRequest>) -> Result<Response<v1::GetStatusResponse>, Status> {
        self.answer(self.status.clone())
    }

    async fn list_entries(
        &self,
        request: Request<v1::ListEntriesRequest>,
    ) -> Result<Response<v1::ListEntriesResponse>, Status> {
        if let Some(shown) = request.metadata().get("authorization") {
            let shown = shown.to_str().unwrap().to_owned();
            self.authorizations.lock().unwrap().push(shown);
        }
        let request = request.into_inner();
        let filter = request.filter.unwrap_or_default();
        let given = |wanted: &str, is: &str| wanted.is_empty() || wanted == is;
        let matching: Vec<&v1::Entry> = self
            .entries
            .iter()
            .filter(|entry| {
                let key = Self::key(entry);
                let namespace = if key.namespace.is_empty() { "-" } else { &key.namespace };
                given(&filter.cluster, &key.cluster)
                    && given(&filter.name, &key.name)
                    && given(&filter.namespace, namespace)
                    && (filter.state == 0 || filter.state == entry.state)
            })
            .collect();
        let from: usize = request.page_token.parse().unwrap_or_default();
        let size = (request.page_size as usize).min(if self.page == 0 { 1_000 } else { self.page });
        let until = (from + size).min(matching.len());
        self.answer(v1::ListEntriesResponse {
            entries: matching[from..until].iter().copied().cloned().collect(),
            next_page_token: if until < matching.len() {
                until.to_string()
            } else {
                String::new()
            },
            total: matching.len() as u64,
            ..v1::ListEntriesResponse::default()
        })
    }

    async fn get_entry(&self, request: Request<v1::GetEntryRequest>) -> Result<Response<v1::GetEntryResponse>, Status> {
        let request = request.into_inner();
        let ready: Vec<&v1::Entry> = self
            .entries
            .iter()
            .filter(|entry| entry.state() == v1::EntryState::Ready)
            .collect();
        let wanted = |entry: &v1::Entry| {
            let key = Self::key(entry);
            (&key.namespace, &key.name, &key.cluster) == (&request.namespace, &request.name, &request.cluster)
        };
        let entry = self
            .entries
            .iter()
            .find(|entry| wanted(entry))
            .ok_or_else(|| Status::not_found("no such entry"))?;
        let position = ready.iter().position(|entry| wanted(entry)).map_or(0, |at| at + 1);
        self.answer(v1::GetEntryResponse {
            entry: Some(entry.clone()),
            position: position as u64,
            estimated_release_at: (position > 0)
                .then(|| crate::objects::proto(2 * position as i64))
                .flatten(),
            explanation: if position > 1 {
                format!("{} entries go first", position - 1)
            } else {
                String::new()
            },
            ..v1::GetEntryResponse::default()
        })
    }

    async fn list_lanes(&self, _: Request<v1::ListLanesRequest>) -> Result<Response<v1::ListLanesResponse>, Status> {
        self.answer(v1::ListLanesResponse {
            lanes: self.lanes.clone(),
            as_of: None,
        })
    }

    type WatchEntriesStream = Pin<Box<dyn Stream<Item = Result<v1::WatchEntriesResponse, Status>> + Send>>;

    async fn watch_entries(
        &self,
        _: Request<v1::WatchEntriesRequest>,
    ) -> Result<Response<Self::WatchEntriesStream>, Status> {
        Err(Status::unimplemented("nobody watches here"))
    }

    async fn list_recent(&self, _: Request<v1::ListRecentRequest>) -> Result<Response<v1::ListRecentResponse>, Status> {
        self.answer(v1::ListRecentResponse {
            outcomes: self.recent.clone(),
        })
    }
}

/// An API server: what it answers to a path (a Status: refused); anything else is not found.
pub fn api_server(answers: Vec<(String, Value)>) -> kube::Client {
    let answers: Arc<Vec<(String, Value)>> = Arc::new(answers);
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let answers = Arc::clone(&answers);
        async move {
            let path = request.uri().path();
            let found = answers
                .iter()
                .find(|(known, _)| known == path)
                .map(|(_, answer)| answer.clone());
            let (code, body) = match found {
                Some(body) if body["kind"] == "Status" => (403, body),
                Some(body) => (200, body),
                None => (
                    404,
                    json!({
                        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404,
                        "message": format!("the server could not find the requested resource {path}"),
                    }),
                ),
            };
            let response = http::Response::builder()
                .status(code)
                .header("content-type", "application/json");
            Ok::<_, tower::BoxError>(response.body(Body::from(body.to_string().into_bytes())).unwrap())
        }
    });
    kube::Client::new(service, "default")
}

/// The answers of a control plane with our CRDs.
pub fn control_plane(
    clusters: &[api_types::cluster::Cluster],
    leases: &[k8s_openapi::api::coordination::v1::Lease],
    bindings: &[api_types::work::Binding],
) -> Vec<(String, Value)> {
    let resources = |group_version: &str, kinds: &[(&str, &str)]| {
        let resources: Vec<Value> = kinds
            .iter()
            .map(
                |(name, kind)| json!({"name": name, "kind": kind, "singularName": "", "namespaced": true, "verbs": []}),
            )
            .collect();
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources})
    };
    let list = |items: Value| json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items});
    let bindings_path = "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings";
    let mut answers = vec![
        (
            "/apis/cluster.karmada.io/v1alpha1".to_owned(),
            resources("cluster.karmada.io/v1alpha1", &[("clusters", "Cluster")]),
        ),
        (
            "/apis/work.karmada.io/v1alpha2".to_owned(),
            resources(
                "work.karmada.io/v1alpha2",
                &[
                    ("resourcebindings", "ResourceBinding"),
                    ("clusterresourcebindings", "ClusterResourceBinding"),
                ],
            ),
        ),
        (
            "/apis/cluster.karmada.io/v1alpha1/clusters".to_owned(),
            list(json!(clusters)),
        ),
        (
            "/apis/coordination.k8s.io/v1/namespaces/karmada-system/leases".to_owned(),
            list(json!(leases)),
        ),
        (bindings_path.to_owned(), list(json!(bindings))),
        (
            "/apis/work.karmada.io/v1alpha2/resourcebindings".to_owned(),
            list(json!(bindings)),
        ),
    ];
    for binding in bindings {
        answers.push((
            format!("{bindings_path}/{}", binding.metadata.name.as_deref().unwrap()),
            json!(binding),
        ));
    }
    answers
}

/// The answers of one with ClusterTaintPolicies.
pub fn taint_policies(policies: &[api_types::taint_policy::ClusterTaintPolicy]) -> Vec<(String, Value)> {
    let group_version = "policy.karmada.io/v1alpha1";
    let served = json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": [{
        "name": "clustertaintpolicies", "kind": "ClusterTaintPolicy", "singularName": "", "namespaced": false, "verbs": [],
    }]});
    let list = json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": policies});
    vec![
        (format!("/apis/{group_version}"), served),
        (format!("/apis/{group_version}/clustertaintpolicies"), list),
    ]
}
