//! What a stock Karmada v1.18 wrote in a recorded run, with its times, at the moments at which ours may be put in its place: the
//! three replicas of nginx on two members, of which the first fails and returns; and an application that fails, by each purge mode.
//! Each is gone on with as it stands: nothing moves twice, and what stock began ends as it would have.

use std::time::Duration;

use controller_kit::{KitFlags, Mode, Running};
use rstest::rstest;
use serde_json::{Value, json};
use test_bench::{Bench, paused};

use super::scene::Scene;

const STEADY: &str = include_str!("recorded/steady.json");
const EVICTED: &str = include_str!("recorded/evicted.json");
const REPLACED: &str = include_str!("recorded/replaced.json");
const BACK: &str = include_str!("recorded/back.json");
const GRACEFULLY: &str = include_str!("recorded/application-gracefully.json");
const DIRECTLY: &str = include_str!("recorded/application-directly.json");
const NEVER: &str = include_str!("recorded/application-never.json");

const NGINX: &str = "default/nginx-deployment";
const APP: &str = "default/app-deployment";

fn moment(recorded: &str) -> Value {
    serde_json::from_str(recorded).unwrap()
}

/// The control plane as it was recorded, and ours put in stock's place.
struct TakenOver {
    scene: Scene,
    _processes: [Running; 3],
}

async fn taken_over(recorded: &str, at: &str) -> TakenOver {
    let moment = moment(recorded);
    let scene = Scene::on(Bench::starting(at.parse().unwrap()), Mode::Beside, &["member2"]);
    scene.put(moment["cluster"].clone());
    scene.put(moment["binding"].clone());
    let processes = [
        scene.queue("queue-0", 10.0).await,
        graceful(&scene).await,
        scene.manager("manager-0").await,
    ];
    TakenOver {
        scene,
        _processes: processes,
    }
}

async fn graceful(scene: &Scene) -> Running {
    let flags = graceful_eviction_controller::Flags {
        mode: Mode::Beside.into(),
        ..Default::default()
    };
    scene
        .process("graceful-eviction", "graceful-0", KitFlags::default())
        .controllers(graceful_eviction_controller::controllers(flags))
        .start()
        .await
        .unwrap()
}

async fn tasks(scene: &Scene, key: &str) -> Value {
    json!(scene.get(key).await.spec.graceful_eviction_tasks)
}

async fn result(scene: &Scene, key: &str) -> Value {
    json!(scene.get(key).await.spec.clusters)
}

/// Stock's scheduler and its status controllers come to what was recorded later.
async fn becomes(scene: &Scene, key: &str, clusters: Value, status: Value) {
    scene.patch(key, json!({"spec": {"clusters": clusters}})).await;
    let generation = scene.get(key).await.metadata.generation;
    let mut status = status;
    status["schedulerObservedGeneration"] = json!(generation);
    scene.patch_status(key, status).await;
}

#[rstest]
#[case::before_anything_happened(STEADY, "2026-11-27T22:05:40Z", json!([{"name": "member1", "replicas": 1}, {"name": "member2", "replicas": 2}]))]
#[case::the_move_is_over(REPLACED, "2026-11-27T22:06:50Z", json!([{"name": "member2", "replicas": 3}]))]
#[case::the_member_is_back(BACK, "2026-11-27T22:07:30Z", json!([{"name": "member2", "replicas": 3}]))]
fn what_is_at_rest_stays_at_rest(#[case] recorded: &'static str, #[case] at: &'static str, #[case] expected: Value) {
    paused(async move {
        let over = taken_over(recorded, at).await;
        tokio::time::sleep(Duration::from_secs(1_800)).await;
        assert_eq!(result(&over.scene, NGINX).await, expected);
        assert_eq!(tasks(&over.scene, NGINX).await, json!([]));
        assert_eq!(over.scene.entries().await.len(), 0, "nobody has to leave");
    });
}

#[test]
fn a_move_that_stock_began_is_not_begun_again_and_ends_when_the_new_copy_works() {
    paused(async {
        let over = taken_over(EVICTED, "2026-11-27T22:06:20Z").await;
        let scene = &over.scene;
        tokio::time::sleep(Duration::from_secs(120)).await;
        let task = tasks(scene, NGINX).await;
        assert_eq!(task.as_array().map(Vec::len), Some(1), "{task}");
        assert_eq!(task[0]["producer"], "TaintManager");
        assert!(task[0]["creationTimestamp"].is_string(), "its time was missing: {task}");
        assert_eq!(scene.entries().await.len(), 0, "it leaves already");
        assert_eq!(scene.spec_writes(), [], "nothing is evicted a second time");

        let later = moment(REPLACED);
        let (clusters, status) = (&later["binding"]["spec"]["clusters"], &later["binding"]["status"]);
        becomes(scene, NGINX, clusters.clone(), status.clone()).await;
        tokio::time::sleep(Duration::from_secs(120)).await;
        assert_eq!(tasks(scene, NGINX).await, json!([]), "the new copy works");
        assert_eq!(result(scene, NGINX).await, *clusters);
    });
}

/// The application runs on member2, and member1's status has been dropped when its copy went.
fn works_on_member2() -> Value {
    json!({"aggregatedStatus": [{"clusterName": "member2", "applied": true, "health": "Healthy", "status": {
        "availableReplicas": 2, "generation": 1, "observedGeneration": 1, "readyReplicas": 2, "replicas": 2,
        "resourceTemplateGeneration": 2, "updatedReplicas": 2,
    }}]})
}

#[rstest]
#[case::gracefully(GRACEFULLY, Some("Gracefully"))]
#[case::directly(DIRECTLY, Some("Directly"))]
#[case::never(NEVER, None)]
fn a_failed_application_that_stock_moves_ends_its_move(
    #[case] recorded: &'static str,
    #[case] ends_as: Option<&'static str>,
) {
    paused(async move {
        let over = taken_over(recorded, "2026-11-27T22:10:00Z").await;
        let scene = &over.scene;
        let before = tasks(scene, APP).await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        let (now, words) = (
            tasks(scene, APP).await,
            ["fromCluster", "producer", "purgeMode", "reason", "preservedLabelState"],
        );
        for word in words {
            assert_eq!(now[0][word], before[0][word], "it is gone on with as it is");
        }
        becomes(
            scene,
            APP,
            json!([{"name": "member2", "replicas": 2}]),
            works_on_member2(),
        )
        .await;
        tokio::time::sleep(Duration::from_secs(1_800)).await;
        let left = tasks(scene, APP).await;
        match ends_as {
            Some(mode) => assert_eq!(left, json!([]), "{mode}: the new copy works"),
            None => assert_eq!(left[0]["purgeMode"], "Never", "it stays until a person takes it away"),
        }
        assert_eq!(result(scene, APP).await, json!([{"name": "member2", "replicas": 2}]));
    });
}
