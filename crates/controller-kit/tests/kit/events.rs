//! Events: one for many, few for one object, none that blocks.

use std::time::Duration;

use controller_kit::process::Controller;
use controller_kit::{Context, Ended, EventRecorder, EventType};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Event, ObjectReference};
use kube::Api;
use kube::api::DeleteParams;
use kube_sandbox::{Effect, Match, Verb};

use crate::world::{World, seconds_and_a_bit, settle, within_hours};

fn cluster(name: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some("cluster.karmada.io/v1alpha1".to_owned()),
        kind: Some("Cluster".to_owned()),
        name: Some(name.to_owned()),
        uid: Some(format!("uid-of-{name}")),
        ..ObjectReference::default()
    }
}

struct Scene {
    world: World,
    events: EventRecorder,
    kit: crate::world::Kit,
}

impl Scene {
    fn new() -> Self {
        let world = World::new();
        let kit = world.informers(
            world.sandbox.client(),
            controller_kit::informer::InformerOptions::default(),
        );
        let events = EventRecorder::new(world.clock.clone(), "taint-manager", "tm-0", kit.metrics.clone());
        let (writer, client) = (events.clone(), world.sandbox.client());
        kit.tasks.spawn("events", async move { writer.run(client).await });
        Self { world, events, kit }
    }

    fn publish(&self, about: &str, note: &str) {
        self.events
            .publish(&cluster(about), EventType::Warning, "Tainted", note);
    }

    async fn stored(&self) -> Vec<Event> {
        let api: Api<Event> = Api::namespaced(self.world.sandbox.observer(), "default");
        api.list(&kube::api::ListParams::default()).await.unwrap().items
    }

    fn writes(&self) -> u64 {
        let faults = self.world.sandbox.faults();
        faults.count(&Match::any().resource("events").verb(Verb::Create))
            + faults.count(&Match::any().resource("events").verb(Verb::Patch))
    }
}

