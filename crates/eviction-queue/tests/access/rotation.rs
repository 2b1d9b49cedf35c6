//! Certificates and authorities that change while streams are open.

use std::time::Duration;

use controller_kit::tls::LOOK_EVERY;
use eviction_queue_api::ConnectionFlags;
use test_bench::{Authority, Of};

use crate::calls::{count, entries, publish, status, watch};
use crate::scene::{Scene, eventually};

/// Certificates are looked at once a second when somebody connects.
async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(1_100)).await;
}

// The whole way from one authority to another, in the order that the documentation gives: both are trusted, then the
// certificates change, then the old one goes. The streams of the old time live on, and nothing is lost.
#[tokio::test]
async fn an_authority_is_replaced_while_streams_are_open() {
    let scene = Scene::new();
    let queue = scene.queue("q", scene.tls()).await;
    scene.address().await;
    let old = scene.client("taint-manager");
    let publishing = publish(&old, entries(2)).await.unwrap();
    let mut watching = watch(&scene.client("reader")).await.unwrap();

    let next = Authority::new("next");
    let both = format!("{}{}", scene.authority.pem(), next.pem());
    scene.write("client-ca.crt", &both);
    scene.write("ca.crt", &both);
    a_moment().await;
    let flags = ConnectionFlags {
        queue_ca_file: Some(scene.path("ca.crt")),
        ..ConnectionFlags::default()
    };
    let with_next = |name: &str| {
        let (certificate, key) = next
            .issue(name, Of::Client)
            .write(scene.folder(), &format!("next-{name}"));
        scene.with(&ConnectionFlags {
            queue_client_cert_file: Some(certificate),
            queue_client_key_file: Some(key),
            ..flags.clone()
        })
    };
    status(&with_next("reader")).await.unwrap();
    status(&scene.client("reader")).await.unwrap();

    // `client` has written its own idea of the authorities.
    scene.write("ca.crt", &next.pem());
    next.issue("queue", Of::Server).write(scene.folder(), "server");
    scene.write("client-ca.crt", &next.pem());
    a_moment().await;
    let reader = with_next("reader");
    assert_eq!(count(&reader).await, 2, "new connections use the new ones");
    let refused = status(&scene.client("reader")).await.unwrap_err();
    assert!(
        refused.message().contains("an authority that is not trusted"),
        "{}",
        refused.message()
    );

    publishing.upsert(entries(5));
    eventually("the open stream publishes", async || count(&reader).await == 5).await;
    let mut seen = 0;
    while seen < 5 {
        let message = watching.message().await.unwrap().unwrap().message.unwrap();
        if matches!(
            message,
            eviction_queue_api::v1::watch_entries_response::Message::Changed(_)
        ) {
            seen += 1;
        }
    }
    queue.stop().await;
}

// A client whose files change uses the new ones when it connects the next time.
#[tokio::test]
async fn a_client_rotates_as_well() {
    let scene = Scene::new();
    let queue = scene.queue("q", scene.tls()).await;
    scene.address().await;
    let client = scene.client("stranger");
    let refused = status(&client).await.unwrap_err();
    scene
        .authority
        .issue("reader", Of::Client)
        .write(scene.folder(), "stranger");
    a_moment().await;
    client.learn(&refused);
    status(&client).await.unwrap();
    queue.stop().await;
}

#[tokio::test]
async fn a_broken_file_is_refused_and_what_was_read_before_stays() {
    let scene = Scene::new();
    let queue = scene.queue("q", scene.tls()).await;
    scene.address().await;
    scene.write("server.key", "broken");
    a_moment().await;
    status(&scene.client("reader")).await.unwrap();
    let labels = [("use", "eviction queue server")];
    let failures = || queue.metrics().value("failover_tls_reload_failures_total", &labels);
    assert_eq!(failures(), Some(1.0));
    let notes = queue.readiness().notes();
    assert!(
        notes.iter().any(|note| note.contains("--queue-tls-key-file=")),
        "{notes:#?}"
    );
    let until = queue
        .metrics()
        .value("failover_tls_certificate_not_after_timestamp_seconds", &labels);
    assert!(until.unwrap() > 3.0e10, "the year 3000");
    // Also without anybody who connects.
    std::fs::remove_file(scene.path("client-ca.crt")).unwrap();
    let looked = async {
        while failures() != Some(2.0) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(LOOK_EVERY * 3, looked).await.unwrap();
    status(&scene.client("reader")).await.unwrap();
    queue.stop().await;
}
