//! The two servers, and how the three clients ask them.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use e2e_conformance::Call;
use e2e_harness::{ControlPlane, Identity, Tool};
use http::{Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use kube::Client;
use kube_sandbox::{Sandbox, SandboxOptions, Served};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// No answer takes longer, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// What other programs of a cluster do is done by then.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a call is repeated that waits for something.
const PERIOD: Duration = Duration::from_millis(100);

/// One of the two servers.
pub struct Server {
    client: Client,
    /// Where a plain HTTP client connects to; a server with TLS is asked through kube's client, byte for byte the same.
    plain: Option<SocketAddr>,
    kubectl: PathBuf,
    home: TempDir,
    back: Back,
}

enum Back {
    Real { etcd: SocketAddr },
    Sandbox { sandbox: Sandbox, _served: Served },
}

impl Server {
    pub async fn real(control_plane: &ControlPlane) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::copy(control_plane.kubeconfig(Identity::Admin), home.path().join("config")).unwrap();
        Self {
            client: control_plane.client().await.unwrap(),
            plain: None,
            kubectl: control_plane.binaries().path(Tool::Kubectl),
            home,
            back: Back::Real {
                etcd: control_plane
                    .etcd_endpoint()
                    .trim_start_matches("http://")
                    .parse()
                    .unwrap(),
            },
        }
    }

    pub async fn sandbox(kubectl: PathBuf) -> Self {
        #[allow(clippy::disallowed_methods, reason = "it stands beside a real server, in real time")]
        let now = Arc::new(jiff::Timestamp::now);
        let sandbox = Sandbox::new(SandboxOptions::new(now));
        let served = sandbox
            .serve_http(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
            .await
            .unwrap();
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config"), served.kubeconfig()).unwrap();
        let config = kube::Config::new(served.url().parse().unwrap());
        Self {
            client: Client::try_from(config).unwrap(),
            plain: Some(served.address()),
            kubectl,
            home,
            back: Back::Sandbox {
                sandbox,
                _served: served,
            },
        }
    }

    /// The answer to a call; the last one where a code is waited for.
    pub async fn answer(&self, call: &Call, until: Option<u16>, names: &BTreeMap<&str, String>) -> Value {
        let start = Instant::now();
        loop {
            let answer = timeout(LIMIT, self.once(call, names))
                .await
                .unwrap_or_else(|_| panic!("no answer: {call}"));
            if until.is_none_or(|code| answer["code"] == code) || start.elapsed() > PATIENCE {
                return answer;
            }
            sleep(PERIOD).await;
        }
    }

    async fn once(&self, call: &Call, names: &BTreeMap<&str, String>) -> Value {
        match call {
            Call::Http { .. } => self.send(call, names).await.await,
            Call::Meanwhile(watch, calls) => {
                let answer = self.send(watch, names).await;
                for call in calls {
                    self.send(call, names).await.await;
                }
                answer.await
            }
            Call::Kubectl { line, input } => self.run_kubectl(&fill(line, names), &fill(input, names)).await,
            Call::Kube(call) => match call(self.client.clone(), names["ns"].clone()).await {
                Ok(value) => json!({"ok": value}),
                Err(kube::Error::Api(status)) => json!({"error": status}),
                Err(other) => json!({"other": other.to_string()}),
            },
            Call::Compact => {
                self.compact().await;
                Value::Null
            }
        }
    }

    /// Sends a request; the head of the answer is there when this comes back, the rest when the result does.
    async fn send(&self, call: &Call, names: &BTreeMap<&str, String>) -> impl Future<Output = Value> + use<> {
        let Call::Http {
            method,
            path,
            body,
            content_type,
            accept,
        } = call
        else {
            panic!("only a request can be sent");
        };
        let path = fill(path, names);
        let mut request = Request::builder()
            .method(method)
            .uri(&path)
            .header(header::ACCEPT, *accept);
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, *content_type);
        }
        let request = request.body(fill(body, names).into_bytes()).unwrap();
        let mut connections = JoinSet::new();
        let answer = match self.plain {
            None => {
                let answer = self.client.send(request.map(kube::client::Body::from)).await.unwrap();
                answer.map(|body| body.map_err(|e| e.to_string()).boxed_unsync())
            }
            Some(address) => {
                let answer = plain(address, request, &mut connections).await;
                answer.map(|body| body.map_err(|e| e.to_string()).boxed_unsync())
            }
        };
        async move {
            let (head, body) = answer.into_parts();
            let body = timeout(LIMIT, body.collect())
                .await
                .expect("an endless answer")
                .unwrap()
                .to_bytes();
            drop(connections);
            described(&head, &body, path.contains("watch="))
        }
    }

    async fn run_kubectl(&self, line: &str, input: &str) -> Value {
        let mut child = Command::new(&self.kubectl)
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("KUBECONFIG", self.home.path().join("config"))
            .env("EDITOR", "sed -i s/red/blue/")
            .args(line.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A command that reads no input may have ended already.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        let output = child.wait_with_output().await.unwrap();
        let lines = |bytes: &[u8]| -> Vec<String> {
            String::from_utf8_lossy(bytes)
                .lines()
                .map(|line| line.trim_end().to_owned())
                .collect()
        };
        json!({"code": output.status.code(), "out": lines(&output.stdout), "err": lines(&output.stderr)})
    }

    async fn compact(&self) {
        match &self.back {
            Back::Sandbox { sandbox, .. } => sandbox.compact(),
            Back::Real { etcd } => {
                // etcd speaks JSON beside gRPC; any answer tells the present revision.
                let ask = async |path: &str, body: Value| -> Value {
                    let request = Request::post(path).body(body.to_string().into_bytes()).unwrap();
                    let mut connections = JoinSet::new();
                    let answer = plain(*etcd, request, &mut connections).await;
                    assert!(answer.status().is_success(), "{path}: {}", answer.status());
                    serde_json::from_slice(&answer.collect().await.unwrap().to_bytes()).unwrap()
                };
                let now = ask("/v3/kv/range", json!({"key": "YQ=="})).await;
                ask(
                    "/v3/kv/compaction",
                    json!({"revision": now["header"]["revision"], "physical": true}),
                )
                .await;
            }
        }
    }
}

