//! Conflicts, lost answers, refusals and silence of the API server at the moment of the write.

use controller_kit::Mode;
use std::time::Duration;

use kube_sandbox::{Effect, EventEffect, Match, Verb};
use rstest::rstest;
use serde_json::json;

use super::scene::{CLIENT, NOT_READY, Scene};
use test_bench::paused;

/// The evictor's write of a binding.
fn the_write() -> Match {
    Match::default()
        .verb(Verb::Patch)
        .resource("resourcebindings")
        .subresource("")
        .client(CLIENT)
}

async fn evicting(scene: &Scene, effect: Effect, times: u64) -> (controller_kit::Running, controller_kit::Running) {
    scene.binding("web", &["m1"], json!({}));
    let queue = scene.queue("queue-0", 1.0).await;
    let manager = scene.manager("manager-0").await;
    scene.until(20).await;
    scene.plane.faults().inject_times(the_write(), 0, times, effect);
    scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
    (queue, manager)
}

/// A conflict goes back to the live read at once, and costs no lease.
#[rstest]
fn a_conflict_is_tried_again_inline(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let (_queue, manager) = evicting(&scene, Effect::Conflict, 3).await;
        scene.until(21).await;
        assert_eq!(scene.evicted_at("default/web", "m1").await, Some(20));
        assert_eq!(scene.spec_writes().len(), 1);
        assert_eq!(manager.metrics().value("evictor_conflicts_total", &[]), Some(3.0));
    });
}

/// Conflicts without end give the lease back, and the queue tries again later.
#[rstest]
fn conflicts_without_end_give_the_lease_back(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let (_queue, manager) = evicting(&scene, Effect::Conflict, 7).await;
        scene.until(30).await;
        assert_eq!(scene.spec_writes().len(), 1);
        let failed = [("outcome", "Failed"), ("reason", "Conflict")];
        assert_eq!(manager.metrics().value("evictor_leases_total", &failed), Some(1.0));
    });
}

/// The write was stored and its answer lost: it is read again, counted once, and not done twice.
#[rstest]
fn a_lost_answer_is_found_out(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let (_queue, manager) = evicting(&scene, Effect::AnswerLost, 1).await;
        scene.until(40).await;
        assert_eq!(scene.spec_writes().len(), 1);
        assert!(scene.entries().await.is_empty());
        let evicted = [("outcome", "Evicted"), ("reason", "Evicted")];
        assert_eq!(manager.metrics().value("evictor_leases_total", &evicted), Some(1.0));
        assert_eq!(
            scene.plane.list("failover.karmada.io/v1alpha1", "FailoverRecord").len(),
            1
        );
    });
}

/// What the server refuses is tried again with a growing wait, and others go on.
#[rstest]
fn a_refusal_backs_off_and_holds_nobody_up(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("good", &["m1"], json!({}));
        let denied = Effect::Error {
            code: 403,
            reason: "Forbidden".into(),
            message: "denied by a webhook".into(),
        };
        scene.plane.faults().inject(the_write().name("web"), denied);
        let (_queue, manager) = evicting(&scene, Effect::Latency(Duration::ZERO), 0).await;
        scene.until(80).await;
        assert_eq!(scene.evicted(), 1);
        let refused = [("outcome", "Failed"), ("reason", "Refused")];
        let tries = manager.metrics().value("evictor_leases_total", &refused).unwrap();
        assert!((4.0..=7.0).contains(&tries), "{tries}");
        let entries = scene.entries().await;
        assert!(entries[0].last_outcome.contains("denied by a webhook"), "{entries:?}");
    });
}

/// A server that does not answer the write holds the lease until it ends, and no longer. Whether the write lands yet nobody
/// knows: the lease lapses, and what it took of the rate does not come back.
#[rstest]
fn silence_ends_with_the_lease(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("a", &["m1"], json!({}));
        scene.binding("b", &["m1"], json!({}));
        // One in fifty seconds: a lease of thirty ends before the next one is due.
        let _queue = scene.queue("queue-0", 0.02).await;
        let manager = scene.manager("manager-0").await;
        scene.until(100).await;
        scene.plane.faults().inject_times(the_write(), 0, 1, Effect::Hang);
        // Nobody else writes it, or the write could not land any more.
        let of_status = Match::writes().resource("resourcebindings").subresource("status");
        scene.plane.faults().inject(of_status, Effect::Hang);
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(145).await;
        let at = [
            scene.evicted_at("default/a", "m1").await,
            scene.evicted_at("default/b", "m1").await,
        ];
        assert_eq!(at, [None, None]);
        let leases = |outcome: &str, reason: &str| {
            let labels = [("outcome", outcome), ("reason", reason)];
            manager.metrics().value("evictor_leases_total", &labels)
        };
        assert_eq!(leases("Unknown", "Unknown"), Some(1.0));
        assert_eq!(leases("Failed", "WriteFailed"), None);
        scene.until(152).await;
        assert_eq!(scene.evicted(), 1);
        scene.until(260).await;
        assert_eq!((scene.evicted(), scene.spec_writes().len()), (2, 2));
    });
}

