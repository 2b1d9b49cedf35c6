//! A stock controller that was not switched off does the same job: what it shows itself by holds evictions where that was seen,
//! for a while after the last of it, and nothing else.

use std::time::Duration;

use controller_kit::Mode;
use eviction_queue_api::v1::{EntryState, HoldReason};
use kube_sandbox::{EventEffect, Match};
use rstest::rstest;
use serde_json::{Value, json};
use taint_manager::{EvictorFlags, Flags};
use test_bench::paused;

use super::scene::{NOT_READY, Scene};

const TAINT_MANAGER: &str = "taint-manager";

/// How long a sign holds.
const HOLD: u64 = 300;

/// By what stock's taint manager shows itself in namespace a.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// A task on another binding.
    Task,
    /// An Event, as it writes one when it could not write the task.
    Event,
}

impl Sign {
    async fn shows(self, scene: &Scene, name: &str) {
        match self {
            Self::Task => stock_moves(scene, &format!("a/{name}"), TASK).await,
            Self::Event => event(scene, "a", about("a", name), TAINT_MANAGER, ""),
        }
    }
}

const TASK: &str = "TaintManager";

/// Stock writes the task of a move away from m1, as its taint manager does: without a message and a time.
async fn stock_moves(scene: &Scene, key: &str, producer: &str) {
    let task =
        json!({"fromCluster": "m1", "producer": producer, "purgeMode": "Gracefully", "reason": "TaintUntolerated"});
    let spec = json!({"clusters": [{"name": "m2"}], "gracefulEvictionTasks": [task]});
    scene.patch(key, json!({"spec": spec})).await;
}

fn about(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "namespace": namespace, "name": name})
}

fn about_cluster_scope(name: &str) -> Value {
    json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ClusterResourceBinding", "name": name})
}

/// An Event of stock's is written by no process that has a name.
fn event(scene: &Scene, namespace: &str, about: Value, source: &str, instance: &str) {
    let (now, nanos) = (scene.now_text(), scene.clock.now().as_nanosecond());
    scene.put(json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"namespace": namespace, "name": format!("{}.{nanos}", about["name"].as_str().unwrap())},
        "involvedObject": about, "reason": "EvictWorkloadFromClusterFailed", "type": "Warning",
        "message": "Evict from cluster m1 failed.", "source": {"component": source}, "reportingComponent": source,
        "reportingInstance": instance, "firstTimestamp": now, "lastTimestamp": now, "count": 1,
    }));
}

/// A Deployment on m1; with `tolerates` what nobody of ours moves.
fn deployment(scene: &Scene, namespace: &str, name: &str, spec: Value) {
    let mut binding = json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": namespace, "name": name, "uid": "t"},
            "replicas": 2, "clusters": [{"name": "m1", "replicas": 2}], "placement": {"clusterAffinity": {}},
        },
    });
    for (field, value) in spec.as_object().unwrap() {
        binding["spec"][field] = value.clone();
    }
    scene.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
    scene.store(binding);
}

fn tolerates() -> Value {
    json!({"placement": {"clusterAffinity": {}, "clusterTolerations": [{"operator": "Exists"}]}})
}

/// Two that have to leave in namespace a and one in b; in a also two that tolerate everything, and that stock writes.
fn two_namespaces(mode: Mode) -> Scene {
    let scene = Scene::in_mode(mode, &["m1", "m2"]);
    for (namespace, name) in [("a", "one"), ("a", "two"), ("b", "web")] {
        deployment(&scene, namespace, name, json!({}));
    }
    for name in ["first", "second"] {
        deployment(&scene, "a", name, tolerates());
    }
    scene
}

