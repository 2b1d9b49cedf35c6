//! Watches: order, versions, selectors, bookmarks, 410, and what faults do to them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::needless_pass_by_value
)] // Helpers of tests count as tests.

mod common;

use std::time::Duration;

use common::{paused, sandbox, settle};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, Patch, PatchParams, WatchEvent, WatchParams};
use kube_sandbox::{Effect, EventEffect, Match, Reachability, Sandbox, Verb};
use serde_json::{Value, json};
use tokio::time::Instant;

fn put(sandbox: &Sandbox, name: &str, labels: Value) -> u64 {
    sandbox
        .put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", "labels": labels}}))
        .unwrap();
    sandbox.resource_version()
}

fn show(event: &WatchEvent<ConfigMap>) -> String {
    match event {
        WatchEvent::Added(o) => format!("+{}", o.metadata.name.as_deref().unwrap()),
        WatchEvent::Modified(o) => format!("~{}", o.metadata.name.as_deref().unwrap()),
        WatchEvent::Deleted(o) => format!("-{}", o.metadata.name.as_deref().unwrap()),
        WatchEvent::Bookmark(b) => format!("={}", if b.metadata.annotations.is_empty() { "" } else { "end" }),
        WatchEvent::Error(e) => format!("!{}", e.code),
    }
}

/// Everything that a watch says within the given time.
async fn heard(api: &Api<ConfigMap>, params: WatchParams, version: &str, within: Duration) -> Vec<String> {
    let stream = api.watch(&params, version).await.unwrap().boxed();
    let until = tokio::time::sleep(within);
    stream
        .take_until(until)
        .map_ok(|e| show(&e))
        .map(|r| r.unwrap_or_else(|_| "broken".into()))
        .collect()
        .await
}

const SHORT: Duration = Duration::from_millis(5);

#[test]
fn a_watch_tells_every_change_after_its_version() {
    paused(async {
        let sandbox = sandbox();
        let api: Api<ConfigMap> = Api::default_namespaced(sandbox.client());
        let start = put(&sandbox, "a", json!({}));
        put(&sandbox, "b", json!({}));
        put(&sandbox, "a", json!({"x": "y"}));
        api.delete("b", &DeleteParams::default()).await.unwrap();
        let all = heard(&api, WatchParams::default(), &start.to_string(), SHORT).await;
        assert_eq!(all, ["+b", "~a", "-b"]);
        // Without a version the present objects come first, and a bookmark says that these were all.
        assert_eq!(heard(&api, WatchParams::default(), "0", SHORT).await, ["+a", "=end"]);
        // An update that changes nothing is no event.
        put(&sandbox, "a", json!({"x": "y"}));
        assert_eq!(
            heard(
                &api,
                WatchParams::default(),
                &sandbox.resource_version().to_string(),
                SHORT
            )
            .await,
            [""; 0]
        );
    });
}

#[test]
fn objects_enter_and_leave_a_selector() {
    paused(async {
        let sandbox = sandbox();
        let api: Api<ConfigMap> = Api::default_namespaced(sandbox.client());
        let start = put(&sandbox, "a", json!({}));
        put(&sandbox, "a", json!({"in": "yes"}));
        put(&sandbox, "a", json!({"in": "yes", "more": "1"}));
        let left = put(&sandbox, "a", json!({"in": "no"}));
        put(&sandbox, "a", json!({"in": "no", "more": "2"}));
        let mut stream = api
            .watch(&WatchParams::default().labels("in=yes"), &start.to_string())
            .await
            .unwrap()
            .boxed();
        let mut events = Vec::new();
        for _ in 0..3 {
            events.push(stream.next().await.unwrap().unwrap());
        }
        assert_eq!(events.iter().map(show).collect::<Vec<_>>(), ["+a", "~a", "-a"]);
        // The object as it last was in the selection, under the version that took it out.
        let WatchEvent::Deleted(last) = &events[2] else {
            panic!("no deletion")
        };
        assert_eq!(last.metadata.resource_version, Some(left.to_string()));
        assert_eq!(last.metadata.labels.as_ref().unwrap()["in"], "yes");
        assert!(tokio::time::timeout(SHORT, stream.next()).await.is_err());
    });
}

