//! What disturbs a process is told, and what is normal is not.

use std::time::Duration;

use controller_kit::leader::DISTURBANCES_ANNOTATION;
use controller_kit::process::{Controller, KitFlags, Process, Running};
use controller_kit::{Context, Scope};
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::client::Body;
use kube::{Api, Client};
use kube_sandbox::{Effect, EventEffect, Match, Verb};
use rstest::rstest;
use serde_json::json;

use crate::world::{World, config_map, seconds_and_a_bit, within_hours};

fn watches() -> Match {
    Match::any().resource("configmaps").verb(Verb::Watch)
}

/// Follows all config maps, and those of one label, which do not show all that is written; writes one every ten seconds.
fn writer() -> Controller {
    Controller::new("writer", |ctx: Context| async move {
        let followed = ctx.informers.of::<ConfigMap>();
        let labelled = ctx.informers.get::<ConfigMap>(Scope::all().labels("none=such"), &());
        let _ = (followed.synced().await, labelled.synced().await);
        let api: Api<ConfigMap> = Api::namespaced(ctx.client.clone(), "default");
        let mut number = 0;
        loop {
            number += 1;
            let patch = Patch::Merge(json!({"data": {"v": number.to_string()}}));
            api.patch("own", &PatchParams::default(), &patch).await?;
            tokio::select! {
                biased;
                () = ctx.shutdown.cancelled() => return Ok(()),
                () = tokio::time::sleep(Duration::from_secs(10)) => {}
            }
        }
    })
}

async fn start(world: &World) -> Running {
    world.put("own", "0");
    let flags = KitFlags {
        relist_interval: Duration::from_secs(60),
        ..KitFlags::default()
    };
    let process = world.process("writer-0").flags(flags).controllers([writer()]);
    let process = process.start().await.unwrap();
    seconds_and_a_bit(1).await;
    process
}

fn errors(process: &Running, reason: &str) -> f64 {
    let text = process.metrics().render();
    let reason = format!("reason=\"{reason}\"");
    let series = text
        .lines()
        .filter(|line| line.starts_with("failover_informer_errors_total") && line.contains(&reason));
    series
        .filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok())
        .sum()
}

