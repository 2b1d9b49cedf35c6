//! A member behind an HTTP proxy that wants to know who asks.

use std::net::SocketAddr;
use std::sync::Arc;

use controller_kit::members::{HttpMembers, Impersonation};
use controller_kit::{Clock, ConnectMember, MemberTarget, Tasks, api_errors};
use http::{HeaderMap, HeaderValue};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ListParams};
use kube_sandbox::{Sandbox, SandboxOptions};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

/// `me:my word`.
const KNOWN: &str = "proxy-authorization: Basic bWU6bXkgd29yZA==";

/// What a proxy was asked, in lower case.
type Heads = Arc<Mutex<Vec<String>>>;

/// Leads on who is known, to wherever they want; listens on loopback.
async fn proxy(tasks: &Tasks) -> (SocketAddr, Heads) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, heads) = (listener.local_addr().unwrap(), Heads::default());
    let (of_connections, asked) = (tasks.clone(), heads.clone());
    tasks.spawn("proxy", async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let asked = asked.clone();
            of_connections.spawn("proxy connection", async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap();
                let wanted = head.strip_prefix("CONNECT ").unwrap().split(' ').next().unwrap();
                asked.lock().push(head.to_lowercase());
                if !head.to_lowercase().contains(&KNOWN.to_lowercase()) {
                    let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
                    let _ = stream.write_all(refusal.as_bytes()).await;
                    return;
                }
                let mut onwards = TcpStream::connect(wanted).await.unwrap();
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
                let _ = copy_bidirectional(&mut stream, &mut onwards).await;
            });
        }
    });
    (address, heads)
}

async fn namespaces(target: &MemberTarget) -> Result<usize, String> {
    let client = HttpMembers::new().connect(target).map_err(|error| error.to_string())?;
    let listed = Api::<Namespace>::all(client).list(&ListParams::default()).await;
    listed
        .map(|list| list.items.len())
        .map_err(|error| api_errors::one_line(&error))
}

#[tokio::test]
async fn a_proxy_is_told_who_asks_and_nobody_else_is() {
    let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
    let sandbox = Sandbox::new(SandboxOptions::new(Arc::new(move || clock.now())));
    let served = sandbox.serve_http("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let tasks = Tasks::new();
    let (proxy, _) = proxy(&tasks).await;
    let mut target = MemberTarget::new("member1", served.url());
    target.proxy_url = Some(format!("http://me:my%20word@{proxy}"));
    assert!(namespaces(&target).await.unwrap() > 0);

    target.proxy_url = Some(format!("http://me:hidden@{proxy}"));
    let refused = namespaces(&target).await.unwrap_err();
    assert!(refused.contains("proxy authorization required"), "{refused}");
    assert!(!refused.contains("hidden"), "{refused}");
    tasks.abort();
}

#[tokio::test]
async fn headers_for_the_proxy_go_to_it_alone_and_the_rest_to_the_member() {
    let tasks = Tasks::new();
    let (member, heard) = crate::impersonation::member(&tasks).await;
    let (proxy, heads) = proxy(&tasks).await;
    let mut target = MemberTarget::new("member1", member);
    target.token = Some("t".to_owned());
    target.impersonation = Some(Impersonation {
        user: "deployer".to_owned(),
        groups: Vec::new(),
    });
    let mut headers = HeaderMap::new();
    headers.append("x-for", HeaderValue::from_static("a"));
    headers.append("x-for", HeaderValue::from_static("b"));
    let known = HeaderValue::from_static("Basic bWU6bXkgd29yZA==");
    headers.insert("proxy-authorization", known);
    target.proxy_headers = headers;
    target.proxy_url = Some(format!("http://{proxy}"));
    let refused = namespaces(&target).await.unwrap_err();
    assert!(refused.contains("HTTP 403"), "{refused}");

    let asked = std::mem::take(&mut *heads.lock());
    assert!(
        asked.len() == 1 && asked[0].contains("x-for: a\r\nx-for: b\r\n"),
        "{asked:?}"
    );
    let heard = std::mem::take(&mut *heard.lock());
    let names = ["authorization", "impersonate-user", "x-for", "proxy-authorization"];
    let has = names.map(|name| heard[0].contains_key(name));
    assert_eq!((heard.len(), has), (1, [true, true, false, false]));

    // Who is named in the URL counts before who is named in the headers.
    target.proxy_url = Some(format!("http://me:hidden@{proxy}"));
    let refused = namespaces(&target).await.unwrap_err();
    assert!(refused.contains("proxy authorization required"), "{refused}");
    tasks.abort();
}
