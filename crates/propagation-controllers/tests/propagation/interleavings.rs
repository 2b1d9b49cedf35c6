//! The stores of a process are at different versions for a moment: nobody is warned of it, and the end is the same.

use std::time::Duration;

use kube_sandbox::{EventEffect, Match, Verb};
use rstest::rstest;
use serde_json::json;

use crate::world::{World, limited};

/// Events of these kinds reach us later than they happen.
fn late(world: &World, resources: &[&str], milliseconds: u64) {
    for resource in resources {
        let watch = Match::any().verb(Verb::Watch).resource(resource).client("propagation");
        let delay = EventEffect::Delay(Duration::from_millis(milliseconds));
        world.control_plane().faults().disturb_events(watch, 0, u64::MAX, delay);
    }
}

fn warnings(world: &World) -> Vec<String> {
    let events = world.control_plane().list("v1", "Event");
    let warnings = events.iter().filter(|event| event["type"] == "Warning");
    warnings
        .map(|event| format!("{}: {}", event["reason"], event["message"]))
        .collect()
}

/// A Deployment and its policy applied together, in either order, whatever is seen last.
#[rstest]
#[tokio::test(start_paused = true)]
async fn a_fresh_apply_warns_of_nothing(
    #[values(&["resourcebindings"], &["deployments"], &["propagationpolicies"], &["deployments", "resourcebindings"])]
    kinds: &[&str],
    #[values(1, 190, 700, 3_000)] milliseconds: u64,
    #[values("policy first", "template first")] order: &str,
) {
    limited(async {
        let mut world = World::new(&["m1"]);
        world.start().await;
        late(&world, kinds, milliseconds);
        if order == "policy first" {
            world.propagate("apps/v1", "Deployment", json!({}));
        }
        world.deployment("web", 3);
        if order == "template first" {
            world.propagate("apps/v1", "Deployment", json!({}));
        }
        world.pass(20_000).await;
        assert_eq!(world.binding("web-deployment").unwrap()["spec"]["replicas"], 3);
        assert_eq!(warnings(&world), Vec::<String>::new());
    })
    .await;
}

/// What is to be taken away from an object is gone already: the server answers 422 before it looks at the version.
#[tokio::test(start_paused = true)]
async fn a_patch_for_an_old_version_is_worked_out_anew() {
    limited(async {
        let world = World::running_web().await;
        late(&world, &["deployments"], 3_000);
        world.forget_writes();
        world
            .delete(
                "policy.karmada.io/v1alpha1",
                "PropagationPolicy",
                Some("shop"),
                "deployment",
            )
            .await;
        // The change of the binding is seen first, and leads to a look at a template that still has its claim.
        world.pass(20_000).await;
        let codes: Vec<u16> = world.writes().iter().map(|write| write.code).collect();
        assert!(codes.contains(&422), "the case came up: {codes:?}");
        let template = world
            .control_plane()
            .get("apps/v1", "Deployment", Some("shop"), "web")
            .unwrap();
        for object in [&world.binding("web-deployment").unwrap(), &template] {
            assert!(object["metadata"]["labels"]["propagationpolicy.karmada.io/permanent-id"].is_null());
        }
        assert_eq!(warnings(&world), Vec::<String>::new());
    })
    .await;
}

