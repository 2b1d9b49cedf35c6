//! Queues and their callers, over sockets and in real time.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use controller_kit::{Clock, KitFlags, Process, Running};
use eviction_queue::access::AccessFlags;
use eviction_queue::{Flags, controllers};
use eviction_queue_api::{ConnectionFlags, QueueClient};
use kube_sandbox::{Sandbox, SandboxOptions};
use test_bench::{Authority, Issued, Of};

pub struct Scene {
    pub plane: Sandbox,
    pub folder: tempfile::TempDir,
    pub authority: Authority,
}

impl Scene {
    pub fn new() -> Self {
        let clock = Clock::system();
        let plane = Sandbox::new(SandboxOptions::new(Arc::new(move || clock.now())));
        for crd in api_types::crds() {
            plane.apply_crd(serde_json::to_value(crd).unwrap()).unwrap();
        }
        plane
            .put(serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}}))
            .unwrap();
        Self {
            plane,
            folder: tempfile::tempdir().unwrap(),
            authority: Authority::new("authority"),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// TLS with a role for each of four names; `taint-manager` is producer and consumer.
    pub fn tls(&self) -> AccessFlags {
        let (certificate, key) = self
            .authority
            .issue("queue", Of::Server)
            .write(self.folder.path(), "server");
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        AccessFlags {
            queue_tls_cert_file: Some(certificate),
            queue_tls_key_file: Some(key),
            queue_client_ca_file: Some(self.write("client-ca.crt", &self.authority.pem())),
            queue_producers: names(&["producer", "taint-manager"]),
            queue_consumers: names(&["consumer", "spiffe://fleet/evictor", "taint-manager"]),
            queue_readers: names(&["reader"]),
            queue_admins: names(&["admin"]),
            ..AccessFlags::default()
        }
    }

    pub async fn queue(&self, identity: &str, access: AccessFlags) -> Running {
        let flags = Flags {
            access,
            ..Flags::default()
        };
        Process::builder("eviction-queue", self.plane.client_named(identity))
            .clock(Clock::system())
            .identity(identity)
            .flags(KitFlags::default())
            .controllers(controllers(flags))
            .start()
            .await
            .unwrap()
    }

    /// A client that trusts the authority and shows a certificate of this name.
    pub fn client(&self, name: &str) -> QueueClient {
        self.showing(&self.authority.issue(name, Of::Client), name)
    }

    /// A client that trusts the authority and shows this certificate.
    pub fn showing(&self, issued: &Issued, name: &str) -> QueueClient {
        let (certificate, key) = issued.write(self.folder.path(), name);
        self.with(&ConnectionFlags {
            queue_client_cert_file: Some(certificate),
            queue_client_key_file: Some(key),
            ..self.trusting()
        })
    }

    /// Flags of a client that trusts the authority.
    pub fn trusting(&self) -> ConnectionFlags {
        ConnectionFlags {
            queue_ca_file: Some(self.write("ca.crt", &self.authority.pem())),
            ..ConnectionFlags::default()
        }
    }

    pub fn with(&self, flags: &ConnectionFlags) -> QueueClient {
        QueueClient::by_lease(self.plane.observer(), "karmada-system", "test").secured(flags.security(&Clock::system()))
    }

    /// Where the leader serves, once there is one.
    pub async fn address(&self) -> String {
        let looking = async {
            let client = QueueClient::by_lease(self.plane.observer(), "karmada-system", "test");
            loop {
                if let Ok(address) = client.address().await {
                    return address;
                }
                client.back_off().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), looking).await.unwrap()
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Until it is so.
pub async fn eventually(what: &str, is_so: impl AsyncFn() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting)
        .await
        .unwrap_or_else(|_| panic!("never: {what}"));
}
