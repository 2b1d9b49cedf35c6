//! The queue reached through the API server of the cluster that runs its pod.

use std::net::SocketAddr;
use std::sync::Arc;

use clap::Parser;
use controller_kit::Clock;
use eviction_queue_api::v1;
use failoverctl::Cli;
use failoverctl::cli::Target;
use failoverctl::control_plane::ControlPlane;
use failoverctl::failure::{ExitStatus, Failure};
use failoverctl::host::Host;
use failoverctl::port_forward;
use failoverctl::run::{Answer, Surroundings, answer};
use futures::{SinkExt, StreamExt};
use insta::assert_snapshot;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use serde_json::{Value, json};
use test_bench::{Authority, Of};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tonic::transport::Identity;

use crate::console::Recorded;
use crate::objects::{after, binding, calm, cluster, entry, fleet, lease, leases_without, now};
use crate::server::{FixedQueue, api_server, control_plane};

const POD: &str = "/api/v1/namespaces/failover/pods/queue-0";
const PORT: u16 = 9443;

/// What the API server of the pod's cluster answers beside the pod: path and object.
type Answers = Vec<(String, Value)>;

/// A host cluster with the queue's pod, whose port leads to `queue`.
async fn host(queue: SocketAddr, tasks: &mut JoinSet<()>) -> Host {
    host_with(queue, None, tasks).await
}

/// The same, with the Secret of the queue's certificate.
async fn host_with(queue: SocketAddr, secret: Option<Secret>, tasks: &mut JoinSet<()>) -> Host {
    Host::new(served(queue, secret, Vec::new(), tasks).await, "failover")
}

/// The API server of the pod's cluster.
async fn served(
    queue: SocketAddr,
    secret: Option<Secret>,
    mut answers: Answers,
    tasks: &mut JoinSet<()>,
) -> kube::Client {
    answers.push((
        POD.to_owned(),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "queue-0", "namespace": "failover"}}),
    ));
    if let Some(secret) = secret {
        let path = "/api/v1/namespaces/failover/secrets/eviction-queue-server-tls";
        answers.push((path.to_owned(), json!(secret)));
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            connections.spawn(serve(stream, queue, answers.clone()));
        }
    });
    let config = kube::Config::new(format!("http://{address}").parse().unwrap());
    kube::Client::try_from(config).unwrap()
}

/// One connection: an answer, or forwarded to the pod's port.
async fn serve(mut stream: TcpStream, queue: SocketAddr, answers: Answers) {
    let mut head = [0; 512];
    let length = stream.peek(&mut head).await.unwrap();
    let line = String::from_utf8_lossy(&head[..length])
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned();
    if line.contains(&format!("{POD}/portforward")) {
        forward(stream, queue).await;
        return;
    }
    let asked = line.split([' ', '?']).nth(1).unwrap_or_default();
    let (code, body) = match answers.iter().find(|(path, _)| path == asked) {
        Some((_, answer)) => ("200 OK", answer.clone()),
        None => {
            let status = json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "no such pod"});
            ("404 Not Found", status)
        }
    };
    let body = body.to_string();
    // The request is read, or closing the connection would break it.
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).await.unwrap() == 0 {
            return;
        }
        read.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&read).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length = length.map_or(0, |length| length.trim().parse().unwrap());
    stream.read_exact(&mut vec![0; length]).await.unwrap();
    let answer = format!(
        "HTTP/1.1 {code}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await.unwrap();
}

/// As the kubelet does it: each message begins with its channel, and the first of a channel names the port.
async fn forward(stream: TcpStream, queue: SocketAddr) {
    #[allow(clippy::result_large_err, reason = "the library's signature")]
    let accepted = |_: &Request, mut response: Response| {
        let protocol = "v4.channel.k8s.io".parse().unwrap();
        response.headers_mut().insert("sec-websocket-protocol", protocol);
        Ok(response)
    };
    let mut socket = tokio_tungstenite::accept_hdr_async(stream, accepted).await.unwrap();
    let [low, high] = PORT.to_le_bytes();
    for channel in [0, 1] {
        socket.send(Message::binary(vec![channel, low, high])).await.unwrap();
    }
    let Ok(mut there) = TcpStream::connect(queue).await else {
        return;
    };
    let mut buffer = vec![0; 16 * 1024];
    loop {
        tokio::select! {
            message = socket.next() => match message {
                Some(Ok(Message::Binary(bytes))) if bytes.first() == Some(&0) => there.write_all(&bytes[1..]).await.unwrap(),
                Some(Ok(message)) if !message.is_close() => {}
                _ => return,
            },
            read = there.read(&mut buffer) => match read {
                Ok(0) | Err(_) => return,
                Ok(length) => {
                    let told = [&[0], &buffer[..length]].concat();
                    if socket.send(Message::binary(told)).await.is_err() {
                        return;
                    }
                }
            },
        }
    }
}

