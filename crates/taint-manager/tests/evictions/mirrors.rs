//! What a workload needs stays on the old cluster for as long as its old copy: mirror tasks on attached bindings, with
//! graceful eviction at work beside the evictor.

use std::time::Duration;

use api_types::names::depended_by_label;
use controller_kit::{KitFlags, Mode, Running};
use kube_sandbox::{Effect, Match, Verb, WriteRecord};
use rstest::rstest;
use serde_json::{Value, json};

use super::scene::{CLIENT, NOT_READY, Scene};
use test_bench::paused;

const CONFIG: &str = "default/c-configmap";
const GRACEFUL: &str = "graceful-eviction";

/// The ConfigMap that these Deployments need, as the distributor of dependencies keeps it: on the clusters of each owner.
async fn attach(scene: &Scene, owners: &[&str]) {
    let mut labels = json!({});
    let mut required_by = Vec::new();
    for owner in owners {
        labels[depended_by_label(&format!("default/{owner}").parse().unwrap())] = json!("id");
        let clusters = scene.get(&format!("default/{owner}")).await.spec.clusters;
        required_by.push(json!({"namespace": "default", "name": owner, "clusters": clusters}));
    }
    scene
        .plane
        .put(json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"namespace": "default", "name": "c-configmap", "labels": labels},
            "spec": {
                "resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "c"},
                "requiredBy": required_by,
            },
        }))
        .unwrap();
}

/// The distributor follows the owners.
async fn follow(scene: &Scene, owners: &[&str]) {
    let mut required_by = Vec::new();
    for owner in owners {
        let clusters = scene.get(&format!("default/{owner}")).await.spec.clusters;
        required_by.push(json!({"namespace": "default", "name": owner, "clusters": clusters}));
    }
    scene.patch(CONFIG, json!({"spec": {"requiredBy": required_by}})).await;
}

async fn graceful(scene: &Scene, identity: &str) -> Running {
    let flags = graceful_eviction_controller::Flags {
        mode: scene.company.mode().into(),
        ..Default::default()
    };
    scene
        .process(GRACEFUL, identity, KitFlags::default())
        .controllers(graceful_eviction_controller::controllers(flags))
        .start()
        .await
        .unwrap()
}

/// Deployments that all need one ConfigMap, on m1.
async fn owners(scene: &Scene, names: &[&str]) {
    for name in names {
        scene.binding(name, &["m1"], json!({"propagateDeps": true}));
    }
    attach(scene, names).await;
}

/// The new copy is placed on m2 and healthy there.
async fn replaced(scene: &Scene, owner: &str) {
    let key = format!("default/{owner}");
    scene.placed(&key, &["m2"]).await;
    let healthy =
        json!({"clusterName": "m2", "applied": true, "health": "Healthy", "status": {"availableReplicas": 2}});
    scene.patch_status(&key, json!({"aggregatedStatus": [healthy]})).await;
}

async fn mirrored(scene: &Scene) -> bool {
    scene.task(CONFIG, "m1").await.is_some()
}

fn writes_of(scene: &Scene, name: &str) -> Vec<WriteRecord> {
    let writes = scene.spec_writes().into_iter();
    writes.filter(|write| write.name.as_deref() == Some(name)).collect()
}

/// The mirror is there before the owner's task, and goes when that one has gone: one write more an eviction.
#[rstest]
fn what_is_needed_stays_until_the_old_copy_has_gone(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        owners(&scene, &["web"]).await;
        let _queue = scene.queue("queue-0", 1.0).await;
        let manager = scene.manager("manager-0").await;
        let _graceful = graceful(&scene, "graceful-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(22).await;
        let writes = scene.spec_writes();
        let order: Vec<&str> = writes.iter().filter_map(|write| write.name.as_deref()).collect();
        assert_eq!(
            order,
            ["c-configmap", "web"],
            "the mirror comes first, and each is one write"
        );
        assert_eq!(manager.metrics().value("evictor_mirrors_total", &[]), Some(1.0));
        let mirror = scene.task(CONFIG, "m1").await.unwrap();
        assert_eq!((mirror.producer.as_str(), mirror.replicas), ("DependencyMirror", None));
        assert_eq!(mirror.effective_purge_mode().to_string(), "Gracefully");

        follow(&scene, &["web"]).await;
        scene.until(600).await;
        assert!(mirrored(&scene).await, "nothing replaces the old copy yet");
        let said = scene.get(CONFIG).await.condition("GracefulEviction").cloned().unwrap();
        assert!(
            said.message.contains("default/web needs the object and leaves m1"),
            "{}",
            said.message
        );
        replaced(&scene, "web").await;
        follow(&scene, &["web"]).await;
        scene.until(620).await;
        assert!(scene.task("default/web", "m1").await.is_none());
        assert!(!mirrored(&scene).await);
        let told = scene.events("EvictWorkloadFromClusterSucceed").await;
        assert!(told.iter().all(|event| !event.contains("c-configmap")), "{told:?}");
    });
}

