//! Objects that a member has already and that Karmada did not make.

use serde_json::{Value, json};

use crate::identity::{Bound, Id};
use crate::world::{World, condition, config};

/// The member's own, which its users rely on.
fn own(name: &str) -> Value {
    let mut own = config("conflicts", name, "own");
    own["metadata"]["labels"] = json!({"team": "a"});
    own["metadata"]["finalizers"] = json!(["example.io/audit"]);
    own["data"]["more"] = json!("own");
    own
}

async fn with_one_there(world: &World, template: Value) -> Bound {
    let bound = world.spread(template, json!({})).await;
    world.m1.until(&Id::namespace("conflicts"), "is there", |_| true).await;
    world.m1.create(own(&bound.template.name)).await;
    world.place(&bound, &[("m1", 0), ("m2", 0)]).await;
    bound
}

pub async fn what_is_there_already(world: &World) {
    let abort = with_one_there(world, config("conflicts", "abort", "ours")).await;
    let words = "ConfigMap conflicts/abort is in the member already and was not made by Karmada";
    world.refused(&abort, "m1", words).await;
    world.applied(&abort, "m2").await;
    world
        .item(&abort, "m1", words, |item| {
            item["appliedMessage"].as_str().is_some_and(|text| text.contains(words))
        })
        .await;
    world.plane.until_told(&abort.template, "SyncFailed", words).await;
    let binding = world.plane.get(&abort.binding).await.unwrap();
    assert_eq!(condition(&binding, "FullyApplied")["status"], "False");
    let untouched = world.m1.get(&abort.template).await.unwrap();
    assert_eq!(untouched["data"], own("abort")["data"]);
    assert_eq!(untouched["metadata"]["labels"], json!({"team": "a"}));

    // What was never ours does not go with the template.
    world.withdraw(&abort).await;
    world.m2.until_gone(&abort.template).await;
    let there = world.m1.get(&abort.template).await.unwrap();
    assert!(there["metadata"]["deletionTimestamp"].is_null());

    // The word of the template's owner counts before the policy's.
    let mut by_template = config("conflicts", "template", "ours");
    by_template["metadata"]["annotations"] = json!({"work.karmada.io/conflict-resolution": "overwrite"});
    let by_template = with_one_there(world, by_template).await;
    let by_policy = with_one_there(world, config("conflicts", "policy", "ours")).await;
    world.refused(&by_policy, "m1", "conflictResolution is Abort").await;
    world
        .plane
        .merge(&by_policy.policy, json!({"spec": {"conflictResolution": "Overwrite"}}))
        .await;
    for bound in [by_template, by_policy] {
        world.applied(&bound, "m1").await;
        let taken = world.m1.get(&bound.template).await.unwrap();
        assert_eq!(taken["data"], json!({"k": "ours"}), "{}", bound.template);
        assert_eq!(taken["metadata"]["labels"]["team"], "a", "labels of the member stay");
        assert_eq!(taken["metadata"]["finalizers"], json!(["example.io/audit"]));
        let done = |binding: &Value| condition(binding, "FullyApplied")["status"] == "True";
        world.plane.until(&bound.binding, "is applied everywhere", done).await;
    }
}
