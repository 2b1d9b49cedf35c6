//! What is held, why, and what releases it.

use std::time::Duration;

use controller_kit::Mode;
use eviction_queue_api::v1::{EntryState, HoldReason};
use rstest::rstest;
use serde_json::{Value, json};

use kube_sandbox::{EventEffect, Match};

use super::scene::{NOT_READY, PolicyNow, Scene};
use taint_manager::{Flags, PreCheck};
use test_bench::paused;
use test_bench::stock::Excepted;

async fn hold(scene: &Scene) -> Option<(HoldReason, String)> {
    let entries = scene.entries().await;
    assert_eq!(entries.len(), 1, "{entries:?}");
    let entry = &entries[0];
    (entry.state() == EntryState::Held).then(|| {
        let hold = entry.hold.clone().unwrap();
        (hold.reason(), hold.message)
    })
}

/// Without another cluster the workload stays, visibly, and goes as soon as one appears.
#[rstest]
fn without_a_place_it_waits_for_one(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1"]);
        scene.binding("web", &["m1"], json!({}));
        scene.cluster("full", &json!({}), &json!([{"key": "full", "effect": "NoSchedule"}]));
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(40).await;
        let (reason, message) = hold(&scene).await.unwrap();
        assert_eq!(reason, HoldReason::NoTarget, "{message}");
        assert!(message.starts_with("no other cluster can take it"), "{message}");
        let condition = scene
            .get("default/web")
            .await
            .condition("EvictionPending")
            .cloned()
            .unwrap();
        assert_eq!(condition.reason, "NoTarget");
        assert!(
            condition.message.starts_with("stays on m1 for now: no other cluster"),
            "{}",
            condition.message
        );
        let held = scene.events("EvictionHeld").await;
        assert!(
            held[0].starts_with("ResourceBinding/web: stays on m1 for now (NoTarget)"),
            "{held:?}"
        );
        assert_eq!(scene.spec_writes(), []);

        scene.cluster("m2", &json!({}), &json!([]));
        scene.until(42).await;
        assert_eq!(scene.evicted(), 1);
        scene.until(60).await;
        assert!(scene.get("default/web").await.condition("EvictionPending").is_none());
    });
}

/// A binding whose spec changes is looked at again too.
#[rstest]
fn another_placement_is_another_chance(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding(
            "web",
            &["m1"],
            json!({"placement": {"clusterAffinity": {"clusterNames": ["m1"]}}}),
        );
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(40).await;
        assert_eq!(hold(&scene).await.unwrap().0, HoldReason::NoTarget);
        let both = json!({"spec": {"placement": {"clusterAffinity": {"clusterNames": ["m1", "m2"]}}}});
        scene.patch("default/web", both).await;
        scene.until(42).await;
        assert_eq!(scene.evicted(), 1);
    });
}

/// The annotation keeps it there, and is seen; without it the eviction goes on.
#[rstest]
fn a_person_s_word_holds(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], json!({}));
        let stay = |value: Value| json!({"metadata": {"annotations": {"failover.karmada.io/stay": value}}});
        scene.patch("default/web", stay(json!(r#"[{"cluster": "m1"}]"#))).await;
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(100).await;
        assert_eq!(hold(&scene).await.unwrap().0, HoldReason::Stay);
        let condition = scene.get("default/web").await.condition("EvictionPending").cloned();
        assert_eq!(condition.unwrap().reason, "Stay");
        let held = scene.events("EvictionHeld").await;
        assert!(
            held[0].starts_with("ResourceBinding/web: stays on m1 for now (Stay)"),
            "{held:?}"
        );
        scene.patch("default/web", stay(Value::Null)).await;
        scene.until(102).await;
        assert_eq!(scene.evicted(), 1);
    });
}

/// Put on at the last moment, it still counts: the evictor reads the binding before it writes, and the producer answers
/// with the hold.
#[rstest]
fn a_late_word_holds_too(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], json!({}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        let late = kube_sandbox::Match::any().resource("resourcebindings");
        let delay = kube_sandbox::EventEffect::Delay(std::time::Duration::from_secs(3));
        scene.plane.faults().disturb_events(late, 0, 1, delay);
        let stay = json!({"metadata": {"annotations": {"failover.karmada.io/stay": r#"[{"cluster": "m1"}]"#}}});
        scene.patch("default/web", stay).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(22).await;
        assert_eq!(hold(&scene).await.unwrap().0, HoldReason::NotNeeded);
        scene.until(24).await;
        assert_eq!(hold(&scene).await.unwrap().0, HoldReason::Stay);
        scene.until(100).await;
        assert_eq!(scene.spec_writes(), []);
    });
}

/// While every policy behind the taint has stopped matching, what rests on it waits for the taint to go.
#[rstest]
fn a_taint_that_is_about_to_go_moves_nobody(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], json!({}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.tainted_by_policy("m1", PolicyNow::NoLongerMatches).await;
        scene.until(80).await;
        let (reason, message) = hold(&scene).await.unwrap();
        assert_eq!(reason, HoldReason::Recovering);
        assert!(message.contains("conditions of not-ready no longer match"), "{message}");
        assert_eq!(scene.spec_writes(), []);

        if !scene.company.expects(Excepted::FieldWithoutSecondHome) {
            return;
        }
        scene.patch_policy(json!({"spec": {"suspended": true}})).await;
        scene.until(82).await;
        assert_eq!(scene.evicted(), 1, "a suspended policy removes no taint: it stands");
    });
}