/// Several workloads need it, and leave one after the other: one mirror, until the last of them has gone.
#[rstest]
fn one_mirror_serves_all_owners(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        owners(&scene, &["a", "b", "c"]).await;
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        let _graceful = graceful(&scene, "graceful-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(30).await;
        assert_eq!(scene.get(CONFIG).await.spec.graceful_eviction_tasks.len(), 1);
        assert_eq!(
            writes_of(&scene, "c-configmap").len(),
            1,
            "a mirror that is fresh serves the next owner too"
        );
        for owner in ["a", "b"] {
            replaced(&scene, owner).await;
        }
        follow(&scene, &["a", "b", "c"]).await;
        scene.until(200).await;
        assert!(scene.task("default/a", "m1").await.is_none());
        assert!(mirrored(&scene).await, "c still leaves");
        replaced(&scene, "c").await;
        follow(&scene, &["a", "b", "c"]).await;
        scene.until(220).await;
        assert!(!mirrored(&scene).await);
    });
}

/// The owner is deleted while it leaves: nobody needs the object there any more.
#[rstest]
fn an_owner_that_is_gone_needs_nothing(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        owners(&scene, &["web"]).await;
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        let _graceful = graceful(&scene, "graceful-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(30).await;
        scene.delete("default/web").await;
        scene.until(79).await;
        assert!(mirrored(&scene).await, "for a minute an owner may be about to leave");
        scene.until(85).await;
        assert!(!mirrored(&scene).await);
    });
}

/// Where the object is placed by a policy of its own it stays by itself.
#[rstest]
fn no_mirror_where_the_object_is_placed_by_itself(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        owners(&scene, &["web"]).await;
        let tolerated =
            json!({"clusters": [{"name": "m1"}], "placement": {"clusterTolerations": [{"operator": "Exists"}]}});
        scene.patch(CONFIG, json!({"spec": tolerated})).await;
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(30).await;
        assert!(scene.task("default/web", "m1").await.is_some());
        assert!(!mirrored(&scene).await);
        assert_eq!(scene.spec_writes().len(), 1);
    });
}

fn the_read() -> Match {
    Match::default()
        .verb(Verb::Get)
        .resource("resourcebindings")
        .name("c-configmap")
        .client(CLIENT)
}

/// Most bindings are attached to nothing: none is kept whole to find the few that are.
#[rstest]
fn no_binding_is_kept_whole(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        owners(&scene, &["web"]).await;
        let _queue = scene.queue("queue-0", 1.0).await;
        let manager = scene.manager("manager-0").await;
        scene.until(20).await;
        for kind in ["resourcebindings", "clusterresourcebindings"] {
            let kind = format!("{kind}.work.karmada.io");
            let kept = |kind: &str| {
                let labels = [("kind", kind), ("member", "")];
                manager.metrics().value("failover_informer_synced", &labels)
            };
            assert_eq!(kept(&format!("{kind} JudgedPart")), Some(1.0));
            assert_eq!(kept(&kind), None);
        }
    });
}

/// What is not known to be there is not relied on: the owner stays until what it needs can be read.
#[rstest]
fn an_owner_whose_needs_cannot_be_read_stays(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        owners(&scene, &["web"]).await;
        let broken = Effect::Error {
            code: 403,
            reason: "Forbidden".into(),
            message: "not for you".into(),
        };
        scene.plane.faults().inject_times(the_read(), 0, 2, broken);
        let _queue = scene.queue("queue-0", 1.0).await;
        let manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(22).await;
        assert_eq!(scene.spec_writes().len(), 0);
        let entries = scene.entries().await;
        let why = "cannot read default/c-configmap, which it needs: ";
        assert!(entries[0].last_outcome.contains(why), "{entries:?}");
        scene.until(60).await;
        let failed = [("outcome", "Failed"), ("reason", "ReadFailed")];
        assert_eq!(manager.metrics().value("evictor_leases_total", &failed), Some(2.0));
        assert!(scene.task("default/web", "m1").await.is_some() && mirrored(&scene).await);
    });
}

/// The informers still know an attached binding that is gone: the owner leaves without a mirror on it.
#[rstest]
fn what_is_gone_is_not_waited_for(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        owners(&scene, &["web"]).await;
        let gone = Effect::Error {
            code: 404,
            reason: "NotFound".into(),
            message: "it is gone".into(),
        };
        scene.plane.faults().inject_times(the_read(), 0, 1, gone);
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(22).await;
        assert!(scene.task("default/web", "m1").await.is_some());
        assert_eq!(scene.spec_writes().len(), 1);
    });
}

fn the_mirror() -> Match {
    Match::default()
        .verb(Verb::Patch)
        .resource("resourcebindings")
        .subresource("")
        .name("c-configmap")
        .client(CLIENT)
}

