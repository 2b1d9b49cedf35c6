//! Takes what a listener accepts, shakes hands where TLS is on, and passes on what is ready.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::metrics::{CollectorGuard, Family};
use controller_kit::tls::{CertificateFacts, Reloading, ServerTls, in_words, tls_error};
use controller_kit::{Metrics, Tasks};
use eviction_queue_api::memory::MemoryStream;
use futures::{Stream, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::MAX_CALLS_A_CONNECTION;
use super::connection::{Connection, Patience, Wire};
use super::handshakes::Handshakes;
use super::peer::{Certified, Peer, Place, Welcome};
use crate::access::Complaints;

/// How long a connection keeps its place before the first of its calls that not everybody may make is let in. Probes of
/// health take a moment; whoever only holds the connection takes the place of others.
const STRANGER_FOR: Duration = Duration::from_secs(30);
/// Connections that have no place and are told so, at once.
const STANDING: usize = 32;
/// How long they have to hear it.
const STANDING_FOR: Duration = Duration::from_secs(5);
/// Handshakes that go on at once; beyond that the oldest gives way.
const HANDSHAKES: usize = 128;
/// After an accept that failed, for want of file descriptors as a rule.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// How long, and how many bytes, a caller whose handshake failed may go on sending before it hears so: a socket that is
/// closed with something unread would take the last words with it.
const LINGER: (Duration, usize) = (Duration::from_millis(500), 64 * 1024);

const REFUSED: &str = "failover_queue_connections_refused_total";

/// Bounds of the door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// Time for a handshake, and then again for the first words of HTTP/2.
    pub handshake: Duration,
}

/// A connection as a listener gives it.
pub trait Remote {
    /// Where the other end is; nothing inside a process.
    fn remote(&self) -> Option<SocketAddr>;
}

impl Remote for TcpStream {
    fn remote(&self) -> Option<SocketAddr> {
        self.peer_addr().ok()
    }
}

impl Remote for MemoryStream {
    fn remote(&self) -> Option<SocketAddr> {
        None
    }
}

/// Takes connections in.
pub struct Door {
    tls: Option<Reloading<ServerTls>>,
    limits: Limits,
    seats: Arc<Semaphore>,
    standing: Arc<Semaphore>,
    handshakes: Arc<Handshakes>,
    tasks: Tasks,
    metrics: Metrics,
    complaints: Complaints,
    _shown: CollectorGuard,
}

/// A place and what comes with it.
struct Taken {
    place: Place,
    permit: OwnedSemaphorePermit,
}

impl Door {
    /// A door, with TLS or without.
    #[must_use]
    pub fn new(tls: Option<Reloading<ServerTls>>, limits: Limits, tasks: &Tasks, metrics: &Metrics) -> Arc<Self> {
        metrics.describe(
            REFUSED,
            "Connections to the eviction queue that were refused, or broken off before a call of theirs was let in, by reason.",
        );
        let seats = Arc::new(Semaphore::new(limits.connections));
        let free = seats.clone();
        let shown = metrics.guarded_collector("connections of the queue", move || {
            let taken = limits.connections.saturating_sub(free.available_permits());
            #[allow(clippy::cast_precision_loss, reason = "a count")]
            let taken = taken as f64;
            vec![
                Family::gauge("failover_queue_connections", "Open connections to the eviction queue.").with(&[], taken),
            ]
        });
        Arc::new(Self {
            tls,
            limits,
            seats,
            standing: Arc::new(Semaphore::new(STANDING)),
            handshakes: Handshakes::new(HANDSHAKES),
            tasks: tasks.clone(),
            metrics: metrics.clone(),
            complaints: Complaints::default(),
            _shown: shown,
        })
    }

    /// Takes in what comes until nothing does, and passes on what is ready.
    pub async fn keep<IO>(
        self: Arc<Self>,
        incoming: impl Stream<Item = io::Result<IO>>,
        ready: mpsc::Sender<io::Result<Connection<IO>>>,
    ) where
        IO: AsyncRead + AsyncWrite + Remote + Unpin + Send + 'static,
    {
        let mut incoming = pin!(incoming);
        while let Some(accepted) = incoming.next().await {
            let io = match accepted {
                Ok(io) => io,
                Err(error) => {
                    self.refuse("CannotAccept", None, &error.to_string());
                    tokio::time::sleep(ACCEPT_AGAIN_AFTER).await;
                    continue;
                }
            };
            let Some(taken) = self.place(io.remote()) else { continue };
            let Some(tls) = self.tls.clone() else {
                let connection = self.connection(Wire::Plain(io), None, taken);
                if ready.send(Ok(connection)).await.is_err() {
                    return;
                }
                continue;
            };
            let (door, ready) = (self.clone(), ready.clone());
            let shutdown = self.tasks.shutdown().clone();
            self.tasks.spawn("handshake", async move {
                tokio::select! {
                    biased;
                    () = shutdown.cancelled() => {}
                    connection = door.shake_hands(io, &tls, taken) => {
                        if let Some(connection) = connection {
                            let _ = ready.send(Ok(connection)).await;
                        }
                    }
                }
            });
        }
    }

