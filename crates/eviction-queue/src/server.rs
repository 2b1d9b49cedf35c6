//! The gRPC server: on every replica, from start to end. It answers for the leader, and says where the leader is when
//! this replica does not lead.

use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::Cluster;
use api_types::failover::FailoverPause;
use controller_kit::tls::{Reloading, ServerTls};
use controller_kit::{Context, RequiredKind};
use eviction_queue_api::client::{MAX_MESSAGE_BYTES, leader_address};
use eviction_queue_api::status::not_leader;
use eviction_queue_api::v1::eviction_queue_server::EvictionQueueServer;
use eviction_queue_api::v1::queue_admin_server::QueueAdminServer;
use eviction_queue_api::v1::queue_inspection_server::QueueInspectionServer;
use futures::{Stream, StreamExt};
use k8s_openapi::api::coordination::v1::Lease;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::Status;
use tonic::transport::Server as GrpcServer;
use tonic::transport::server::Router;
use tonic_health::server::HealthReporter;
use tower::layer::util::{Identity, Stack};

use crate::access::{AccessFlags, AccessLayer, Gate, MAX_HEADER_BYTES, Policy, Tokens};
use crate::flags::{Flags, Transport};
use crate::incoming::{CALLS_BEYOND, Connection, Door, MAX_CALLS_A_CONNECTION, Remote};
use crate::service::{Admin, Inspection, Queue};
use crate::shell::Shell;

const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);
/// Streams of HTTP/2 in a connection: more than are served, so that one too many gets an answer that says so.
#[allow(clippy::cast_possible_truncation, reason = "a few hundred")]
const MAX_STREAMS_A_CONNECTION: u32 = (MAX_CALLS_A_CONNECTION + CALLS_BEYOND) as u32;
/// What HTTP/2 takes of headers: twice of what is served, for the same reason.
#[allow(clippy::cast_possible_truncation, reason = "some kilobytes")]
const MAX_HEADER_LIST_BYTES: u32 = 2 * MAX_HEADER_BYTES as u32;
/// Connections that are ready and wait to be served.
const READY: usize = 64;

/// What the port of the queue knows.
pub struct Server {
    bind: std::net::SocketAddr,
    advertise: Option<String>,
    access: AccessFlags,
    transport: Transport,
    role: Mutex<Role>,
    client: Mutex<Option<(kube::Client, Arc<str>)>>,
    address: watch::Sender<Option<String>>,
    health: Mutex<Option<HealthReporter>>,
}

#[derive(Clone)]
enum Role {
    Follower,
    Leader(Arc<Shell>),
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("address", &*self.address.borrow())
            .finish_non_exhaustive()
    }
}

impl Server {
    /// A server that listens nowhere yet.
    #[must_use]
    pub fn new(flags: &Flags) -> Self {
        Self {
            bind: flags.queue_bind_address,
            advertise: flags.queue_advertise_address.clone(),
            access: flags.access.clone(),
            transport: flags.transport.clone(),
            role: Mutex::new(Role::Follower),
            client: Mutex::new(None),
            address: watch::Sender::new(None),
            health: Mutex::new(None),
        }
    }

    /// Listens until the process stops.
    ///
    /// # Errors
    /// When the address cannot be bound, or our kinds are not installed.
    pub async fn run(self: Arc<Self>, ctx: Context) -> anyhow::Result<()> {
        ctx.require_kinds(&[RequiredKind::of::<Cluster>(), RequiredKind::of::<FailoverPause>()])
            .await?;
        // On every replica, so that a new leader finds its caches filled.
        let _clusters = ctx.informers.of::<Cluster>();
        let _pauses = ctx.informers.of::<FailoverPause>();
        *self.client.lock() = Some((ctx.client.clone(), ctx.system_namespace.clone()));

        let (health, health_service) = tonic_health::server::health_reporter();
        *self.health.lock() = Some(health);
        self.report_health().await;
        let policy = self.access.policy();
        let tls = self.access.tls(&ctx.clock)?;
        let gate = Gate::new(policy.clone(), &ctx)?;
        let door = Door::new(tls.clone(), self.access.limits(), &ctx.tasks, &ctx.metrics);
        let router = GrpcServer::builder()
            .http2_keepalive_interval(Some(KEEP_ALIVE_EVERY))
            .http2_keepalive_timeout(Some(KEEP_ALIVE_TIMEOUT))
            .http2_max_header_list_size(MAX_HEADER_LIST_BYTES)
            .max_concurrent_streams(MAX_STREAMS_A_CONNECTION)
            .layer(AccessLayer::new(gate))
            .add_service(health_service)
            .add_service(reflection::v1()?)
            .add_service(reflection::v1alpha()?)
            .add_service(
                EvictionQueueServer::new(Queue::new(self.clone())).max_decoding_message_size(MAX_MESSAGE_BYTES),
            )
            .add_service(QueueInspectionServer::new(Inspection::new(self.clone())))
            .add_service(QueueAdminServer::new(Admin::new(self.clone())));
        let serving = Serving { router, door, tls };
        match &self.transport {
            Transport::Tcp => {
                let listener = TcpListener::bind(self.bind).await.map_err(|error| {
                    anyhow::anyhow!("cannot serve the queue at --queue-bind-address={}: {error}", self.bind)
                })?;
                let bound = listener.local_addr()?;
                let address = self.advertise.clone().unwrap_or_else(|| bound.to_string());
                let callers = known_by(&policy);
                tracing::info!(%bound, %address, "serving the eviction queue, {callers}");
                self.address.send_replace(Some(address));
                let incoming = TcpListenerStream::new(listener).map(|accepted| {
                    accepted.inspect(|stream| {
                        // Without it small messages wait for each other.
                        let _ = stream.set_nodelay(true);
                    })
                });
                serving.until_stopped(&ctx, incoming).await
            }
            Transport::Memory(network) => {
                let address = self
                    .advertise
                    .clone()
                    .unwrap_or_else(|| format!("memory:{}", ctx.identity));
                let incoming = network.listen(&address);
                self.address.send_replace(Some(address));
                serving.until_stopped(&ctx, incoming).await
            }
        }
    }