#[test]
fn initial_events_end_with_a_mark() {
    paused(async {
        let sandbox = sandbox();
        let api: Api<ConfigMap> = Api::default_namespaced(sandbox.client());
        put(&sandbox, "a", json!({}));
        put(&sandbox, "b", json!({}));
        let params = WatchParams {
            send_initial_events: true,
            ..WatchParams::default()
        };
        assert_eq!(heard(&api, params, "0", SHORT).await, ["+a", "+b", "=end"]);
    });
}

#[test]
fn bookmarks_carry_a_quiet_watch_forward_and_the_timeout_ends_it() {
    paused(async {
        let sandbox = sandbox();
        let api: Api<ConfigMap> = Api::default_namespaced(sandbox.client());
        let start = sandbox.resource_version();
        sandbox
            .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}))
            .unwrap();
        // Nothing happened to config maps, but the server's version is past the one asked for.
        let began = Instant::now();
        let params = WatchParams {
            bookmarks: true,
            timeout: Some(100),
            ..WatchParams::default()
        };
        assert_eq!(
            heard(&api, params, &start.to_string(), Duration::from_secs(1000)).await,
            ["="]
        );
        assert_eq!(began.elapsed(), Duration::from_secs(100));
        let other: Api<ConfigMap> = Api::default_namespaced(sandbox.client());
        let params = WatchParams {
            bookmarks: true,
            timeout: Some(100),
            ..WatchParams::default()
        };
        let version = start.to_string();
        let watching = heard(&other, params, &version, Duration::from_secs(1000));
        let writing = async {
            settle().await;
            sandbox
                .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "more"}}))
                .unwrap();
            put(&sandbox, "a", json!({}));
        };
        let (seen, ()) = tokio::join!(watching, writing);
        assert_eq!(seen, ["+a", "="]);
    });
}

#[test]
fn a_version_that_the_history_lost_is_gone() {
    paused(async {
        let sandbox = sandbox();
        let api: Api<ConfigMap> = Api::default_namespaced(sandbox.client());
        let start = put(&sandbox, "a", json!({}));
        put(&sandbox, "b", json!({}));
        sandbox.compact();
        assert_eq!(
            heard(&api, WatchParams::default(), &start.to_string(), SHORT).await,
            ["!410"]
        );
        assert_eq!(
            heard(
                &api,
                WatchParams::default(),
                &sandbox.resource_version().to_string(),
                SHORT
            )
            .await,
            [""; 0]
        );
    });
}

#[test]
fn events_can_be_dropped_delayed_and_cut_off() {
    paused(async {
        let sandbox = sandbox();
        let faults = sandbox.faults();
        let api: Api<ConfigMap> = Api::default_namespaced(sandbox.client_named("me"));
        let start = sandbox.resource_version().to_string();
        put(&sandbox, "a", json!({}));
        put(&sandbox, "b", json!({}));
        faults.disturb_events(Match::any().name("a").client("me"), 0, 1, EventEffect::Drop);
        assert_eq!(heard(&api, WatchParams::default(), &start, SHORT).await, ["+b"]);
        faults.disturb_events(Match::any().name("a"), 0, 1, EventEffect::Delay(Duration::from_secs(3)));
        let began = Instant::now();
        let mut stream = api.watch(&WatchParams::default(), &start).await.unwrap().boxed();
        assert_eq!(show(&stream.next().await.unwrap().unwrap()), "+a");
        assert_eq!(began.elapsed(), Duration::from_secs(3));
        stream.next().await.unwrap().unwrap();
        faults.cut_watches(Match::any().resource("configmaps"));
        assert!(stream.next().await.is_none());
        // A new watch is not cut.
        assert_eq!(heard(&api, WatchParams::default(), &start, SHORT).await, ["+a", "+b"]);
    });
}

#[test]
fn a_stopped_server_breaks_its_watches_and_a_hanging_one_is_silent() {
    paused(async {
        let sandbox = sandbox();
        let api: Api<ConfigMap> = Api::default_namespaced(sandbox.client());
        let start = sandbox.resource_version().to_string();
        let mut stream = api.watch(&WatchParams::default(), &start).await.unwrap().boxed();
        sandbox.set_reachability(Reachability::Hanging);
        put(&sandbox, "a", json!({}));
        assert!(
            tokio::time::timeout(Duration::from_secs(60), stream.next())
                .await
                .is_err()
        );
        assert!(
            tokio::time::timeout(Duration::from_secs(60), api.get("a"))
                .await
                .is_err()
        );
        sandbox.set_reachability(Reachability::Up);
        assert_eq!(show(&stream.next().await.unwrap().unwrap()), "+a");
        sandbox.set_reachability(Reachability::Stopped);
        assert!(stream.next().await.unwrap().is_err());
        assert!(matches!(api.get("a").await.unwrap_err(), kube::Error::Service(_)));
        sandbox.set_reachability(Reachability::Failing(503));
        assert!(matches!(api.get("a").await.unwrap_err(), kube::Error::Api(s) if s.code == 503));
        sandbox.set_reachability(Reachability::Garbage);
        assert!(matches!(api.get("a").await.unwrap_err(), kube::Error::SerdeError(_)));
        sandbox.set_reachability(Reachability::Slow(Duration::from_secs(2)));
        let began = Instant::now();
        api.get("a").await.unwrap();
        assert_eq!(began.elapsed(), Duration::from_secs(2));
    });
}

