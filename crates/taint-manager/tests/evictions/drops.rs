//! Drop and Undrop: what an operator says to the queue, written on the binding, through restarts of everybody.

use std::time::Duration;

use controller_kit::Mode;
use eviction_queue_api::QueueClient;
use eviction_queue_api::v1::{DropRequest, Entry, EntryKey, EntryState, HoldReason, UndropRequest};
use kube_sandbox::{Effect, Match, Verb};
use rstest::rstest;
use serde_json::{Value, json};
use tonic::Code;

use super::scene::{CLIENT, NOT_READY, Scene};
use test_bench::paused;

/// Slow enough that nothing leaves while a test talks.
const RATE: f64 = 0.02;

fn client(scene: &Scene) -> QueueClient {
    QueueClient::by_lease(scene.plane.observer(), "karmada-system", "operator").through(scene.network.clone())
}

async fn key_of(scene: &Scene, name: &str) -> EntryKey {
    let entries = scene.entries().await;
    let key = |entry: Entry| entry.published.unwrap().key.unwrap();
    entries.into_iter().map(key).find(|key| key.name == name).unwrap()
}

async fn drop_entry(scene: &Scene, key: &EntryKey) -> Entry {
    let mut admin = client(scene).admin().await.unwrap();
    let request = DropRequest {
        key: Some(key.clone()),
        reason: "a test runs".into(),
        dry_run: false,
    };
    admin.drop(request).await.unwrap().into_inner().entry.unwrap()
}

async fn undrop_entry(scene: &Scene, key: &EntryKey) -> Result<Entry, tonic::Status> {
    let mut admin = client(scene).admin().await.unwrap();
    let request = UndropRequest {
        key: Some(key.clone()),
        reason: String::new(),
        dry_run: false,
    };
    Ok(admin.undrop(request).await?.into_inner().entry.unwrap())
}

/// Why the entry of a binding is held, and whether that is by a drop.
async fn hold(scene: &Scene, name: &str) -> Option<(HoldReason, bool)> {
    let entries = scene.entries().await;
    let named = |entry: &&Entry| entry.published.as_ref().unwrap().key.as_ref().unwrap().name == name;
    let entry = entries.iter().find(named)?;
    (entry.state() == EntryState::Held).then(|| {
        let hold = entry.hold.clone().unwrap();
        (hold.reason(), hold.dropped)
    })
}

async fn stay(scene: &Scene, key: &str) -> Value {
    let binding = scene.get(key).await;
    let annotations = binding.metadata.annotations.unwrap_or_default();
    annotations.get("failover.karmada.io/stay").map_or(Value::Null, |text| {
        serde_json::from_str(text).unwrap_or_else(|_| json!(text))
    })
}

fn stay_patch(value: Value) -> Value {
    json!({"metadata": {"annotations": {"failover.karmada.io/stay": value}}})
}

fn annotation_writes() -> Match {
    Match::default()
        .verb(Verb::Patch)
        .resource("resourcebindings")
        .subresource("")
        .client(CLIENT)
}

/// A queue at a standstill would be no test: `other` leaves, in its time, and `web` and `role` stay.
async fn scene(mode: Mode) -> (Scene, controller_kit::Running, controller_kit::Running) {
    let scene = Scene::in_mode(mode, &["m1", "m2", "m3"]);
    scene.binding("web", &["m1"], json!({}));
    scene.cluster_binding("role", &["m1"], json!({}));
    let queue = scene.queue("queue-0", RATE).await;
    let manager = scene.manager("manager-0").await;
    scene.until(20).await;
    scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
    scene.until(25).await;
    (scene, queue, manager)
}