/// Without its mirror the owner does not leave; the queue tries again later, and others go on.
#[rstest]
fn an_owner_whose_mirror_cannot_be_written_stays(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        owners(&scene, &["web"]).await;
        scene.binding("good", &["m1"], json!({}));
        let denied = Effect::Error {
            code: 403,
            reason: "Forbidden".into(),
            message: "denied by a webhook".into(),
        };
        scene.plane.faults().inject_times(the_mirror(), 0, 3, denied);
        let _queue = scene.queue("queue-0", 1.0).await;
        let manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(22).await;
        assert!(scene.task("default/good", "m1").await.is_some());
        assert!(scene.task("default/web", "m1").await.is_none());
        let entries = scene.entries().await;
        assert!(
            entries[0]
                .last_outcome
                .contains("cannot write the mirror task on default/c-configmap, which it needs"),
            "{entries:?}"
        );
        scene.until(60).await;
        let failed = [("outcome", "Failed"), ("reason", "MirrorFailed")];
        assert_eq!(manager.metrics().value("evictor_leases_total", &failed), Some(3.0));
        assert!(scene.task("default/web", "m1").await.is_some() && mirrored(&scene).await);
    });
}

/// Others write the object's binding at the same time, and an answer is lost: still one mirror, and then the owner.
#[rstest]
fn conflicts_and_lost_answers_make_no_second_mirror(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        owners(&scene, &["web"]).await;
        scene.plane.faults().inject_times(the_mirror(), 0, 2, Effect::Conflict);
        scene
            .plane
            .faults()
            .inject_times(the_mirror(), 0, 1, Effect::AnswerLost);
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(24).await;
        assert_eq!(scene.get(CONFIG).await.spec.graceful_eviction_tasks.len(), 1);
        assert_eq!(writes_of(&scene, "c-configmap").len(), 1);
        assert_eq!(scene.evicted(), 2, "the mirror, and the owner's task");
    });
}

/// The evictor dies between the mirror and the owner's task. Whether its successor comes soon or late, a mirror that is
/// young enough is there when the owner leaves.
#[rstest]
fn a_restart_between_mirror_and_eviction(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    for away in [5, 40, 300] {
        paused(async move {
            let scene = Scene::in_mode(mode, &["m1", "m2"]);
            owners(&scene, &["web"]).await;
            let _queue = scene.queue("queue-0", 1.0).await;
            let manager = scene.manager("manager-0").await;
            let _graceful = graceful(&scene, "graceful-0").await;
            scene.until(20).await;
            // The read of the second round does not come back before the evictor is gone.
            let the_read = Match::default()
                .verb(Verb::Get)
                .resource("resourcebindings")
                .name("web")
                .client(CLIENT);
            let slow = Effect::Latency(Duration::from_secs(3600));
            scene.plane.faults().inject_times(the_read, 1, 1, slow);
            scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
            scene.until(22).await;
            assert!(mirrored(&scene).await && scene.task("default/web", "m1").await.is_none());
            manager.crash();
            scene.until(22 + away).await;
            assert_eq!(
                mirrored(&scene).await,
                away < 60,
                "of one that nobody comes back for nothing remains"
            );
            let _manager = scene.manager("manager-1").await;
            scene.until(22 + away + 120).await;
            assert!(scene.task("default/web", "m1").await.is_some(), "{away}");
            assert!(mirrored(&scene).await, "{away}");
            let (mirrors, owner) = (writes_of(&scene, "c-configmap"), writes_of(&scene, "web"));
            assert_eq!((mirrors.len(), owner.len()), (2, 1), "{away}");
            let age = owner[0].at.duration_since(mirrors[1].at).as_secs();
            assert!((0..60).contains(&age), "{away}: {age}");
        });
    }
}

#[rstest]
fn a_cluster_scoped_owner_is_named_by_its_name_alone(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.cluster_binding("role", &["m1"], json!({}));
        let mut config: Value = json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"namespace": "default", "name": "c-configmap", "labels": {}},
            "spec": {
                "resource": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "c"},
                "requiredBy": [{"name": "role", "clusters": [{"name": "m1"}]}],
            },
        });
        config["metadata"]["labels"][depended_by_label(&"role".parse().unwrap())] = json!("id");
        scene.plane.put(config).unwrap();
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(22).await;
        assert!(scene.task("role", "m1").await.is_some() && mirrored(&scene).await);
    });
}

/// A mirror takes time, and meanwhile the taint goes: the owner is looked at again after it, and stays.
#[rstest]
fn what_changes_while_a_mirror_is_written_is_seen(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        owners(&scene, &["web"]).await;
        let slow = Effect::Latency(Duration::from_secs(5));
        scene.plane.faults().inject_times(the_mirror(), 0, 1, slow);
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        let _graceful = graceful(&scene, "graceful-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(22).await;
        scene.taint("m1", &json!([])).await;
        scene.until(60).await;
        assert!(scene.task("default/web", "m1").await.is_none());
        assert!(mirrored(&scene).await);
        scene.until(120).await;
        assert!(!mirrored(&scene).await, "nobody left after all");
    });
}
