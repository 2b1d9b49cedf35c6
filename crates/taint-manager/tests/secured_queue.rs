//! The taint manager and a queue that asks who it is, over sockets and in real time.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy does not see that the helpers of a test are test code"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::{Clock, Controller, KitFlags, Process, Running};
use eviction_queue::access::AccessFlags;
use eviction_queue_api::{ConnectionFlags, QueueFlags};
use kube_sandbox::{Sandbox, SandboxOptions};
use test_bench::{Authority, Of};

const STREAMS: [&str; 3] = ["publish", "watch", "lease"];

struct Scene {
    plane: Sandbox,
    folder: tempfile::TempDir,
    authority: Authority,
}

impl Scene {
    fn new() -> Self {
        let clock = Clock::system();
        let plane = Sandbox::new(SandboxOptions::new(Arc::new(move || clock.now())));
        for crd in api_types::crds() {
            plane.apply_crd(serde_json::to_value(crd).unwrap()).unwrap();
        }
        plane
            .put(serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}}))
            .unwrap();
        let scene = Self {
            plane,
            folder: tempfile::tempdir().unwrap(),
            authority: Authority::new("authority"),
        };
        std::fs::write(scene.ca(), scene.authority.pem()).unwrap();
        scene
    }

    fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.crt")
    }

    async fn start(&self, component: &'static str, controllers: Vec<Controller>) -> Running {
        Process::builder(component, self.plane.client_named(component))
            .clock(Clock::system())
            .identity(component)
            .flags(KitFlags {
                feature_gates: vec!["Failover=true".into()],
                ..KitFlags::default()
            })
            .controllers(controllers)
            .start()
            .await
            .unwrap()
    }

    async fn queue(&self) -> Running {
        let (certificate, key) = self
            .authority
            .issue("queue", Of::Server)
            .write(self.folder.path(), "queue");
        let access = AccessFlags {
            queue_tls_cert_file: Some(certificate),
            queue_tls_key_file: Some(key),
            queue_client_ca_file: Some(self.ca()),
            queue_producers: vec!["taint-manager".into()],
            queue_consumers: vec!["taint-manager".into()],
            ..AccessFlags::default()
        };
        let flags = eviction_queue::Flags {
            access,
            ..eviction_queue::Flags::default()
        };
        self.start("eviction-queue", eviction_queue::controllers(flags)).await
    }

    /// Shows a certificate of this name.
    fn issue(&self, name: &str) -> (PathBuf, PathBuf) {
        self.authority.issue(name, Of::Client).write(self.folder.path(), "own")
    }

    async fn manager(&self, name: &str) -> Running {
        let (certificate, key) = self.issue(name);
        let flags = taint_manager::Flags {
            queue: QueueFlags {
                connection: ConnectionFlags {
                    queue_ca_file: Some(self.ca()),
                    queue_client_cert_file: Some(certificate),
                    queue_client_key_file: Some(key),
                    ..ConnectionFlags::default()
                },
                ..QueueFlags::default()
            },
            ..taint_manager::Flags::default()
        };
        self.start("taint-manager", taint_manager::controllers(flags)).await
    }
}

fn is_up(manager: &Running, stream: &str) -> bool {
    let labels = [("stream", stream)];
    manager.metrics().value("failover_eviction_queue_stream_up", &labels) == Some(1.0)
}

async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), waiting).await;
    assert!(waited.is_ok(), "never: {what}");
}

#[tokio::test]
async fn it_publishes_watches_and_evicts_by_its_certificate() {
    let scene = Scene::new();
    let queue = scene.queue().await;
    let manager = scene.manager("taint-manager").await;
    eventually("all streams are open", || {
        STREAMS.iter().all(|stream| is_up(&manager, stream))
    })
    .await;
    let until = manager.metrics().value(
        "failover_tls_certificate_not_after_timestamp_seconds",
        &[("use", "eviction queue client")],
    );
    assert!(until.is_some());
    manager.stop().await;
    queue.stop().await;
}

// Who is not let in tries again, and gets in when its files say who it is.
#[tokio::test]
async fn a_wrong_certificate_is_told_and_mended_without_a_restart() {
    let scene = Scene::new();
    let queue = scene.queue().await;
    let manager = scene.manager("somebody").await;
    let is_told = || {
        let problems = manager.readiness().missing();
        problems
            .iter()
            .any(|problem| problem.contains("add one of its names to --queue-producers of the queue"))
    };
    eventually("it is told which flag of the queue lets it in", is_told).await;
    assert!(STREAMS.iter().all(|stream| !is_up(&manager, stream)));
    let refused = queue.metrics().value(
        "failover_queue_calls_refused_total",
        &[("reason", "CertificateWithoutRole")],
    );
    assert!(refused >= Some(1.0), "{refused:?}");
    scene.issue("taint-manager");
    eventually("all streams are open", || {
        STREAMS.iter().all(|stream| is_up(&manager, stream))
    })
    .await;
    manager.stop().await;
    queue.stop().await;
}