/// `queue list` on a control plane whose queue is led by `holder`.
async fn list(host: &Host, holder: &str) -> Result<Answer, Failure> {
    list_with(host, holder, &[]).await
}

async fn list_with(host: &Host, holder: &str, flags: &[&str]) -> Result<Answer, Failure> {
    let control_plane = ControlPlane::new(api_server(led_by(holder)), "karmada-system");
    let around = Surroundings {
        host: Some(host.clone()),
        ..Surroundings::plain(Clock::simulated(now()))
    };
    ask(&control_plane, &around, flags).await
}

/// The answers of a control plane whose queue is led by `holder`.
fn led_by(holder: &str) -> Answers {
    let mut leader = lease("eviction-queue", -3, "Failover=true");
    leader.spec.as_mut().unwrap().holder_identity = Some(holder.to_owned());
    // Nobody can reach it from here.
    let annotations = leader.metadata.annotations.as_mut().unwrap();
    annotations.insert("failover.karmada.io/address".to_owned(), format!("192.0.2.1:{PORT}"));
    let leases = [leases_without(&["eviction-queue"]), vec![leader]].concat();
    control_plane(&fleet(cluster("member1", "True")), &leases, &[binding()])
}

/// `queue list`.
async fn ask(control_plane: &ControlPlane, around: &Surroundings, flags: &[&str]) -> Result<Answer, Failure> {
    let args = [&["failoverctl", "queue", "list", "-o", "name"], flags].concat();
    let cli = Cli::try_parse_from(args).unwrap();
    answer(&cli, control_plane, around).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_leaders_pod_is_asked() {
    let mut tasks = JoinSet::new();
    let queue = FixedQueue {
        status: calm(),
        entries: vec![entry("web-deployment", -60, v1::EntryState::Ready)],
        ..FixedQueue::default()
    };
    let address = queue.serve(&mut tasks).await;
    let host = host(address, &mut tasks).await;
    let told = list(&host, "queue-0_7f3c").await.unwrap();
    assert!(told.text.contains("default/web-deployment"), "{}", told.text);

    let failure = list(&host, "queue-1_7f3c").await.unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Unreachable);
    assert_snapshot!("port_forward_no_pod", failure.to_string());
    let failure = list(&host, "laptop").await.unwrap_err();
    assert_snapshot!("port_forward_no_pods_name", failure.to_string());
}

/// A pod that is there and does not listen.
#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_does_not_listen() {
    let mut tasks = JoinSet::new();
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let host = host(nobody, &mut tasks).await;
    let failure = list(&host, "queue-0_7f3c").await.unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Unreachable);
    assert!(
        failure
            .to_string()
            .contains("eviction-queue:9443 (pod failover/queue-0)"),
        "{failure}"
    );
}

fn secret(authority: &str) -> Secret {
    let data = [("ca.crt".to_owned(), ByteString(authority.as_bytes().to_vec()))];
    Secret {
        data: Some(data.into()),
        ..Secret::default()
    }
}

/// A kubeconfig of a user with these credentials.
fn kubeconfig(user: &Value) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "https://192.0.2.2:6443"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    });
    std::fs::write(file.path(), text.to_string()).unwrap();
    file
}

/// By the authority beside the queue's certificate, under the name that it has, and with the user's token.
#[tokio::test(flavor = "multi_thread")]
async fn the_queue_is_known_by_its_authority_and_gets_the_token() {
    let mut tasks = JoinSet::new();
    let ours = Authority::new("ours");
    let issued = ours.issue("eviction-queue", Of::Server);
    let queue = FixedQueue {
        status: calm(),
        entries: vec![entry("web-deployment", -60, v1::EntryState::Ready)],
        ..FixedQueue::default()
    };
    let authorizations = queue.authorizations.clone();
    let identity = Identity::from_pem(&issued.certificate, &issued.key);
    let address = queue.serve_by_tls(identity, &mut tasks).await;
    let user = kubeconfig(&json!({"token": "planted-token"}));
    let flags = ["--kubeconfig", user.path().to_str().unwrap()];

    let host = host_with(address, Some(secret(&ours.pem())), &mut tasks).await;
    let told = list_with(&host, "queue-0_7f3c", &flags).await.unwrap();
    assert!(told.text.contains("default/web-deployment"), "{}", told.text);
    assert_eq!(*authorizations.lock().unwrap(), ["Bearer planted-token"]);

    // Another authority: it is not spoken to, and learns no token.
    let other = Authority::new("somebody else's");
    let host = host_with(address, Some(secret(&other.pem())), &mut tasks).await;
    let failure = list_with(&host, "queue-0_7f3c", &flags).await.unwrap_err();
    assert_eq!(failure.status(), ExitStatus::Unreachable, "{failure}");
    assert_eq!(authorizations.lock().unwrap().len(), 1);
}

