//! The queue reached through the API server of the cluster that runs its pod.

use std::net::SocketAddr;

use clap::Parser;
use controller_kit::Clock;
use eviction_queue_api::v1;
use failoverctl::Cli;
use failoverctl::control_plane::ControlPlane;
use failoverctl::failure::{ExitStatus, Failure};
use failoverctl::host::Host;
use failoverctl::run::{Answer, Surroundings, answer};
use futures::{SinkExt, StreamExt};
use insta::assert_snapshot;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

use crate::objects::{binding, calm, cluster, entry, fleet, lease, leases_without, now};
use crate::server::{FixedQueue, api_server, control_plane};

const POD: &str = "/api/v1/namespaces/failover/pods/queue-0";
const PORT: u16 = 9443;

/// A host cluster with the queue's pod, whose port leads to `queue`.
async fn host(queue: SocketAddr, tasks: &mut JoinSet<()>) -> Host {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            connections.spawn(serve(stream, queue));
        }
    });
    let config = kube::Config::new(format!("http://{address}").parse().unwrap());
    Host::new(kube::Client::try_from(config).unwrap(), "failover")
}

/// One connection: about the pod, or forwarded to its port.
async fn serve(mut stream: TcpStream, queue: SocketAddr) {
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
    let (code, body) = if line.contains(&format!("{POD} ")) {
        (
            "200 OK",
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "queue-0", "namespace": "failover"}}),
        )
    } else {
        let status = json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "no such pod"});
        ("404 Not Found", status)
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
    let mut leader = lease("eviction-queue", -3, "Failover=true");
    leader.spec.as_mut().unwrap().holder_identity = Some(holder.to_owned());
    // Nobody can reach it from here.
    let annotations = leader.metadata.annotations.as_mut().unwrap();
    annotations.insert("failover.karmada.io/address".to_owned(), format!("192.0.2.1:{PORT}"));
    let leases = [leases_without(&["eviction-queue"]), vec![leader]].concat();
    let answers = control_plane(&fleet(cluster("member1", "True")), &leases, &[binding()]);
    let control_plane = ControlPlane::new(api_server(answers), "karmada-system");
    let around = Surroundings {
        host: Some(host.clone()),
        ..Surroundings::plain(Clock::simulated(now()))
    };
    let cli = Cli::try_parse_from(["failoverctl", "queue", "list", "-o", "name"]).unwrap();
    answer(&cli, &control_plane, &around).await
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