/// The entries that a second owner holds: binding, what is said of it, and until which second.
async fn held(scene: &Scene) -> Vec<(String, String, i64)> {
    let entries = scene.entries().await.into_iter();
    let held = entries.filter_map(|entry| {
        let hold = entry.hold.clone()?;
        let ours = entry.state() == EntryState::Held && hold.reason() == HoldReason::SecondOwner;
        let key = entry.published?.key?;
        let name = format!("{}/{}", key.namespace, key.name);
        let until = hold.until?.seconds - scene.started.as_second();
        ours.then_some((name, hold.message, until))
    });
    let mut held: Vec<_> = held.collect();
    held.sort();
    held
}

async fn names_of_held(scene: &Scene) -> Vec<String> {
    held(scene).await.into_iter().map(|(name, ..)| name).collect()
}

async fn left(scene: &Scene, key: &str) -> Option<i64> {
    let task = scene.task(key, "m1").await?;
    task.message?;
    scene.evicted_at(key, "m1").await
}

#[rstest]
fn a_sign_holds_the_namespace_in_which_it_was_seen(
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
    #[values(Sign::Task, Sign::Event)] sign: Sign,
) {
    paused(async move {
        let scene = two_namespaces(mode);
        let _queue = scene.queue("queue-0", 10.0).await;
        let manager = scene.manager("manager-0").await;
        scene.until(20).await;
        sign.shows(&scene, "first").await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(60).await;
        assert_eq!(
            left(&scene, "b/web").await,
            Some(20),
            "whoever writes in a stops nothing in b"
        );
        let seen = held(&scene).await;
        assert_eq!(names_of_held(&scene).await, ["a/one", "a/two"]);
        let how = match sign {
            Sign::Task => "it wrote the task for cluster m1 on a/first",
            Sign::Event => "an Event EvictWorkloadFromClusterFailed of taint-manager",
        };
        let (_, message, until) = &seen[0];
        assert_eq!(
            *message,
            format!(
                "a second controller does the job of taintManager in namespace a ({how}, at 2026-01-01T00:00:20Z): held until \
                 5m after its last sign; to end it, run karmada-controller-manager with --feature-gates=Failover=false"
            )
        );
        assert!((319..=320).contains(until), "{until}");
        let told = scene.events("EvictionHeld").await;
        assert!(
            told[0].starts_with("ResourceBinding/one: stays on m1 for now (SecondOwner): a second controller"),
            "{told:?}"
        );
        assert_eq!(told.len(), 2, "{told:?}");

        scene.until(200).await;
        sign.shows(&scene, "second").await;
        scene.until(499).await;
        assert_eq!(names_of_held(&scene).await, ["a/one", "a/two"], "by the last sign");
        assert_eq!(scene.rules.evictions().len(), 1);
        let waits = [("outcome", "Wait"), ("reason", "SecondOwner")];
        assert_eq!(
            manager.metrics().value("evictor_leases_total", &waits),
            Some(4.0),
            "each is asked about when the first sign is over, and not again and again"
        );
        assert_eq!(scene.events("EvictionHeld").await.len(), 2, "nothing new");
        scene.until(510).await;
        for key in ["a/one", "a/two"] {
            let at = left(&scene, key).await.unwrap();
            assert!((500..=502).contains(&at), "{key} at {at}");
        }
        assert!(scene.entries().await.is_empty(), "nothing is lost");
    });
}

/// The binding itself says it, and the informer does not know yet.
#[rstest]
fn what_the_binding_says_when_it_is_read_counts(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async move {
        let scene = Scene::in_mode(mode, &["m1", "m2", "m3"]);
        deployment(
            &scene,
            "a",
            "web",
            json!({"clusters": [{"name": "m1", "replicas": 2}, {"name": "m3", "replicas": 2}]}),
        );
        let _queue = scene.queue("queue-0", 10.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        let late = EventEffect::Delay(Duration::from_secs(30));
        let bindings = Match::any().resource("resourcebindings");
        scene.plane.faults().disturb_events(bindings, 0, u64::MAX, late);
        let task =
            json!({"fromCluster": "m3", "producer": TASK, "purgeMode": "Gracefully", "reason": "TaintUntolerated"});
        let spec = json!({"clusters": [{"name": "m1", "replicas": 2}], "gracefulEvictionTasks": [task]});
        scene.patch("a/web", json!({"spec": spec})).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(25).await;
        assert_eq!(names_of_held(&scene).await, ["a/web"]);
        scene.until(19 + HOLD).await;
        assert_eq!(left(&scene, "a/web").await, None);
    });
}

