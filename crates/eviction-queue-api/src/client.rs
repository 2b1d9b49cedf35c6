//! Finds the leader of the queue and follows it.
//!
//! The address comes from the annotation `failover.karmada.io/address` of the Lease `eviction-queue`, from the answer
//! of a follower, or is fixed. A connection is kept until a status says that it leads nowhere ([`crate::status`]).

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::backoff::Backoff;
use controller_kit::leader::{lease_name, said};
use controller_kit::random::Random;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use parking_lot::Mutex;
use tonic::transport::{Endpoint, Uri};
use tonic::{Code, Status};

use crate::channel::Channel;
use crate::dial::{Destination, host};
use crate::memory::MemoryNetwork;
use crate::problem::Trouble;
use crate::security::Security;
use crate::status::{Advice, advice};
use crate::v1::eviction_queue_client::EvictionQueueClient;
use crate::v1::queue_admin_client::QueueAdminClient;
use crate::v1::queue_inspection_client::QueueInspectionClient;

/// The largest message taken: a page of 1,000 entries stays far below it.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);
const BACK_OFF: Backoff = Backoff {
    base: Duration::from_millis(100),
    max: Duration::from_secs(5),
};

/// Why there is no way to the queue.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The Lease cannot be read.
    #[error("cannot read Lease {namespace}/{name} to find the eviction queue: {source}")]
    Lease {
        /// Namespace of the Lease.
        namespace: String,
        /// Its name.
        name: String,
        /// What happened.
        source: Box<kube::Error>,
    },
    /// Nobody leads.
    #[error("no eviction queue leads: Lease {namespace}/{name} {why}; is the eviction-queue running?")]
    NoLeader {
        /// Namespace of the Lease.
        namespace: String,
        /// Its name.
        name: String,
        /// What the Lease lacks.
        why: &'static str,
    },
    /// The address makes no sense.
    #[error("{address:?} is no address of an eviction queue, such as 10.0.0.1:8443: {why}")]
    Address {
        /// The address.
        address: String,
        /// Why.
        why: String,
    },
    /// What the flags say about TLS or the token makes no sense, or cannot be read.
    #[error("cannot call the eviction queue as the flags say: {0}")]
    Security(Arc<str>),
    /// A token would cross a network in the clear.
    #[error(
        "--queue-token-file: the token would cross the network to {address} in the clear; give --queue-ca-file, so that the queue is called by TLS"
    )]
    TokenInTheClear {
        /// Where the call would have gone.
        address: String,
    },
    /// The queue refuses the call, and would again.
    #[error("the eviction queue refuses the call: {}", .0.message())]
    Refused(Box<Status>),
    /// The queue was not reached in time.
    #[error("the eviction queue was not reached within {}: {last}", controller_kit::durations::format_duration(*.within))]
    OutOfTime {
        /// The time allowed.
        within: Duration,
        /// What happened last.
        last: String,
    },
}

#[derive(Clone)]
enum Locator {
    Fixed(String),
    Lease { client: Client, namespace: String },
}

/// A client of the queue. Clones share the connection.
#[derive(Clone)]
pub struct QueueClient {
    locator: Locator,
    network: Option<MemoryNetwork>,
    security: Security,
    state: Arc<Mutex<State>>,
}

struct State {
    connected: Option<Channel>,
    hint: Option<String>,
    failures: u32,
    random: Random,
}

impl std::fmt::Debug for QueueClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let how = match &self.locator {
            Locator::Fixed(address) => address.as_str(),
            Locator::Lease { .. } => "by its Lease",
        };
        f.debug_tuple("QueueClient").field(&how).finish()
    }
}

impl QueueClient {
    /// A client of the queue at a fixed address, `host:port`.
    #[must_use]
    pub fn at(address: impl Into<String>) -> Self {
        Self::new(Locator::Fixed(address.into()), "fixed")
    }

    /// A client that finds the leader by the Lease `eviction-queue` in this namespace. `identity` seeds the jitter.
    #[must_use]
    pub fn by_lease(client: Client, namespace: &str, identity: &str) -> Self {
        Self::new(
            Locator::Lease {
                client,
                namespace: namespace.to_owned(),
            },
            identity,
        )
    }

    /// The same, reaching addresses through a network inside the process.
    #[must_use]
    pub fn through(mut self, network: MemoryNetwork) -> Self {
        self.network = Some(network);
        self
    }