/// A queue that lost its Lease to another one is not obeyed.
#[rstest]
fn an_older_term_of_the_queue_is_fenced_off(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], json!({}));
        let queue = scene.queue("queue-0", 1.0).await;
        let manager = scene.manager("manager-0").await;
        scene.until(20).await;
        // Another term begins in the Lease, and the old leader has not noticed yet.
        let leases: kube::Api<k8s_openapi::api::coordination::v1::Lease> =
            kube::Api::namespaced(scene.plane.observer(), "karmada-system");
        let taken = json!({"spec": {"leaseTransitions": 7, "holderIdentity": "somebody-else"}});
        leases
            .patch("eviction-queue", &Default::default(), &kube::api::Patch::Merge(taken))
            .await
            .unwrap();
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(22).await;
        assert_eq!(scene.spec_writes(), []);
        let fenced = [("outcome", "Failed"), ("reason", "Fenced")];
        assert!(manager.metrics().value("evictor_leases_total", &fenced) >= Some(1.0));
        drop(queue);
    });
}

/// The taint goes while the evictor waits for the Lease of the queue, and nobody has been told yet: what was waited for
/// comes before the live reads, never after.
#[rstest]
fn what_is_waited_for_comes_before_the_live_reads(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], json!({}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        let the_lease = Match::default()
            .verb(Verb::Get)
            .resource("leases")
            .name("eviction-queue")
            .client(CLIENT);
        let slow = Effect::Latency(Duration::from_secs(3));
        scene.plane.faults().inject_times(the_lease, 0, 1, slow);
        scene.until(21).await;
        let late = EventEffect::Delay(Duration::from_secs(30));
        scene
            .plane
            .faults()
            .disturb_events(Match::any().resource("clusters"), 0, u64::MAX, late);
        scene.taint("m1", &json!([])).await;
        scene.until(40).await;
        assert_eq!(scene.spec_writes(), []);
        let not_needed = [("outcome", "NotNeeded"), ("reason", "NoCause")];
        assert_eq!(manager.metrics().value("evictor_leases_total", &not_needed), Some(1.0));
    });
}

/// A pause made while the evictor has no stream is heard on its next one, also for a lease that it has in hand.
#[rstest]
fn what_is_revoked_while_the_stream_is_broken_is_not_written(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], json!({}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let manager = scene.manager("manager-0").await;
        scene.until(20).await;
        let the_read = Match::default()
            .verb(Verb::Get)
            .resource("resourcebindings")
            .client(CLIENT);
        let slow = Effect::Latency(Duration::from_secs(15));
        scene.plane.faults().inject_times(the_read, 0, 1, slow);
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(21).await;
        scene.network.cut("memory:queue-0");
        scene
            .plane
            .put(json!({
                "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": "stop"},
                "spec": {"scope": "Clusters", "clusters": ["m1"], "reason": "maintenance"},
            }))
            .unwrap();
        scene.until(60).await;
        assert_eq!(scene.spec_writes(), []);
        let over = [("outcome", "Failed"), ("reason", "LeaseOver")];
        assert_eq!(manager.metrics().value("evictor_leases_total", &over), Some(1.0));
    });
}

/// Twenty whose write is refused for ever, and ten others: refusals back off, give back what the rate allows, and are not
/// in the others' way. (kubernetes/karpenter PR#2399, C51)
#[rstest]
fn c51_what_is_refused_for_ever_is_no_hot_loop_and_holds_nobody_up(
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        for n in 0..20 {
            scene.binding(&format!("bad-{n:02}"), &["m1"], json!({}));
            let denied = Effect::Error {
                code: 403,
                reason: "Forbidden".into(),
                message: "admission webhook \"guard.example.com\" denied the request: frozen".into(),
            };
            scene
                .plane
                .faults()
                .inject(the_write().name(&format!("bad-{n:02}")), denied);
        }
        for n in 0..10 {
            scene.binding(&format!("good-{n:02}"), &["m1"], json!({}));
        }
        let _queue = scene.queue("queue-0", 1.0).await;
        let manager = scene.manager("manager-0").await;
        scene.until(20).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(35).await;
        assert_eq!(scene.evicted(), 10);
        scene.until(80).await;
        let refused = [("outcome", "Failed"), ("reason", "Refused")];
        let tries = manager.metrics().value("evictor_leases_total", &refused).unwrap();
        // Waits of 1, 2, 4, 8, 16 and 32 s: at most seven tries each within a minute.
        assert!((60.0..=140.0).contains(&tries), "{tries}");
        let entries = scene.entries().await;
        assert_eq!(entries.len(), 20);
        let why = "denied the request: frozen";
        assert!(
            entries.iter().all(|entry| entry.last_outcome.contains(why)),
            "{entries:?}"
        );
        assert_eq!(scene.spec_writes().len(), 10);
    });
}

