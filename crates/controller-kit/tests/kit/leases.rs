//! One leader at a time, whatever happens to processes, clocks and the API server.

use std::time::Duration;

use controller_kit::leader::{ADDRESS_ANNOTATION, CONTROLLERS_ANNOTATION, GATES_ANNOTATION, VERSION_ANNOTATION};
use controller_kit::process::Controller;
use controller_kit::tasks::Failure;
use controller_kit::{Clock, Context, Ended};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube_sandbox::{Effect, Match, Verb};
use rstest::rstest;
use serde_json::json;

use crate::world::{World, idle, seconds_and_a_bit, settle, within_hours};

/// Writes its process's name into a config map every 500 ms, without caring about leases.
fn scribbler() -> Controller {
    Controller::new("theWriter", |ctx: Context| async move {
        let api: Api<ConfigMap> = Api::namespaced(ctx.client.clone(), "default");
        let mut count = 0;
        while !ctx.shutdown.is_cancelled() {
            count += 1;
            let patch = json!({"data": {"v": format!("{} {count}", ctx.identity)}});
            if let Err(error) = api.patch("page", &PatchParams::default(), &Patch::Merge(patch)).await {
                tracing::debug!(%error, "not written");
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        Ok(())
    })
}

/// Times of the writes of a client to the page.
fn writes_of(world: &World, client: &str) -> Vec<Timestamp> {
    world
        .sandbox
        .faults()
        .writes()
        .iter()
        .filter(|write| write.resource == "configmaps" && write.client == client)
        .map(|write| write.at)
        .collect()
}

async fn holder(world: &World, lease: &str) -> String {
    let spec = world
        .lease(lease)
        .await
        .and_then(|lease| lease.spec)
        .unwrap_or_default();
    spec.holder_identity.unwrap_or_default()
}

// kube-rs/kube#485, Azure/kars#74: a leader that was paused past its lease must write nothing once another leads.
#[rstest]
#[case(20_000, 60)]
#[case(20_249, 26)]
#[case(22_501, 40)]
#[case(24_999, 3_600)]
#[tokio::test(start_paused = true)]
async fn a_leader_paused_past_its_lease_writes_nothing_afterwards(#[case] freeze_at_ms: u64, #[case] frozen_s: u64) {
    within_hours(3, async {
        let world = World::new();
        world.put("page", "");
        let old = world.start("old", scribbler()).await;
        settle().await;
        let new = world.start("new", scribbler()).await;
        tokio::time::sleep(Duration::from_millis(freeze_at_ms)).await;
        assert!(writes_of(&world, "new").is_empty() && writes_of(&world, "old").len() > 30);

        old.freeze();
        seconds_and_a_bit(frozen_s).await;
        let taken_over = *writes_of(&world, "new").first().expect("the new one has taken over");
        old.thaw();
        seconds_and_a_bit(30).await;

        let late = writes_of(&world, "old")
            .into_iter()
            .filter(|at| *at >= taken_over)
            .count();
        assert_eq!(late, 0, "writes by the old leader after the takeover");
        assert!(matches!(
            old.has_ended(),
            Some(Ended::Failed(Failure::LeaseLost { controller, .. })) if controller == "theWriter"
        ));
        assert_eq!(new.has_ended(), None);
    })
    .await;
}

// A pause that is shorter than the renew deadline costs nothing.
#[tokio::test(start_paused = true)]
async fn a_short_pause_is_survived() {
    within_hours(1, async {
        let world = World::new();
        let leader = world.start("a", idle("theWriter")).await;
        seconds_and_a_bit(20).await;
        leader.freeze();
        seconds_and_a_bit(4).await;
        leader.thaw();
        seconds_and_a_bit(60).await;
        assert_eq!(
            (leader.has_ended(), holder(&world, "the-writer").await.as_str()),
            (None, "a")
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn of_two_candidates_one_leads_and_hands_over_when_it_stops() {
    within_hours(1, async {
        let world = World::new();
        world.put("page", "");
        let (a, b) = (world.start("a", scribbler()).await, world.start("b", scribbler()).await);
        seconds_and_a_bit(120).await;
        assert_eq!(holder(&world, "the-writer").await, "a");
        assert!(writes_of(&world, "b").is_empty());

        assert_eq!(a.stop().await, Ended::Stopped);
        assert_eq!(holder(&world, "the-writer").await, "", "handed back");
        let last_of_a = *writes_of(&world, "a").last().unwrap();
        seconds_and_a_bit(6).await;
        let first_of_b = *writes_of(&world, "b")
            .first()
            .expect("the other one leads within its polling period");
        assert!(last_of_a < first_of_b);
        let spec = world.lease("the-writer").await.unwrap().spec.unwrap();
        assert_eq!(
            (spec.holder_identity.as_deref(), spec.lease_transitions),
            (Some("b"), Some(1))
        );
        assert_eq!(b.has_ended(), None);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_crashed_leader_is_replaced_after_its_lease_has_run_out() {
    within_hours(1, async {
        let world = World::new();
        world.put("page", "");
        let (a, b) = (world.start("a", scribbler()).await, world.start("b", scribbler()).await);
        seconds_and_a_bit(32).await;
        a.crash();
        assert_eq!(a.ended().await, Ended::Crashed);
        let died = world.clock.now();
        seconds_and_a_bit(21).await;
        let first = *writes_of(&world, "b")
            .first()
            .expect("taken over within duration + one poll");
        let waited = first.duration_since(died);
        assert!(
            waited >= SignedDuration::from_secs(8) && waited <= SignedDuration::from_secs(21),
            "{waited:#}"
        );
        assert_eq!(b.has_ended(), None);
    })
    .await;
}

// kubernetes#6193, #108844, #113081: leases live by elapsed time, not by what clocks show.
#[rstest]
#[case(SignedDuration::from_hours(2))]
#[case(SignedDuration::from_hours(-2))]
#[tokio::test(start_paused = true)]
async fn clocks_that_jump_or_differ_move_no_lease(#[case] jump: SignedDuration) {
    within_hours(2, async {
        let world = World::new();
        let own = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let a = world
            .process("a")
            .clock(own.clone())
            .controllers([idle("theWriter")])
            .start()
            .await
            .unwrap();
        let skewed = Clock::simulated("2031-06-01T00:00:00Z".parse().unwrap());
        let b = world
            .process("b")
            .clock(skewed)
            .controllers([idle("theWriter")])
            .start()
            .await
            .unwrap();
        seconds_and_a_bit(60).await;
        own.jump(jump);
        seconds_and_a_bit(600).await;
        let spec = world.lease("the-writer").await.unwrap().spec.unwrap();
        assert_eq!(
            (spec.holder_identity.as_deref(), spec.lease_transitions),
            (Some("a"), Some(0))
        );
        assert_eq!((a.has_ended(), b.has_ended()), (None, None));
    })
    .await;
}

// kubernetes#129613: a lease that cannot be renewed ends the process, before another one starts, with a clear reason.
#[rstest]
#[case(Effect::Error { code: 503, reason: "ServiceUnavailable".into(), message: "down".into() })]
#[case(Effect::Hang)]
#[case(Effect::Disconnect)]
#[tokio::test(start_paused = true)]
async fn a_lease_that_cannot_be_renewed_ends_the_process_before_another_starts(#[case] effect: Effect) {
    within_hours(1, async {
        let world = World::new();
        world.put("page", "");
        let (a, b) = (world.start("a", scribbler()).await, world.start("b", scribbler()).await);
        seconds_and_a_bit(60).await;
        let cut_off = world.clock.now();
        // Only its lease requests fail: its other writes would still get through.
        world
            .sandbox
            .faults()
            .inject(Match::any().resource("leases").client("a"), effect);
        let Ended::Failed(Failure::LeaseLost { controller, reason }) = a.ended().await else {
            panic!("ended for another reason")
        };
        assert_eq!(controller, "theWriter");
        assert!(reason.starts_with("not renewed for 10s: "), "{reason}");
        assert!(world.clock.now() <= cut_off + SignedDuration::from_secs(11));
        seconds_and_a_bit(30).await;
        let (last, first) = (
            *writes_of(&world, "a").last().unwrap(),
            *writes_of(&world, "b").first().unwrap(),
        );
        assert!(last + SignedDuration::from_secs(4) < first, "{last} {first}");
        assert_eq!(b.has_ended(), None);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn short_outages_and_lost_answers_are_survived() {
    within_hours(1, async {
        let world = World::new();
        let a = world.start("a", idle("theWriter")).await;
        seconds_and_a_bit(30).await;
        let leases = || Match::any().resource("leases").verb(Verb::Update);
        world.sandbox.faults().inject_times(leases(), 0, 2, Effect::Disconnect);
        seconds_and_a_bit(30).await;
        // The write is stored, but its answer is lost: the version we know is not the server's any more.
        world.sandbox.faults().inject_times(leases(), 0, 1, Effect::AnswerLost);
        seconds_and_a_bit(30).await;
        assert_eq!(
            (a.has_ended(), holder(&world, "the-writer").await.as_str()),
            (None, "a")
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_lease_ends_the_process() {
    within_hours(1, async {
        let world = World::new();
        let a = world.start("a", idle("theWriter")).await;
        seconds_and_a_bit(12).await;
        let leases: Api<k8s_openapi::api::coordination::v1::Lease> =
            Api::namespaced(world.sandbox.observer(), "karmada-system");
        leases
            .delete("the-writer", &kube::api::DeleteParams::default())
            .await
            .unwrap();
        let ended = a.ended().await;
        assert_eq!(
            ended,
            Ended::Failed(Failure::LeaseLost {
                controller: "theWriter".to_owned(),
                reason: "the Lease was deleted".to_owned()
            })
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn losing_one_lease_ends_the_process_and_hands_back_the_others() {
    within_hours(1, async {
        let world = World::new();
        let a = world
            .process("a")
            .controllers([idle("one"), idle("two")])
            .start()
            .await
            .unwrap();
        seconds_and_a_bit(12).await;
        world.sandbox.faults().inject(
            Match::any().resource("leases").verb(Verb::Update).name("one"),
            Effect::Disconnect,
        );
        assert!(matches!(a.ended().await, Ended::Failed(Failure::LeaseLost { controller, .. }) if controller == "one"));
        assert_eq!(holder(&world, "two").await, "");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_lease_says_who_leads_and_survives_other_writers() {
    within_hours(1, async {
        let world = World::new();
        let serving = || {
            Controller::new("evictionQueue", |ctx: Context| async move {
                if &*ctx.identity == "a" {
                    ctx.leadership.set_annotation(ADDRESS_ANNOTATION, "10.0.0.1:9443");
                }
                ctx.shutdown.cancelled().await;
                Ok(())
            })
        };
        let a = world.start("a", serving()).await;
        settle().await;
        let annotations = world
            .lease("eviction-queue")
            .await
            .unwrap()
            .metadata
            .annotations
            .unwrap();
        assert_eq!(
            annotations[ADDRESS_ANNOTATION], "10.0.0.1:9443",
            "published without waiting for a renewal"
        );
        assert_eq!(annotations[VERSION_ANNOTATION], controller_kit::VERSION);
        assert_eq!(annotations[GATES_ANNOTATION], "Failover=false");
        assert_eq!(annotations[CONTROLLERS_ANNOTATION], "evictionQueue");

        let leases: Api<k8s_openapi::api::coordination::v1::Lease> =
            Api::namespaced(world.sandbox.observer(), "karmada-system");
        let note = Patch::Merge(json!({"metadata": {"annotations": {"example.com/note": "kept"}}}));
        leases
            .patch("eviction-queue", &PatchParams::default(), &note)
            .await
            .unwrap();
        seconds_and_a_bit(20).await;
        let lease = world.lease("eviction-queue").await.unwrap();
        assert_eq!(lease.metadata.annotations.unwrap()["example.com/note"], "kept");
        assert_eq!(a.stop().await, Ended::Stopped);

        let _b = world.start("b", serving()).await;
        settle().await;
        let annotations = world
            .lease("eviction-queue")
            .await
            .unwrap()
            .metadata
            .annotations
            .unwrap();
        assert_eq!(
            annotations.get(ADDRESS_ANNOTATION),
            None,
            "the old holder's address is not the new one's"
        );
        assert_eq!(annotations["example.com/note"], "kept");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn every_reign_has_its_own_epoch() {
    within_hours(1, async {
        let world = World::new();
        let (sent, epochs) = std::sync::mpsc::channel();
        for _ in 0..3 {
            let sent = sent.clone();
            let telling = Controller::new("one", move |ctx: Context| async move {
                sent.send(ctx.leadership.epoch()).unwrap();
                ctx.shutdown.cancelled().await;
                Ok(())
            });
            let process = world.start("a", telling).await;
            settle().await;
            process.stop().await;
        }
        let epochs: Vec<_> = epochs.try_iter().collect();
        assert_eq!(epochs.len(), 3);
        assert!(epochs.windows(2).all(|pair| pair[0] < pair[1]), "{epochs:?}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn at_rest_a_lease_costs_one_request_in_five_seconds() {
    within_hours(1, async {
        let world = World::new();
        let _a = world.start("a", idle("theWriter")).await;
        let _b = world.start("b", idle("theWriter")).await;
        seconds_and_a_bit(30).await;
        world.sandbox.faults().reset_counts();
        seconds_and_a_bit(600).await;
        for client in ["a", "b"] {
            let requests = world.sandbox.faults().count(&Match::any().client(client));
            assert!(
                (115..=121).contains(&requests),
                "{client}: {requests} requests in 10 min"
            );
        }
    })
    .await;
}

// A typo in --system-namespace, or a namespace that nobody has made: said once, with what to do; asked seldom; and
// good as soon as it is there.
#[tokio::test(start_paused = true)]
async fn a_missing_namespace_is_named_and_costs_no_loop() {
    within_hours(1, async {
        let world = World::new();
        let log = controller_kit::telemetry::Recording::start("warn", &world.clock).unwrap();
        let flags = controller_kit::KitFlags {
            system_namespace: "elsewhere".to_owned(),
            ..controller_kit::KitFlags::default()
        };
        let a = world
            .process("a")
            .flags(flags)
            .controllers([idle("one"), idle("two"), idle("three")])
            .start()
            .await
            .unwrap();
        seconds_and_a_bit(60).await;
        let requests = world
            .sandbox
            .faults()
            .count(&Match::any().resource("leases").client("a"));
        assert!(
            (30..=80).contains(&requests),
            "{requests} requests for three leases in a minute"
        );
        let lines = log.lines();
        assert_eq!(lines.len(), 1, "{lines:#?}");
        for needed in [
            "namespace \"elsewhere\" of the leases does not exist",
            "kubectl create namespace elsewhere",
            "--system-namespace",
        ] {
            assert!(lines[0].contains(needed), "{needed}: {}", lines[0]);
        }

        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}});
        world.sandbox.create(namespace).unwrap();
        seconds_and_a_bit(6).await;
        let leases: Api<k8s_openapi::api::coordination::v1::Lease> =
            Api::namespaced(world.sandbox.observer(), "elsewhere");
        assert_eq!(
            leases
                .list(&kube::api::ListParams::default())
                .await
                .unwrap()
                .items
                .len(),
            3
        );
        assert_eq!(a.has_ended(), None);
    })
    .await;
}