fn applied_on(world: &World, cluster: &str) -> serde_json::Value {
    let work = world.work(cluster, "Deployment", "web").unwrap();
    let all = work["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let applied = all.into_iter().find(|condition| condition["type"] == "Applied");
    applied.unwrap_or_default()["status"].clone()
}

/// How often a status was written.
fn status_writes(world: &World, resource: &str, namespace: &str) -> usize {
    let writes = world.writes();
    let wanted = writes.iter().filter(|write| {
        write.resource == resource
            && write.namespace.as_deref() == Some(namespace)
            && write.subresource.as_deref() == Some("status")
            && write.changed
    });
    wanted.count()
}

/// What we said is heard of late; until then the version before it shows what is so again, and nothing seems to be
/// left to say.
#[rstest]
#[case(10_000)]
#[case(20_000)]
#[tokio::test(start_paused = true)]
async fn applied_is_said_again_after_our_own_word_was_heard_late(#[case] milliseconds: u64) {
    limited(async {
        let world = World::running_web().await;
        late(&world, &["works"], milliseconds);
        world.forget_writes();
        // A new session, so that the Work is looked at again.
        world.member("m1").garbage();
        world.ready("m1", "False");
        world.pass(10).await;
        world.ready("m1", "True");
        world.pass(4_000).await;
        assert_eq!(applied_on(&world, "m1"), "False", "the case came up");
        world.member("m1").resume();
        world.pass(90_000).await;
        assert_eq!(applied_on(&world, "m1"), "True");
        assert_eq!(world.item("web-deployment", "m1")["applied"], true);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_a_member_shows_is_said_again_after_our_own_word_was_heard_late() {
    limited(async {
        let mut world = World::new(&["m1"]);
        world.start().await;
        world.propagate("v1", "Service", json!({}));
        world.put(
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "shop", "name": "s"},
            "spec": {"type": "LoadBalancer", "ports": [{"port": 80}], "selector": {"app": "web"}}}),
        );
        world.settle().await;
        world.schedule("s-service", &[("m1", 0)]);
        world.settle().await;
        let show = |address: &str| {
            let member = world.member("m1");
            let mut service = member.sandbox().get("v1", "Service", Some("shop"), "s").unwrap();
            service["status"] = json!({"loadBalancer": {"ingress": [{"ip": address}]}});
            member.sandbox().put(service).unwrap();
        };
        let said = || world.item("s-service", "m1")["status"]["loadBalancer"]["ingress"][0]["ip"].clone();
        show("10.0.0.1");
        world.settle().await;
        assert_eq!(said(), "10.0.0.1");
        late(&world, &["works"], 3_000);
        world.forget_writes();
        show("10.0.0.2");
        world.pass(1_000).await;
        assert_eq!(status_writes(&world, "works", "karmada-es-m1"), 1, "the case came up");
        show("10.0.0.1");
        world.pass(20_000).await;
        assert_eq!(said(), "10.0.0.1");
    })
    .await;
}

/// A member that is away for a moment, while what we write is heard of late.
#[rstest]
#[case::bindings("resourcebindings")]
#[case::templates("deployments")]
#[tokio::test(start_paused = true)]
async fn health_is_said_again_after_our_own_word_was_heard_late(#[case] resource: &str) {
    limited(async {
        let world = World::running_web().await;
        late(&world, &[resource], 3_000);
        world.forget_writes();
        world.ready("m1", "False");
        // Its grace, and a moment.
        world.pass(61_000).await;
        assert_eq!(status_writes(&world, resource, "shop"), 1, "the case came up");
        world.ready("m1", "True");
        world.pass(40_000).await;
        assert_eq!(world.item("web-deployment", "m1")["health"], "Healthy");
        let template = world
            .control_plane()
            .get("apps/v1", "Deployment", Some("shop"), "web")
            .unwrap();
        assert_eq!(template["status"]["readyReplicas"], 3);
    })
    .await;
}

/// Somebody writes a status in between, which is heard of late and is nothing that concerns us.
#[tokio::test(start_paused = true)]
async fn what_is_deleted_goes_whatever_statuses_are_written_meanwhile() {
    limited(async {
        let world = World::running_web().await;
        late(&world, &["resourcebindings", "works"], 3_000);
        world.delete("apps/v1", "Deployment", Some("shop"), "web").await;
        for _ in 0..8 {
            world.pass(900).await;
            if world.binding("web-deployment").is_some() {
                world.edit_binding("web-deployment", |binding| {
                    let seen = world.clock.now().to_string();
                    binding["status"]["conditions"] = json!([{"type": "Scheduled", "status": "True", "reason": "Success",
                        "message": seen, "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
                });
            }
        }
        world.pass(30_000).await;
        assert_eq!(world.binding("web-deployment"), None);
        assert!(world.deployment_on("m1", "web").is_none() && world.deployment_on("m2", "web").is_none());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_kept_here_goes_from_the_members_whatever_statuses_are_written_meanwhile() {
    limited(async {
        let mut world = World::new(&["m1"]);
        world.start().await;
        world.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gone"}}));
        world.settle().await;
        let carried = || {
            let works = world.works();
            works
                .into_iter()
                .find(|work| work["spec"]["workload"]["manifests"][0]["metadata"]["name"] == "gone")
        };
        let name = carried().unwrap()["metadata"]["name"].as_str().unwrap().to_owned();
        late(&world, &["works"], 3_000);
        world.edit(
            "work.karmada.io/v1alpha1",
            "Work",
            Some("karmada-es-m1"),
            &name,
            |work| {
                work["status"]["conditions"][0]["message"] = json!("seen by nobody yet");
            },
        );
        world.edit("v1", "Namespace", None, "gone", |namespace| {
            namespace["metadata"]["labels"]["namespace.karmada.io/skip-auto-propagation"] = json!("true");
        });
        world.pass(30_000).await;
        assert_eq!(carried(), None);
    })
    .await;
}

/// The claim on a template is heard of before the binding that is made after it: the binding is not made a second time.
#[tokio::test(start_paused = true)]
async fn a_binding_that_nobody_has_heard_of_yet_is_made_once_and_follows_its_template() {
    limited(async {
        let mut world = World::new(&["m1"]);
        world.start().await;
        world.propagate("apps/v1", "Deployment", json!({}));
        late(&world, &["resourcebindings"], 1_000);
        world.settle().await;
        world.forget_writes();
        world.deployment("web", 3);
        world.pass(500).await;
        world.edit("apps/v1", "Deployment", Some("shop"), "web", |web| {
            web["spec"]["replicas"] = json!(4);
        });
        world.settle().await;
        let writes = world.writes();
        let made = writes
            .iter()
            .filter(|write| write.resource == "resourcebindings" && write.verb == Verb::Create);
        assert_eq!(made.count(), 1, "{writes:#?}");
        assert_eq!(world.binding("web-deployment").unwrap()["spec"]["replicas"], 4);
    })
    .await;
}