/// One cluster is both, the kubeconfig has a certificate and no token, and nothing is said about any host: the pod is found on the
/// control plane's own API server, which gives a token of ServiceAccount failoverctl for the queue.
#[tokio::test(flavor = "multi_thread")]
async fn one_cluster_is_both() {
    let mut tasks = JoinSet::new();
    let ours = Authority::new("ours");
    let issued = ours.issue("eviction-queue", Of::Server);
    let queue = FixedQueue {
        status: calm(),
        entries: vec![entry("web-deployment", -60, v1::EntryState::Ready)],
        ..FixedQueue::default()
    };
    let authorizations = queue.authorizations.clone();
    let address = queue
        .serve_by_tls(Identity::from_pem(&issued.certificate, &issued.key), &mut tasks)
        .await;
    let mut answers = led_by("queue-0_7f3c");
    answers.push((
        "/api/v1/namespaces/karmada-system/serviceaccounts/failoverctl/token".to_owned(),
        json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {}, "spec": {"audiences": []},
            "status": {"token": "made-for-it", "expirationTimestamp": after(3_600)},
        }),
    ));
    let client = served(address, Some(secret(&ours.pem())), answers, &mut tasks).await;
    let control_plane = ControlPlane::new(client, "karmada-system");
    let console = Arc::new(Recorded::default());
    let around = Surroundings {
        console: console.clone(),
        ..Surroundings::plain(Clock::simulated(now()))
    };
    let user = kubeconfig(&json!({}));
    let path = user.path().to_str().unwrap();
    let flags = ["--kubeconfig", path, "--host-namespace", "failover"];
    let told = ask(&control_plane, &around, &flags).await.unwrap();
    assert!(told.text.contains("default/web-deployment"), "{}", told.text);
    assert_eq!(*authorizations.lock().unwrap(), ["Bearer made-for-it"]);
    assert!(
        console
            .notes()
            .contains("asked as ServiceAccount karmada-system/failoverctl"),
        "{}",
        console.notes()
    );

    // Who has a token is asked for no other.
    let user = kubeconfig(&json!({"token": "own"}));
    let path = user.path().to_str().unwrap();
    let flags = ["--kubeconfig", path, "--host-namespace", "failover"];
    ask(&control_plane, &around, &flags).await.unwrap();
    assert_eq!(authorizations.lock().unwrap()[1..], ["Bearer own"]);
}

/// No token without TLS, none beside a certificate, and no file is left when the credentials are read.
#[tokio::test(flavor = "multi_thread")]
async fn where_a_token_goes() {
    let mut tasks = JoinSet::new();
    let nobody = "127.0.0.1:1".parse().unwrap();
    let user = kubeconfig(&json!({"token": "planted-token"}));
    let of = |user: &tempfile::NamedTempFile, flags: &[&str]| {
        let args = [
            &["failoverctl", "--kubeconfig", user.path().to_str().unwrap(), "status"],
            flags,
        ]
        .concat();
        Cli::try_parse_from(args).unwrap().target
    };
    let target = |flags: &[&str]| of(&user, flags);
    let control_plane = ControlPlane::new(api_server(Vec::new()), "karmada-system");
    let console = Recorded::default();
    let credentials = async |host: &Host, target: &Target| {
        port_forward::credentials(&control_plane, host, target, &console)
            .await
            .unwrap()
    };
    let bare = host(nobody, &mut tasks).await;
    let found = credentials(&bare, &target(&[])).await;
    assert_eq!(found.flags, target(&[]).queue, "who has no authority sends nothing");

    let host = host_with(nobody, Some(secret("PEM")), &mut tasks).await;
    let found = credentials(&host, &target(&[])).await;
    let token = found.flags.queue_token_file.clone().unwrap();
    let authority = found.flags.queue_ca_file.clone().unwrap();
    assert_eq!(std::fs::read_to_string(&token).unwrap(), "planted-token");
    assert_eq!(std::fs::read_to_string(&authority).unwrap(), "PEM");
    drop(found);
    assert!(!token.exists() && !authority.exists());

    let own = ["--queue-client-cert-file", "a.crt", "--queue-client-key-file", "a.key"];
    let found = credentials(&host, &target(&own)).await;
    assert!(found.flags.queue_ca_file.is_some());
    assert_eq!(found.flags.queue_token_file, None, "a certificate says who calls");

    let plugin = kubeconfig(&json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": "printf", "interactiveMode": "Never",
        "args": ["%s", json!({
            "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "of-a-plugin"},
        }).to_string()],
    }}));
    let found = credentials(&host, &of(&plugin, &[])).await;
    let token = found.flags.queue_token_file.unwrap();
    assert_eq!(std::fs::read_to_string(&token).unwrap(), "of-a-plugin");

    let nobody = kubeconfig(&json!({}));
    let found = credentials(&host, &of(&nobody, &[])).await;
    assert_eq!(found.flags.queue_token_file, None, "no account failoverctl is there");
    assert_eq!(console.notes(), "");
}
