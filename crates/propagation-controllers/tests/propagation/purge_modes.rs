//! Purge modes over members that are up, away, and gone for ever; and the labels that a new copy keeps.

use rstest::rstest;
use serde_json::{Value, json};

use crate::world::{World, limited};

/// What has become of the member that is left.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Member {
    Up,
    Away,
    GoneForEver,
}

/// A Deployment of three replicas on m1 alone.
async fn on_m1() -> World {
    let mut world = World::new(&["m1", "m2"]);
    world.start().await;
    world.propagate("apps/v1", "Deployment", json!({}));
    world.deployment("web", 3);
    world.settle().await;
    world.schedule("web-deployment", &[("m1", 3)]);
    world.settle().await;
    assert!(world.deployment_on("m1", "web").is_some());
    world
}

async fn becomes(world: &World, member: Member) {
    match member {
        Member::Up => {}
        Member::Away => world.lose("m1"),
        Member::GoneForEver => {
            world.lose("m1");
            world.delete("cluster.karmada.io/v1alpha1", "Cluster", None, "m1").await;
        }
    }
}

/// A task for m1 in this mode, the result `to`.
fn leave_m1(world: &World, mode: &str, to: &[(&str, i32)]) {
    world.edit_binding("web-deployment", |binding| {
        binding["spec"]["gracefulEvictionTasks"] = json!([{
            "fromCluster": "m1", "purgeMode": mode, "reason": "TaintUntolerated", "producer": "TaintManager",
            "clustersBeforeFailover": ["m1"], "creationTimestamp": world.clock.now().to_string(),
        }]);
    });
    world.schedule("web-deployment", to);
}

fn has(world: &World, cluster: &str) -> bool {
    world.deployment_on(cluster, "web").is_some()
}

fn warned(world: &World) -> usize {
    let reasons = world.events("web-deployment").into_iter();
    reasons.filter(|reason| reason == "OldCopyNotConfirmedGone").count()
}

// C19, karmada PR#5889; C20, karmada PR#6387. After 10 s and after 40 s: whether the old copy's Work is still to stay, and
// whether the new copy is there; at the end how often it was said that the old copy may still run.
#[rstest]
#[case::gracefully_up("Gracefully", Member::Up, [(true, true), (true, true)], 0)]
#[case::gracefully_away("Gracefully", Member::Away, [(true, true), (true, true)], 0)]
#[case::gracefully_gone("Gracefully", Member::GoneForEver, [(true, true), (true, true)], 0)]
#[case::old_spelling("Graciously", Member::Up, [(true, true), (true, true)], 0)]
#[case::never_up("Never", Member::Up, [(true, true), (true, true)], 0)]
#[case::never_away("Never", Member::Away, [(true, true), (true, true)], 0)]
#[case::never_gone("Never", Member::GoneForEver, [(true, true), (true, true)], 0)]
#[case::directly_up("Directly", Member::Up, [(false, true), (false, true)], 0)]
#[case::directly_in_old_spelling("Immediately", Member::Up, [(false, true), (false, true)], 0)]
#[case::directly_away("Directly", Member::Away, [(false, false), (false, true)], 1)]
#[case::directly_gone("Directly", Member::GoneForEver, [(false, true), (false, true)], 0)]
#[tokio::test(start_paused = true)]
async fn c19_modes_over_members(
    #[case] mode: &str,
    #[case] member: Member,
    #[case] expected: [(bool, bool); 2],
    #[case] warnings: usize,
) {
    limited(async {
        let world = on_m1().await;
        becomes(&world, member).await;
        leave_m1(&world, mode, &[("m2", 3)]);
        for (seconds, expected) in [10_000, 30_000].into_iter().zip(expected) {
            world.pass(seconds).await;
            let stays = world
                .work("m1", "Deployment", "web")
                .is_some_and(|work| work["metadata"]["deletionTimestamp"].is_null());
            assert_eq!((stays, has(&world, "m2")), expected, "{mode}, {member:?}");
        }
        assert_eq!(warned(&world), warnings);
        // The task ends: whatever the mode was, the old copy goes, from a member that is away when it is back.
        world.drop_tasks("web-deployment");
        if member == Member::Away {
            world.regain("m1");
        }
        world.settle().await;
        assert!(world.work("m1", "Deployment", "web").is_none() && has(&world, "m2"));
        assert!(!has(&world, "m1") || member == Member::GoneForEver);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn directly_deletes_nothing_before_there_is_a_place_for_all() {
    limited(async {
        let world = on_m1().await;
        leave_m1(&world, "Directly", &[]);
        world.pass(600_000).await;
        assert!(has(&world, "m1"), "no place at all");
        world.schedule("web-deployment", &[("m2", 2)]);
        world.pass(600_000).await;
        assert!(has(&world, "m1") && !has(&world, "m2"), "no place for one of three");
        world.schedule("web-deployment", &[("m2", 3)]);
        world.settle().await;
        assert!(!has(&world, "m1") && has(&world, "m2"));
    })
    .await;
}

// A member that comes back during the wait is asked once more: the new copy comes when the old one is confirmed gone.
#[tokio::test(start_paused = true)]
async fn directly_a_member_that_comes_back_in_time_confirms_the_end() {
    limited(async {
        let world = on_m1().await;
        world.lose("m1");
        leave_m1(&world, "Directly", &[("m2", 3)]);
        world.pass(20_000).await;
        assert!(!has(&world, "m2"));
        world.regain("m1");
        world.settle().await;
        assert!(!has(&world, "m1") && has(&world, "m2"));
        assert_eq!(warned(&world), 0, "it is known that the old copy is gone");
    })
    .await;
}

// karmada f8fdd02: with stock the label goes from the member's object as soon as the task is done.
#[rstest]
#[case::gracefully("Gracefully", Member::Up)]
#[case::directly("Directly", Member::Up)]
#[case::directly_from_a_member_that_is_away("Directly", Member::Away)]
#[tokio::test(start_paused = true)]
async fn preserved_labels_stay_on_the_new_copy_when_the_task_is_gone(#[case] mode: &str, #[case] member: Member) {
    limited(async {
        let mut world = on_m1().await;
        becomes(&world, member).await;
        leave_m1(&world, mode, &[("m2", 3)]);
        world.edit_binding("web-deployment", |binding| {
            binding["spec"]["gracefulEvictionTasks"][0]["preservedLabelState"] = json!({"example.com/step": "7"});
        });
        world.scheduled("web-deployment");
        world.pass(60_000).await;
        let step =
            |world: &World| world.deployment_on("m2", "web").unwrap()["metadata"]["labels"]["example.com/step"].clone();
        assert_eq!(step(&world), "7");
        assert_eq!(
            world.deployment_on("m2", "web").unwrap()["spec"]["template"]["metadata"]["labels"]["example.com/step"],
            Value::Null,
            "labels of the object, not of its pods"
        );
        world.drop_tasks("web-deployment");
        world.pass(60_000).await;
        assert_eq!(step(&world), "7");
        world.stop().await;
        world.edit("apps/v1", "Deployment", Some("shop"), "web", |web| {
            web["spec"]["template"]["spec"]["containers"][0]["image"] = json!("nginx:2");
        });
        world.start().await;
        assert_eq!(step(&world), "7", "a restart and a new version of the template keep it");
        world.forget_writes();
        world.pass(600_000).await;
        assert_eq!(world.writes(), []);
    })
    .await;
}