/// Events about objects without a namespace are in `default`; who may write them there holds what has none, and nothing in any
/// namespace. A task is on the binding itself.
#[rstest]
fn bindings_of_cluster_scope_are_a_namespace_of_their_own(
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
    #[values(Sign::Task, Sign::Event)] sign: Sign,
) {
    paused(async move {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.cluster_binding("role", &["m1"], json!({}));
        scene.cluster_binding("first", &["m1"], tolerates());
        deployment(&scene, "default", "web", json!({}));
        let _queue = scene.queue("queue-0", 10.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        match sign {
            Sign::Task => stock_moves(&scene, "first", TASK).await,
            Sign::Event => event(&scene, "default", about_cluster_scope("first"), TAINT_MANAGER, ""),
        }
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(19 + HOLD).await;
        assert_eq!(left(&scene, "default/web").await, Some(20));
        assert_eq!(names_of_held(&scene).await, ["/role"]);
        let (_, message, _) = &held(&scene).await[0];
        assert!(
            message.contains("taintManager on bindings of cluster scope ("),
            "{message}"
        );
        scene.until(25 + HOLD).await;
        assert!(left(&scene, "role").await.is_some_and(|at| at >= 320));
    });
}

/// The other way round: an Event in `default` about what is in it.
#[rstest]
fn an_event_about_what_is_in_default_holds_nothing_of_cluster_scope(
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
) {
    paused(async move {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.cluster_binding("role", &["m1"], json!({}));
        deployment(&scene, "default", "web", json!({}));
        let _queue = scene.queue("queue-0", 10.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        event(&scene, "default", about("default", "web"), TAINT_MANAGER, "");
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(60).await;
        assert_eq!(names_of_held(&scene).await, ["default/web"]);
        assert_eq!(left(&scene, "role").await, Some(20));
    });
}

/// With 0s it is only told, as graceful eviction does.
#[rstest]
fn switched_off_nothing_is_held(
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
    #[values(Sign::Task, Sign::Event)] sign: Sign,
) {
    paused(async move {
        let scene = two_namespaces(mode);
        let _queue = scene.queue("queue-0", 10.0).await;
        let flags = Flags {
            evictor: EvictorFlags {
                second_owner_hold: Duration::ZERO,
                ..EvictorFlags::default()
            },
            ..Flags::default()
        };
        let _manager = scene.manager_with("manager-0", flags, "Failover=true").await;
        scene.until(20).await;
        sign.shows(&scene, "first").await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(25).await;
        assert_eq!(scene.rules.evictions().len(), 3);
    });
}

/// What stock wrote before we began is no sign, however short before: a fleet is taken over without any delay.
#[rstest]
fn what_was_there_before_holds_nothing(
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
    #[values(Sign::Task, Sign::Event)] sign: Sign,
) {
    paused(async move {
        let scene = two_namespaces(mode);
        sign.shows(&scene, "first").await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(1).await;
        let _queue = scene.queue("queue-0", 10.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(5).await;
        // As graceful eviction fills it in.
        if sign == Sign::Task {
            let mut task = json!(scene.task("a/first", "m1").await);
            task["creationTimestamp"] = json!(scene.now_text());
            scene
                .patch("a/first", json!({"spec": {"gracefulEvictionTasks": [task]}}))
                .await;
        }
        scene.until(15).await;
        assert_eq!(
            scene.rules.evictions().len(),
            3,
            "as soon as the queue leads for long enough"
        );
    });
}

/// A restart forgets what was seen: what is due then goes, until stock shows itself anew. What the queue was told to hold until
/// a time it holds until then.
#[rstest]
fn an_evictor_that_starts_again_knows_what_it_sees_from_then_on(
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
    #[values(Sign::Task, Sign::Event)] sign: Sign,
) {
    paused(async move {
        let scene = two_namespaces(mode);
        let _queue = scene.queue("queue-0", 10.0).await;
        let manager = scene.manager("manager-0").await;
        scene.until(20).await;
        sign.shows(&scene, "first").await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(100).await;
        assert_eq!(names_of_held(&scene).await, ["a/one", "a/two"]);
        manager.crash();
        let _manager = scene.manager("manager-1").await;
        scene.until(150).await;
        deployment(&scene, "a", "three", json!({}));
        scene.until(160).await;
        assert!(left(&scene, "a/three").await.is_some(), "nothing was seen since");
        scene.until(19 + HOLD).await;
        assert_eq!(names_of_held(&scene).await, ["a/one", "a/two"]);
        scene.until(25 + HOLD).await;
        assert!(scene.entries().await.is_empty(), "nothing is lost");
        assert_eq!(scene.rules.evictions().len(), 4);
        sign.shows(&scene, "second").await;
        scene.until(30 + HOLD).await;
        deployment(&scene, "a", "four", json!({}));
        scene.until(40 + HOLD).await;
        assert_eq!(names_of_held(&scene).await, ["a/four"]);
    });
}

/// Once stock's controller is off nobody has to wait: both forget.
#[rstest]
fn a_restart_of_the_evictor_and_the_queue_lifts_a_hold(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async move {
        let scene = two_namespaces(mode);
        let queue = scene.queue("queue-0", 10.0).await;
        let manager = scene.manager("manager-0").await;
        scene.until(20).await;
        Sign::Event.shows(&scene, "first").await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(60).await;
        assert_eq!(names_of_held(&scene).await, ["a/one", "a/two"]);
        manager.stop().await;
        queue.stop().await;
        let _queue = scene.queue("queue-1", 10.0).await;
        let _manager = scene.manager("manager-1").await;
        scene.until(100).await;
        assert!(scene.entries().await.is_empty(), "{:?}", scene.entries().await);
        assert_eq!(scene.rules.evictions().len(), 3);
    });
}

/// What another process of ours writes looks as stock's does, and says more.
#[rstest]
fn what_is_ours_is_no_sign(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async move {
        let scene = two_namespaces(mode);
        let _queue = scene.queue("queue-0", 10.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        event(&scene, "a", about("a", "first"), TAINT_MANAGER, "manager-1");
        let task = json!({"fromCluster": "m1", "producer": TASK, "purgeMode": "Gracefully", "reason": "TaintUntolerated",
            "message": "taint k:NoExecute is not tolerated", "creationTimestamp": scene.now_text()});
        let spec = json!({"clusters": [{"name": "m2", "replicas": 2}], "gracefulEvictionTasks": [task]});
        scene.patch("a/second", json!({"spec": spec})).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(25).await;
        for key in ["a/one", "a/two", "b/web"] {
            assert_eq!(left(&scene, key).await, Some(20), "{key}");
        }
    });
}

/// Stock's controllers of other jobs let copies go and taint clusters: that moves nobody a second time.
#[rstest]
#[case::graceful_eviction("resource-binding-graceful-eviction-controller")]
#[case::taint_policies("cluster-taint-policy-controller")]
#[case::applications("resource-binding-application-failover-controller")]
fn second_owners_of_other_jobs_hold_no_taints_evictions(#[case] source: &'static str) {
    paused(async move {
        let scene = two_namespaces(Mode::Beside);
        let _queue = scene.queue("queue-0", 10.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        event(&scene, "a", about("a", "first"), source, "");
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(25).await;
        assert_eq!(scene.rules.evictions().len(), 3);
    });
}
