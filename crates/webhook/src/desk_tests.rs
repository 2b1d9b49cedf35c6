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

// Whoever sends headers and nothing else takes nobody's place, however many they are.
#[tokio::test(start_paused = true)]
async fn those_who_send_nothing_keep_nobody_waiting() {
    let (desk, metrics) = desk();
    let tasks = Tasks::new();
    for _ in 0..10 * AT_ONCE {
        let desk = desk.clone();
        tasks.spawn("silent", async move {
            desk.take(asking(Never)).await;
        });
    }
    tokio::task::yield_now().await;
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

#[tokio::test(start_paused = true)]
async fn more_than_can_be_judged_are_told_so_and_the_next_are_answered() {
    let (desk, _) = desk();
    let turns = desk.turns.clone().acquire_many_owned(u32::try_from(AT_ONCE).unwrap());
    let turns = turns.await.unwrap();
    let response = desk.take(asking(good())).await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        text(response).await,
        "16 reviews are looked at, and none was done within 1s\n"
    );
    drop(turns);
    let response = desk.take(asking(good())).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(desk.room.available_permits(), ROOM, "nothing is held of what is done");
}

// What others sent and holds all the room is over in time; it is said that the review was not read.
#[tokio::test(start_paused = true)]
async fn without_room_a_review_does_not_come() {
    let (desk, _) = desk();
    let room = desk.room.clone().acquire_many_owned(u32::try_from(ROOM).unwrap());
    let room = room.await.unwrap();
    let response = desk.take(asking(good())).await;
    assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
    drop(room);
    assert_eq!(desk.take(asking(good())).await.status(), StatusCode::OK);
}