#[tokio::test(start_paused = true)]
async fn equal_events_are_one_with_a_count() {
    within_hours(3, async {
        let scene = Scene::new();
        let first = scene.world.clock.now();
        for _ in 0..100 {
            scene.publish("member1", "not ready");
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        scene.publish("member1", "ready");
        scene.publish("member2", "not ready");
        seconds_and_a_bit(60).await;
        let stored = scene.stored().await;
        assert_eq!(stored.len(), 3);
        let many = stored
            .iter()
            .find(|event| event.count == Some(100))
            .expect("all hundred are counted");
        assert_eq!(many.message.as_deref(), Some("not ready"));
        assert_eq!(many.type_.as_deref(), Some("Warning"));
        assert_eq!(many.reason.as_deref(), Some("Tainted"));
        assert_eq!(many.involved_object.name.as_deref(), Some("member1"));
        assert_eq!(
            many.source.as_ref().and_then(|source| source.component.as_deref()),
            Some("taint-manager")
        );
        let seconds = |at: &Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>| {
            at.as_ref().map(|time| time.0.duration_since(first).as_secs())
        };
        assert_eq!(
            (seconds(&many.first_timestamp), seconds(&many.last_timestamp)),
            (Some(0), Some(29))
        );
        // One create and a count every ten seconds, not a hundred writes.
        assert!(scene.writes() <= 3 + 4, "{} writes", scene.writes());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn each_controller_signs_with_its_own_name() {
    within_hours(3, async {
        let scene = Scene::new();
        scene.publish("member1", "not ready");
        scene.events.speaking_as("cluster-controller").publish(
            &cluster("member1"),
            EventType::Warning,
            "Tainted",
            "not ready",
        );
        settle().await;
        let mut sources: Vec<_> = scene
            .stored()
            .await
            .into_iter()
            .map(|event| {
                (
                    event.source.unwrap().component.unwrap(),
                    event.reporting_component.unwrap(),
                )
            })
            .collect();
        sources.sort();
        let both = |name: &str| (name.to_owned(), name.to_owned());
        assert_eq!(sources, [both("cluster-controller"), both("taint-manager")]);
    })
    .await;
}

// In a process the name is the controller's, unless it chose one.
#[tokio::test(start_paused = true)]
async fn a_process_signs_for_its_controllers() {
    within_hours(3, async {
        let world = World::new();
        let speaker = |name: &'static str| {
            Controller::new(name, move |ctx: Context| async move {
                ctx.events
                    .publish(&cluster(&name.to_lowercase()), EventType::Normal, "Hello", "hello");
                ctx.shutdown.cancelled().await;
                Ok(())
            })
        };
        let _running = world
            .process("a")
            .controllers([
                speaker("taintManager"),
                speaker("scheduler").with_event_source("default-scheduler"),
            ])
            .start()
            .await
            .unwrap();
        settle().await;
        let api: Api<Event> = Api::namespaced(world.sandbox.observer(), "default");
        let events = api.list(&kube::api::ListParams::default()).await.unwrap().items;
        let mut said: Vec<_> = events
            .into_iter()
            .map(|event| {
                (
                    event.involved_object.name.unwrap(),
                    event.source.unwrap().component.unwrap(),
                )
            })
            .collect();
        said.sort();
        let pair = |name: &str, source: &str| (name.to_owned(), source.to_owned());
        assert_eq!(
            said,
            [
                pair("scheduler", "default-scheduler"),
                pair("taintmanager", "taint-manager")
            ]
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn one_object_gets_a_burst_and_then_a_trickle_and_others_are_not_held_up() {
    within_hours(3, async {
        let scene = Scene::new();
        for number in 0..60 {
            scene.publish("noisy", &format!("note {number}"));
        }
        scene.publish("quiet", "hello");
        settle().await;
        assert_eq!(scene.stored().await.len(), 25 + 1);
        seconds_and_a_bit(601).await;
        assert_eq!(scene.stored().await.len(), 25 + 1 + 10, "one a minute");
        seconds_and_a_bit(3_600).await;
        assert_eq!(scene.stored().await.len(), 60 + 1, "late, not lost");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_event_that_expired_on_the_server_is_written_anew() {
    within_hours(3, async {
        let scene = Scene::new();
        scene.publish("member1", "not ready");
        settle().await;
        let api: Api<Event> = Api::namespaced(scene.world.sandbox.observer(), "default");
        for event in scene.stored().await {
            api.delete(&event.metadata.name.unwrap(), &DeleteParams::default())
                .await
                .unwrap();
        }
        scene.publish("member1", "not ready");
        seconds_and_a_bit(20).await;
        let stored = scene.stored().await;
        assert_eq!(stored.iter().map(|event| event.count).collect::<Vec<_>>(), [Some(1)]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn outages_delay_events_and_refusals_drop_them() {
    within_hours(3, async {
        let scene = Scene::new();
        let down = Effect::Error {
            code: 503,
            reason: "ServiceUnavailable".into(),
            message: "down".into(),
        };
        scene
            .world
            .sandbox
            .faults()
            .inject_times(Match::any().resource("events"), 0, 3, down);
        scene.publish("member1", "not ready");
        scene.publish("member1", "not ready");
        seconds_and_a_bit(30).await;
        assert_eq!(
            scene.stored().await.iter().map(|event| event.count).collect::<Vec<_>>(),
            [Some(2)]
        );

        let no = Effect::Error {
            code: 403,
            reason: "Forbidden".into(),
            message: "no".into(),
        };
        scene
            .world
            .sandbox
            .faults()
            .inject_times(Match::any().resource("events"), 0, 1, no);
        scene.publish("member2", "not ready");
        seconds_and_a_bit(600).await;
        assert_eq!(scene.stored().await.len(), 1);
        assert_eq!(
            scene
                .kit
                .metrics
                .value("failover_events_total", &[("outcome", "dropped")]),
            Some(1.0)
        );
        scene.publish("member2", "not ready");
        settle().await;
        assert_eq!(scene.stored().await.len(), 2, "the next one is tried again");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_long_note_is_shortened_at_a_character() {
    within_hours(1, async {
        let scene = Scene::new();
        scene.publish("member1", &"ü".repeat(2_000));
        settle().await;
        let note = scene.stored().await[0].message.clone().unwrap();
        assert!(note.len() <= 1_024 && note.ends_with("ü..."), "{} bytes", note.len());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_was_said_last_is_written_before_the_process_ends() {
    within_hours(1, async {
        let world = World::new();
        let controller = Controller::new("speaker", |ctx: Context| async move {
            for _ in 0..3 {
                ctx.events
                    .publish(&cluster("member1"), EventType::Normal, "Seen", "hello");
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            ctx.shutdown.cancelled().await;
            ctx.events
                .publish(&cluster("member1"), EventType::Normal, "Gone", "bye");
            Ok(())
        });
        let started = world.clock.now();
        let running = world.start("s", controller).await;
        seconds_and_a_bit(1).await;
        assert_eq!(running.stop().await, Ended::Stopped);
        assert!(world.clock.now() < started + SignedDuration::from_secs(3));
        let api: Api<Event> = Api::namespaced(world.sandbox.observer(), "default");
        let mut stored: Vec<_> = api
            .list(&kube::api::ListParams::default())
            .await
            .unwrap()
            .into_iter()
            .map(|event| (event.reason.unwrap(), event.count.unwrap()))
            .collect();
        stored.sort();
        assert_eq!(stored, [("Gone".to_owned(), 1), ("Seen".to_owned(), 3)]);
    })
    .await;
}
