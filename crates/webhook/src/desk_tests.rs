//! Bounds of time and number, under paused time.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use controller_kit::{Clock, Tasks};
use hyper::body::Frame;
use serde_json::{Value, json};

use super::*;

const PATH: &str = "/validate/failoverpauses.failover.karmada.io";

/// A body of which nothing ever comes.
struct Never;

impl Body for Never {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

fn desk() -> (Arc<Desk>, Metrics) {
    let metrics = Metrics::new();
    (Desk::new(Fleet::new(&Clock::system()), &metrics), metrics)
}

fn asking<B>(body: B) -> Request<B> {
    Request::post(PATH)
        .header(header::CONTENT_TYPE, "Application/JSON; charset=utf-8")
        .body(body)
        .unwrap()
}

fn good() -> Full<Bytes> {
    let spec = json!({"scope": "All", "reason": "r", "until": "2999-01-01T00:00:00Z"});
    let object =
        json!({"apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {}, "spec": spec});
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "u", "operation": "CREATE", "object": object},
    });
    Full::new(review.to_string().into())
}

async fn text(response: Response<Full<Bytes>>) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_review_that_does_not_come_is_not_waited_for() {
    let (desk, metrics) = desk();
    let response = desk.take(asking(Never)).await;
    assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
    assert_eq!(text(response).await, "the review did not come within 2s\n");
    let bad = [("resource", "failoverpauses.failover.karmada.io"), ("verdict", "Bad")];
    assert_eq!(metrics.value(REVIEWS, &bad), Some(1.0));
}

#[tokio::test(start_paused = true)]
async fn more_than_can_be_looked_at_are_told_so_and_the_next_are_answered() {
    let (desk, metrics) = desk();
    let tasks = Tasks::new();
    for _ in 0..AT_ONCE {
        let desk = desk.clone();
        tasks.spawn("slow", async move {
            desk.take(asking(Never)).await;
        });
    }
    tokio::task::yield_now().await;
    let response = desk.take(asking(good())).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        text(response).await,
        "16 reviews are looked at, and none was done within 1s\n"
    );
    tokio::time::sleep(READ_WITHIN).await;
    let response = desk.take(asking(good())).await;
    assert_eq!(response.status(), StatusCode::OK);
    let answer: Value = serde_json::from_str(&text(response).await).unwrap();
    assert_eq!(answer["response"], json!({"uid": "u", "allowed": true}));
    let allowed = [
        ("resource", "failoverpauses.failover.karmada.io"),
        ("verdict", "Allowed"),
    ];
    assert_eq!(metrics.value(REVIEWS, &allowed), Some(1.0));
    tasks.abort();
}
