//! A webhook on a sandbox, and an API server's way of calling it: HTTP by hand, so that anything can be sent.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::tls::{ClientFiles, NamedFile, in_words, tls_error};
use controller_kit::{Clock, KitFlags, Process, Running};
use kube::Client;
use kube_sandbox::{Sandbox, SandboxOptions};
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use test_bench::{Authority, Issued, Of};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use webhook::{Bound, Flags, controllers};

/// By which the sandbox knows its requests.
pub const CLIENT: &str = "webhook";
pub const PAUSES: &str = "/validate/failoverpauses.failover.karmada.io";

pub struct Scene {
    pub plane: Sandbox,
    pub clock: Clock,
    pub folder: tempfile::TempDir,
    pub authority: Authority,
}

pub struct Server {
    pub running: Running,
    pub address: SocketAddr,
}

impl Scene {
    pub fn new() -> Self {
        Self::at(Clock::system())
    }

    pub fn at(clock: Clock) -> Self {
        let plane = Self::empty_plane(&clock);
        for crd in api_types::crds() {
            plane.apply_crd(serde_json::to_value(crd).unwrap()).unwrap();
        }
        Self {
            plane,
            clock,
            folder: tempfile::tempdir().unwrap(),
            authority: Authority::new("authority"),
        }
    }

    pub fn empty_plane(clock: &Clock) -> Sandbox {
        let now = clock.clone();
        let plane = Sandbox::new(SandboxOptions::new(Arc::new(move || now.now())));
        plane
            .put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}}))
            .unwrap();
        plane
    }

    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn flags(&self, issued: &Issued) -> Flags {
        let (certificate, key) = issued.write(self.folder.path(), "webhook");
        Flags {
            webhook_bind_address: "127.0.0.1:0".parse().unwrap(),
            tls_cert_file: Some(certificate),
            tls_key_file: Some(key),
            tls_client_ca_file: None,
            bound: Bound::default(),
        }
    }

    /// With a certificate of the scene's authority.
    pub async fn start(&self) -> Server {
        self.start_with(self.flags(&self.authority.issue("webhook", Of::Server)))
            .await
    }

    pub async fn start_with(&self, flags: Flags) -> Server {
        self.start_as(self.plane.client_named(CLIENT), flags).await
    }

    /// The same with a client of its own.
    pub async fn start_as(&self, client: Client, flags: Flags) -> Server {
        let bound = flags.bound.clone();
        let running = self.process(client, flags).await;
        let address = bound.address().await;
        Server { running, address }
    }

    pub async fn process(&self, client: Client, flags: Flags) -> Running {
        Process::builder("webhook", client)
            .clock(self.clock.clone())
            .identity("webhook")
            .flags(KitFlags::default())
            .controllers(controllers(flags))
            .start()
            .await
            .unwrap()
    }
}

impl Server {
    pub async fn ready(&self) {
        eventually("the webhook is ready", async || {
            self.running.readiness().missing().is_empty()
        })
        .await;
    }

    /// What a review is answered.
    pub async fn review(&self, scene: &Scene, path: &str, object: &Value) -> Value {
        let body = review("CREATE", object).to_string();
        let answer = self.post(&scene.authority.pem(), path, &body).await.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        let answer: Value = serde_json::from_str(&answer.body).unwrap();
        answer["response"].clone()
    }

    pub async fn post(&self, authority: &str, path: &str, body: &str) -> Result<Said, String> {
        let head = format!("POST {path} HTTP/1.1\r\ncontent-type: application/json\r\n");
        let mut connection = self.connect(authority, None).await?;
        said(&mut connection, &head, body).await
    }

    /// A connection that trusts this authority, and shows this certificate.
    pub async fn connect(&self, authority: &str, own: Option<&Issued>) -> Result<TlsStream<TcpStream>, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.crt");
        std::fs::write(&file, authority).unwrap();
        let own = own.map(|own| own.write(folder.path(), "own"));
        let files = ClientFiles {
            authorities: NamedFile::new("--ca", file),
            own: own.map(|(certificate, key)| (NamedFile::new("--cert", certificate), NamedFile::new("--key", key))),
            protocols: &["http/1.1"],
        };
        let tls = files.load("test", &Clock::system()).unwrap();
        let io = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let connecting = TlsConnector::from(tls.in_force().config.clone()).connect(name, io);
        connecting.await.map_err(|error| words(&error))
    }
}

/// What a server said.
#[derive(Debug)]
pub struct Said {
    pub status: u16,
    pub body: String,
}

/// Sends a request, of which `head` are the first lines, and reads the whole answer. The connection lives on.
pub async fn said(connection: &mut TlsStream<TcpStream>, head: &str, body: &str) -> Result<Said, String> {
    let request = format!("{head}host: webhook\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    // An answer may come before all is sent, and then nobody reads the rest.
    let sent = connection.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        if let Some(said) = whole(&answer) {
            return Ok(said);
        }
        match connection.read(&mut buffer).await {
            Ok(0) => return Err(format!("it ended: {sent:?}")),
            Ok(count) => answer.extend_from_slice(&buffer[..count]),
            Err(error) => return Err(words(&error)),
        }
    }
}

fn whole(answer: &[u8]) -> Option<Said> {
    let text = std::str::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.parse().unwrap());
    (body.len() >= length).then(|| Said {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        body: body.to_owned(),
    })
}

fn words(error: &std::io::Error) -> String {
    tls_error(error).map_or_else(|| error.to_string(), in_words)
}

pub fn review(operation: &str, object: &Value) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "u", "operation": operation, "name": "n", "object": object, "oldObject": null},
    })
}

pub fn pause(spec: &Value) -> Value {
    let mut whole = json!({"scope": "All", "reason": "maintenance", "until": "2999-01-01T00:00:00Z"});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    json!({
        "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": "n"}, "spec": whole,
    })
}

pub fn warnings(response: &Value) -> Vec<&str> {
    let warnings = response["warnings"].as_array().map(Vec::as_slice).unwrap_or_default();
    warnings.iter().filter_map(Value::as_str).collect()
}

/// Waits for something that happens elsewhere in this process.
pub async fn eventually(what: &str, mut look: impl AsyncFnMut() -> bool) {
    let looking = async {
        while !look().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), looking)
        .await
        .unwrap_or_else(|_| panic!("not within a minute: {what}"));
}
