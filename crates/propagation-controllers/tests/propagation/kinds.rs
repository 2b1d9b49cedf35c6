//! Objects of any kind on members: also of kinds that come later, and of kinds that go.

use kube_sandbox::{Effect, Match, MemberOptions, Verb};
use rstest::rstest;
use serde_json::{Value, json};

use crate::handmade::{config, widget, widgets};
use crate::world::{World, delete, limited};

async fn on_members() -> World {
    let mut world = World::new(&["m1", "m2"]);
    world.start_only("execution,workStatus,namespace").await;
    world.settle().await;
    world
}

fn widget_on(world: &World, cluster: &str, name: &str) -> Option<Value> {
    world.on(cluster, "example.io/v1", "Widget", name)
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_the_member_lacks_is_named_and_everything_else_goes_on() {
    limited(async {
        let world = on_members().await;
        world.member("m2").sandbox().apply_crd(widgets()).unwrap();
        for member in ["m1", "m2"] {
            world.bring(member, "w", &[widget("w", 1)]);
            world.bring(member, "c", &[config("c", "v")]);
        }
        world.settle().await;
        let (status, message) = world.applied("m1", "w");
        assert_eq!(status, "False");
        assert!(
            message
                .starts_with("Failed to apply all manifests (0/1): the member does not serve Widget of example.io/v1"),
            "{message}"
        );
        assert_eq!(world.applied("m1", "c").0, "True");
        assert_eq!(world.applied("m2", "w").0, "True");
        assert!(widget_on(&world, "m2", "w").is_some());

        // It is asked for now and then, and costs nothing else.
        world.pass(300_000).await;
        world.forget_writes();
        world.pass(3_600_000).await;
        assert!(world.writes().is_empty(), "no Event either: {:#?}", world.writes());
        // A person installs it.
        world.member("m1").sandbox().apply_crd(widgets()).unwrap();
        world.pass(61_000).await;
        assert_eq!(world.applied("m1", "w").0, "True");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_a_propagated_definition_defines_is_there_within_seconds() {
    limited(async {
        let world = on_members().await;
        world.bring("m1", "w", &[widget("w", 1)]);
        // Long after everybody has stopped expecting it.
        world.pass(3_600_000).await;
        assert_eq!(world.applied("m1", "w").0, "False");
        world.bring("m1", "d", &[widgets()]);
        world.pass(12_000).await;
        assert_eq!(world.applied("m1", "d").0, "True");
        assert_eq!(world.applied("m1", "w").0, "True");
        assert_eq!(widget_on(&world, "m1", "w").unwrap()["spec"]["size"], 1);

        // Its status comes back, whatever kind it is.
        let mut there = widget_on(&world, "m1", "w").unwrap();
        there["status"] = json!({"weight": 7});
        world.member("m1").sandbox().put(there).unwrap();
        world.pass(1_000).await;
        let work = world.handmade("m1", "w").unwrap();
        assert_eq!(work["status"]["manifestStatuses"][0]["status"]["weight"], 7);
        assert_eq!(work["status"]["manifestStatuses"][0]["health"], "Healthy");

        // And what somebody changes there is set right.
        let mut there = widget_on(&world, "m1", "w").unwrap();
        there["spec"]["size"] = json!(2);
        world.member("m1").sandbox().put(there).unwrap();
        world.pass(1_000).await;
        assert_eq!(widget_on(&world, "m1", "w").unwrap()["spec"]["size"], 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_is_followed_as_long_as_a_work_needs_it() {
    limited(async {
        let world = on_members().await;
        for member in ["m1", "m2"] {
            world.member(member).sandbox().apply_crd(widgets()).unwrap();
        }
        let followed = || {
            (
                world.followed("m1", "widgets.example.io"),
                world.followed("m2", "widgets.example.io"),
            )
        };
        assert_eq!(followed(), (0, 0));
        world.bring("m1", "a", &[widget("a", 1)]);
        world.bring("m1", "b", &[widget("b", 1)]);
        world.bring("m2", "a", &[widget("a", 1)]);
        world.settle().await;
        assert_eq!(followed(), (1, 1), "one for both controllers");
        world.withdraw("m1", "a").await;
        world.settle().await;
        assert!(widget_on(&world, "m1", "a").is_none());
        assert_eq!(followed(), (1, 1), "another one is there");

        // The Work is another one now: what it had is removed, and its kind is of no interest any more.
        world.bring("m1", "b", &[config("b", "v")]);
        world.settle().await;
        assert!(widget_on(&world, "m1", "b").is_none());
        assert_eq!(followed(), (0, 1));
        let watches = Match::any().verb(Verb::Watch).resource("widgets").client("propagation");
        let faults = world.member("m1").faults();
        faults.reset_counts();
        world.pass(3_600_000).await;
        assert_eq!(faults.count(&watches), 0, "nobody watches them");

        world.ready("m2", "False");
        world.settle().await;
        assert_eq!((followed(), world.followed("m2", "namespaces")), ((0, 0), 0));
        world.ready("m2", "True");
        world.settle().await;
        assert_eq!((followed(), world.followed("m2", "namespaces")), ((0, 1), 1));
        world.delete("cluster.karmada.io/v1alpha1", "Cluster", None, "m2").await;
        world.settle().await;
        assert!(!world.metrics().contains("member=\"m2\""));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_goes_is_named_and_its_works_can_go_all_the_same() {
    limited(async {
        let world = on_members().await;
        world.member("m1").sandbox().apply_crd(widgets()).unwrap();
        world.bring("m1", "a", &[widget("a", 1)]);
        world.bring("m1", "b", &[widget("b", 1)]);
        world.settle().await;
        assert_eq!(world.applied("m1", "a").0, "True");
        delete(
            world.member("m1").sandbox(),
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            None,
            "widgets.example.io",
        )
        .await;
        world.settle().await;
        // A new version of the Work shows that there is nowhere to put it.
        world.bring("m1", "a", &[widget("a", 2)]);
        world.settle().await;
        let (status, message) = world.applied("m1", "a");
        assert_eq!(status, "False");
        assert!(message.contains("does not serve Widget of example.io/v1"), "{message}");
        world.withdraw("m1", "b").await;
        world.settle().await;
        assert_eq!(world.handmade("m1", "b"), None);
        world.member("m1").sandbox().apply_crd(widgets()).unwrap();
        world.pass(61_000).await;
        assert_eq!(widget_on(&world, "m1", "a").unwrap()["spec"]["size"], 2);
    })
    .await;
}

/// The member that answers now is another one than the one before, and has nothing; its Cluster is the same, or a new one.
#[rstest]
#[case::the_same_cluster(false)]
#[case::another_cluster(true)]
#[tokio::test(start_paused = true)]
async fn a_member_that_was_installed_anew_gets_everything_again(#[case] joins_again: bool) {
    limited(async {
        let world = on_members().await;
        world.member("m1").sandbox().apply_crd(widgets()).unwrap();
        world.bring("m1", "w", &[widget("w", 1)]);
        world.bring("m1", "c", &[config("c", "v")]);
        world.settle().await;
        assert_eq!(world.applied("m1", "w").0, "True");
        world.lose("m1");
        world.settle().await;
        world.fleet.add_member(MemberOptions::new("m1", world.now()));
        assert!(world.on("m1", "v1", "ConfigMap", "c").is_none());
        if joins_again {
            world.delete("cluster.karmada.io/v1alpha1", "Cluster", None, "m1").await;
            world.settle().await;
            world.join("m1");
        } else {
            world.ready("m1", "True");
        }
        world.settle().await;
        assert!(world.on("m1", "v1", "ConfigMap", "c").is_some());
        let (status, message) = world.applied("m1", "w");
        assert_eq!(status, "False", "what was served by the one before is not");
        assert!(message.contains("does not serve Widget"), "{message}");
        world.member("m1").sandbox().apply_crd(widgets()).unwrap();
        world.pass(61_000).await;
        assert!(widget_on(&world, "m1", "w").is_some());
    })
    .await;
}

// C120, argo-cd#18480: what stands before the member says "not found" to everything, and that is not "nothing there".
#[tokio::test(start_paused = true)]
async fn a_gateway_that_finds_nothing_ends_no_work() {
    limited(async {
        let world = on_members().await;
        world.bring("m1", "c", &[config("c", "v")]);
        world.settle().await;
        let nowhere = Effect::Error {
            code: 404,
            reason: String::new(),
            message: "404 page not found".into(),
        };
        let gets = Match::any().resource("configmaps").verb(Verb::Get);
        world.member("m1").faults().inject(gets, nowhere);
        world.withdraw("m1", "c").await;
        world.pass(60_000).await;
        assert!(world.handmade("m1", "c").is_some(), "it may still be there");
        world.member("m1").faults().clear();
        world.pass(120_000).await;
        assert_eq!(world.handmade("m1", "c"), None);
        assert!(world.on("m1", "v1", "ConfigMap", "c").is_none());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_manifest_that_is_none_is_named_and_its_work_can_go() {
    limited(async {
        let world = on_members().await;
        let mut homeless = config("c", "v");
        homeless["metadata"].as_object_mut().unwrap().remove("namespace");
        let mut kindless = config("c", "v");
        kindless["kind"] = json!("");
        for (name, manifest, field) in [("a", homeless, "metadata.namespace"), ("b", kindless, "kind")] {
            world.bring("m1", name, &[manifest]);
            world.settle().await;
            let (status, message) = world.applied("m1", name);
            assert_eq!(status, "False");
            assert!(
                message.contains(&format!("manifest has no {field}, and cannot")),
                "{message}"
            );
            world.withdraw("m1", name).await;
            world.settle().await;
            assert_eq!(world.handmade("m1", name), None);
        }
    })
    .await;
}
