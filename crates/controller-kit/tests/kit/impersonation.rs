//! A member's token that acts for another user: every request says for whom.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use controller_kit::members::{HttpMembers, Impersonation};
use controller_kit::{ConnectMember, MemberTarget, Tasks};
use futures::StreamExt;
use http::{HeaderMap, HeaderValue, StatusCode};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchParams};
use parking_lot::Mutex;
use tokio::net::TcpListener;

pub type Heard = Arc<Mutex<Vec<HeaderMap>>>;

async fn hear(State(heard): State<Heard>, request: Request) -> StatusCode {
    heard.lock().push(request.headers().clone());
    StatusCode::FORBIDDEN
}

/// A member that refuses everything and notes what it was asked with; listens on loopback.
pub async fn member(tasks: &Tasks) -> (String, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let heard = Heard::default();
    let router = Router::new().fallback(hear).with_state(heard.clone());
    tasks.spawn("member", async move { axum::serve(listener, router).await.unwrap() });
    (address, heard)
}

/// One request of each kind.
async fn ask_everything(target: &MemberTarget) {
    let client = HttpMembers::new().connect(target).unwrap();
    let api = Api::<ConfigMap>::namespaced(client.clone(), "shop");
    let (post, patch) = (PostParams::default(), PatchParams::default());
    let _ = api.list(&ListParams::default()).await;
    let _ = api.create(&post, &ConfigMap::default()).await;
    let _ = api.patch("c", &patch, &Patch::Merge(ConfigMap::default())).await;
    let _ = api.delete("c", &DeleteParams::default()).await;
    let _ = client.apiserver_version().await;
    if let Ok(watch) = api.watch(&WatchParams::default(), "0").await {
        let _ = watch.boxed().next().await;
    }
}

#[tokio::test]
async fn every_request_says_for_whom_it_is() {
    let tasks = Tasks::new();
    let (address, heard) = member(&tasks).await;
    let mut target = MemberTarget::new("member1", address);
    target.token = Some("t".to_owned());
    ask_everything(&target).await;
    let plain = std::mem::take(&mut *heard.lock());
    assert_eq!(plain.len(), 6);
    let impersonating = |headers: &HeaderMap| headers.keys().any(|name| name.as_str().starts_with("impersonate"));
    assert!(!plain.iter().any(impersonating), "{plain:?}");

    target.impersonation = Some(Impersonation {
        user: "Jana Müller".to_owned(),
        groups: vec!["shop".to_owned(), "on call".to_owned()],
    });
    ask_everything(&target).await;
    let heard = std::mem::take(&mut *heard.lock());
    assert_eq!(heard.len(), 6);
    for headers in heard {
        let all = |name| headers.get_all(name).iter().map(HeaderValue::as_bytes);
        assert!(all("authorization").eq([&b"Bearer t"[..]]));
        assert!(all("impersonate-user").eq(["Jana Müller".as_bytes()]), "{headers:?}");
        assert!(all("impersonate-group").eq([&b"shop"[..], b"on call"]), "{headers:?}");
    }
    tasks.abort();
}
