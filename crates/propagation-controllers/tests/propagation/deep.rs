//! Objects of more levels than a JSON reader takes: API servers take ten thousand, and any tenant can make one of a kind of
//! free form. It has words, and nobody else waits for it.

use kube_sandbox::Verb;
use rstest::rstest;
use serde_json::{Value, json};

use crate::scripts::{WIDGETS, definition};
use crate::world::{World, edit, limited};

const WORDS: &str = "it has more than 100 levels of fields in each other";

/// So many levels of objects.
fn levels(count: usize) -> Value {
    (1..count).fold(json!({"end": 1}), |inner, _| json!({"a": inner}))
}

/// A widget of so many levels, its own included.
fn widget(name: &str, count: usize) -> Value {
    json!({"apiVersion": WIDGETS, "kind": "Widget", "metadata": {"namespace": "shop", "name": name}, "spec": levels(count - 1)})
}

/// A Deployment, a small and a deep widget on m1, of which the deep one was small when it was placed.
async fn world(depth: usize) -> World {
    let mut world = World::new(&["m1"]);
    for server in [world.control_plane(), world.member("m1").sandbox()] {
        server.create(definition()).unwrap();
    }
    world.propagate("apps/v1", "Deployment", json!({}));
    world.propagate(WIDGETS, "Widget", json!({}));
    world.start().await;
    world.deployment("web", 1);
    for name in ["deep", "small"] {
        world.put(widget(name, 5));
    }
    world.settle().await;
    for binding in ["web-deployment", "deep-widget", "small-widget"] {
        world.schedule(binding, &[("m1", 1)]);
    }
    world.settle().await;
    assert!(world.on("m1", WIDGETS, "Widget", "deep").is_some());
    world.put(widget("deep", depth));
    world
}

/// Whether a change of the Deployment and of the small widget arrives.
async fn others_go_on(world: &World, image: &str) {
    world.edit("apps/v1", "Deployment", Some("shop"), "web", |web| {
        web["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
    });
    world.edit(WIDGETS, "Widget", Some("shop"), "small", |small| {
        small["spec"]["image"] = json!(image);
    });
    world.settle().await;
    let web = world.deployment_on("m1", "web").unwrap();
    assert_eq!(web["spec"]["template"]["spec"]["containers"][0]["image"], image);
    let small = world.on("m1", WIDGETS, "Widget", "small").unwrap();
    assert_eq!(small["spec"]["image"], image);
}

// The reader ends at 128 levels: of these both fit in the list of the kind, and 126 not in that of the Works.
#[rstest]
#[tokio::test(start_paused = true)]
async fn a_template_that_is_too_deep_has_words_and_others_go_on(#[values(101, 126)] depth: usize) {
    limited(async {
        let mut world = world(depth).await;
        world.settle().await;
        others_go_on(&world, "nginx:2").await;
        let said = |world: &World| world.condition("deep-widget", "FullyApplied");
        let message = said(&world)["message"].as_str().unwrap_or_default().to_owned();
        assert!(
            said(&world)["status"] == "False" && message.contains(WORDS),
            "{message}"
        );

        world.stop().await;
        world.forget_writes();
        world.start().await;
        world.pass(60_000).await;
        others_go_on(&world, "nginx:3").await;
        assert!(said(&world)["message"].as_str().unwrap().contains(WORDS));
        let is_delete = |write: &kube_sandbox::WriteRecord| write.verb == Verb::Delete;
        assert!(!world.writes().iter().any(is_delete), "it is not gone");
        assert_eq!(world.on("m1", WIDGETS, "Widget", "deep").unwrap()["spec"], levels(4));

        world.put(widget("deep", 100));
        world.pass(60_000).await;
        assert_eq!(said(&world)["status"], "True");
        assert_eq!(world.on("m1", WIDGETS, "Widget", "deep").unwrap()["spec"], levels(99));
    })
    .await;
}

// One that somebody else made, or a version of ours without the bound.
#[tokio::test(start_paused = true)]
async fn a_work_that_is_too_deep_is_not_applied() {
    limited(async {
        let world = world(5).await;
        world.bring("m1", "foreign", &[widget("foreign", 101)]);
        world.settle().await;
        others_go_on(&world, "nginx:2").await;
        assert!(
            world.on("m1", WIDGETS, "Widget", "foreign").is_none(),
            "only a part of it may have been read"
        );
        let told = world.events_from("execution-controller");
        let words = "the Work's manifest has more than 100 levels";
        assert!(
            told.iter().any(|said| said.contains("foreign") && said.contains(words)),
            "{told:?}"
        );
    })
    .await;
}

// What no reader takes, among what everybody reads: a template, and Works of a cluster that is gone.
#[rstest]
#[tokio::test(start_paused = true)]
async fn what_nobody_can_read_hides_no_other(#[values(126, 300)] depth: usize) {
    limited(async {
        let mut world = world(5).await;
        world.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-es-gone"}}));
        world.bring("gone", "foreign", &[widget("foreign", depth)]);
        world.put(widget("unread", depth));
        world.settle().await;
        others_go_on(&world, "nginx:2").await;
        world.stop().await;
        world.forget_writes();
        world.start().await;
        world.settle().await;
        others_go_on(&world, "nginx:3").await;
        let is_delete = |write: &kube_sandbox::WriteRecord| write.verb == Verb::Delete;
        assert!(!world.writes().iter().any(is_delete));
    })
    .await;
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_status_that_is_too_deep_has_words_and_others_go_on(#[values(101, 126)] depth: usize) {
    limited(async {
        let world = world(5).await;
        edit(
            world.member("m1").sandbox(),
            WIDGETS,
            "Widget",
            Some("shop"),
            "deep",
            |deep| {
                deep["status"] = levels(depth);
            },
        );
        world.settle().await;
        others_go_on(&world, "nginx:2").await;
        let told = world.events_from("work-status-controller");
        let words = "cannot reflect the status of Widget shop/deep: it has more than 100 levels";
        assert!(told.iter().any(|said| said.contains(words)), "{told:?}");
        let said = world.condition("deep-widget", "Interpreted");
        assert!(said["message"].as_str().unwrap_or_default().contains(words), "{said}");
        assert!(world.item("deep-widget", "m1")["status"].is_null());
        assert_eq!(world.item("deep-widget", "m1")["applied"], true);
    })
    .await;
}