/// Dropped and taken back, for both kinds of binding by the same code.
#[rstest]
fn a_drop_is_written_and_taken_back(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let (scene, _queue, _manager) = scene(mode).await;
        for (name, binding, kind) in [
            ("web", "default/web", "ResourceBinding"),
            ("role", "role", "ClusterResourceBinding"),
        ] {
            let key = key_of(&scene, name).await;
            let entry = drop_entry(&scene, &key).await;
            assert_eq!(entry.hold.unwrap().reason(), HoldReason::Dropped);
            let order = entry.order.unwrap();
            assert_eq!((order.caller.as_str(), order.reason.as_str()), ("local", "a test runs"));
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert_eq!(hold(&scene, name).await, Some((HoldReason::Stay, true)));
            assert_eq!(
                stay(&scene, binding).await,
                json!([{"cluster": "m1", "verdict": key.cause, "droppedBy": "local", "reason": "a test runs"}])
            );
            let told = scene.events("EvictionDropped").await;
            assert!(
                told.iter()
                    .any(|told| told.starts_with(&format!("{kind}/{name}: stays on m1: local dropped"))),
                "{told:?}"
            );
            let condition = scene.get(binding).await.condition("EvictionPending").cloned().unwrap();
            assert_eq!(condition.reason, "Stay");
            assert!(
                condition.message.contains("dropped by local: a test runs"),
                "{}",
                condition.message
            );
        }
        assert!(scene.events("EvictionHeld").await.is_empty(), "EvictionDropped says it");

        let key = key_of(&scene, "web").await;
        let entry = undrop_entry(&scene, &key).await.unwrap();
        assert_eq!(entry.hold.unwrap().reason(), HoldReason::Undropped);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(stay(&scene, "default/web").await, Value::Null);
        assert_eq!(hold(&scene, "web").await, None);
        assert_eq!(scene.events("EvictionUndropped").await.len(), 1);
        scene.until(300).await;
        assert_eq!(scene.evicted(), 1, "and it goes");
        assert!(scene.task("role", "m1").await.is_none(), "what is dropped stays");
    });
}

/// What a person wrote stays as it is, and cannot be undropped.
#[rstest]
fn a_persons_item_is_kept(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let (scene, _queue, _manager) = scene(mode).await;
        let theirs = json!({"cluster": "m1", "ticket": 7});
        scene
            .patch("default/web", stay_patch(json!(json!([theirs]).to_string())))
            .await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let key = key_of(&scene, "web").await;
        let refused = undrop_entry(&scene, &key).await.unwrap_err();
        assert_eq!(refused.code(), Code::FailedPrecondition);
        assert!(
            refused.message().contains("annotation failover.karmada.io/stay"),
            "{refused}"
        );

        drop_entry(&scene, &key).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let items = stay(&scene, "default/web").await;
        assert_eq!((&items[0], items[1]["droppedBy"].as_str()), (&theirs, Some("local")));
        undrop_entry(&scene, &key).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(stay(&scene, "default/web").await, json!([theirs]));
        assert_eq!(hold(&scene, "web").await, Some((HoldReason::Stay, false)));
    });
}

/// Nothing is written over what nobody can read: the queue holds the entry, and a Warning says why; mended, it is written.
#[test]
fn what_cannot_be_read_is_not_written_over() {
    paused(async {
        let (scene, _queue, _manager) = scene(Mode::Standalone).await;
        scene.patch("default/web", stay_patch(json!("m1 please"))).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let key = key_of(&scene, "web").await;
        drop_entry(&scene, &key).await;
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(stay(&scene, "default/web").await, json!("m1 please"));
        assert_eq!(hold(&scene, "web").await, Some((HoldReason::Dropped, false)));
        let told = scene.events("EvictionDropNotWritten").await;
        assert!(told.len() == 1 && told[0].contains("cannot be read"), "{told:?}");
        scene.patch("default/web", stay_patch(Value::Null)).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(hold(&scene, "web").await, Some((HoldReason::Stay, true)));
    });
}

/// The items go when what they were dropped for is over, also when nobody was there to see it end.
#[rstest]
fn a_drop_ends_with_its_cause(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        for restart in [false, true] {
            let (scene, _queue, mut manager) = scene(mode).await;
            drop_entry(&scene, &key_of(&scene, "web").await).await;
            drop_entry(&scene, &key_of(&scene, "role").await).await;
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert_eq!(hold(&scene, "role").await, Some((HoldReason::Stay, true)));
            if restart {
                manager.crash();
            }
            scene.taint("m1", &json!([])).await;
            if restart {
                manager = scene.manager("manager-1").await;
            }
            tokio::time::sleep(Duration::from_secs(40)).await;
            assert_eq!(stay(&scene, "default/web").await, Value::Null, "restart: {restart}");
            assert_eq!(stay(&scene, "role").await, Value::Null);
            let told = scene.events("EvictionDropOver").await;
            assert_eq!(told.len(), 2, "{told:?}");
            assert!(
                told[0].contains("the drop by local that kept the workload on m1 is over"),
                "{told:?}"
            );
            // The taint that comes back is another one: what was decided about the first says nothing about it.
            scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
            tokio::time::sleep(Duration::from_secs(200)).await;
            assert_eq!(scene.evicted(), 1);
            drop(manager);
        }
    });
}