    /// The same, with TLS and a token as this says.
    #[must_use]
    pub fn secured(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    fn new(locator: Locator, identity: &str) -> Self {
        let state = State {
            connected: None,
            hint: None,
            failures: 0,
            random: Random::from_text(&["queue-client", identity]),
        };
        Self {
            locator,
            network: None,
            security: Security::default(),
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// The service for controllers, at the leader as last known.
    ///
    /// # Errors
    /// [`ClientError`] when no leader can be found.
    pub async fn queue(&self) -> Result<EvictionQueueClient<Channel>, ClientError> {
        let channel = self.channel().await?;
        Ok(EvictionQueueClient::new(channel).max_decoding_message_size(MAX_MESSAGE_BYTES))
    }

    /// The service for people and tools, at the leader as last known.
    ///
    /// # Errors
    /// [`ClientError`] when no leader can be found.
    pub async fn inspection(&self) -> Result<QueueInspectionClient<Channel>, ClientError> {
        let channel = self.channel().await?;
        Ok(QueueInspectionClient::new(channel).max_decoding_message_size(MAX_MESSAGE_BYTES))
    }

    /// The service for people who change the queue, at the leader as last known.
    ///
    /// # Errors
    /// [`ClientError`] when no leader can be found.
    pub async fn admin(&self) -> Result<QueueAdminClient<Channel>, ClientError> {
        let channel = self.channel().await?;
        Ok(QueueAdminClient::new(channel).max_decoding_message_size(MAX_MESSAGE_BYTES))
    }

    /// Learns from a status: where the leader is, or that the connection leads nowhere.
    pub fn learn(&self, status: &Status) -> Advice {
        let advice = advice(status);
        let mut state = self.state.lock();
        match &advice {
            Advice::GoTo { address } => {
                state.connected = None;
                state.hint = Some(address.clone());
            }
            Advice::FindLeader => {
                state.connected = None;
                state.hint = None;
            }
            // Who was not let in may be somebody else the next time: certificates are shown when a connection is made.
            Advice::GiveUp if matches!(status.code(), Code::Unauthenticated | Code::PermissionDenied) => {
                state.connected = None;
            }
            Advice::Later | Advice::GiveUp => {}
        }
        advice
    }

    /// A call succeeded: the next failure waits only shortly again.
    pub fn succeeded(&self) {
        self.state.lock().failures = 0;
    }

    /// Waits before the next try: from 100 ms doubling to 5 s, with jitter.
    pub async fn back_off(&self) {
        let wait = {
            let mut state = self.state.lock();
            state.failures = state.failures.saturating_add(1);
            let failures = state.failures;
            BACK_OFF.delay(failures, &mut state.random)
        };
        tokio::time::sleep(wait).await;
    }

    /// Makes a call of the inspection service, and tries again for as long as `within` while the leader changes or
    /// cannot be reached.
    ///
    /// # Errors
    /// [`ClientError::Refused`] with the server's status, or [`ClientError::OutOfTime`].
    pub async fn inspect<T, F, Fut>(&self, within: Duration, call: F) -> Result<T, ClientError>
    where
        F: Fn(QueueInspectionClient<Channel>) -> Fut,
        Fut: Future<Output = Result<tonic::Response<T>, Status>>,
    {
        let mut last = "no try".to_owned();
        let tries = async {
            loop {
                match self.inspection().await {
                    Ok(service) => match call(service).await {
                        Ok(answer) => {
                            self.succeeded();
                            return Ok(answer.into_inner());
                        }
                        Err(status) if self.learn(&status) == Advice::GiveUp => {
                            return Err(ClientError::Refused(Box::new(status)));
                        }
                        Err(status) => status.message().clone_into(&mut last),
                    },
                    Err(
                        error @ (ClientError::Address { .. }
                        | ClientError::Security(_)
                        | ClientError::TokenInTheClear { .. }),
                    ) => return Err(error),
                    Err(error) => last = error.to_string(),
                }
                self.back_off().await;
            }
        };
        match tokio::time::timeout(within, tries).await {
            Ok(result) => result,
            Err(_) => Err(ClientError::OutOfTime { within, last }),
        }
    }

    async fn channel(&self) -> Result<Channel, ClientError> {
        if let Some(problem) = &self.security.broken {
            return Err(ClientError::Security(problem.clone()));
        }
        self.security.look().await;
        if let Some(channel) = self.state.lock().connected.clone() {
            return Ok(channel);
        }
        let address = self.address().await?;
        let channel = self.connect(&address)?;
        self.state.lock().connected = Some(channel.clone());
        Ok(channel)
    }

    /// Where the leader is, as far as is known.
    ///
    /// # Errors
    /// [`ClientError`] when the Lease cannot be read or names nobody.
    pub async fn address(&self) -> Result<String, ClientError> {
        let hint = self.state.lock().hint.take();
        match (&self.locator, hint) {
            (Locator::Fixed(address), None) => Ok(address.clone()),
            (_, Some(hint)) => Ok(hint),
            (Locator::Lease { client, namespace }, None) => leader_address(client, namespace).await,
        }
    }

    fn connect(&self, address: &str) -> Result<Channel, ClientError> {
        let endpoint = match &self.network {
            // Its addresses are any texts.
            Some(_) => Endpoint::from_static("http://memory"),
            None => Endpoint::from_shared(format!("http://{address}")).map_err(|error| ClientError::Address {
                address: address.to_owned(),
                why: error.to_string(),
            })?,
        };
        let is_safe = self.security.tls.is_some() || self.network.is_some() || is_loopback(host(address));
        if self.security.token.is_some() && !is_safe {
            let address = address.to_owned();
            return Err(ClientError::TokenInTheClear { address });
        }
        let destination = Destination {
            address: address.to_owned(),
            network: self.network.clone(),
            security: self.security.clone(),
            trouble: Trouble::default(),
        };
        let trouble = destination.trouble.clone();
        let dial = tower::service_fn(move |_: Uri| {
            let dialled = destination.clone().dial();
            async move { io::Result::Ok(TokioIo::new(dialled.await?)) }
        });
        let inner = alive(endpoint).connect_with_connector_lazy(dial);
        Ok(Channel::new(inner, self.security.token.clone(), trouble))
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn alive(endpoint: Endpoint) -> Endpoint {
    endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(KEEP_ALIVE_EVERY)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
}

/// The address that the queue's Lease names.
///
/// # Errors
/// [`ClientError`] when the Lease cannot be read or names nobody.
pub async fn leader_address(client: &Client, namespace: &str) -> Result<String, ClientError> {
    let name = lease_name(crate::QUEUE_CONTROLLER);
    let no_leader = |why| ClientError::NoLeader {
        namespace: namespace.to_owned(),
        name: name.clone(),
        why,
    };
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let lease = leases.get_opt(&name).await.map_err(|source| ClientError::Lease {
        namespace: namespace.to_owned(),
        name: name.clone(),
        source: Box::new(source),
    })?;
    let lease = lease.ok_or_else(|| no_leader("does not exist"))?;
    said(&lease)
        .address
        .ok_or_else(|| no_leader("has no holder that says where it serves"))
}
