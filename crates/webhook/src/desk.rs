//! Takes requests: bounded in size, in number and in the time that they take to come, each with an answer that says what is
//! wrong with it. Who sends nothing holds nothing: only what has come takes room, and only what is complete takes a turn.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use controller_kit::Metrics;
use failover_core::admission::MAX_WARNINGS;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Body;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::fleet::Fleet;
use crate::hooks::{HOOKS, Hook};
use crate::review::{Answer, BadReview, Verdict, answer};

/// The largest review. An object is at most 1.5 MiB in storage, and an update has two of them.
pub(crate) const MAX_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of reviews that are held at once.
const ROOM: usize = 16 * MAX_BYTES;
/// Reviews that are judged at once.
const AT_ONCE: usize = 16;
/// How long one waits for its turn.
const TURN_WITHIN: Duration = Duration::from_secs(1);
/// How long its text may take to come.
const READ_WITHIN: Duration = Duration::from_secs(2);

const REVIEWS: &str = "failover_admission_reviews_total";
const DURATION: &str = "failover_admission_review_duration_seconds";

/// Answers requests.
pub(crate) struct Desk {
    fleet: Fleet,
    /// A permit a byte.
    room: Arc<Semaphore>,
    turns: Arc<Semaphore>,
    metrics: Metrics,
}

/// A review as it came, and its room for as long as it is held.
struct Text {
    bytes: Vec<u8>,
    room: Option<OwnedSemaphorePermit>,
}

/// Why there is no review in the answer.
#[derive(Debug)]
struct NoReview {
    status: StatusCode,
    why: String,
}

impl NoReview {
    fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self {
            status,
            why: why.into(),
        }
    }
}

impl Desk {
    pub fn new(fleet: Fleet, metrics: &Metrics) -> Arc<Self> {
        metrics.describe(
            REVIEWS,
            "Reviews that API servers asked for, by what they are about and what came of them; Bad: the request was none.",
        );
        metrics.describe(
            DURATION,
            "How long a review took from its first byte to its answer, in seconds.",
        );
        for (_, hook) in HOOKS {
            for verdict in Verdict::ALL {
                // From the first scrape on, so that a rate begins at 0.
                metrics.counter(REVIEWS, &labels(hook, verdict.as_str())).increment(0);
            }
        }
        Arc::new(Self {
            fleet,
            room: Arc::new(Semaphore::new(ROOM)),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            metrics: metrics.clone(),
        })
    }