    fn place(&self, from: Option<SocketAddr>) -> Option<Taken> {
        if let Ok(permit) = self.seats.clone().try_acquire_owned() {
            let place = Place::Seated;
            return Some(Taken { place, permit });
        }
        let most = self.limits.connections;
        self.refuse(
            "TooManyConnections",
            from,
            &format!("{most} are open, as many as --queue-max-connections allows"),
        );
        let permit = self.standing.clone().try_acquire_owned().ok()?;
        let place = Place::Standing { most };
        Some(Taken { place, permit })
    }

    fn connection<IO>(&self, wire: Wire<IO>, certificate: Option<Certified>, taken: Taken) -> Connection<IO>
    where
        IO: Remote,
    {
        let address = match &wire {
            Wire::Plain(io) => io.remote(),
            Wire::Tls(io) => io.get_ref().0.remote(),
        };
        let peer = Peer {
            address,
            certificate,
            place: taken.place,
            streams: Some(Arc::new(Semaphore::new(MAX_CALLS_A_CONNECTION))),
            welcome: Welcome::default(),
        };
        let counted = |reason| self.metrics.counter(REFUSED, &[("reason", reason)]);
        let silence = Patience::of(self.limits.handshake, counted("Silent"));
        let stranger = Patience::of(STRANGER_FOR, counted("NoAdmittedCall"));
        let ends_after = matches!(taken.place, Place::Standing { .. }).then_some(STANDING_FOR);
        Connection::new(wire, peer, (silence, stranger), ends_after, taken.permit)
    }

    async fn shake_hands<IO>(&self, io: IO, tls: &Reloading<ServerTls>, taken: Taken) -> Option<Connection<IO>>
    where
        IO: AsyncRead + AsyncWrite + Remote + Unpin + Send + 'static,
    {
        let from = io.remote();
        let turn = self.handshakes.begin();
        let shaking = async {
            let config = tls.current().await.config.clone();
            TlsAcceptor::from(config).accept(io).into_fallible().await
        };
        let limit = self.limits.handshake;
        let result = tokio::select! {
            biased;
            result = tokio::time::timeout(limit, shaking) => result,
            () = turn.gives_way() => {
                self.refuse("TooManyHandshakes", from, &format!("more than {HANDSHAKES} went on, this one was the oldest"));
                return None;
            }
        };
        drop(turn);
        match result {
            Ok(Ok(stream)) => {
                let certificate = self.certificate(&stream, from)?;
                Some(self.connection(Wire::Tls(Box::new(stream)), certificate, taken))
            }
            Ok(Err((error, io))) => {
                let why = tls_error(&error).map_or_else(|| error.to_string(), in_words);
                self.refuse("HandshakeFailed", from, &why);
                linger(io).await;
                None
            }
            Err(_) => {
                self.refuse("HandshakeTimeout", from, &format!("no handshake within {limit:?}"));
                None
            }
        }
    }

    /// The client certificate; nothing at all when it cannot be read.
    #[allow(
        clippy::option_option,
        reason = "without a certificate is not the same as with one that cannot be read"
    )]
    fn certificate<IO>(&self, stream: &TlsStream<IO>, from: Option<SocketAddr>) -> Option<Option<Certified>> {
        let (_, session) = stream.get_ref();
        let Some(certificate) = session.peer_certificates().and_then(<[_]>::first) else {
            return Some(None);
        };
        match CertificateFacts::of(certificate) {
            Ok(facts) => Some(Some(Certified {
                names: facts.names.into(),
                not_after: facts.not_after,
            })),
            Err(problem) => {
                self.refuse("HandshakeFailed", from, &format!("the client certificate {problem}"));
                None
            }
        }
    }

    fn refuse(&self, reason: &'static str, from: Option<SocketAddr>, why: &str) {
        self.metrics.counter(REFUSED, &[("reason", reason)]).increment(1);
        let from = from.map(|address| address.ip().to_string()).unwrap_or_default();
        if self.complaints.is_due(reason, &from) {
            tracing::warn!(reason, from, "a connection is refused: {why}");
        } else {
            tracing::debug!(reason, from, "a connection is refused: {why}");
        }
    }
}

/// Lets the last words arrive.
async fn linger<IO: AsyncRead + AsyncWrite + Unpin>(mut io: IO) {
    let (time, most) = LINGER;
    let reading = async {
        let _ = io.shutdown().await;
        let (mut buffer, mut read) = ([0; 4_096], 0);
        while read < most {
            match io.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(bytes) => read += bytes,
            }
        }
    };
    let _ = tokio::time::timeout(time, reading).await;
}

impl std::fmt::Debug for Door {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Door")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