#[test]
fn requests_meet_injected_faults_and_are_counted() {
    paused(async {
        let sandbox = sandbox();
        let faults = sandbox.faults();
        let api: Api<ConfigMap> = Api::default_namespaced(sandbox.client_named("me"));
        put(&sandbox, "a", json!({}));
        let write = |n: u32| {
            let api = api.clone();
            async move {
                api.patch(
                    "a",
                    &PatchParams::default(),
                    &Patch::Merge(json!({"data": {"n": n.to_string()}})),
                )
                .await
            }
        };
        let code = |r: Result<ConfigMap, kube::Error>| match r {
            Ok(_) => 200,
            Err(kube::Error::Api(s)) => s.code,
            Err(_) => 0,
        };
        faults.inject_times(Match::writes(), 1, 1, Effect::Conflict);
        assert_eq!(
            [code(write(1).await), code(write(2).await), code(write(3).await)],
            [200, 409, 200]
        );
        faults.inject_times(Match::writes().resource("configmaps"), 0, 1, Effect::AnswerLost);
        assert_eq!(code(write(4).await), 0);
        assert_eq!(api.get("a").await.unwrap().data.unwrap()["n"], "4");
        let slow = faults.inject(Match::any().verb(Verb::Get), Effect::Latency(Duration::from_secs(1)));
        let began = Instant::now();
        api.get("a").await.unwrap();
        faults.remove(slow);
        api.get("a").await.unwrap();
        assert_eq!(began.elapsed(), Duration::from_secs(1));
        assert_eq!(faults.count(&Match::any().verb(Verb::Get).client("me")), 3);
        assert_eq!(faults.count(&Match::writes().resource("configmaps")), 4);
        assert_eq!(faults.count(&Match::any().client("other")), 0);
        assert_eq!(faults.writes().iter().filter(|w| w.changed).count(), 3);
    });
}

#[test]
fn a_client_freezes_right_after_its_kth_write() {
    paused(async {
        let sandbox = sandbox();
        let faults = sandbox.faults();
        let component: Api<ConfigMap> = Api::default_namespaced(sandbox.client_named("component"));
        faults.freeze_after_write(Match::writes().client("component"), 2);
        let (done, mut progress) = tokio::sync::mpsc::unbounded_channel();
        let mut running = tokio::task::JoinSet::new();
        running.spawn(async move {
            for name in ["a", "b", "c"] {
                let object: ConfigMap = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
                component.create(&Default::default(), &object).await.unwrap();
                done.send(name).unwrap();
            }
        });
        faults.frozen().await;
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(progress.try_recv(), Ok("a"));
        assert!(progress.try_recv().is_err());
        let names = |s: &Sandbox| s.list("v1", "ConfigMap").len();
        assert_eq!(names(&sandbox), 2);
        // Others go on.
        put(&sandbox, "other", json!({}));
        let api: Api<ConfigMap> = Api::default_namespaced(sandbox.client());
        api.get("other").await.unwrap();
        running.shutdown().await;
        faults.thaw();
        settle().await;
        assert_eq!(names(&sandbox), 3);
    });
}

#[test]
fn stale_lists_show_the_past() {
    paused(async {
        let sandbox = sandbox();
        let api: Api<ConfigMap> = Api::default_namespaced(sandbox.client());
        put(&sandbox, "a", json!({}));
        put(&sandbox, "b", json!({}));
        sandbox.faults().stale_lists(Match::any().resource("configmaps"), 1);
        assert_eq!(api.list(&Default::default()).await.unwrap().items.len(), 1);
        sandbox.faults().clear();
        assert_eq!(api.list(&Default::default()).await.unwrap().items.len(), 2);
    });
}