/// One request on a connection of its own.
async fn plain(
    address: SocketAddr,
    request: Request<Vec<u8>>,
    connections: &mut JoinSet<()>,
) -> Response<hyper::body::Incoming> {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    connections.spawn(async move {
        // It ends with the last answer, or is ended by who asked.
        let _ = connection.await;
    });
    let mut request = request.map(|body| Full::new(Bytes::from(body)));
    request
        .headers_mut()
        .insert(header::HOST, address.to_string().parse().unwrap());
    sender.send_request(request).await.unwrap()
}

/// What of an answer is compared.
fn described(head: &http::response::Parts, body: &[u8], lines: bool) -> Value {
    let text = String::from_utf8_lossy(body);
    let body: Value = if lines && head.status.is_success() {
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| Value::from(line)))
            .collect()
    } else {
        serde_json::from_slice(body).unwrap_or_else(|_| text.into_owned().into())
    };
    let mut answer = json!({"code": head.status.as_u16(), "body": body});
    for name in ["content-type", "warning", "retry-after"] {
        let values: Vec<_> = head.headers.get_all(name).iter().map(|v| v.to_str().unwrap()).collect();
        if !values.is_empty() {
            answer[name] = json!(values);
        }
    }
    answer
}

fn fill(text: &str, names: &BTreeMap<&str, String>) -> String {
    let mut text = text.to_owned();
    for (name, value) in names {
        text = text.replace(&format!("%{{{name}}}"), value);
    }
    assert!(!text.contains("%{"), "nothing is known under that name: {text}");
    text
}
