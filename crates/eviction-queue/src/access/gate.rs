//! What stands between a connection and the services: counts, knows, and lets in or refuses.

use std::sync::Arc;
use std::time::Duration;

use controller_kit::tls::SecretText;
use controller_kit::{Clock, Context, Metrics, Tasks};
use http::header::AUTHORIZATION;
use http::request::Parts;
use jiff::Timestamp;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::Status;

use super::answers::YES_COUNTS_FOR;
use super::bodies::{Cut, TooLarge};
use super::caller::{Caller, KnownBy};
use super::complaints::Complaints;
use super::decision::{Decision, Policy, Refusal, Seen, Token, decide};
use super::method::{Callable, Lasts, Need, callable, short};
use super::reviews::{Age, Reviews};
use crate::incoming::{Peer, Place};

/// Bytes of all headers of a call, at most: some for gRPC and much for a token.
pub const MAX_HEADER_BYTES: usize = 16 * 1024;

/// How often the right of an open stream is looked at again.
const LOOK_AGAIN_EVERY: Duration = YES_COUNTS_FOR;

/// How long it takes until a question about the token of an open stream is asked again when it had no answer.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(5);

/// How long a stream goes on without an answer about its token. Far more than a restart of the API server takes, and an
/// end to the rights of a token that nobody judges any more.
const WITHOUT_ANSWER_FOR: Duration = Duration::from_secs(300);

const REFUSED: &str = "failover_queue_calls_refused_total";

/// Lets calls in.
pub struct Gate {
    policy: Policy,
    reviews: Option<Arc<Reviews>>,
    clock: Clock,
    tasks: Tasks,
    metrics: Metrics,
    complaints: Complaints,
    too_large: TooLarge,
}

/// A call that is let in.
pub(super) struct Admitted {
    pub caller: Caller,
    pub held: Held,
    pub cut: Option<Cut>,
}

/// What a call holds for as long as it lasts.
pub(super) struct Held {
    _stream: Option<OwnedSemaphorePermit>,
    _looked_at: Option<DropGuard>,
}

