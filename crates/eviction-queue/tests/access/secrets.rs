//! Tokens and keys are in no line of the log, however much is logged.

use std::io::Write;
use std::sync::Arc;

use eviction_queue::access::AccessFlags;
use eviction_queue_api::ConnectionFlags;
use parking_lot::Mutex;
use tracing_subscriber::fmt::MakeWriter;

use crate::calls::{Call, publish, status};
use crate::scene::{Scene, eventually};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn no_token_and_no_key_is_in_the_log() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);

    let scene = Scene::new();
    let (good, bad) = ("planted-good-token-4711", "planted-bad-token-0815");
    scene.plane.set_access(|access| {
        access.tokens.insert(good.to_owned(), "alice".to_owned());
    });
    let flags = AccessFlags {
        queue_token_auth: true,
        ..scene.tls()
    };
    let queue = scene.queue("q", flags).await;
    scene.address().await;
    for token in [good, bad] {
        let flags = ConnectionFlags {
            queue_token_file: Some(scene.write(token, token)),
            ..scene.trusting()
        };
        let client = scene.with(&flags);
        for call in Call::ALL {
            let made = call.make(&client).await;
            assert_eq!(made.is_ok(), token == good, "{call:?} {made:?}");
            if let Err(status) = made {
                assert!(!status.message().contains(bad));
            }
        }
        assert!(!format!("{client:?}").contains(token));
    }
    let _publishing = publish(&scene.client("producer"), Vec::new()).await.unwrap();
    let key = std::fs::read_to_string(scene.path("server.key")).unwrap();
    // Broken in the middle, so that what is left of it could be quoted.
    scene.write("server.key", &key.replace("-----END", "----END"));
    let failed = || queue.metrics().value("failover_tls_reload_failures_total", &[]);
    eventually("the broken key is seen", async || {
        status(&scene.client("reader")).await.unwrap();
        failed() == Some(1.0)
    })
    .await;
    let metrics = queue.metrics().render();
    queue.stop().await;

    let text = String::from_utf8_lossy(&log.0.lock()).into_owned() + &metrics;
    assert!(text.contains("changed files are refused"), "the log was caught");
    let body: String = key.lines().filter(|line| !line.starts_with("---")).collect();
    for secret in [good, bad, &body[..24], &body[body.len() - 24..]] {
        let line = text.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret}");
    }
}
