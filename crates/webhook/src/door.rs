//! Takes connections in: a place each, a handshake in time, and an end when nothing comes.
//!
//! Guarantees: a caller that is slow or silent blocks nobody but itself, and not for long; each new connection is made with
//! the certificate that is in force then; what is refused is counted; who comes while the process ends is answered all the
//! same, for as long as API servers take to hear of it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use controller_kit::tls::{Reloading, ServerTls, in_words, tls_error};
use controller_kit::{Metrics, Tasks};
use http::HeaderValue;
use http::header::CONNECTION;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsAcceptor;

use crate::desk::Desk;

/// Connections at once.
const PLACES: usize = 256;
/// How long a handshake may take.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(5);
/// How long a connection may be silent before its next request.
const SILENT_FOR: Duration = Duration::from_secs(30);
/// The most bytes of a request before its body.
const MAX_HEADERS: usize = 64 * 1024;
/// After an accept that failed, for want of file descriptors as a rule.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// How long a process that is asked to end goes on taking connections. A Service leads to a Pod for a moment after that is
/// asked to end, and what comes then would find nobody. Within the time that a process has for its end.
const LINGERS_FOR: Duration = Duration::from_secs(3);
/// How often refused connections are told in the log, at most.
const TOLD_EVERY: Duration = Duration::from_secs(10);

const REFUSED: &str = "failover_webhook_connections_refused_total";

pub(crate) struct Door {
    tls: Reloading<ServerTls>,
    desk: Arc<Desk>,
    places: Arc<Semaphore>,
    tasks: Tasks,
    metrics: Metrics,
    told: Mutex<Option<Instant>>,
    closes_at: OnceLock<Instant>,
}

impl Door {
    pub fn new(tls: Reloading<ServerTls>, desk: Arc<Desk>, tasks: &Tasks, metrics: &Metrics) -> Arc<Self> {
        metrics.describe(
            REFUSED,
            "Connections to the webhook that came to nothing, by reason: TLS that failed as a rule.",
        );
        Arc::new(Self {
            tls,
            desk,
            places: Arc::new(Semaphore::new(PLACES)),
            tasks: tasks.clone(),
            metrics: metrics.clone(),
            told: Mutex::default(),
            closes_at: OnceLock::new(),
        })
    }

    /// Takes in what comes, until the process was asked to end a while ago.
    pub async fn keep(self: Arc<Self>, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.closing() => return,
                accepted = listener.accept() => accepted,
            };
            let (io, from) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    self.refuse("CannotAccept", None, &error.to_string());
                    tokio::time::sleep(ACCEPT_AGAIN_AFTER).await;
                    continue;
                }
            };
            let Ok(place) = self.places.clone().try_acquire_owned() else {
                self.refuse("TooManyConnections", Some(from), "all places are taken");
                continue;
            };
            let door = self.clone();
            self.tasks
                .spawn("connection", async move { door.serve(io, from, place).await });
        }
    }

    /// Comes back when no connection is taken any more.
    async fn closing(&self) {
        self.tasks.shutdown().cancelled().await;
        let closes_at = self.closes_at.get_or_init(|| Instant::now() + LINGERS_FOR);
        tokio::time::sleep_until(*closes_at).await;
    }

    async fn serve(&self, io: TcpStream, from: SocketAddr, _place: OwnedSemaphorePermit) {
        // Without it small messages wait for each other.
        let _ = io.set_nodelay(true);
        let shutdown = self.tasks.shutdown().clone();
        let shaking = async {
            let config = self.tls.current().await.config.clone();
            TlsAcceptor::from(config).accept(io).await
        };
        let shaken = tokio::select! {
            biased;
            () = self.closing() => return,
            shaken = timeout(HANDSHAKE_WITHIN, shaking) => shaken,
        };
        let stream = match shaken {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                let why = tls_error(&error).map_or_else(|| error.to_string(), in_words);
                return self.refuse("HandshakeFailed", Some(from), &why);
            }
            Err(_) => return self.refuse("HandshakeTimeout", Some(from), "no handshake in time"),
        };
        let desk = self.desk.clone();
        let service = service_fn(move |request| {
            let desk = desk.clone();
            let shutdown = shutdown.clone();
            async move {
                let mut answer = desk.take(request).await;
                if shutdown.is_cancelled() {
                    // The caller's next connection is to lead to another replica.
                    answer
                        .headers_mut()
                        .insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(answer)
            }
        });
        let mut serving = http1::Builder::new();
        serving
            .timer(TokioTimer::new())
            .header_read_timeout(SILENT_FOR)
            .max_buf_size(MAX_HEADERS);
        let mut connection = pin!(serving.serve_connection(TokioIo::new(stream), service));
        tokio::select! {
            biased;
            ended = connection.as_mut() => gone(from, ended),
            () = self.closing() => {
                connection.as_mut().graceful_shutdown();
                gone(from, connection.await);
            }
        }
    }

    fn refuse(&self, reason: &'static str, from: Option<SocketAddr>, why: &str) {
        self.metrics.counter(REFUSED, &[("reason", reason)]).increment(1);
        let now = Instant::now();
        let tells = {
            let mut told = self.told.lock();
            let tells = told.is_none_or(|at| now.duration_since(at) >= TOLD_EVERY);
            if tells {
                *told = Some(now);
            }
            tells
        };
        let from = from.map(|from| from.ip().to_string());
        if tells {
            tracing::warn!(
                reason,
                from,
                "a connection to the webhook came to nothing: {why} (the next ones are told after {TOLD_EVERY:?}; \
                 {REFUSED} counts them)"
            );
        } else {
            tracing::debug!(reason, from, "a connection to the webhook came to nothing: {why}");
        }
    }
}

fn gone(from: SocketAddr, ended: Result<(), hyper::Error>) {
    if let Err(error) = ended {
        tracing::debug!(%from, %error, "a connection ended");
    }
}
