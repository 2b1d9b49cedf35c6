//! What a binding looks like in an old list, and in the watch events that bring it up to date one by one: what runs stays.

use std::time::Duration;

use kube_sandbox::{EventEffect, Match, Verb, WriteRecord};
use serde_json::json;

use crate::world::{World, limited};

/// What the old list shows comes out of date so much later.
const LATE: Duration = Duration::from_secs(20);

/// From the next start on, bindings are shown as they were so many versions before, and what happened since comes late.
fn show_bindings_of_before(world: &World, versions: u64) {
    let faults = world.control_plane().faults();
    faults.stale_lists(Match::any().resource("resourcebindings"), versions);
    let watches = Match::any().verb(Verb::Watch).resource("resourcebindings");
    faults.disturb_events(watches, 0, u64::MAX, EventEffect::Delay(LATE));
}

fn deletes(world: &World) -> Vec<WriteRecord> {
    let is_delete = |write: &WriteRecord| write.verb == Verb::Delete;
    world.writes().into_iter().filter(is_delete).collect()
}

/// Whether the API server itself was asked about bindings: only then something looked as if it had to go.
fn was_asked(world: &World) -> bool {
    let asked = Match::any()
        .verb(Verb::Get)
        .resource("resourcebindings")
        .client("propagation");
    world.control_plane().faults().count(&asked) > 0
}

/// A fleet with `web` bound and placed nowhere, and the version of that.
async fn unplaced(members: &[&str]) -> (World, u64) {
    let mut world = World::new(members);
    world.propagate("apps/v1", "Deployment", json!({}));
    world.start().await;
    world.deployment("web", 1);
    world.settle().await;
    let before = world.control_plane().resource_version();
    (world, before)
}

/// Leases are renewed meanwhile: more versions than the next start makes until it lists.
const LEASES_RENEWED: u64 = 120_000;

// Works whose binding went past its finalizer, with its template, while nobody looked.
#[tokio::test(start_paused = true)]
async fn works_of_a_binding_that_was_removed_by_force_go() {
    limited(async {
        let mut world = World::running_web().await;
        world.stop().await;
        world.delete("apps/v1", "Deployment", Some("shop"), "web").await;
        world.edit_binding("web-deployment", |binding| {
            binding["metadata"]["finalizers"] = json!([]);
        });
        let binding = ("work.karmada.io/v1alpha2", "ResourceBinding");
        world.delete(binding.0, binding.1, Some("shop"), "web-deployment").await;
        assert!(world.binding("web-deployment").is_none());
        assert!(world.work("m1", "Deployment", "web").is_some());
        world.start().await;
        world.settle().await;
        let gone = |cluster: &&str| world.work(cluster, "Deployment", "web").is_none();
        assert!(["m1", "m2"].iter().all(gone));
        assert!(world.deployment_on("m1", "web").is_none() && world.deployment_on("m2", "web").is_none());
    })
    .await;
}

// And it looks so in an old list.
#[tokio::test(start_paused = true)]
async fn works_of_a_binding_that_an_old_list_lacks_stay() {
    limited(async {
        let mut world = World::new(&["m1"]);
        world.propagate("apps/v1", "Deployment", json!({}));
        world.start().await;
        let before = world.control_plane().resource_version();
        world.deployment("web", 1);
        world.settle().await;
        world.schedule("web-deployment", &[("m1", 1)]);
        world.settle().await;
        world.stop().await;
        world.forget_writes();
        show_bindings_of_before(&world, world.control_plane().resource_version() - before + 40);
        world.start().await;
        world.pass(10_000).await;
        assert!(was_asked(&world), "it did look as if the binding was gone");
        assert!(world.deployment_on("m1", "web").is_some());
        assert_eq!(deletes(&world), []);
    })
    .await;
}

// It was there, and placed nowhere yet.
#[tokio::test(start_paused = true)]
async fn works_of_a_binding_that_was_not_placed_in_an_old_list_stay() {
    limited(async {
        let (mut world, before) = unplaced(&["m1"]).await;
        world.pass(LEASES_RENEWED).await;
        world.schedule("web-deployment", &[("m1", 1)]);
        world.settle().await;
        world.stop().await;
        world.forget_writes();
        show_bindings_of_before(&world, world.control_plane().resource_version() - before);
        world.start_only("binding,execution").await;
        world.pass(70_000).await;
        assert!(world.deployment_on("m1", "web").is_some());
        assert_eq!(deletes(&world), []);
        assert!(was_asked(&world), "it did look as if the Work was wanted nowhere");
    })
    .await;
}

// It was placed on m1 and m2 and is on m1 and m3: the copy on m3 looks as if nobody wanted it, and one on m2 as if it was missing.
#[tokio::test(start_paused = true)]
async fn nothing_is_made_by_what_an_old_list_shows() {
    limited(async {
        let (mut world, _) = unplaced(&["m1", "m2", "m3"]).await;
        world.schedule("web-deployment", &[("m1", 1), ("m2", 1)]);
        world.settle().await;
        let before = world.control_plane().resource_version();
        world.pass(LEASES_RENEWED).await;
        world.schedule("web-deployment", &[("m1", 1), ("m3", 1)]);
        world.settle().await;
        let has_work = |world: &World, cluster: &str| world.work(cluster, "Deployment", "web").is_some();
        assert!(!has_work(&world, "m2") && has_work(&world, "m3"));
        world.stop().await;
        world.edit("apps/v1", "Deployment", Some("shop"), "web", |web| {
            web["spec"]["template"]["spec"]["containers"][0]["image"] = json!("nginx:2");
        });
        world.forget_writes();
        show_bindings_of_before(&world, world.control_plane().resource_version() - before);
        world.start_only("binding,execution").await;
        world.pass(10_000).await;
        assert!(was_asked(&world), "it did look as if nobody wanted the copy on m3");
        assert_eq!(deletes(&world), []);
        assert!(!has_work(&world, "m2"), "it was left");
        world.pass(60_000).await;
        let image = |cluster: &str| {
            let work = world.work(cluster, "Deployment", "web").unwrap();
            work["spec"]["workload"]["manifests"][0]["spec"]["template"]["spec"]["containers"][0]["image"].clone()
        };
        assert_eq!([image("m1"), image("m3")], ["nginx:2"; 2]);
        assert!(!has_work(&world, "m2"));
        let made = world
            .writes()
            .into_iter()
            .filter(|write| write.verb == Verb::Create && write.resource == "works");
        assert_eq!(made.count(), 0, "nor was it there in between");
    })
    .await;
}
