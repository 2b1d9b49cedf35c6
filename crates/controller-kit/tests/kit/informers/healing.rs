//! What breaks a watch or a list is found and mended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use controller_kit::ObjectKey;
use controller_kit::informer::{NotRead, ReadFailureKind};
use controller_kit::random::Random;
use http_body_util::{BodyExt, StreamBody};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_sandbox::{Effect, EventEffect, Match, Reachability};

use super::{follow, lists, options, until_the_next_list, values, watches};
use crate::world::{World, held, seconds_and_a_bit, settle, value_of, within_hours};

// kube-rs/kube#1615: 410 at every watch, as an HTTP status, and no object is missed.
#[tokio::test(start_paused = true)]
async fn with_410_at_every_watch_no_object_is_missed() {
    within_hours(2, async {
        let world = World::new();
        let gone = Effect::Error {
            code: 410,
            reason: "Expired".into(),
            message: "too old resource version".into(),
        };
        world.sandbox.faults().inject(watches(), gone);
        let kit = world.informers(world.sandbox.client(), options());
        let informer = kit.informers.of::<ConfigMap>();
        let store = informer.synced().await.unwrap();
        for round in 0..10 {
            world.put(&format!("c{round}"), "new");
            if round > 2 {
                world.delete(&format!("c{}", round - 3)).await;
            }
            // Back-off between lists is bounded by 30 s and a quarter.
            seconds_and_a_bit(38).await;
            assert_eq!(held(&store), world.stored());
        }
        let labels = [("kind", "configmaps"), ("reason", "gone")];
        let relists = kit.metrics.value("failover_informer_relists_total", &labels).unwrap();
        assert!((10.0..200.0).contains(&relists), "{relists} lists in six minutes");
    })
    .await;
}

// vectordotdev/vector#5877, #5885: the 410 that comes inside a stream of status 200.
#[tokio::test(start_paused = true)]
async fn a_410_event_inside_the_stream_leads_to_a_new_list() {
    within_hours(2, async {
        let world = World::new();
        world.put("a", "1");
        let kit = world.informers(world.sandbox.client(), options());
        let store = kit.informers.of::<ConfigMap>().synced().await.unwrap();
        settle().await;
        // The way is cut, things happen, and history is dropped before the watch can be resumed.
        world.sandbox.set_reachability(Reachability::Stopped);
        settle().await;
        world.put("a", "2");
        world.put("b", "1");
        world.sandbox.compact();
        world.sandbox.set_reachability(Reachability::Up);
        seconds_and_a_bit(10).await;
        assert_eq!(held(&store), world.stored());
        assert_eq!(
            kit.metrics
                .value("failover_informer_relists_total", &[("reason", "gone")]),
            Some(1.0)
        );
    })
    .await;
}

// FloSch62/Kubus#135 (the same pattern in another language): a DELETE that never came is found by the periodic list.
#[tokio::test(start_paused = true)]
async fn dropped_watch_events_are_healed_by_the_next_list() {
    within_hours(6, async {
        let world = World::new();
        world.put("deleted", "1");
        world.put("changed", "1");
        let kit = world.informers(world.sandbox.client(), options());
        let informer = kit.informers.of::<ConfigMap>();
        let store = informer.synced().await.unwrap();
        let (mut changes, mut picture) = (informer.changes(), BTreeMap::new());
        settle().await;
        world
            .sandbox
            .faults()
            .disturb_events(watches(), 0, 3, EventEffect::Drop);
        world.delete("deleted").await;
        world.put("changed", "2");
        world.put("created", "1");
        settle().await;
        assert_eq!(store.len(), 2, "the events were dropped, or this test shows nothing");
        seconds_and_a_bit(until_the_next_list()).await;
        assert_eq!(held(&store), world.stored());
        follow(&mut changes, &mut picture);
        assert_eq!(values(&picture), world.stored());
    })
    .await;
}

