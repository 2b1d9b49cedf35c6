//! A person keeps an application where it fails.

use std::time::Duration;

use controller_kit::Mode;
use eviction_queue_api::QueueClient;
use eviction_queue_api::v1::{DropRequest, EntryKey, HoldReason, UndropRequest};
use rstest::rstest;
use serde_json::{Value, json};

use super::{Stage, tolerates};
use test_bench::paused;

fn client(stage: &Stage) -> QueueClient {
    QueueClient::by_lease(stage.scene.plane.observer(), "karmada-system", "operator")
        .through(stage.scene.network.clone())
}

async fn key(stage: &Stage) -> EntryKey {
    stage.scene.entries().await[0].published.clone().unwrap().key.unwrap()
}

async fn drop_entry(stage: &Stage) -> EntryKey {
    let key = key(stage).await;
    let request = DropRequest {
        key: Some(key.clone()),
        reason: "a test runs".into(),
        dry_run: false,
    };
    client(stage).admin().await.unwrap().drop(request).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    key
}

async fn stay(stage: &Stage) -> Value {
    let binding = stage.scene.get("default/web").await;
    let annotations = binding.metadata.annotations.unwrap_or_default();
    annotations
        .get("failover.karmada.io/stay")
        .map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
}

async fn failing(mode: Mode) -> Stage {
    let stage = Stage::in_mode(mode, &["m1", "m2"], 1.0).await;
    stage.scene.binding("web", &["m1"], tolerates(30));
    stage.report("default/web", &[("m1", "Unhealthy")]).await;
    stage.scene.until(25).await;
    stage
}

#[rstest]
fn a_drop_is_written_and_taken_back(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let stage = failing(mode).await;
        let key = drop_entry(&stage).await;
        assert_eq!(
            stay(&stage).await,
            json!([{"cluster": "m1", "verdict": key.cause, "droppedBy": "local", "reason": "a test runs"}])
        );
        stage.scene.until(100).await;
        assert!(stage.scene.task("default/web", "m1").await.is_none());
        let hold = stage.scene.entries().await[0].hold.clone().unwrap();
        assert_eq!((hold.reason(), hold.dropped), (HoldReason::Stay, true));
        let request = UndropRequest {
            key: Some(key),
            reason: String::new(),
            dry_run: false,
        };
        client(&stage).admin().await.unwrap().undrop(request).await.unwrap();
        stage.scene.until(110).await;
        assert!(stage.scene.task("default/web", "m1").await.is_some());
        assert_eq!(stay(&stage).await, Value::Null);
    });
}

/// The item speaks of one failure: when the application recovered it goes, and the next failure counts.
#[rstest]
fn a_drop_is_over_when_the_application_recovered(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let stage = failing(mode).await;
        drop_entry(&stage).await;
        stage.scene.until(200).await;
        assert_ne!(stay(&stage).await, Value::Null, "it fails on");
        stage.report("default/web", &[("m1", "Healthy")]).await;
        stage.scene.until(210).await;
        assert_eq!(stay(&stage).await, Value::Null);
        let over = stage.scene.events("EvictionDropOver").await;
        assert_eq!(over.len(), 1);
        assert!(
            over[0].contains("is over: what it was dropped for is over (application@"),
            "{over:?}"
        );
        stage.report("default/web", &[("m1", "Unhealthy")]).await;
        stage.scene.until(245).await;
        assert!(stage.scene.task("default/web", "m1").await.is_some());
    });
}