async fn on_the_lease(world: &World) -> Option<String> {
    let annotations = world.lease("writer").await?.metadata.annotations?;
    annotations.get(DISTURBANCES_ANNOTATION).cloned()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_well_disturbs_nobody() {
    within_hours(3, async {
        let world = World::new();
        let process = start(&world).await;
        for minute in 0..120_u32 {
            let name = format!("other{}", minute % 7);
            world.put(&name, &minute.to_string());
            seconds_and_a_bit(30).await;
            if minute % 3 == 0 {
                world.delete(&name).await;
            }
            // It is restarted now and then.
            if minute % 10 == 0 {
                world.sandbox.faults().cut_watches(Match::any());
            }
            seconds_and_a_bit(30).await;
            assert_eq!(process.readiness().notes(), [""; 0], "minute {minute}");
        }
        assert_eq!(
            (errors(&process, "lost_event"), errors(&process, "late_event")),
            (0.0, 0.0)
        );
        assert!(errors(&process, "ended_early") > 0.0, "restarts are counted");
        assert_eq!(on_the_lease(&world).await, None);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn each_version_that_only_a_list_had_is_counted() {
    within_hours(6, async {
        let world = World::new();
        world.put("deleted", "1");
        world.put("changed", "1");
        let process = start(&world).await;
        seconds_and_a_bit(20).await;
        // For one of the two informers: the other follows what none of these is. That the third event was lost is not
        // known, since a deletion leaves no version.
        world
            .sandbox
            .faults()
            .disturb_events(watches(), 0, 3, EventEffect::Drop);
        world.put("changed", "2");
        world.put("created", "1");
        world.delete("deleted").await;
        seconds_and_a_bit(300).await;
        assert_eq!(errors(&process, "lost_event"), 2.0, "{}", process.metrics().render());
        let notes = process.readiness().notes();
        assert!(
            notes.len() == 1
                && notes[0].starts_with("disturbed: lost_events since ")
                && notes[0].contains("configmaps"),
            "{notes:?}"
        );
        seconds_and_a_bit(4 * 3_600).await;
        assert_eq!(
            process.readiness().notes().len(),
            1,
            "two lists, as they are made by default, are not over"
        );
        seconds_and_a_bit(3_700).await;
        assert_eq!(process.readiness().notes(), [""; 0]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_does_not_show_own_writes_is_late() {
    within_hours(3, async {
        let world = World::new();
        let process = start(&world).await;
        seconds_and_a_bit(20).await;
        let delay = EventEffect::Delay(Duration::from_secs(25));
        world.sandbox.faults().disturb_events(watches(), 0, 1, delay);
        seconds_and_a_bit(22).await;
        let notes = process.readiness().notes();
        assert!(
            notes.len() == 1 && notes[0].contains("late_events") && notes[0].contains("a write of configmaps"),
            "{notes:?}"
        );
        assert_eq!(errors(&process, "late_event"), 0.0, "it has not come");
        let lease = on_the_lease(&world).await;
        assert!(
            lease.as_ref().is_some_and(|text| text.contains("late_events since")),
            "{lease:?}"
        );
        seconds_and_a_bit(20).await;
        assert_eq!(errors(&process, "late_event"), 1.0);
        seconds_and_a_bit(130).await;
        assert_eq!(process.readiness().notes(), [""; 0]);
        assert_eq!(on_the_lease(&world).await, None, "the annotation goes with it");
    })
    .await;
}

/// Who may not read any more, or gets errors only, knows what was true then. A while of that is told, a moment is not.
#[rstest]
#[case::refused(403, "Forbidden")]
#[case::errors(500, "InternalError")]
#[tokio::test(start_paused = true)]
async fn a_view_that_is_old_is_told(#[case] code: u16, #[case] reason: &str) {
    within_hours(3, async {
        let world = World::new();
        let process = start(&world).await;
        let faults = world.sandbox.faults();
        let reads = || watches().verb(Verb::List);
        let answer = || Effect::Error {
            code,
            reason: reason.to_owned(),
            message: "not now".to_owned(),
        };
        let refused = faults.inject(reads(), answer());
        faults.cut_watches(reads());
        seconds_and_a_bit(90).await;
        let told = |what: &str| process.readiness().notes().iter().any(|note| note.contains(what));
        assert!(!told("old_views"), "{:?}", process.readiness().notes());
        seconds_and_a_bit(90).await;
        assert!(told("old_views since "), "{:?}", process.readiness().notes());
        assert!(told(" was read for 2m"), "{:?}", process.readiness().notes());
        let lease = on_the_lease(&world).await;
        assert!(
            lease.as_ref().is_some_and(|text| text.contains("old_views since")),
            "{lease:?}"
        );
        seconds_and_a_bit(600).await;
        assert!(told("old_views since "), "for as long as it goes on");
        faults.remove(refused);
        seconds_and_a_bit(200).await;
        assert!(!told("old_views"), "{:?}", process.readiness().notes());
    })
    .await;
}

/// On a server that sends no bookmarks nothing comes of a kind that is quiet, for as long as it is. That is no old view, and one
/// failure, after which all is well again, makes none of it.
#[tokio::test(start_paused = true)]
async fn a_quiet_kind_is_no_old_view() {
    within_hours(3, async {
        let world = World::new();
        world.put("own", "0");
        let follower = Controller::new("follower", |ctx: Context| async move {
            let _ = ctx.informers.of::<ConfigMap>().synced().await;
            ctx.shutdown.cancelled().await;
            Ok(())
        });
        let process = Process::builder("test", without_bookmarks(&world))
            .clock(world.clock.clone())
            .identity("follower-0")
            .controllers([follower]);
        let process = process.start().await.unwrap();
        let faults = world.sandbox.faults();
        let mut oldest = 0.0_f64;
        for minute in 0..120_u32 {
            seconds_and_a_bit(60).await;
            if minute % 17 == 16 {
                let failure = faults.inject(
                    watches(),
                    Effect::Error {
                        code: 500,
                        reason: "InternalError".to_owned(),
                        message: "not now".to_owned(),
                    },
                );
                faults.cut_watches(watches());
                seconds_and_a_bit(2).await;
                faults.remove(failure);
            }
            let notes = process.readiness().notes();
            assert!(
                !notes.iter().any(|note| note.contains("old_views")),
                "{minute}: {notes:?}"
            );
            let age = process
                .metrics()
                .value("failover_informer_age_seconds", &[("kind", "configmaps")]);
            oldest = oldest.max(age.unwrap());
        }
        assert!(errors(&process, "server_error") > 5.0, "there were failures");
        assert!(
            (200.0..300.0).contains(&oldest),
            "quiet, and below what the alert FailoverWatchStale is about: {oldest}"
        );
    })
    .await;
}

/// A client of a server that sends no bookmarks.
fn without_bookmarks(world: &World) -> Client {
    let behind = world.sandbox.client_named("follower");
    let front = tower::service_fn(move |mut request: Request<Body>| {
        let behind = behind.clone();
        async move {
            let uri = request
                .uri()
                .to_string()
                .replace("allowWatchBookmarks=true", "allowWatchBookmarks=false");
            *request.uri_mut() = uri.parse()?;
            Ok::<_, tower::BoxError>(behind.send(request).await?)
        }
    });
    Client::new(front, "default")
}

// What is disturbed is said with the renewals that are due anyway.
#[tokio::test(start_paused = true)]
async fn telling_costs_no_write() {
    within_hours(3, async {
        let world = World::new();
        let process = start(&world).await;
        let faults = world.sandbox.faults();
        let renewals = Match::writes().resource("leases");
        faults.reset_counts();
        seconds_and_a_bit(300).await;
        let at_rest = faults.count(&renewals);
        faults.reset_counts();
        for _ in 0..60 {
            faults.cut_watches(Match::any());
            world.sandbox.put(config_map("other", "1")).unwrap();
            seconds_and_a_bit(5).await;
        }
        assert!(
            on_the_lease(&world)
                .await
                .is_some_and(|text| text.contains("short_watches"))
        );
        let disturbed = faults.count(&renewals);
        assert!(disturbed <= at_rest + 1, "{at_rest} at rest, {disturbed} disturbed");
        assert_eq!(
            process.readiness().missing(),
            [""; 0],
            "it is no reason to be taken out of service"
        );
    })
    .await;
}
