//! Who asks for what shares an informer, for how long, and what is kept and told.

use std::time::Duration;

use controller_kit::informer::{NotRead, Stopped};
use controller_kit::{ObjectKey, Scope};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_sandbox::{Effect, EventEffect, Match};

use super::{lists, options, watches};
use crate::world::{World, held, seconds_and_a_bit, settle, value_of, within_hours};

// A member that is down for a night: a line when it begins and one when it ends, each with the member's name; what was
// counted about it goes when it is no member any more, and its gauges with its informers.
#[tokio::test(start_paused = true)]
async fn a_member_that_is_away_is_named_once_and_leaves_no_series_behind() {
    within_hours(24, async {
        let world = World::new();
        let log = controller_kit::telemetry::Recording::start("info", &world.clock).unwrap();
        let kit = world.informers(world.sandbox.client(), options());
        let member = kit
            .informers
            .for_member("member1", world.sandbox.client_named("member1"));
        let store = member.of::<ConfigMap>().synced().await.unwrap();
        member
            .of::<k8s_openapi::api::core::v1::Secret>()
            .synced()
            .await
            .unwrap();
        settle().await;
        let away = Match::any().client("member1");
        world.sandbox.faults().inject(away.clone(), Effect::Disconnect);
        world.sandbox.faults().cut_watches(away);
        seconds_and_a_bit(8 * 3_600).await;
        world.sandbox.faults().clear();
        world.put("a", "1");
        seconds_and_a_bit(60).await;
        assert_eq!(held(&store), world.stored());
        let lines = log.lines();
        assert!(
            lines.iter().all(|line| line.contains("member=\"member1\"")),
            "{lines:#?}"
        );
        let warnings = lines.iter().filter(|line| line.contains(" WARN ")).count();
        assert!((1..=3).contains(&warnings), "{lines:#?}");
        let ends = lines.iter().filter(|line| line.contains("answered again")).count();
        assert_eq!(ends, 1, "{lines:#?}");

        let counted = || {
            kit.metrics
                .value("failover_informer_errors_total", &[("member", "member1")])
        };
        let age = || {
            kit.metrics
                .value("failover_informer_age_seconds", &[("member", "member1")])
        };
        assert!(counted().is_some() && age().is_some(), "{}", kit.metrics.render());
        member.stop();
        assert!(counted().is_some(), "it is still a member");
        assert_eq!(age(), None);
        kit.informers.forget_member("member1");
        assert_eq!(counted(), None);
        assert_eq!(controller_kit::metrics::complaints(&kit.metrics.render()), [""; 0]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn one_list_and_watch_for_all_who_ask() {
    within_hours(2, async {
        let world = World::new();
        world.put("a", "1");
        let kit = world.informers(world.sandbox.client(), options());
        let informers: Vec<_> = (0..5)
            .map(|_| kit.informers.get::<ConfigMap>(Scope::all(), &()))
            .collect();
        for informer in &informers {
            assert_eq!(informer.synced().await.unwrap().len(), 1);
        }
        seconds_and_a_bit(100).await;
        assert_eq!(world.sandbox.faults().count(&lists()), 1);
        assert_eq!(world.sandbox.faults().count(&watches()), 1);
        // Another scope is another informer.
        let other = kit
            .informers
            .get::<ConfigMap>(Scope::namespace("karmada-system").labels("x=y"), &());
        assert!(other.synced().await.unwrap().is_empty());
        assert_eq!(world.sandbox.faults().count(&lists()), 2);
    })
    .await;
}

// kube.rs/controllers/optimization, kube-rs/kube#14: only what is needed is held.
#[tokio::test(start_paused = true)]
async fn an_informer_may_keep_a_part_of_each_object() {
    struct Colour(String);
    within_hours(2, async {
        let world = World::new();
        world.put("a", "red");
        world.put("b", "blue");
        let kit = world.informers(world.sandbox.client(), options());
        let colours = || {
            kit.informers
                .keeping(Scope::all(), &(), |object: ConfigMap| Colour(value_of(&object)))
        };
        colours().index("colour", |colour: &Colour| vec![colour.0.clone()]);
        let store = colours().synced().await.unwrap();
        world.put("a", "blue");
        settle().await;
        let names: Vec<_> = store
            .entries_by_index("colour", "blue")
            .into_iter()
            .map(|(key, _)| key.name)
            .collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(world.sandbox.faults().count(&lists()), 1, "shared");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_index_follows_its_objects_whenever_it_was_added() {
    within_hours(2, async {
        let world = World::new();
        world.put("a", "red");
        let kit = world.informers(world.sandbox.client(), options());
        let informer = kit.informers.of::<ConfigMap>();
        informer.index("early", |object: &ConfigMap| vec![value_of(object)]);
        let store = informer.synced().await.unwrap();
        informer.index("late", |object: &ConfigMap| vec![value_of(object)]);
        world.put("c", "red");
        world.put("b", "red");
        settle().await;
        world.put("a", "blue");
        world.delete("c").await;
        settle().await;
        for index in ["early", "late"] {
            let names = |value: &str| -> Vec<String> {
                store
                    .by_index(index, value)
                    .iter()
                    .filter_map(|object| object.metadata.name.clone())
                    .collect()
            };
            assert_eq!(
                (names("red"), names("blue"), names("green")),
                (vec!["b".into()], vec!["a".into()], vec![])
            );
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_recreated_object_is_a_deletion_and_an_appearance() {
    within_hours(2, async {
        let world = World::new();
        world.put("a", "first");
        let kit = world.informers(world.sandbox.client(), options());
        let informer = kit.informers.of::<ConfigMap>();
        informer.synced().await.unwrap();
        let mut changes = informer.changes();
        assert!(changes.recv().await.unwrap().before.is_none());
        // Even when the DELETE is never seen.
        world
            .sandbox
            .faults()
            .disturb_events(watches(), 0, 1, EventEffect::Drop);
        world.delete("a").await;
        world.put("a", "second");
        settle().await;
        let (gone, back) = (changes.recv().await.unwrap(), changes.recv().await.unwrap());
        assert!(gone.after.is_none() && back.before.is_none());
        assert_eq!(back.after.map(|object| value_of(&object)), Some("second".to_owned()));
    })
    .await;
}

// karmada#7474, envoyproxy/ai-gateway#2565: a deletion that waits for a finalizer, and the finalizer's removal, change
// no generation; they are changes like any other.
#[tokio::test(start_paused = true)]
async fn marking_for_deletion_and_finalizers_are_changes() {
    within_hours(2, async {
        let world = World::new();
        let mut object = crate::world::config_map("a", "1");
        object["metadata"]["finalizers"] = serde_json::json!(["example.com/wait"]);
        world.sandbox.create(object).unwrap();
        let kit = world.informers(world.sandbox.client(), options());
        let informer = kit.informers.of::<ConfigMap>();
        informer.synced().await.unwrap();
        let mut changes = informer.changes();
        changes.recv().await.unwrap();
        world.delete("a").await;
        let marked = changes.recv().await.unwrap().after.unwrap();
        assert!(marked.metadata.deletion_timestamp.is_some());
        let patch = serde_json::json!({"metadata": {"finalizers": null}});
        let patch = kube::api::Patch::Merge(patch);
        world
            .config_maps()
            .patch("a", &kube::api::PatchParams::default(), &patch)
            .await
            .unwrap();
        assert!(changes.recv().await.unwrap().after.is_none());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_members_informers_stop_on_their_own() {
    within_hours(2, async {
        let (world, member) = (World::new(), World::new());
        let kit = world.informers(world.sandbox.client(), options());
        let of_member = kit.informers.for_member("member1", member.sandbox.client());
        let informer = of_member.of::<ConfigMap>();
        informer.synced().await.unwrap();
        let mut changes = informer.changes();
        assert!(
            kit.metrics
                .value("failover_informer_age_seconds", &[("member", "member1")])
                .is_some()
        );
        of_member.stop();
        assert!(changes.recv().await.is_none());
        assert_eq!(informer.synced().await.err(), Some(Stopped));
        assert!(
            kit.metrics
                .value("failover_informer_age_seconds", &[("member", "member1")])
                .is_none()
        );
        assert_eq!(kit.readiness.missing(), Vec::<String>::new());
        assert!(
            kit.informers.of::<ConfigMap>().synced().await.is_ok(),
            "the control plane's go on"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn informers_for_a_while_end_alone_and_with_those_they_come_from() {
    within_hours(2, async {
        let (world, member) = (World::new(), World::new());
        let kit = world.informers(world.sandbox.client(), options());
        let of_member = kit.informers.for_member("member1", member.sandbox.client());
        let (first, second) = (of_member.for_a_while(), of_member.for_a_while());
        for informers in [&of_member, &first, &second] {
            informers.of::<ConfigMap>().synced().await.unwrap();
        }
        let watched = || member.sandbox.faults().count(&watches());
        assert_eq!(watched(), 3, "each has its own");
        let mut changes = first.of::<ConfigMap>().changes();
        first.stop();
        assert!(changes.recv().await.is_none());
        assert_eq!(first.of::<ConfigMap>().synced().await.err(), Some(Stopped));
        assert!(second.of::<ConfigMap>().synced().await.is_ok() && of_member.of::<ConfigMap>().synced().await.is_ok());
        of_member.stop();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(second.of::<ConfigMap>().synced().await.err(), Some(Stopped));
        drop((first, second));
        assert!(
            kit.metrics
                .value("failover_informer_age_seconds", &[("member", "member1")])
                .is_none()
        );
    })
    .await;
}

// What an editor of one object names in it must not make a process read everything around it, nor for ever.
#[tokio::test(start_paused = true)]
async fn a_single_object_is_followed_alone_and_until_the_last_lets_go() {
    within_hours(2, async {
        let world = World::new();
        world.put("wanted", "1");
        world.put("other", "1");
        let kit = world.informers(world.sandbox.client(), options());
        let followed = || {
            kit.metrics
                .value("failover_informer_single_objects", &[("kind", "configmaps")])
        };
        let key = ObjectKey::namespaced("default", "wanted");
        let first = kit.informers.object::<ConfigMap>(&key, &());
        assert_eq!(
            first.as_read(),
            Err(NotRead { failure: None }),
            "not read is not absent"
        );
        assert_eq!(kit.readiness.missing(), [""; 0], "nobody waits for what a person wrote");
        let second = kit.informers.object::<ConfigMap>(&key, &());
        let mut changes = second.changes();
        assert_eq!(value_of(&first.read().await.unwrap().unwrap()), "1");
        assert_eq!(world.sandbox.faults().count(&lists()), 1, "both are the same");
        assert_eq!(followed(), Some(1.0));
        world.put("wanted", "2");
        world.put("other", "2");
        settle().await;
        assert_eq!(value_of(&second.as_read().unwrap().unwrap()), "2");
        let mut keys = Vec::new();
        while let Some(change) = changes.try_recv() {
            keys.push(change.key.name);
        }
        assert_eq!(keys, ["wanted"], "and nothing else");

        drop(first);
        world.delete("wanted").await;
        settle().await;
        assert_eq!(second.as_read(), Ok(None));
        drop(second);
        settle().await;
        assert_eq!(changes.recv().await.map(|change| change.after), Some(None));
        assert!(changes.recv().await.is_none(), "it is followed no longer");
        assert_eq!(followed(), None);
        // Names come and go, and nothing stays of them.
        let series = kit.metrics.render().lines().count();
        for number in 0..20 {
            let key = ObjectKey::namespaced("default", format!("name-{number}"));
            assert_eq!(kit.informers.object::<ConfigMap>(&key, &()).read().await, Ok(None));
        }
        settle().await;
        assert_eq!(kit.metrics.render().lines().count(), series);
        assert_eq!(kit.tasks.running_with_subgroups(), [""; 0]);

        let again = kit.informers.object::<ConfigMap>(&key, &());
        world.put("wanted", "3");
        settle().await;
        assert_eq!(value_of(&again.read().await.unwrap().unwrap()), "3");
    })
    .await;
}