// kube-rs/kube#1316, kubernetes-client/javascript#596: a connection that goes quiet without an end.
#[tokio::test(start_paused = true)]
async fn a_watch_that_went_quiet_is_replaced() {
    within_hours(2, async {
        let world = World::new();
        let inner = world.sandbox.client();
        let quiet_left = Arc::new(AtomicUsize::new(1));
        let quiet = quiet_left.clone();
        let client = kube::Client::new(
            tower::service_fn(move |request: http::Request<kube::client::Body>| {
                let (inner, quiet) = (inner.clone(), quiet.clone());
                async move {
                    let watch = request.uri().query().unwrap_or_default().contains("watch=true");
                    if watch
                        && quiet
                            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
                            .is_ok()
                    {
                        let nothing = futures::stream::pending::<Result<http_body::Frame<Bytes>, std::io::Error>>();
                        return Ok(http::Response::new(StreamBody::new(nothing).boxed_unsync()));
                    }
                    let (parts, body) = inner.send(request).await?.into_parts();
                    let body = body.map_err(std::io::Error::other).boxed_unsync();
                    Ok::<_, kube::Error>(http::Response::from_parts(parts, body))
                }
            }),
            "default",
        );
        let kit = world.informers(client, options());
        let informer = kit.informers.of::<ConfigMap>();
        let store = informer.synced().await.unwrap();
        settle().await;
        assert_eq!(quiet_left.load(Ordering::SeqCst), 0);
        world.put("a", "1");
        seconds_and_a_bit(200).await;
        assert_eq!(store.len(), 0);
        let age = kit
            .metrics
            .value("failover_informer_age_seconds", &[("kind", "configmaps")])
            .unwrap();
        assert!((199.0..202.0).contains(&age), "the gauge shows the silence: {age}");
        seconds_and_a_bit(110).await;
        assert_eq!(held(&store), world.stored(), "replaced after the watch's time and 15 s");
    })
    .await;
}

