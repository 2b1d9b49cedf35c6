//! The bounds of the door: callers that are slow, silent or many keep out nobody else, and are told where there is a way.

use std::time::Duration;

use eviction_queue::access::AccessFlags;
use eviction_queue_api::v1::queue_inspection_client::QueueInspectionClient;
use eviction_queue_api::{ConnectionFlags, QueueClient, v1};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::{Code, Request};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::calls::{publish, status};
use crate::scene::{Scene, eventually};

const REFUSED: &str = "failover_queue_connections_refused_total";

fn local(scene: &Scene) -> QueueClient {
    scene.with(&ConnectionFlags::default())
}

#[tokio::test]
async fn handshakes_that_never_end_keep_nobody_out() {
    let scene = Scene::new();
    let queue = scene.queue("q", scene.tls()).await;
    let address = scene.address().await;
    let mut slow = Vec::new();
    for _ in 0..300 {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        // The begin of a record of TLS, and then nothing.
        stream.write_all(&[0x16, 0x03, 0x01]).await.unwrap();
        slow.push(stream);
    }
    status(&scene.client("reader")).await.unwrap();
    let counted = |reason| {
        queue
            .metrics()
            .value(REFUSED, &[("reason", reason)])
            .unwrap_or_default()
    };
    eventually("all of them are broken off", async || {
        counted("TooManyHandshakes") + counted("HandshakeTimeout") >= 300.0
    })
    .await;
    let open = || queue.metrics().value("failover_queue_connections", &[]);
    eventually("no place is taken", async || open() <= Some(1.0)).await;
    queue.stop().await;
}

#[tokio::test]
async fn silence_is_broken_off() {
    let scene = Scene::new();
    let queue = scene.queue("q", AccessFlags::default()).await;
    let address = scene.address().await;
    let mut silent = TcpStream::connect(&address).await.unwrap();
    silent.write_all(b"PRI * HTTP/2.0\r\n").await.unwrap();
    let mut rest = Vec::new();
    let reading = silent.read_to_end(&mut rest);
    let _ = tokio::time::timeout(Duration::from_secs(60), reading).await.unwrap();
    assert_eq!(queue.metrics().value(REFUSED, &[("reason", "Silent")]), Some(1.0));
    queue.stop().await;
}

#[tokio::test]
async fn a_connection_too_many_is_told_and_ends() {
    let scene = Scene::new();
    let flags = AccessFlags {
        queue_max_connections: 2,
        ..AccessFlags::default()
    };
    let queue = scene.queue("q", flags).await;
    let address = scene.address().await;
    let (first, second) = (local(&scene), local(&scene));
    let _publishing = publish(&first, Vec::new()).await.unwrap();
    status(&second).await.unwrap();
    let refused = status(&local(&scene)).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    assert!(
        refused
            .message()
            .contains("2 connections, as many as --queue-max-connections allows"),
        "{}",
        refused.message()
    );
    status(&first).await.unwrap();
    // Many more are simply closed.
    let mut many = Vec::new();
    for _ in 0..100 {
        many.push(TcpStream::connect(&address).await.unwrap());
    }
    eventually("most of them are closed", async || {
        queue.metrics().value(REFUSED, &[("reason", "TooManyConnections")]) >= Some(101.0)
    })
    .await;
    drop((second, many));
    eventually("there is room again", async || status(&local(&scene)).await.is_ok()).await;
    queue.stop().await;
}

#[tokio::test]
async fn a_call_too_many_on_a_connection_is_told() {
    let scene = Scene::new();
    let queue = scene.queue("q", AccessFlags::default()).await;
    let address = scene.address().await;
    let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{address}")).unwrap();
    let channel = endpoint.connect().await.unwrap();
    let mut open = Vec::new();
    for _ in 0..256 {
        let watch = HealthClient::new(channel.clone())
            .watch(HealthCheckRequest::default())
            .await
            .unwrap();
        open.push(watch.into_inner());
    }
    let ask = async || {
        let mut service = QueueInspectionClient::new(channel.clone());
        service.get_status(v1::GetStatusRequest {}).await
    };
    let refused = ask().await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    assert!(
        refused.message().starts_with("256 calls of this connection go on"),
        "{}",
        refused.message()
    );
    status(&local(&scene)).await.unwrap();
    open.pop();
    eventually("a call is free", async || ask().await.is_ok()).await;
    queue.stop().await;
}

#[tokio::test]
async fn headers_and_messages_have_bounds() {
    let scene = Scene::new();
    let queue = scene.queue("q", AccessFlags::default()).await;
    scene.address().await;
    let client = local(&scene);
    let mut service = client.inspection().await.unwrap();
    let mut request = Request::new(v1::GetStatusRequest {});
    let long = "x".repeat(17 * 1024);
    request.metadata_mut().insert("x-long", long.parse().unwrap());
    let refused = service.get_status(request).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    assert!(
        refused.message().contains("and 16384 are taken"),
        "{}",
        refused.message()
    );

    let mut publishing = publish(&client, Vec::new()).await.unwrap();
    let entry = v1::PublishedEntry {
        reason: "x".repeat(17 * 1024 * 1024),
        ..v1::PublishedEntry::default()
    };
    publishing.upsert(vec![entry]);
    let ended = publishing.ended().await.unwrap();
    assert_eq!(ended.code(), Code::ResourceExhausted, "{ended:?}");
    let is_told = |message: &str| message.contains("message is too large, nothing of it was taken");
    assert!(is_told(ended.message()), "{}", ended.message());
    let request = v1::ListEntriesRequest {
        page_token: "x".repeat(17 * 1024 * 1024),
        ..v1::ListEntriesRequest::default()
    };
    let refused = service.list_entries(request).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    assert!(is_told(refused.message()), "{}", refused.message());
    for (reason, expected) in [("HeadersTooLarge", 1.0), ("MessageTooLarge", 2.0)] {
        let counted = queue
            .metrics()
            .value("failover_queue_calls_refused_total", &[("reason", reason)]);
        assert_eq!(counted, Some(expected), "{reason}");
    }
    queue.stop().await;
}

// A crowd of honest callers at once: all of them get in.
#[tokio::test]
async fn a_crowd_gets_in() {
    let scene = Scene::new();
    let queue = scene.queue("q", scene.tls()).await;
    scene.address().await;
    let clients: Vec<QueueClient> = (0..100).map(|_| scene.client("reader")).collect();
    let mut asked: FuturesUnordered<_> = clients.iter().map(status).collect();
    while let Some(answer) = asked.next().await {
        answer.unwrap();
    }
    queue.stop().await;
}