impl Gate {
    /// A gate. With [`Tokens::Checked`](super::Tokens::Checked) in its policy, the API server is asked.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn new(policy: Policy, ctx: &Context) -> anyhow::Result<Self> {
        let metrics = &ctx.metrics;
        metrics.describe(REFUSED, "Calls of the eviction queue that were refused, by reason.");
        let asks = matches!(
            policy,
            Policy::Credentials {
                tokens: super::Tokens::Checked,
                ..
            }
        );
        Ok(Self {
            policy,
            reviews: if asks {
                Some(Arc::new(Reviews::new(ctx.client.clone())?))
            } else {
                None
            },
            clock: ctx.clock.clone(),
            tasks: ctx.tasks.clone(),
            metrics: metrics.clone(),
            complaints: Complaints::default(),
            too_large: metrics.counter(REFUSED, &[("reason", "MessageTooLarge")]),
        })
    }

    pub(super) fn too_large(&self) -> TooLarge {
        self.too_large.clone()
    }

    fn refused(&self, reason: &'static str, from: &str, status: Status) -> Status {
        self.metrics.counter(REFUSED, &[("reason", reason)]).increment(1);
        if self.complaints.is_due(reason, from) {
            tracing::warn!(reason, from, "a call is refused: {}", status.message());
        } else {
            tracing::debug!(reason, from, "a call is refused: {}", status.message());
        }
        status
    }

    /// Lets a call in, or says why not.
    pub(super) async fn admit(&self, parts: &Parts) -> Result<Admitted, Status> {
        let peer = parts.extensions.get::<Peer>().cloned().unwrap_or_default();
        let from = peer.address.map(|address| address.ip().to_string()).unwrap_or_default();
        let stream = self.room(parts, &peer, &from)?;

        let path = parts.uri.path();
        let token = bearer(parts);
        let seen = Seen {
            certificate: peer.certificate.as_ref().map(|certificate| certificate.names.clone()),
            token: if token.is_some() { Token::Sent } else { Token::None },
        };
        let callable = callable(path);
        let refuse = |refusal: &Refusal| self.refused(refusal.reason(), &from, refusal.status(path));
        let (caller, right) = match decide(&self.policy, callable, &seen) {
            Decision::Admit(caller) => {
                let right = peer.certificate.filter(|_| caller.known_by == KnownBy::Certificate);
                let right = right.map(|certificate| Right::Certificate(certificate.not_after));
                (caller, right)
            }
            Decision::Refuse(refusal) => return Err(refuse(&refusal)),
            Decision::AskAboutToken(need) => {
                let (Some(token), Some(reviews)) = (token, &self.reviews) else {
                    return Err(Status::internal("a token is to be checked, and nobody can"));
                };
                let answer = reviews.ask(&token, need, Age::AMomentOld).await;
                let caller = answer.map_err(|refusal| refuse(&refusal))?;
                let reviews = reviews.clone();
                (caller, Some(Right::Token { reviews, token, need }))
            }
        };
        if let Some(Right::Certificate(not_after)) = &right {
            over(*not_after, &self.clock).map_err(|status| self.refused("CertificateExpired", &from, status))?;
        }
        let (cut, looked_at) = match (right, callable) {
            (Some(right), Some(Callable::ByThoseWith(need))) if need.lasts == Lasts::AsAStream => {
                let (cut, over) = (Cut::default(), CancellationToken::new());
                self.look_again(right, path, (cut.clone(), over.clone()));
                (Some(cut), Some(over.drop_guard()))
            }
            _ => (None, None),
        };
        if let Some(Callable::ByThoseWith(_)) = callable {
            peer.welcome.give();
        }
        let held = Held {
            _stream: stream,
            _looked_at: looked_at,
        };
        Ok(Admitted { caller, held, cut })
    }

    /// Whether there is room for the call.
    fn room(&self, parts: &Parts, peer: &Peer, from: &str) -> Result<Option<OwnedSemaphorePermit>, Status> {
        if let Place::Standing { most } = peer.place {
            let told = format!(
                "the queue has {most} connections, as many as --queue-max-connections allows; this one ends at once: try \
                 again later"
            );
            return Err(self.refused("TooManyConnections", from, Status::resource_exhausted(told)));
        }
        let bytes: usize = parts
            .headers
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len() + 32)
            .sum();
        if bytes > MAX_HEADER_BYTES {
            let told = format!("the headers of the call have {bytes} bytes, and {MAX_HEADER_BYTES} are taken");
            return Err(self.refused("HeadersTooLarge", from, Status::resource_exhausted(told)));
        }
        let Some(streams) = &peer.streams else { return Ok(None) };
        match streams.clone().try_acquire_owned() {
            Ok(permit) => Ok(Some(permit)),
            Err(_) => {
                let told = format!(
                    "{} calls of this connection go on, as many as are taken: end some, or use another connection",
                    crate::incoming::MAX_CALLS_A_CONNECTION
                );
                Err(self.refused("TooManyCalls", from, Status::resource_exhausted(told)))
            }
        }
    }

    /// Looks again and again whether the caller of a stream still has the right to it, until the stream is over.
    ///
    /// While the API server cannot be asked about a token the stream goes on for [`WITHOUT_ANSWER_FOR`]. A queue that
    /// cannot reach it at all does not lead for as long; but it may also be reviews alone that are slow or refused.
    fn look_again(&self, right: Right, path: &str, (cut, over): (Cut, CancellationToken)) {
        let (path, clock) = (path.to_owned(), self.clock.clone());
        let (metrics, shutdown) = (self.metrics.clone(), self.tasks.shutdown().clone());
        let looking = async move {
            let (mut wait, mut known_at) = (LOOK_AGAIN_EVERY, Instant::now());
            loop {
                tokio::time::sleep(wait).await;
                let status = match right.still_there(&clock).await {
                    Ok(()) => {
                        (wait, known_at) = (LOOK_AGAIN_EVERY, Instant::now());
                        continue;
                    }
                    Err(Lost::Unknown(_)) if known_at.elapsed() < WITHOUT_ANSWER_FOR => {
                        wait = ASK_AGAIN_AFTER;
                        continue;
                    }
                    Err(Lost::Unknown(refusal)) => {
                        let told = refusal.status(&path);
                        let seconds = known_at.elapsed().as_secs();
                        let told = format!(
                            "not known for {seconds} seconds whether the stream may go on: {}",
                            told.message()
                        );
                        Status::unavailable(told)
                    }
                    Err(Lost::Refused(refusal)) => refusal.status(&path),
                    Err(Lost::Over(status)) => status,
                };
                metrics.counter(REFUSED, &[("reason", "NoLongerAllowed")]).increment(1);
                tracing::warn!(method = short(&path), "a stream is ended: {}", status.message());
                cut.with(status);
                return;
            }
        };
        self.tasks.spawn("right to a stream", async move {
            tokio::select! {
                biased;
                () = over.cancelled() => {}
                () = shutdown.cancelled() => {}
                () = looking => {}
            }
        });
    }
}

/// What gives a caller the right to a stream, as far as it may end.
enum Right {
    /// A certificate that counts until then.
    Certificate(Timestamp),
    /// A token that the API server has let.
    Token {
        reviews: Arc<Reviews>,
        token: SecretText,
        need: Need,
    },
}

/// Why a right is not there.
enum Lost {
    /// Nobody could be asked.
    Unknown(Refusal),
    /// The API server says no.
    Refused(Refusal),
    /// Its time is over.
    Over(Status),
}

impl Right {
    async fn still_there(&self, clock: &Clock) -> Result<(), Lost> {
        match self {
            Self::Certificate(not_after) => over(*not_after, clock).map_err(Lost::Over),
            Self::Token { reviews, token, need } => match reviews.ask(token, *need, Age::New).await {
                Ok(_) => Ok(()),
                Err(refusal @ Refusal::CannotAsk { .. }) => Err(Lost::Unknown(refusal)),
                Err(refusal) => Err(Lost::Refused(refusal)),
            },
        }
    }
}

/// Whether the time of a connection's certificate is over. Who hears it connects again, with the certificate of that day.
fn over(not_after: Timestamp, clock: &Clock) -> Result<(), Status> {
    let now = clock.now();
    if now <= not_after {
        return Ok(());
    }
    Err(Status::unavailable(format!(
        "the client certificate of this connection has expired: it was valid until {not_after}; connect again with a new one"
    )))
}

/// The bearer token of a call.
fn bearer(parts: &Parts) -> Option<SecretText> {
    let value = parts.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| SecretText::new(token))
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