// kube-rs/kube#717, #1226; karmada#6433, #6600: no API server for ten minutes at start; nothing is read meanwhile.
#[tokio::test(start_paused = true)]
async fn an_unsynced_store_cannot_be_read_and_an_outage_at_start_is_survived() {
    within_hours(2, async {
        let world = World::new();
        world.put("a", "1");
        world.sandbox.set_reachability(Reachability::Stopped);
        let kit = world.informers(world.sandbox.client(), options());
        let informer = kit.informers.of::<ConfigMap>();
        assert!(
            tokio::time::timeout(Duration::from_secs(600), informer.synced())
                .await
                .is_err()
        );
        assert!(informer.store_if_synced().is_none());
        let missing = kit.readiness.missing();
        assert_eq!(missing.len(), 1);
        assert!(
            missing[0].starts_with("informer configmaps: not synced: no answer from the API server"),
            "{missing:?}"
        );
        world.sandbox.set_reachability(Reachability::Up);
        let store = tokio::time::timeout(Duration::from_secs(38), informer.synced())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(store.len(), 1, "a store that is given out is complete");
        assert_eq!(kit.readiness.missing(), Vec::<String>::new());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_half_read_list_is_not_a_synced_store() {
    within_hours(2, async {
        let world = World::new();
        for number in 0..1_200 {
            world.put(&format!("c{number:04}"), "1");
        }
        // The third page fails for a while.
        let error = Effect::Error {
            code: 500,
            reason: "InternalError".into(),
            message: "oops".into(),
        };
        world.sandbox.faults().inject_times(lists(), 2, 1, error);
        let kit = world.informers(world.sandbox.client(), options());
        let informer = kit.informers.of::<ConfigMap>();
        settle().await;
        assert_eq!(kit.metrics.value("failover_informer_objects", &[]), Some(1000.0));
        assert!(informer.store_if_synced().is_none());
        let store = informer.synced().await.unwrap();
        assert_eq!(store.len(), 1_200);
        assert_eq!(world.sandbox.faults().count(&lists()), 6, "three pages, twice");
        assert!(store.keys().is_sorted());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_old_list_is_not_believed() {
    within_hours(6, async {
        let world = World::new();
        let kit = world.informers(world.sandbox.client(), options());
        let store = kit.informers.of::<ConfigMap>().synced().await.unwrap();
        for number in 0..5 {
            world.put(&format!("c{number}"), "1");
        }
        settle().await;
        assert_eq!(store.len(), 5);
        world.sandbox.faults().stale_lists(lists(), 3);
        world.sandbox.faults().reset_counts();
        for _ in 0..=until_the_next_list() / 60 {
            seconds_and_a_bit(60).await;
            if world.sandbox.faults().count(&lists()) > 1 {
                break;
            }
        }
        assert!(world.sandbox.faults().count(&lists()) > 1, "lists were tried");
        assert_eq!(store.len(), 5, "objects do not vanish for an old list");
        world.sandbox.faults().clear();
        world.put("late", "1");
        seconds_and_a_bit(60).await;
        assert_eq!(held(&store), world.stored());
    })
    .await;
}

// vectordotdev/vector#5877: what cannot be read is counted and leads to a new list, it is not skipped in silence.
#[tokio::test(start_paused = true)]
async fn unreadable_answers_are_counted_and_healed() {
    within_hours(2, async {
        let world = World::new();
        let kit = world.informers(world.sandbox.client(), options());
        let store = kit.informers.of::<ConfigMap>().synced().await.unwrap();
        settle().await;
        world.sandbox.faults().inject(watches(), Effect::Garbage);
        world.sandbox.faults().cut_watches(watches());
        world.put("a", "1");
        seconds_and_a_bit(120).await;
        assert_eq!(held(&store), world.stored(), "lists go on when watches fail");
        let errors = kit
            .metrics
            .value("failover_informer_errors_total", &[("request", "watch")]);
        assert!(errors.unwrap_or_default() > 0.0, "{}", kit.metrics.render());
        world.sandbox.faults().clear();
        seconds_and_a_bit(60).await;
        world.put("b", "1");
        settle().await;
        assert_eq!(held(&store), world.stored());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_restored_server_is_believed_in_the_end_without_a_gap() {
    within_hours(2, async {
        let world = World::new();
        for number in 0..5 {
            world.put(&format!("c{number}"), "1");
        }
        let kit = world.informers(world.sandbox.client(), options());
        let informer = kit.informers.of::<ConfigMap>();
        let store = informer.synced().await.unwrap();
        settle().await;
        // Set back to before the last object, for good; lists say so, watches break.
        world.sandbox.faults().stale_lists(lists(), 1);
        world.sandbox.faults().inject(watches(), Effect::Disconnect);
        world.sandbox.faults().cut_watches(watches());
        for _ in 0..1_200 {
            seconds_and_a_bit(1).await;
            assert!(store.len() >= 4, "the store is never emptied");
        }
        assert_eq!(store.len(), 4);
    })
    .await;
}

/// Everything that can go wrong with watches, at random; then peace until the next list.
async fn turmoil(seed: u64) {
    let world = World::new();
    let faults = world.sandbox.faults();
    faults.seeded_latency(seed, Duration::from_millis(40));
    let mut random = Random::seeded(seed);
    let kit = world.informers(world.sandbox.client(), options());
    let informer = kit.informers.of::<ConfigMap>();
    let (mut changes, mut picture) = (informer.changes(), BTreeMap::new());
    let mut pick = |n: u64| random.next_u64() % n;
    for step in 0..120_u32 {
        let name = format!("c{}", pick(8));
        match pick(12) {
            0..=4 => world.put(&name, &step.to_string()),
            5 | 6 => {
                if world.stored().contains_key(&name) {
                    world.delete(&name).await;
                }
            }
            7 => {
                faults.disturb_events(watches(), 0, 1 + pick(3), EventEffect::Drop);
            }
            8 => {
                faults.disturb_events(watches(), 0, 1, EventEffect::Delay(Duration::from_millis(pick(20_000))));
            }
            9 => faults.cut_watches(watches()),
            10 => world.sandbox.compact(),
            _ => {
                let gone = Effect::Error {
                    code: 410,
                    reason: "Gone".into(),
                    message: String::new(),
                };
                let effects = [gone, Effect::Disconnect, Effect::Garbage, Effect::AnswerLost];
                let which = usize::try_from(pick(4)).unwrap();
                faults.inject_times(Match::any().resource("configmaps"), pick(2), 1, effects[which].clone());
            }
        }
        tokio::time::sleep(Duration::from_millis(pick(3_000))).await;
        follow(&mut changes, &mut picture);
    }
    faults.clear();
    seconds_and_a_bit(until_the_next_list()).await;
    let store = informer.store_if_synced().expect("synced");
    follow(&mut changes, &mut picture);
    assert_eq!(held(&store), world.stored(), "seed {seed}");
    assert_eq!(values(&picture), world.stored(), "seed {seed}");
    let key = ObjectKey::namespaced("default", "c0");
    assert_eq!(
        store.get(&key).map(|object| value_of(&object)),
        world.stored().get("c0").cloned()
    );
}

#[tokio::test(start_paused = true)]
async fn whatever_happens_the_store_ends_equal_to_the_server() {
    for seed in 1..=20 {
        within_hours(6, turmoil(seed)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn who_may_not_read_a_single_object_is_told_what_was_answered() {
    within_hours(2, async {
        let world = World::new();
        world.put("wanted", "1");
        let forbidden = Effect::Error {
            code: 403,
            reason: "Forbidden".to_owned(),
            message: "it is not yours".to_owned(),
        };
        let refused = world.sandbox.faults().inject(lists(), forbidden);
        let kit = world.informers(world.sandbox.client(), options());
        let key = ObjectKey::namespaced("default", "wanted");
        let followed = kit.informers.object::<ConfigMap>(&key, &());
        settle().await;
        let NotRead { failure } = followed.as_read().unwrap_err();
        let failure = failure.unwrap();
        assert_eq!(failure.kind, ReadFailureKind::Denied);
        assert!(failure.words.contains("HTTP 403: it is not yours"), "{}", failure.words);
        world.sandbox.faults().remove(refused);
        assert_eq!(value_of(&followed.read().await.unwrap().unwrap()), "1");
    })
    .await;
}