    /// Answers one request.
    pub async fn take<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let began = Instant::now();
        let Some(hook) = Hook::at(request.uri().path()) else {
            let paths: Vec<&str> = HOOKS.iter().map(|(path, _)| *path).collect();
            let why = format!("there is no webhook at this path; there are {}", paths.join(", "));
            return plain(&NoReview::new(StatusCode::NOT_FOUND, why));
        };
        let answered = self.review(hook, request).await;
        let elapsed = began.elapsed().as_secs_f64();
        self.metrics
            .histogram(DURATION, &[("resource", hook.resource())])
            .record(elapsed);
        match answered {
            Ok(answer) => {
                self.metrics
                    .counter(REVIEWS, &labels(hook, answer.verdict.as_str()))
                    .increment(1);
                tell(hook, &answer);
                json(&answer)
            }
            Err(problem) => {
                self.metrics.counter(REVIEWS, &labels(hook, "Bad")).increment(1);
                tracing::warn!(resource = hook.resource(), status = %problem.status, "a request is no review: {}", problem.why);
                plain(&problem)
            }
        }
    }

    async fn review<B>(&self, hook: Hook, request: Request<B>) -> Result<Answer, NoReview>
    where
        B: Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if request.method() != Method::POST {
            let why = format!("{} is not answered here: reviews are sent by POST", request.method());
            return Err(NoReview::new(StatusCode::METHOD_NOT_ALLOWED, why));
        }
        is_json(&request)?;
        let busy = || {
            let why = format!("{AT_ONCE} reviews are looked at, and none was done within {TURN_WITHIN:?}");
            NoReview::new(StatusCode::SERVICE_UNAVAILABLE, why)
        };
        let read = timeout(READ_WITHIN, self.read(request.into_body())).await;
        let text = read.map_err(|_| {
            let why = format!("the review did not come within {READ_WITHIN:?}");
            NoReview::new(StatusCode::REQUEST_TIMEOUT, why)
        })??;
        let turn = timeout(TURN_WITHIN, self.turns.clone().acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(busy()) };
        let fleet = self.fleet.clone();
        // Off the threads that keep connections; a panic would cost this one answer.
        let judged = tokio::task::spawn_blocking(move || {
            let (_turn, _room) = (turn, text.room);
            answer(hook, &text.bytes, &fleet.picture().known(fleet.clock()))
        });
        match judged.await {
            Ok(answered) => answered.map_err(|bad: BadReview| NoReview::new(StatusCode::BAD_REQUEST, bad.to_string())),
            Err(_) => Err(NoReview::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the review ended in a defect of this program; its log says where",
            )),
        }
    }

    /// What has come, with room for each byte of it.
    async fn read<B>(&self, body: B) -> Result<Text, NoReview>
    where
        B: Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let mut body = pin!(Limited::new(body, MAX_BYTES));
        let mut text = Text {
            bytes: Vec::new(),
            room: None,
        };
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| too_large_or_broken(&*error))?;
            let Ok(data) = frame.into_data() else { continue };
            // A piece is never larger than a whole review.
            let needed = u32::try_from(data.len()).unwrap_or(u32::MAX);
            let Ok(room) = self.room.clone().acquire_many_owned(needed).await else {
                break;
            };
            match &mut text.room {
                Some(held) => held.merge(room),
                None => text.room = Some(room),
            }
            text.bytes.extend_from_slice(&data);
        }
        Ok(text)
    }
}

fn labels(hook: Hook, verdict: &'static str) -> [(&'static str, &'static str); 2] {
    [("resource", hook.resource()), ("verdict", verdict)]
}

fn is_json<B>(request: &Request<B>) -> Result<(), NoReview> {
    let Some(given) = request.headers().get(header::CONTENT_TYPE) else {
        return Ok(());
    };
    let is_json = given.to_str().is_ok_and(|given| {
        given
            .split(';')
            .next()
            .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
    });
    if is_json {
        return Ok(());
    }
    let why = "reviews are application/json";
    Err(NoReview::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why))
}

fn too_large_or_broken(error: &(dyn std::error::Error + 'static)) -> NoReview {
    if error.is::<LengthLimitError>() {
        let why = format!("the review is larger than {MAX_BYTES} bytes: objects of that size are not looked at");
        return NoReview::new(StatusCode::PAYLOAD_TOO_LARGE, why);
    }
    NoReview::new(StatusCode::BAD_REQUEST, format!("the review broke off: {error}"))
}

/// One line a decision.
fn tell(hook: Hook, answer: &Answer) {
    let Answer {
        verdict,
        object,
        user,
        words,
        ..
    } = answer;
    let (resource, verdict) = (hook.resource(), verdict.as_str());
    let words = words
        .iter()
        .take(MAX_WARNINGS)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(" | ");
    if words.is_empty() {
        tracing::debug!(resource, object, user, verdict, "reviewed");
    } else {
        tracing::info!(resource, object, user, verdict, words, "reviewed");
    }
}

fn json(answer: &Answer) -> Response<Full<Bytes>> {
    respond(StatusCode::OK, "application/json", answer.review.to_string())
}

fn plain(problem: &NoReview) -> Response<Full<Bytes>> {
    respond(
        problem.status,
        "text/plain; charset=utf-8",
        format!("{}\n", problem.why),
    )
}

fn respond(status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
#[path = "desk_tests.rs"]
mod tests;