/// A server that answers that it cannot is asked twice at once, and then when the queue says; why stands in the queue.
#[rstest]
fn a_server_that_is_unwell_is_not_hammered(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let unwell = Effect::Error {
            code: 500,
            reason: "InternalError".into(),
            message: "failed calling webhook \"guard.example.com\"".into(),
        };
        let (_queue, manager) = evicting(&scene, unwell, 5).await;
        scene.until(22).await;
        let failed = [("outcome", "Failed"), ("reason", "WriteFailed")];
        let tries = manager.metrics().value("evictor_leases_total", &failed).unwrap();
        assert!((1.0..=2.0).contains(&tries), "{tries}");
        let entries = scene.entries().await;
        assert!(
            entries[0].last_outcome.contains("failed calling webhook"),
            "{entries:?}"
        );
        scene.until(60).await;
        assert_eq!((scene.evicted(), scene.spec_writes().len()), (1, 1));
    });
}

/// A release from which nothing follows for a while is told by itself.
#[rstest]
fn a_release_that_takes_long_is_told(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let slow = Effect::Latency(Duration::from_secs(5));
        let (_queue, _manager) = evicting(&scene, slow, 1).await;
        scene.until(21).await;
        assert_eq!(scene.events("EvictionReleased").await.len(), 0);
        scene.until(24).await;
        assert_eq!(scene.events("EvictionReleased").await.len(), 1);
        scene.until(40).await;
        assert_eq!(scene.evicted(), 1);
        assert_eq!(scene.events("EvictionReleased").await.len(), 1, "once");
    });
}

/// The reads of a lease in hand take their time; `meanwhile` happens before they answer.
async fn with_a_lease_in_hand(
    scene: &Scene,
    meanwhile: impl AsyncFnOnce(&mut controller_kit::Running),
) -> (controller_kit::Running, controller_kit::Running) {
    scene.binding("web", &["m1"], json!({}));
    let mut queue = scene.queue("queue-0", 1.0).await;
    let manager = scene.manager("manager-0").await;
    scene.until(20).await;
    let the_read = Match::default()
        .verb(Verb::Get)
        .resource("resourcebindings")
        .client(CLIENT);
    let slow = Effect::Latency(Duration::from_secs(10));
    scene.plane.faults().inject_times(the_read, 0, 1, slow);
    scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
    scene.until(22).await;
    assert_eq!(scene.spec_writes(), []);
    meanwhile(&mut queue).await;
    // By elapsed time: the clock may show another one now.
    tokio::time::sleep(Duration::from_secs(158)).await;
    (queue, manager)
}

/// The queue dies while a lease is in hand: it may be used to its end, and is not used twice.
#[rstest]
fn a_queue_that_dies_takes_no_lease_in_hand_along(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let (_queue, manager) = with_a_lease_in_hand(&scene, async |queue| {
            queue.crash();
            *queue = scene.queue("queue-1", 1.0).await;
        })
        .await;
        assert_eq!(scene.evicted_at("default/web", "m1").await, Some(30));
        assert_eq!(scene.spec_writes().len(), 1);
        assert!(scene.entries().await.is_empty());
        let evicted = [("outcome", "Evicted"), ("reason", "Evicted")];
        assert_eq!(manager.metrics().value("evictor_leases_total", &evicted), Some(1.0));
    });
}

/// The cluster recovers between the reads and the write: the queue takes the lease back, and nothing is written.
#[rstest]
fn a_lease_that_is_revoked_between_reads_and_write_is_not_used(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let (_queue, manager) = with_a_lease_in_hand(&scene, async |_| {
            scene
                .plane
                .put(json!({
                    "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": "stop"},
                    "spec": {"scope": "Clusters", "clusters": ["m1"], "reason": "maintenance"},
                }))
                .unwrap();
        })
        .await;
        assert_eq!(scene.spec_writes(), []);
        let over = [("outcome", "Failed"), ("reason", "LeaseOver")];
        assert_eq!(manager.metrics().value("evictor_leases_total", &over), Some(1.0));
    });
}

/// The evictor's read of a binding.
fn the_read() -> Match {
    Match::default()
        .verb(Verb::Get)
        .resource("resourcebindings")
        .client(CLIENT)
}

fn pause_of_m1() -> serde_json::Value {
    json!({
        "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": "stop"},
        "spec": {"scope": "Clusters", "clusters": ["m1"], "reason": "maintenance"},
    })
}

