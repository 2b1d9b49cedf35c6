//! What is said of a template that cannot be interpreted, over restarts, and where another process finds it out.

use kube_sandbox::{Effect, Match};
use rstest::rstest;
use serde_json::{Value, json};

use crate::scripts::{WIDGETS, customization, scripts, widgets, with};
use crate::world::{World, limited};

const BROKEN_REPLICAS: (&str, &str) = ("replicaResource", "function GetReplicas(o) return o.spec.size.deep end");
const BROKEN_DEPENDENCIES: (&str, &str) = (
    "dependencyInterpretation",
    "function GetDependencies(o) if o.spec.settings == 'broken' then error('broken') end return {} end",
);
const BROKEN_AGGREGATION: (&str, &str) = (
    "statusAggregation",
    "function AggregateStatus(o, items) return o.spec.size.deep end",
);

fn said(world: &World) -> Value {
    world.condition("gear-widget", "Interpreted")
}

/// Also those that changed nothing in the end.
fn is_said_anew(world: &World) -> bool {
    let writes = world.writes();
    writes
        .iter()
        .any(|write| write.resource == "resourcebindings" && write.changed)
}

/// A widget whose scripts fail, said on its binding, and nobody at work.
async fn troubled(broken: &[(&str, &str)]) -> World {
    let mut world = widgets().await;
    world.schedule("gear-widget", &[("m1", 3)]);
    world.settle().await;
    let broken: Value = broken.iter().map(|(field, script)| (*field, json!(script))).collect();
    customization(&world, "widgets", with(broken));
    world.edit(WIDGETS, "Widget", Some("shop"), "gear", |widget| {
        widget["spec"]["settings"] = json!("broken");
    });
    world.pass(20_000).await;
    assert_eq!(said(&world)["status"], "False");
    world.stop().await;
    world.pass(3_600_000).await;
    world.forget_writes();
    world
}

#[rstest]
#[case::replicas(&[BROKEN_REPLICAS], "GetReplicasFailed")]
#[case::dependencies(&[BROKEN_DEPENDENCIES], "GetDependenciesFailed")]
#[case::both(&[BROKEN_REPLICAS, BROKEN_DEPENDENCIES], "GetDependenciesFailed")]
#[tokio::test(start_paused = true)]
async fn a_start_does_not_say_that_trouble_is_over(
    #[case] broken: &[(&str, &str)],
    #[case] reason: &str,
    // One process for all, or another one for those who look at templates.
    #[values("*", "bindingStatus")] controllers: &str,
) {
    limited(async {
        let mut world = troubled(broken).await;
        let before = said(&world);
        assert_eq!(before["reason"], reason);
        world.start_only(controllers).await;
        world.pass(600_000).await;
        assert_eq!(said(&world), before);
        assert!(!is_said_anew(&world), "{:?}", world.writes());
        customization(&world, "widgets", scripts());
        world.pass(60_000).await;
        assert_eq!(said(&world)["status"], "True");
    })
    .await;
}

// Not by its scripts: the template itself is what was wrong.
#[tokio::test(start_paused = true)]
async fn a_template_that_is_mended_is_seen_by_whoever_says_it() {
    limited(async {
        let mut world = troubled(&[BROKEN_DEPENDENCIES]).await;
        world.start_only("bindingStatus").await;
        world.pass(60_000).await;
        assert_eq!(said(&world)["status"], "False");
        world.edit(WIDGETS, "Widget", Some("shop"), "gear", |widget| {
            widget["spec"]["settings"] = json!("settings");
        });
        world.pass(60_000).await;
        assert_eq!(said(&world)["status"], "True");
    })
    .await;
}

// What cannot be read may still be broken.
#[rstest]
#[case::replicas(BROKEN_REPLICAS, "GetReplicasFailed")]
#[case::aggregation(BROKEN_AGGREGATION, "AggregateStatusFailed")]
#[tokio::test(start_paused = true)]
async fn until_the_template_is_read_it_stays(#[case] broken: (&str, &str), #[case] reason: &str) {
    limited(async {
        let mut world = troubled(&[broken]).await;
        let before = said(&world);
        assert_eq!(before["reason"], reason);
        let away = Effect::Error {
            code: 500,
            reason: "InternalError".into(),
            message: "away".into(),
        };
        let faults = world.control_plane().faults();
        let away = faults.inject(Match::any().resource("widgets"), away);
        world.start().await;
        world.pass(120_000).await;
        assert_eq!(said(&world), before);
        faults.remove(away);
        customization(&world, "widgets", scripts());
        world.pass(120_000).await;
        assert_eq!(said(&world)["status"], "True");
    })
    .await;
}

// Without a policy nobody asks for its replicas any more, and what was found is no news of today.
#[tokio::test(start_paused = true)]
async fn a_template_without_a_policy_is_looked_at_by_who_says_it() {
    limited(async {
        let mut world = troubled(&[BROKEN_REPLICAS]).await;
        world.start().await;
        world.pass(60_000).await;
        let policy = ("policy.karmada.io/v1alpha1", "PropagationPolicy");
        world.delete(policy.0, policy.1, Some("shop"), "widget").await;
        world.pass(60_000).await;
        assert!(world.binding("gear-widget").is_some());
        assert_eq!(said(&world)["status"], "False", "it is still broken");
        customization(&world, "widgets", scripts());
        world.pass(60_000).await;
        assert_eq!(said(&world)["status"], "True");
    })
    .await;
}
