//! What stands between a connection and the services: counts, knows, and lets in or refuses.

use std::sync::Arc;
use std::time::Duration;

use controller_kit::tls::SecretText;
use controller_kit::{Metrics, Tasks};
use http::header::AUTHORIZATION;
use http::request::Parts;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::Status;

use super::answers::YES_COUNTS_FOR;
use super::bodies::{Cut, TooLarge};
use super::caller::Caller;
use super::complaints::Complaints;
use super::decision::{Decision, Policy, Refusal, Seen, Token, decide};
use super::method::{Lasts, Need, callable, short};
use super::reviews::{Age, Reviews};
use crate::incoming::{Peer, Place};

/// Bytes of all headers of a call, at most: some for gRPC and much for a token.
pub const MAX_HEADER_BYTES: usize = 16 * 1024;

/// How long it takes until a question about the token of an open stream is asked again when it had no answer.
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(5);

const REFUSED: &str = "failover_queue_calls_refused_total";

/// Lets calls in.
pub struct Gate {
    policy: Policy,
    reviews: Option<Arc<Reviews>>,
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
    _asked_again: Option<DropGuard>,
}

impl Gate {
    /// A gate. With [`Tokens::Checked`](super::Tokens::Checked) in its policy, the API server is asked through `client`.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn new(policy: Policy, client: kube::Client, tasks: &Tasks, metrics: &Metrics) -> anyhow::Result<Self> {
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
                Some(Arc::new(Reviews::new(client)?))
            } else {
                None
            },
            tasks: tasks.clone(),
            metrics: metrics.clone(),
            complaints: Complaints::default(),
            too_large: metrics.counter(REFUSED, &[("reason", "MessageTooLarge")]),
        })
    }

    pub(super) fn too_large(&self) -> TooLarge {
        self.too_large.clone()
    }

    fn refused(&self, reason: &'static str, who: &str, status: Status) -> Status {
        self.metrics.counter(REFUSED, &[("reason", reason)]).increment(1);
        if self.complaints.is_due(reason, who) {
            tracing::warn!(reason, "a call is refused: {}", status.message());
        } else {
            tracing::debug!(reason, "a call is refused: {}", status.message());
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
            certificate: peer.names.clone(),
            token: if token.is_some() { Token::Sent } else { Token::None },
        };
        let refuse = |refusal: &Refusal| self.refused(refusal.reason(), &from, refusal.status(path));
        let (caller, asked) = match decide(&self.policy, callable(path), &seen) {
            Decision::Admit(caller) => (caller, None),
            Decision::Refuse(refusal) => return Err(refuse(&refusal)),
            Decision::AskAboutToken(need) => {
                let (Some(token), Some(reviews)) = (token, &self.reviews) else {
                    return Err(Status::internal("a token is to be checked, and nobody can"));
                };
                let answer = reviews.ask(&token, need, Age::AMomentOld).await;
                let caller = answer.map_err(|refusal| refuse(&refusal))?;
                let asked = (need.lasts == Lasts::AsAStream).then(|| (reviews.clone(), token, need));
                (caller, asked)
            }
        };
        let (cut, asked_again) = match asked {
            Some((reviews, token, need)) => {
                let cut = Cut::default();
                let over = CancellationToken::new();
                self.ask_again(reviews, token, need, path, (cut.clone(), over.clone()));
                (Some(cut), Some(over.drop_guard()))
            }
            None => (None, None),
        };
        let held = Held {
            _stream: stream,
            _asked_again: asked_again,
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

    /// Looks again and again whether the token of a stream still counts, until the stream is over.
    ///
    /// While the API server cannot be asked the stream goes on: its own Lease is there as well, so that a queue that
    /// cannot ask does not lead for longer than its renew deadline, and only a leader has streams.
    fn ask_again(
        &self,
        reviews: Arc<Reviews>,
        token: SecretText,
        need: Need,
        path: &str,
        (cut, over): (Cut, CancellationToken),
    ) {
        let path = path.to_owned();
        let (metrics, shutdown) = (self.metrics.clone(), self.tasks.shutdown().clone());
        let asking = async move {
            let mut wait = YES_COUNTS_FOR;
            loop {
                tokio::time::sleep(wait).await;
                match reviews.ask(&token, need, Age::New).await {
                    Ok(_) => wait = YES_COUNTS_FOR,
                    Err(Refusal::CannotAsk { .. }) => wait = ASK_AGAIN_AFTER,
                    Err(refusal) => {
                        metrics.counter(REFUSED, &[("reason", "NoLongerAllowed")]).increment(1);
                        let status = refusal.status(&path);
                        tracing::warn!(method = short(&path), "a stream is ended: {}", status.message());
                        cut.with(status);
                        return;
                    }
                }
            }
        };
        self.tasks.spawn("token of a stream", async move {
            tokio::select! {
                biased;
                () = over.cancelled() => {}
                () = shutdown.cancelled() => {}
                () = asking => {}
            }
        });
    }
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