/// The taint manager is gone when the drop comes: the queue holds, and the next taint manager writes.
#[test]
fn a_drop_waits_for_who_writes_it() {
    paused(async {
        let (scene, _queue, manager) = scene(Mode::Standalone).await;
        let key = key_of(&scene, "web").await;
        manager.crash();
        drop_entry(&scene, &key).await;
        scene.until(200).await;
        assert_eq!(
            hold(&scene, "web").await.map(|(reason, _)| reason),
            Some(HoldReason::ProducerGone)
        );
        let _manager = scene.manager("manager-1").await;
        scene.until(260).await;
        assert_eq!(hold(&scene, "web").await, Some((HoldReason::Stay, true)));
        assert_eq!(stay(&scene, "default/web").await[0]["droppedBy"], json!("local"));
        scene.until(400).await;
        assert_eq!(scene.evicted(), 0);
    });
}

/// The queue dies between the drop and the write, which cannot be made yet: who has heard of the drop writes it all the
/// same. Until then a new queue releases nothing, since it is young.
#[test]
fn the_word_of_a_queue_that_died_is_written() {
    paused(async {
        let (scene, queue, _manager) = scene(Mode::Standalone).await;
        let key = key_of(&scene, "web").await;
        let down = Effect::Error {
            code: 503,
            reason: "ServiceUnavailable".into(),
            message: "for a moment".into(),
        };
        scene.plane.faults().inject_times(annotation_writes(), 0, 2, down);
        drop_entry(&scene, &key).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(stay(&scene, "default/web").await, Value::Null, "not written yet");
        queue.crash();
        let _queue = scene.queue("queue-1", RATE).await;
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(stay(&scene, "default/web").await[0]["droppedBy"], json!("local"));
        assert_eq!(hold(&scene, "web").await, Some((HoldReason::Stay, true)));
        scene.until(400).await;
        assert_eq!(scene.evicted(), 0);
    });
}

/// Once written, it outlives a restart of everybody.
#[rstest]
fn what_is_written_outlives_everybody(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let (scene, queue, manager) = scene(mode).await;
        drop_entry(&scene, &key_of(&scene, "web").await).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        queue.crash();
        manager.crash();
        let _queue = scene.queue("queue-1", RATE).await;
        let _manager = scene.manager("manager-1").await;
        scene.until(400).await;
        assert_eq!(hold(&scene, "web").await, Some((HoldReason::Stay, true)));
        assert_eq!(scene.evicted(), 0);
        let key = key_of(&scene, "web").await;
        undrop_entry(&scene, &key).await.unwrap();
        scene.until(500).await;
        assert_eq!(scene.evicted(), 1);
    });
}

/// A conflict with another writer costs one more read and loses nobody's change.
#[test]
fn a_conflict_is_read_again() {
    paused(async {
        let (scene, _queue, _manager) = scene(Mode::Standalone).await;
        let key = key_of(&scene, "web").await;
        scene
            .plane
            .faults()
            .inject_times(annotation_writes(), 0, 2, Effect::Conflict);
        drop_entry(&scene, &key).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(hold(&scene, "web").await, Some((HoldReason::Stay, true)));
    });
}

/// Of two orders for one binding the API server refuses one: the other is written all the same, and before it.
#[test]
fn an_order_that_is_refused_keeps_no_other_waiting() {
    paused(async {
        let (scene, _queue, manager) = scene(Mode::Standalone).await;
        scene.binding("api", &["m1", "m2"], json!({}));
        scene.taint("m2", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(30).await;
        let entries = scene.entries().await;
        let keys = entries.into_iter().map(|entry| entry.published.unwrap().key.unwrap());
        let keys: Vec<EntryKey> = keys.filter(|key| key.name == "api").collect();
        assert_eq!(keys.len(), 2, "{keys:?}");
        // Both are there when the next taint manager begins, which takes them in the order of the clusters.
        manager.crash();
        for key in &keys {
            drop_entry(&scene, key).await;
        }
        let refusal = Effect::Error {
            code: 422,
            reason: "Invalid".into(),
            message: "metadata.annotations: Too long".into(),
        };
        scene.plane.faults().inject_times(annotation_writes(), 0, 1, refusal);
        let _manager = scene.manager("manager-1").await;
        scene.until(200).await;
        let told = scene.events("EvictionDropNotWritten").await;
        assert!(told.len() == 1 && told[0].contains("Too long"), "{told:?}");
        let items = stay(&scene, "default/api").await;
        assert_eq!(
            [&items[0]["cluster"], &items[1]["cluster"]],
            [&json!("m2"), &json!("m1")],
            "{items}"
        );
    });
}
