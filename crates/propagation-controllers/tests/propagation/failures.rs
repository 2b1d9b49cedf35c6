//! Cold caches, errors, lost writes, crashes: nothing is deleted for them, and nothing is lost.

use std::time::Duration;

use kube_sandbox::{Effect, Match, Verb};
use rstest::rstest;
use serde_json::json;

use crate::world::{World, limited};

fn refused(code: u16) -> Effect {
    Effect::Error {
        code,
        reason: "InternalError".into(),
        message: "injected".into(),
    }
}

fn deletions(world: &World) -> usize {
    world.writes().iter().filter(|write| write.verb == Verb::Delete).count()
        + world
            .member_writes("m1")
            .iter()
            .filter(|w| w.verb == Verb::Delete)
            .count()
}

// C111, C120; karmada#6433, argo-cd#18480: a store that is not read yet, or a list that fails, is not "nothing there".
#[rstest]
#[case::slow_bindings("resourcebindings", Effect::Latency(Duration::from_secs(20)))]
#[case::slow_clusters("clusters", Effect::Latency(Duration::from_secs(20)))]
#[case::slow_templates("deployments", Effect::Latency(Duration::from_secs(20)))]
#[case::failing_bindings("resourcebindings", refused(500))]
#[case::failing_clusters("clusters", refused(500))]
#[case::failing_templates("deployments", refused(500))]
#[case::failing_policies("propagationpolicies", refused(500))]
#[case::failing_namespaces("namespaces", refused(500))]
#[tokio::test(start_paused = true)]
async fn a_cold_start_deletes_nothing(#[case] resource: &str, #[case] effect: Effect) {
    limited(async {
        let mut world = World::running_web().await;
        world.stop().await;
        world.forget_writes();
        let faults = world.control_plane().faults();
        faults.inject(Match::any().verb(Verb::List).resource(resource), effect);
        world.start().await;
        world.pass(15_000).await;
        assert_eq!(deletions(&world), 0);
        faults.clear();
        world.pass(120_000).await;
        assert_eq!(deletions(&world), 0);
        assert!(world.deployment_on("m1", "web").is_some());
        let binding = world.binding("web-deployment").unwrap();
        assert!(
            binding["metadata"]["labels"]["propagationpolicy.karmada.io/permanent-id"].is_string(),
            "its claim stays"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_old_list_without_the_template_deletes_nothing() {
    limited(async {
        let mut world = World::new(&["m1"]);
        world.propagate("apps/v1", "Deployment", json!({}));
        world.start().await;
        world.stop().await;
        let before = world.control_plane().resource_version();
        world.deployment("web", 1);
        world.put(json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"namespace": "shop", "name": "web-deployment",
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "x", "controller": true}]},
            "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"}, "replicas": 1}}));
        // The Leases of the new process are versions, too; and the watch that would make up for the list is late.
        let behind = world.control_plane().resource_version() - before + 40;
        let faults = world.control_plane().faults();
        faults.stale_lists(Match::any().resource("deployments"), behind);
        let late = kube_sandbox::EventEffect::Delay(Duration::from_secs(20));
        faults.disturb_events(Match::any().verb(Verb::Watch).resource("deployments"), 0, u64::MAX, late);
        world.start().await;
        world.pass(60_000).await;
        let asked = faults.count(&Match::any().verb(Verb::Get).resource("deployments").client("propagation"));
        assert!(asked > 0, "it did look as if the template was gone");
        assert_eq!(deletions(&world), 0);
    })
    .await;
}

// C14, karmada#7320: after a conflict the picture is drawn anew.
#[tokio::test(start_paused = true)]
async fn a_conflict_does_not_write_an_old_picture() {
    limited(async {
        let world = World::running_web().await;
        let when = Match::any()
            .verb(Verb::Patch)
            .resource("resourcebindings")
            .subresource("status");
        world
            .control_plane()
            .faults()
            .inject_times(when, 0, 1, Effect::Conflict);
        world
            .member("m1")
            .behave(kube_sandbox::Who::Everything, kube_sandbox::Behaviour::NeverReady);
        world.edit("apps/v1", "Deployment", Some("shop"), "web", |web| {
            web["spec"]["template"]["spec"]["containers"][0]["image"] = json!("nginx:broken");
        });
        world.settle().await;
        assert_eq!(world.item("web-deployment", "m1")["health"], "Unhealthy");
        assert_eq!(world.condition("web-deployment", "Scheduled")["status"], "True");
    })
    .await;
}