/// Another queue leads, and a pause is made that only this one knows of: what its predecessor released is not used. A read
/// that takes long comes to an end only when the evictor is on the successor's stream, and knows.
#[rstest]
#[case::known_by_the_stream(4, "LeaseOver")]
#[case::known_by_the_stream_after_a_long_read(10, "LeaseOver")]
fn a_lease_of_a_term_that_is_over_is_not_used(
    #[case] read_seconds: u64,
    #[case] reason: &str,
    #[values(Mode::Standalone, Mode::Beside)] mode: Mode,
) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], json!({}));
        let queue = scene.queue("queue-0", 1.0).await;
        let manager = scene.manager("manager-0").await;
        scene.until(20).await;
        let slow = Effect::Latency(Duration::from_secs(read_seconds));
        scene.plane.faults().inject_times(the_read(), 0, 1, slow);
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(21).await;
        queue.stop().await;
        let _queue = scene.queue("queue-1", 1.0).await;
        scene.plane.put(pause_of_m1()).unwrap();
        scene.until(60).await;
        assert_eq!(scene.spec_writes(), []);
        let over = [("outcome", "Failed"), ("reason", reason)];
        assert_eq!(manager.metrics().value("evictor_leases_total", &over), Some(1.0));
    });
}

/// Another term begins while the reads of a lease take their time, and the evictor hears of it from nobody: it looks again.
#[rstest]
fn what_was_read_long_ago_is_not_written_upon(#[values(10, 15)] read_seconds: u64) {
    paused(async {
        let scene = Scene::new(&["m1", "m2"]);
        scene.binding("web", &["m1"], json!({}));
        let _queue = scene.queue("queue-0", 1.0).await;
        let manager = scene.manager("manager-0").await;
        scene.until(20).await;
        let slow = Effect::Latency(Duration::from_secs(read_seconds));
        scene.plane.faults().inject_times(the_read(), 0, 1, slow);
        // The old leader hears nothing of it.
        let late = EventEffect::Delay(Duration::from_secs(30));
        let leases = || Match::any().resource("leases");
        scene.plane.faults().disturb_events(leases(), 0, u64::MAX, late);
        scene
            .plane
            .faults()
            .inject(leases().client("eviction-queue"), Effect::Hang);
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(21).await;
        let all: kube::Api<k8s_openapi::api::coordination::v1::Lease> =
            kube::Api::namespaced(scene.plane.observer(), "karmada-system");
        let taken = json!({"spec": {"leaseTransitions": 7, "holderIdentity": "somebody-else"}});
        all.patch("eviction-queue", &Default::default(), &kube::api::Patch::Merge(taken))
            .await
            .unwrap();
        scene.until(40).await;
        assert_eq!(scene.spec_writes(), []);
        let fenced = [("outcome", "Failed"), ("reason", "Fenced")];
        assert_eq!(manager.metrics().value("evictor_leases_total", &fenced), Some(1.0));
    });
}

/// The queue's address takes connections and says nothing: what is in hand goes on meanwhile.
#[rstest]
fn work_goes_on_while_a_stream_is_waited_for(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        scene.binding("web", &["m1"], json!({}));
        let queue = scene.queue("queue-0", 1.0).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(20).await;
        let slow = Effect::Latency(Duration::from_secs(4));
        scene.plane.faults().inject_times(the_read(), 0, 1, slow);
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(22).await;
        queue.crash();
        let _silent = scene.network.listen("memory:queue-0");
        scene.until(26).await;
        assert_eq!(scene.evicted_at("default/web", "m1").await, Some(24));
        drop(queue);
    });
}

/// The wall clock is set while a lease is in hand: the lease counts by elapsed time and is used, once; the task carries
/// the time that the clock shows.
#[rstest]
fn a_wall_clock_that_is_set_ends_no_lease(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let hour = jiff::SignedDuration::from_hours(1);
        with_a_lease_in_hand(&scene, async |_| scene.clock.jump(hour)).await;
        assert_eq!(scene.spec_writes().len(), 1);
        let written = scene
            .task("default/web", "m1")
            .await
            .unwrap()
            .creation_timestamp
            .unwrap()
            .0;
        assert_eq!(
            written.duration_since(scene.started),
            hour + jiff::SignedDuration::from_secs(30)
        );
    });
}

/// Set back before the due time, nothing is due any more: it waits until the clock says so again.
#[rstest]
fn a_wall_clock_that_is_set_back_makes_nothing_early(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2"]);
        let back = jiff::SignedDuration::from_secs(-60);
        with_a_lease_in_hand(&scene, async |_| scene.clock.jump(back)).await;
        assert_eq!(scene.spec_writes().len(), 1);
        let written = scene
            .task("default/web", "m1")
            .await
            .unwrap()
            .creation_timestamp
            .unwrap()
            .0;
        assert!(written.duration_since(scene.started).as_secs() >= 20, "{written}");
    });
}
