//! Objects that one member refuses, and the others take: its own words stand in the condition and in an Event, it is asked
//! less and less often, no other object waits, and it goes on when the template or the member is mended.

use std::time::Duration;

use e2e_harness::eventually;
use futures::future::join_all;
use kube::api::PostParams;
use serde_json::{Value, json};

use crate::cluster_scoped::{definition, painted};
use crate::identity::{Bound, Id};
use crate::world::{MEMBERS, SOON, World, condition, config};

const WORDS: &str = "no such value in this house";
/// So many objects are refused at the same time.
const REFUSED: u32 = 20;
/// So long an object that nobody refuses may take, on a machine that does much else.
const NOT_DELAYED: Duration = Duration::from_secs(10);

/// The member's own policy: what says `refused` is not taken.
async fn house_rule(world: &World) -> [Id; 2] {
    let rules = json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
        "resources": ["configmaps"]}]);
    let expression = "!has(object.data) || !('k' in object.data) || object.data.k != 'refused'";
    let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "house"}, "spec": {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": rules},
            "validations": [{"expression": expression, "message": WORDS}]}});
    let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "house"}, "spec": {"policyName": "house", "validationActions": ["Deny"]}});
    let made = [world.m1.create(policy).await, world.m1.create(binding).await];
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    eventually("the policy is enforced", SOON, async || {
        match world.m1.try_create(&config("default", "probe", "refused"), &dry).await {
            Err(error) if error.to_string().contains(WORDS) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await
    .unwrap();
    made
}

pub async fn a_member_refuses_in_its_own_words(world: &World) {
    let rule = house_rule(world).await;
    let before = world.m1.answered("POST", "configmaps", 422).await;
    let names: Vec<String> = (0..REFUSED).map(|n| format!("bad-{n}")).collect();
    let bad: Vec<Bound> = join_all(names.iter().map(|name| async {
        let bound = world.spread(config("refusals", name, "refused"), json!({})).await;
        world.place(&bound, &MEMBERS.map(|name| (name, 0))).await;
        world.refused(&bound, "m1", WORDS).await;
        world.applied(&bound, "m2").await;
        bound
    }))
    .await;
    let said = world.plane.get(&bad[0].work("m1")).await.unwrap();
    let message = condition(&said, "Applied")["message"].clone();
    assert!(
        message
            .as_str()
            .unwrap()
            .starts_with("Failed to apply all manifests (0/1): HTTP 422: "),
        "{message}"
    );
    world.plane.until_told(&bad[0].template, "SyncFailed", WORDS).await;

    // Nobody else waits.
    let good = world.spread(config("refusals", "good", "taken"), json!({})).await;
    world.plane.until(&good.binding, "is there", |_| true).await;
    let arrived = tokio::time::timeout(NOT_DELAYED, async {
        world.place(&good, &[("m1", 0)]).await;
        world.applied(&good, "m1").await;
    });
    arrived
        .await
        .expect("an object that nobody refuses waits for those that are");

    // Tries come after 0.1 s, 0.2 s, … and nothing is written by those that say nothing new.
    let version = |work: Value| work["metadata"]["resourceVersion"].clone();
    let first = version(world.plane.get(&bad[0].work("m1")).await.unwrap());
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(version(world.plane.get(&bad[0].work("m1")).await.unwrap()), first);
    let tries = world.m1.answered("POST", "configmaps", 422).await - before;
    let usual = f64::from(REFUSED * 4)..=f64::from(REFUSED * 14);
    assert!(usual.contains(&tries), "{tries} tries of {REFUSED} objects");

    // A template that is mended goes, a member that is mended is found so by the next try.
    world
        .plane
        .merge(&bad[0].template, json!({"data": {"k": "taken"}}))
        .await;
    world.applied(&bad[0], "m1").await;
    world
        .plane
        .until_told(&bad[0].template, "SyncSucceed", "to cluster m1")
        .await;
    for object in rule.iter().rev() {
        world.m1.delete(object).await;
    }
    for bound in &bad {
        world.applied(bound, "m1").await;
    }
}

/// Of the member's own Service: nothing but the member can know.
pub async fn a_port_is_taken(world: &World) {
    world.m1.until(&Id::namespace("refusals"), "is there", |_| true).await;
    let service = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "refusals", "name": name},
            "spec": {"type": "NodePort", "selector": {"app": "x"}, "ports": [{"port": 80, "nodePort": 31999}]}})
    };
    let own = world.m1.create(service("own")).await;
    let ours = world.spread(service("ours"), json!({})).await;
    world.place(&ours, &MEMBERS.map(|name| (name, 0))).await;
    world.refused(&ours, "m1", "provided port is already allocated").await;
    world.applied(&ours, "m2").await;
    world.m1.delete(&own).await;
    world.applied(&ours, "m1").await;
}

/// The control plane takes what m1 does not, and m2 does not have the kind at all.
pub async fn a_schema_is_stricter_there(world: &World) {
    let strict = definition("gadgets", "Gadget", json!({"type": "string", "enum": ["red", "green"]}));
    world.m1.create(strict.clone()).await;
    let lax = world
        .plane
        .create(definition("gadgets", "Gadget", json!({"type": "string"})))
        .await;
    world
        .plane
        .until(&lax, "is served", |crd| {
            condition(crd, "Established")["status"] == "True"
        })
        .await;
    let gadget = world
        .spread(painted("Gadget", "refusals", "lamp", "blue"), json!({}))
        .await;
    world.place(&gadget, &MEMBERS.map(|name| (name, 0))).await;
    world
        .refused(
            &gadget,
            "m1",
            "Unsupported value: \"blue\": supported values: \"red\", \"green\"",
        )
        .await;
    world
        .refused(&gadget, "m2", "does not serve Gadget of example.io/v1")
        .await;
    world
        .plane
        .merge(&gadget.template, json!({"spec": {"color": "red"}}))
        .await;
    world.applied(&gadget, "m1").await;
    world.m2.create(strict).await;
    world.applied(&gadget, "m2").await;
}