// C113, karmada#6899: whatever conflicts come in between, the last word is of the last try.
#[rstest]
#[case(1)]
#[case(2)]
#[case(3)]
#[tokio::test(start_paused = true)]
async fn applied_says_how_the_last_try_ended(#[case] conflicts: u64) {
    limited(async {
        let world = World::running_web().await;
        world
            .control_plane()
            .faults()
            .inject_times(Match::writes().resource("works"), 0, conflicts, Effect::Conflict);
        world.member("m1").faults().inject_times(
            Match::writes().resource("deployments"),
            0,
            conflicts,
            Effect::Conflict,
        );
        world.edit("apps/v1", "Deployment", Some("shop"), "web", |web| {
            web["spec"]["template"]["spec"]["containers"][0]["image"] = json!("nginx:2");
        });
        world.pass(20_000).await;
        let work = world.work("m1", "Deployment", "web").unwrap();
        let applied = work["status"]["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .find(|c| c["type"] == "Applied")
            .unwrap()
            .clone();
        assert_eq!(
            (&applied["status"], &applied["observedGeneration"]),
            (&json!("True"), &work["metadata"]["generation"])
        );
        assert_eq!(
            world.deployment_on("m1", "web").unwrap()["spec"]["template"]["spec"]["containers"][0]["image"],
            "nginx:2"
        );
    })
    .await;
}

/// What a run came to, without times, versions, and generations: how many steps a copy took is not its end.
fn end_state(world: &World) -> serde_json::Value {
    let binding = world.binding("web-deployment").unwrap();
    let mut works: Vec<_> = world
        .works()
        .iter()
        .map(|work| json!([work["metadata"]["namespace"], work["metadata"]["name"], work["spec"]]))
        .collect();
    works.sort_by_key(ToString::to_string);
    let items = ["m1", "m2"].map(|member| {
        let item = world.item("web-deployment", member);
        json!([
            item["health"],
            item["applied"],
            item["settled"],
            item["status"]["availableReplicas"]
        ])
    });
    let members = ["m1", "m2"].map(|member| world.deployment_on(member, "web").map(|web| web["spec"].clone()));
    let (labels, clusters) = (&binding["metadata"]["labels"], &binding["spec"]["clusters"]);
    json!({"labels": labels, "clusters": clusters, "works": works, "items": items, "members": members})
}

/// The story of a Deployment that is placed and then moved. Propagation crashes right after a write, if one is named,
/// and is started again.
async fn moved(mut world: World, crash_after: Option<u64>) -> World {
    if let Some(write) = crash_after {
        world
            .control_plane()
            .faults()
            .freeze_after_write(Match::writes().client("propagation"), write);
    }
    world.start_only("*").await;
    world.propagate("apps/v1", "Deployment", json!({}));
    world.deployment("web", 3);
    let steps: [&[(&str, i32)]; 2] = [&[("m1", 1), ("m2", 2)], &[("m2", 3)]];
    for clusters in steps {
        let faults = world.control_plane().faults();
        if tokio::time::timeout(Duration::from_secs(8), faults.frozen())
            .await
            .is_ok()
        {
            world.crash();
            faults.thaw();
            world.start_only("*").await;
            // Its leases have to run out first.
            world.pass(40_000).await;
        }
        world.schedule("web-deployment", clusters);
    }
    let faults = world.control_plane().faults();
    if tokio::time::timeout(Duration::from_secs(8), faults.frozen())
        .await
        .is_ok()
    {
        world.crash();
        faults.thaw();
        world.start_only("*").await;
    }
    world.pass(60_000).await;
    world
}

#[tokio::test(start_paused = true)]
async fn a_crash_after_any_write_changes_nothing_but_time() {
    limited(async {
        let reference = moved(World::new(&["m1", "m2"]), None).await;
        let wanted = end_state(&reference);
        let writes = reference
            .control_plane()
            .faults()
            .writes()
            .iter()
            .filter(|write| write.client == "propagation")
            .count();
        assert!(
            wanted["members"][0].is_null() && wanted["members"][1]["replicas"] == 3,
            "{wanted}"
        );
        drop(reference);
        for write in 1..=u64::try_from(writes.min(60)).unwrap() {
            let world = moved(World::new(&["m1", "m2"]), Some(write)).await;
            assert_eq!(end_state(&world), wanted, "crash after write {write}");
        }
    })
    .await;
}

// Other interleavings: each request takes its own time.
#[rstest]
#[tokio::test(start_paused = true)]
async fn the_order_of_answers_changes_nothing(#[values(1, 2, 3, 4, 5, 6, 7, 8)] seed: u64) {
    limited(async {
        let wanted = end_state(&moved(World::new(&["m1", "m2"]), None).await);
        let world = World::new(&["m1", "m2"]);
        world
            .control_plane()
            .faults()
            .seeded_latency(seed, Duration::from_millis(80));
        for member in world.fleet.members() {
            member.faults().seeded_latency(seed, Duration::from_millis(120));
        }
        assert_eq!(end_state(&moved(world, None).await), wanted, "seed {seed}");
    })
    .await;
}

// What is lost on the way of a watch comes with the next list.
#[tokio::test(start_paused = true)]
async fn dropped_watch_events_are_made_good() {
    limited(async {
        let wanted = end_state(&moved(World::new(&["m1", "m2"]), None).await);
        let world = World::new(&["m1", "m2"]);
        let watch = Match::any().verb(Verb::Watch);
        world.control_plane().faults().disturb_events(
            watch.clone().resource("works"),
            1,
            2,
            kube_sandbox::EventEffect::Drop,
        );
        world.control_plane().faults().disturb_events(
            watch.resource("resourcebindings"),
            2,
            1,
            kube_sandbox::EventEffect::Drop,
        );
        let world = moved(world, None).await;
        world.pass(3 * 3_600_000).await;
        assert_eq!(end_state(&world), wanted);
    })
    .await;
}

// What was not heard of is read: until the next list the cache is behind, and that is no reason to try the same write
// ten times a second.
#[tokio::test(start_paused = true)]
async fn a_lost_event_costs_no_loop() {
    limited(async {
        let world = World::running_web().await;
        let faults = world.control_plane().faults();
        for resource in ["resourcebindings", "works", "deployments"] {
            let watch = Match::any().verb(Verb::Watch).resource(resource);
            faults.disturb_events(watch, 0, 1, kube_sandbox::EventEffect::Drop);
        }
        world.edit(
            "work.karmada.io/v1alpha2",
            "ResourceBinding",
            Some("shop"),
            "web-deployment",
            |web| {
                web["metadata"]["annotations"]["seen"] = json!("by nobody");
            },
        );
        world
            .member("m1")
            .behave(kube_sandbox::Who::Everything, kube_sandbox::Behaviour::NeverReady);
        world.edit("apps/v1", "Deployment", Some("shop"), "web", |web| {
            web["metadata"]["annotations"]["seen"] = json!("by nobody");
        });
        let work = world.work("m1", "Deployment", "web").unwrap()["metadata"].clone();
        let (namespace, name) = (work["namespace"].as_str().unwrap(), work["name"].as_str().unwrap());
        world.edit("work.karmada.io/v1alpha1", "Work", Some(namespace), name, |work| {
            work["metadata"]["annotations"]["seen"] = json!("by nobody");
        });
        restart_copy(&world).await;
        faults.reset_counts();
        world.pass(60_000).await;
        for resource in ["resourcebindings", "works", "deployments"] {
            let tries = faults.count(&Match::writes().resource(resource).subresource("status"));
            assert!(tries <= 8, "{tries} writes of the status of {resource} in a minute");
        }
        assert_eq!(world.item("web-deployment", "m1")["health"], "Unhealthy");
    })
    .await;
}

/// The copy on m1 starts anew, and is never ready.
async fn restart_copy(world: &World) {
    let member = world.member("m1");
    let mut copy = member
        .sandbox()
        .get("apps/v1", "Deployment", Some("shop"), "web")
        .unwrap();
    copy["spec"]["template"]["metadata"]["annotations"] = json!({"restarted": "now"});
    member.sandbox().put(copy).unwrap();
    world.settle().await;
}