/// The policy is suspended while nobody wants to leave: its taint stands, and who comes to be affected then leaves.
#[test]
fn a_suspended_policy_holds_nobody_who_is_affected_later() {
    paused(async {
        let scene = Scene::new(&["m1", "m2"]);
        let tolerates = json!({"placement": {"clusterTolerations": [{"operator": "Exists"}]}});
        scene.binding("web", &["m1"], tolerates);
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.tainted_by_policy("m1", PolicyNow::NoLongerMatches).await;
        scene.until(30).await;
        assert!(scene.entries().await.is_empty());
        scene.patch_policy(json!({"spec": {"suspended": true}})).await;
        scene.until(32).await;
        let intolerant = json!({"spec": {"placement": {"clusterTolerations": null}}});
        scene.patch("default/web", intolerant).await;
        scene.until(35).await;
        assert_eq!(scene.evicted_at("default/web", "m1").await, Some(32));
    });
}

/// The news of the written condition is late, and comes after the cause has gone: the condition goes all the same.
#[rstest]
fn a_condition_that_is_known_late_is_cleared_then(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1"]);
        scene.binding("web", &["m1"], json!({}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        let late = EventEffect::Delay(Duration::from_secs(7));
        let bindings = Match::any().resource("resourcebindings");
        scene.plane.faults().disturb_events(bindings, 0, u64::MAX, late);
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(27).await;
        assert!(scene.get("default/web").await.condition("EvictionPending").is_some());
        scene.taint("m1", &json!([])).await;
        scene.until(31).await;
        assert!(scene.entries().await.is_empty());
        scene.until(45).await;
        assert!(scene.get("default/web").await.condition("EvictionPending").is_none());
        assert_eq!(scene.status_writes().len(), 2);
    });
}

/// What a person takes away by mistake is said again.
#[rstest]
fn a_condition_that_somebody_else_removed_is_written_again(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1"]);
        scene.binding("web", &["m1"], json!({}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(30).await;
        let mut binding = scene
            .plane
            .get("work.karmada.io/v1alpha2", "ResourceBinding", Some("default"), "web")
            .unwrap();
        binding["status"] = json!({});
        scene.plane.put(binding).unwrap();
        let at_once = scene.company.expects(Excepted::ConditionAtEveryMoment);
        scene.until(if at_once { 35 } else { 95 }).await;
        assert!(scene.get("default/web").await.condition("EvictionPending").is_some());
    });
}

/// With `--pre-eviction-check=capacity` a cluster without room is no place; it becomes one when it reports room.
#[rstest]
fn a_cluster_without_room_is_no_place_until_it_has_some(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let requirements = json!({"replicaRequirements": {"resourceRequest": {"cpu": "1"}}});
        scene.binding("web", &["m1"], requirements);
        let room = |cpus: &str| json!({"status": {"resourceSummary": {"allocatable": {"cpu": cpus, "pods": "110"}}}});
        scene.patch_cluster_status("m2", &room("1500m")).await;
        let _queue = scene.queue("queue-0", 1.0).await;
        let flags = Flags {
            pre_eviction_check: PreCheck::Capacity,
            ..Flags::default()
        };
        let _manager = scene.manager_with("manager-0", flags, "Failover=true").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(40).await;
        let (reason, message) = hold(&scene).await.unwrap();
        assert_eq!(reason, HoldReason::NoTarget, "{message}");
        assert!(
            message.starts_with("no other cluster has room for it: m2 has room for 1 of 2"),
            "{message}"
        );
        scene.patch_cluster_status("m2", &room("2")).await;
        scene.until(100).await;
        assert_eq!(scene.evicted(), 1, "long before the five minutes are over");
    });
}

/// With `--pre-eviction-check=off` nobody asks whether there is a place.
#[rstest]
fn without_the_check_it_leaves_without_a_place(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1"]);
        scene.cluster("full", &json!({}), &json!([{"key": "full", "effect": "NoSchedule"}]));
        scene.binding("web", &["m1"], json!({}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let flags = Flags {
            pre_eviction_check: PreCheck::Off,
            ..Flags::default()
        };
        let _manager = scene.manager_with("manager-0", flags, "Failover=true").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(22).await;
        assert_eq!(scene.evicted_at("default/web", "m1").await, Some(20));
    });
}
