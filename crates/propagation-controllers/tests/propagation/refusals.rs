//! Objects that a member refuses or does not answer for: its own words stand in the condition, and no other object waits.

use kube_sandbox::{Effect, Match, Verb};
use rstest::rstest;
use serde_json::{Value, json};

use crate::handmade::{config, deployment, health, widget, widgets, widgets_of};
use crate::world::{World, delete, limited};

async fn on_member() -> World {
    let mut world = World::new(&["m1"]);
    world.start_only("execution,workStatus,namespace").await;
    world.settle().await;
    world
}

pub fn refusal(message: &str) -> Effect {
    Effect::Error {
        code: 403,
        reason: "Forbidden".into(),
        message: message.into(),
    }
}

fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "shop", "name": name}, "data": {"k": "dg=="}})
}

#[tokio::test(start_paused = true)]
async fn the_members_own_words_are_said_once_and_it_is_tried_seldom() {
    limited(async {
        let world = on_member().await;
        let words = "admission webhook \"policy\" denied the request: no secrets here";
        let writes = Match::writes().resource("secrets");
        world.member("m1").faults().inject(writes.clone(), refusal(words));
        for n in 0..50 {
            world.bring("m1", &format!("s{n}"), &[secret(&format!("s{n}"))]);
        }
        world.bring("m1", "c", &[config("c", "v")]);
        world.pass(1_000).await;
        assert_eq!(world.applied("m1", "c").0, "True", "no other object is delayed");
        assert_eq!(
            world.applied("m1", "s7"),
            (
                "False".to_owned(),
                format!("Failed to apply all manifests (0/1): HTTP 403: {words}")
            )
        );
        world.pass(600_000).await;
        world.forget_writes();
        world.pass(3_600_000).await;
        let said = world.writes().iter().filter(|write| write.resource == "works").count();
        assert_eq!(said, 0, "what is said already is not said again");
        let tries = world.member("m1").faults().count(&writes);
        assert!((50 * 9..=50 * 20).contains(&tries), "about every five minutes: {tries}");

        world.member("m1").faults().clear();
        world.bring("m1", "s7", &[secret("s8")]);
        world.pass(1_000).await;
        assert_eq!(world.applied("m1", "s7").0, "True", "a new version is tried at once");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn words_of_any_length_fit_into_a_condition() {
    limited(async {
        let world = on_member().await;
        let writes = Match::writes().resource("secrets");
        world
            .member("m1")
            .faults()
            .inject(writes, refusal(&"no: ü".repeat(100_000)));
        world.bring("m1", "s", &[secret("s")]);
        world.settle().await;
        let (status, message) = world.applied("m1", "s");
        assert_eq!(status, "False");
        assert!(message.len() < 5_000 && message.ends_with('…'), "{}", message.len());
    })
    .await;
}

// A webhook of the member that hangs for one kind.
#[tokio::test(start_paused = true)]
async fn a_kind_whose_requests_hang_keeps_no_other_waiting() {
    limited(async {
        let world = on_member().await;
        world.member("m1").sandbox().apply_crd(widgets()).unwrap();
        let hanging = Match::writes().resource("widgets");
        world.member("m1").faults().inject(hanging, Effect::Hang);
        for n in 0..50 {
            world.bring("m1", &format!("w{n}"), &[widget(&format!("w{n}"), 1)]);
        }
        // The first ones show what is the matter.
        world.pass(12_000).await;
        world.bring("m1", "c", &[config("c", "v")]);
        world.pass(200).await;
        assert_eq!(world.applied("m1", "c").0, "True");
        assert!(world.applied("m1", "w0").1.ends_with("no answer within 10s"));
        world.member("m1").faults().clear();
        world.pass(600_000).await;
        assert!((0..50).all(|n| world.applied("m1", &format!("w{n}")).0 == "True"));
    })
    .await;
}

// Nor does one that cannot be listed: only the first looks wait for the list.
#[tokio::test(start_paused = true)]
async fn a_kind_that_cannot_be_listed_is_asked_for_one_by_one() {
    limited(async {
        let world = on_member().await;
        world.member("m1").sandbox().apply_crd(widgets()).unwrap();
        let lists = Match::any().verb(Verb::List).resource("widgets");
        world.member("m1").faults().inject(lists, Effect::Hang);
        for n in 0..50 {
            world.bring("m1", &format!("w{n}"), &[widget(&format!("w{n}"), 1)]);
        }
        world.bring("m1", "c", &[config("c", "v")]);
        world.pass(5_000).await;
        assert_eq!(world.applied("m1", "c").0, "True");
        assert!((0..50).all(|n| world.applied("m1", &format!("w{n}")).0 == "True"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_terminating_is_quoted_and_what_was_in_it_comes_again() {
    limited(async {
        let mut world = World::with_housekeeping(&["m1"], kube_sandbox::Housekeeping::default());
        world.start_only("execution,workStatus,namespace").await;
        world.settle().await;
        world.bring("m1", "c", &[config("c", "v")]);
        world.settle().await;
        // Something in it takes its time to go.
        let member = world.member("m1");
        let stays = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": "shop", "name": "stays", "finalizers": ["example.io/slow"]}});
        member.sandbox().put(stays).unwrap();
        delete(member.sandbox(), "v1", "Namespace", None, "shop").await;
        world.bring("m1", "d", &[config("d", "v")]);
        world.settle().await;
        let (status, message) = world.applied("m1", "d");
        assert_eq!(status, "False");
        assert!(message.contains("being terminated"), "{message}");
        let mut stays = member.sandbox().get("v1", "ConfigMap", Some("shop"), "stays").unwrap();
        stays["metadata"]["finalizers"] = json!([]);
        member.sandbox().put(stays).unwrap();
        world.pass(60_000).await;
        for name in ["c", "d"] {
            assert_eq!(world.applied("m1", name).0, "True");
            assert!(world.on("m1", "v1", "ConfigMap", name).is_some(), "{name}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_of_a_mebibyte_is_carried_like_any_other() {
    limited(async {
        let world = on_member().await;
        let large = "x".repeat(1_000_000);
        world.bring("m1", "c", &[config("c", &large)]);
        world.settle().await;
        assert_eq!(world.applied("m1", "c").0, "True");
        let mut there = world.on("m1", "v1", "ConfigMap", "c").unwrap();
        assert_eq!(there["data"]["k"].as_str().unwrap().len(), 1_000_000);
        there["data"]["k"] = json!("changed");
        world.member("m1").sandbox().put(there).unwrap();
        world.settle().await;
        let there = world.on("m1", "v1", "ConfigMap", "c").unwrap();
        assert_eq!(there["data"]["k"].as_str().unwrap().len(), 1_000_000);
    })
    .await;
}

// A webhook of the member hangs for deletions, of which many have waited for its return.
#[tokio::test(start_paused = true)]
async fn deletions_that_hang_keep_a_returning_member_from_nothing_else() {
    limited(async {
        let world = on_member().await;
        let member = world.member("m1");
        member.sandbox().apply_crd(widgets()).unwrap();
        let names: Vec<String> = (0..100).map(|n| format!("w{n}")).collect();
        for name in &names {
            world.bring("m1", name, &[widget(name, 1)]);
        }
        world.pass(20_000).await;
        world.lose("m1");
        world.settle().await;
        for name in &names {
            world.withdraw("m1", name).await;
        }
        world.bring("m1", "c", &[config("c", "v")]);
        world.settle().await;
        let deletions = Match::any().verb(Verb::Delete).resource("widgets");
        member.faults().inject(deletions, Effect::Hang);
        world.regain("m1");
        world.pass(13_000).await;
        assert_eq!(world.applied("m1", "c").0, "True", "after one time limit");
        world.bring("m1", "d", &[config("d", "v")]);
        world.pass(200).await;
        assert_eq!(world.applied("m1", "d").0, "True", "and at once from then on");
        assert!(names.iter().all(|name| world.handmade("m1", name).is_some()));
        member.faults().clear();
        world.pass(600_000).await;
        assert!(names.iter().all(|name| world.handmade("m1", name).is_none()));
        assert!(member.sandbox().list("example.io/v1", "Widget").is_empty());
    })
    .await;
}

// The member was upgraded while the Work is as it was: an object is one in all versions of its kind.
#[rstest]
#[case::removed(false)]
#[case::kept_for_its_owner(true)]
#[tokio::test(start_paused = true)]
async fn a_version_that_is_served_no_longer_leaves_nothing_of_ours(#[case] preserve: bool) {
    limited(async {
        let world = on_member().await;
        let member = world.member("m1");
        member
            .sandbox()
            .create(widgets_of(&[("v1", true), ("v2", true)]))
            .unwrap();
        world.bring("m1", "w", &[widget("w", 1)]);
        world.edit("work.karmada.io/v1alpha1", "Work", Some("karmada-es-m1"), "w", |work| {
            work["spec"]["preserveResourcesOnDeletion"] = json!(preserve);
        });
        world.settle().await;
        assert_eq!(world.applied("m1", "w").0, "True");
        member
            .sandbox()
            .put(widgets_of(&[("v1", false), ("v2", true)]))
            .unwrap();
        let there = || world.on("m1", "example.io/v2", "Widget", "w");

        // What comes from something in between says nothing of the kind.
        let no_route = Effect::Error {
            code: 404,
            reason: "NotFound".into(),
            message: "no route".into(),
        };
        let fault = member.faults().inject(Match::any().verb(Verb::Other), no_route);
        world.withdraw("m1", "w").await;
        world.pass(60_000).await;
        assert!(world.handmade("m1", "w").is_some() && there().is_some());
        member.faults().remove(fault);

        world.pass(400_000).await;
        assert!(world.handmade("m1", "w").is_none());
        let label = |object: Value| object["metadata"]["labels"]["karmada.io/managed"].clone();
        assert_eq!(there().map(label), preserve.then_some(Value::Null));
    })
    .await;
}

// Nobody waits for kinds of which the member does not say whether it has them, but for the first time.
#[tokio::test(start_paused = true)]
async fn a_question_for_kinds_that_hangs_keeps_no_other_waiting() {
    limited(async {
        let world = on_member().await;
        let member = world.member("m1");
        member.sandbox().apply_crd(widgets()).unwrap();
        world.bring("m1", "c", &[config("c", "v")]);
        world.settle().await;
        member.faults().inject(Match::any().verb(Verb::Other), Effect::Hang);
        for n in 0..50 {
            world.bring("m1", &format!("w{n}"), &[widget(&format!("w{n}"), 1)]);
        }
        world.pass(17_000).await;
        for n in 0..5 {
            let name = format!("c{n}");
            world.bring("m1", &name, &[config(&name, "v")]);
            world.pass(1_000).await;
            assert_eq!(world.applied("m1", &name).0, "True", "{name}");
            assert_eq!(health(&world, "m1", &name), "Healthy", "{name}");
            world.pass(14_000).await;
        }
        member.faults().clear();
        world.pass(600_000).await;
        assert!((0..50).all(|n| world.applied("m1", &format!("w{n}")).0 == "True"));
    })
    .await;
}

// Its objects are applied one by one, so they are looked at one by one, too.
#[tokio::test(start_paused = true)]
async fn a_kind_that_may_not_be_listed_is_reported_on_and_is_unknown_when_it_may_not_be_read() {
    limited(async {
        let world = on_member().await;
        let member = world.member("m1");
        let ours = |verb: Verb| Match::any().verb(verb).resource("deployments").client("propagation");
        member.faults().inject(ours(Verb::List), refusal("you may not list"));
        world.bring("m1", "d", &[deployment("web", 1)]);
        world.pass(90_000).await;
        assert_eq!(world.applied("m1", "d").0, "True");
        assert_eq!(health(&world, "m1", "d"), "Healthy");

        let fault = member.faults().inject(ours(Verb::Get), refusal("you may not get"));
        world.pass(90_000).await;
        assert_eq!(health(&world, "m1", "d"), "Unknown");
        assert!(world.events("d").contains(&"ReflectStatusFailed".to_owned()));
        member.faults().remove(fault);
        world.pass(600_000).await;
        assert_eq!(health(&world, "m1", "d"), "Healthy");
    })
    .await;
}
