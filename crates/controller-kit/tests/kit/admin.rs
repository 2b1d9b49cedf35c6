//! `/healthz`, `/readyz` and `/metrics` over a real socket.

use controller_kit::Context;
use controller_kit::process::{AdminAddress, Controller, KitFlags, StartError};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_sandbox::Reachability;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::world::{World, idle};

async fn get(address: std::net::SocketAddr, path: &str) -> (u16, String) {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn anywhere() -> KitFlags {
    KitFlags {
        admin_bind_address: AdminAddress::At("127.0.0.1:0".parse().unwrap()),
        leader_elect: false,
        ..KitFlags::default()
    }
}

#[tokio::test]
async fn readiness_names_what_is_missing() {
    let world = World::new();
    world.sandbox.set_reachability(Reachability::Hanging);
    let controller = Controller::new("one", |ctx: Context| async move {
        ctx.informers.of::<ConfigMap>().synced().await?;
        ctx.readiness.check("policy", || Err("not read yet".to_owned()));
        ctx.shutdown.cancelled().await;
        Ok(())
    });
    let running = world
        .process("p")
        .flags(anywhere())
        .controllers([controller])
        .start()
        .await
        .unwrap();
    let address = running.admin_address().unwrap();
    while running.readiness().missing().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(get(address, "/healthz").await, (200, "ok\n".to_owned()));
    assert_eq!(
        get(address, "/readyz").await,
        (503, "informer configmaps: not synced: listing\n".to_owned())
    );
    world.sandbox.set_reachability(Reachability::Up);
    while running.readiness().missing() != ["policy: not read yet"] {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        get(address, "/readyz").await,
        (503, "policy: not read yet\n".to_owned())
    );
    running.readiness().remove("policy");
    assert_eq!(get(address, "/readyz").await, (200, "ok\n".to_owned()));
    let (code, body) = get(address, "/metrics").await;
    assert_eq!(code, 200);
    assert!(
        body.contains("failover_informer_synced{kind=\"configmaps\",member=\"\"} 1"),
        "{body}"
    );

    let taken = KitFlags {
        admin_bind_address: AdminAddress::At(address),
        ..anywhere()
    };
    let error = world
        .process("q")
        .flags(taken)
        .controllers([idle("one")])
        .start()
        .await
        .unwrap_err();
    assert!(matches!(error, StartError::Admin { .. }));
    assert!(error.to_string().ends_with("change --admin-bind-address"), "{error}");
}
