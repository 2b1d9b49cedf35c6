//! A member whose packets vanish: connections stand, and nothing ever comes back.

use std::net::TcpListener;
use std::sync::Arc;

use controller_kit::Ended;
use kube_sandbox::{Sandbox, SandboxOptions};
use serde_json::json;

use crate::scene::{control_plane, join, ready, secret_of, start};

// C68; karmada#439, karmada#2571. Nobody accepts what the kernel has taken: no answer, no reset, no end.
#[tokio::test]
async fn a_member_that_swallows_everything_is_not_ready_and_holds_nobody_up() {
    let (sandbox, clock) = control_plane();
    let holes: Vec<TcpListener> = (0..8).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    for (n, hole) in holes.iter().enumerate() {
        let name = format!("hole-{n}");
        sandbox.create(secret_of(&name, json!({"token": "token"}))).unwrap();
        join(&sandbox, &name, &format!("http://{}", hole.local_addr().unwrap()));
    }
    let now = clock.clone();
    let member = Sandbox::new(SandboxOptions::new(Arc::new(move || now.now())));
    let served = member.serve_http("127.0.0.1:0".parse().unwrap()).await.unwrap();
    sandbox.create(secret_of("well", json!({"token": "token"}))).unwrap();
    join(&sandbox, "well", &served.url());

    let process = start(&sandbox, clock).await;
    assert_eq!(ready(&sandbox, "well", "True").await.0, "ClusterReady");
    for n in 0..holes.len() {
        let name = format!("hole-{n}");
        assert_eq!(ready(&sandbox, &name, "False").await.0, "ClusterNotReachable", "{name}");
    }
    assert_eq!(process.stop().await, Ended::Stopped);
}