    /// Where others reach this server, as soon as it listens.
    pub async fn address(&self) -> String {
        let mut address = self.address.subscribe();
        loop {
            if let Some(address) = address.borrow_and_update().clone() {
                return address;
            }
            if address.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Serves this queue until the guard is dropped.
    pub async fn lead(self: &Arc<Self>, shell: Arc<Shell>) -> Leading {
        *self.role.lock() = Role::Leader(shell);
        self.report_health().await;
        Leading { server: self.clone() }
    }

    /// The leader's queue.
    ///
    /// # Errors
    /// UNAVAILABLE, with the leader's address when it is known, when this replica does not lead.
    pub async fn leader(&self) -> Result<Arc<Shell>, Status> {
        if let Role::Leader(shell) = self.role.lock().clone() {
            return Ok(shell);
        }
        let client = self.client.lock().clone();
        let address = match client {
            Some((client, namespace)) => leader_address(&client, &namespace).await.ok(),
            None => None,
        };
        // One that the last leader left behind leads back here.
        let elsewhere = address.filter(|address| Some(address) != self.address.borrow().as_ref());
        Err(not_leader(elsewhere.as_deref()))
    }

    /// UID of a Lease in the system namespace, read live; `None` when it does not exist.
    ///
    /// # Errors
    /// When the API server cannot be asked.
    pub async fn lease_uid(&self, name: &str) -> Result<Option<String>, kube::Error> {
        let Some((client, namespace)) = self.client.lock().clone() else {
            return Ok(None);
        };
        let leases: kube::Api<Lease> = kube::Api::namespaced(client, &namespace);
        Ok(leases.get_opt(name).await?.and_then(|lease| lease.metadata.uid))
    }

    async fn report_health(&self) {
        let Some(health) = self.health.lock().clone() else {
            return;
        };
        let leads = matches!(*self.role.lock(), Role::Leader(_));
        if leads {
            health.set_serving::<EvictionQueueServer<Queue>>().await;
            health.set_serving::<QueueInspectionServer<Inspection>>().await;
            health.set_serving::<QueueAdminServer<Admin>>().await;
        } else {
            health.set_not_serving::<EvictionQueueServer<Queue>>().await;
            health.set_not_serving::<QueueInspectionServer<Inspection>>().await;
            health.set_not_serving::<QueueAdminServer<Admin>>().await;
        }
    }
}

/// All that serves, except for what is listened to.
struct Serving {
    router: Router<Stack<AccessLayer, Identity>>,
    door: Arc<Door>,
    tls: Option<Reloading<ServerTls>>,
}

impl Serving {
    async fn until_stopped<IO>(
        self,
        ctx: &Context,
        incoming: impl Stream<Item = std::io::Result<IO>>,
    ) -> anyhow::Result<()>
    where
        IO: AsyncRead + AsyncWrite + Remote + Unpin + Send + 'static,
    {
        let Self { router, door, tls } = self;
        let _shown = tls.as_ref().map(|tls| tls.show(&ctx.metrics));
        if let Some(files) = tls.clone() {
            ctx.readiness.note(move || {
                let refused = files.problem().map(|problem| {
                    format!("changed files of the queue's TLS are refused, those of before stay in force: {problem}")
                });
                refused.into_iter().collect()
            });
        }
        let (ready, connections) = mpsc::channel::<std::io::Result<Connection<IO>>>(READY);
        let files = async {
            match &tls {
                Some(tls) => tls.watch().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = ctx.shutdown.cancelled() => {}
            () = files => {}
            () = door.keep(incoming, ready) => {}
            served = router.serve_with_incoming(ReceiverStream::new(connections)) => served?,
        }
        Ok(())
    }
}

fn known_by(policy: &Policy) -> &'static str {
    match policy {
        Policy::Loopback => "without TLS and therefore on loopback only",
        Policy::Credentials {
            certificates: Some(_),
            tokens: Tokens::Checked,
        } => "with TLS; callers are known by their certificates or tokens",
        Policy::Credentials {
            certificates: Some(_), ..
        } => "with TLS; callers are known by their certificates",
        Policy::Credentials { certificates: None, .. } => "callers are known by their tokens",
    }
}

/// While it lives, the server answers for the queue.
#[derive(Debug)]
pub struct Leading {
    server: Arc<Server>,
}

impl Drop for Leading {
    fn drop(&mut self) {
        *self.server.role.lock() = Role::Follower;
    }
}

/// Reflection in both versions: older tools, such as grpcurl 1.8, speak only v1alpha.
mod reflection {
    use eviction_queue_api::DESCRIPTORS;
    use tonic_reflection::server::{Builder, Error};

    fn builder() -> Builder<'static> {
        Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    }

    pub(super) fn v1() -> Result<
        tonic_reflection::server::v1::ServerReflectionServer<impl tonic_reflection::server::v1::ServerReflection>,
        Error,
    > {
        builder().build_v1()
    }

    pub(super) fn v1alpha() -> Result<
        tonic_reflection::server::v1alpha::ServerReflectionServer<
            impl tonic_reflection::server::v1alpha::ServerReflection,
        >,
        Error,
    > {
        builder().build_v1alpha()
    }
}
