//! A member that presents another certificate than the one it is known by, over real TLS.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use controller_kit::Ended;
use controller_kit::telemetry::Recording;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};

use crate::scene::{PERIOD, control_plane, join, ready, secret_of, start};

// Made for these tests, good for a hundred years and for 127.0.0.1.
const MEMBER_CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIBijCCAS+gAwIBAgIUbCsATF37C2WF49tZ3UJM/Le1Wz8wCgYIKoZIzj0EAwIw
EjEQMA4GA1UEAwwHbWVtYmVyMTAgFw0yNjExMjgwMTM3MDFaGA8yMTI2MTEwNDAx
MzcwMVowEjEQMA4GA1UEAwwHbWVtYmVyMTBZMBMGByqGSM49AgEGCCqGSM49AwEH
A0IABEPAY5y/aO3Xoz+B4ISTDd1zgCBYrJ08lcCmZqam4rB57iZZFqsOvyVcUETL
gewKoHUcXpxXVWWIw1oFNJ9S3B2jYTBfMB0GA1UdDgQWBBRtDyUR2VMoxOk1S/YV
FVcH4U+MUDAfBgNVHSMEGDAWgBRtDyUR2VMoxOk1S/YVFVcH4U+MUDAPBgNVHREE
CDAGhwR/AAABMAwGA1UdEwEB/wQCMAAwCgYIKoZIzj0EAwIDSQAwRgIhAJ8ZP/Kv
sjT6yT8ydgNzzi51QMGz6W7aWzBm7HgbD9y1AiEAlcix49MbSUx0wfiT4mQfqmGg
l0afrQnJWEg/mUVJjoE=
-----END CERTIFICATE-----
";
const MEMBER_KEY: &str = "\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg3I44hWFC/RuWaCC3
qrYpU8oCUKT38J47q12jVHl6YfehRANCAARDwGOcv2jt16M/geCEkw3dc4AgWKyd
PJXApmampuKwee4mWRarDr8lXFBEy4HsCqB1HF6cV1VliMNaBTSfUtwd
-----END PRIVATE KEY-----
";
/// Of somebody else.
const OTHER_CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIBdTCCARqgAwIBAgIUVu1LDnU5roBRQDTFFe3mSfxoGv4wCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFb3RoZXIwIBcNMjYxMTI4MDEzNzAxWhgPMjEyNjExMDQwMTM3
MDFaMBAxDjAMBgNVBAMMBW90aGVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
1kFO/FH7sryDbSyZwYJ7jqgLY5hzFVqMEzIKuJ8zrKoTe+7CJXZMihQgpSN38C8N
LFjuORrV0JpdT+oK8juNPKNQME4wHQYDVR0OBBYEFLPw9MAlK/68rYFGJdQsv6JL
DwxrMB8GA1UdIwQYMBaAFLPw9MAlK/68rYFGJdQsv6JLDwxrMAwGA1UdEwEB/wQC
MAAwCgYIKoZIzj0EAwIDSQAwRgIhAPhQtmi+A2Y6f8hwoGKeL005sUjNuMYyzwi9
XGCh0hi0AiEAo3Hfoxy6FZcMbKCoh/txhK7lPsXCAEqv9ERlokk6NS0=
-----END CERTIFICATE-----
";

/// A member that is ready, and knows nothing else. Counts its connections.
fn serve(connections: Arc<AtomicU64>) -> SocketAddr {
    let certificate = CertificateDer::from_pem_slice(MEMBER_CERTIFICATE.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(MEMBER_KEY.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            connections.fetch_add(1, Ordering::Relaxed);
            let connection = rustls::ServerConnection::new(config.clone()).unwrap();
            std::thread::spawn(move || {
                let mut stream = BufReader::new(rustls::StreamOwned::new(connection, stream));
                let mut request = String::new();
                // A handshake that the client breaks off is an error here, and the end of this connection.
                while stream.read_line(&mut request).is_ok_and(|read| read > 0) {
                    if !request.ends_with("\r\n\r\n") {
                        continue;
                    }
                    let (status, body) = if request.starts_with("GET /readyz") {
                        ("200 OK", "ok")
                    } else {
                        ("404 Not Found", "")
                    };
                    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                    if stream.get_mut().write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                    request.clear();
                }
            });
        }
    });
    address
}

fn secret(ca_bundle: &str) -> Value {
    secret_of("m1", json!({"token": "token", "caBundle": ca_bundle}))
}

#[tokio::test]
async fn another_certificate_is_named_and_the_right_one_accepted() {
    let (sandbox, clock) = control_plane();
    sandbox.create(secret(OTHER_CERTIFICATE)).unwrap();
    let connections = Arc::new(AtomicU64::new(0));
    join(&sandbox, "m1", &format!("https://{}", serve(connections.clone())));
    let log = Recording::start("info", &clock).unwrap();
    let process = start(&sandbox, clock).await;

    let (reason, message) = ready(&sandbox, "m1", "False").await;
    assert_eq!(reason, "ClusterNotReachable");
    let words = [
        "invalid peer certificate",
        "UnknownIssuer",
        "caBundle of secret karmada-cluster/m1",
    ];
    for words in words {
        assert!(message.contains(words), "{words:?} is not in {message:?}");
    }
    let state = process
        .metrics()
        .value("cluster_ready_state", &[("member_cluster", "m1")]);
    assert_eq!(state, Some(0.0));
    let looks = 10;
    connections.store(0, Ordering::Relaxed);
    tokio::time::sleep(PERIOD * looks).await;
    let tried = connections.load(Ordering::Relaxed);
    assert!(
        (1..=u64::from(looks) + 1).contains(&tried),
        "{tried} connections for {looks} looks"
    );
    let told = |lines: Vec<String>| {
        let all = |line: &String| line.contains("Ready has settled") && words.iter().all(|words| line.contains(words));
        lines.into_iter().filter(all).count()
    };
    assert_eq!(told(log.lines()), 1, "said once: {log:?}");
    let events = || {
        sandbox
            .list("v1", "Event")
            .into_iter()
            .filter(|event| event["reason"] == "ClusterNotReady")
    };
    assert_eq!(events().count(), 1);
    assert_eq!(events().next().unwrap()["count"], 1);

    sandbox.put(secret(MEMBER_CERTIFICATE)).unwrap();
    assert_eq!(ready(&sandbox, "m1", "True").await.0, "ClusterReady");
    assert_eq!(process.stop().await, Ended::Stopped);
}
