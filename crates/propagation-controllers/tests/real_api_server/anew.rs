//! A member that is installed anew, and one that never comes back.

use e2e_harness::{Identity, Member};
use serde_json::{Value, json};

use crate::identity::{Bound, Id};
use crate::server::Server;
use crate::world::{MEMBERS, World, config};

pub async fn one_is_installed_anew_and_one_is_gone_for_ever(world: &mut World) {
    let kept = world.on_both(config("shop", "kept", "v"), json!({}), 0).await;
    installed_anew(world, &kept).await;
    gone_for_ever(world, &kept).await;
}

/// Another cluster, empty, answers for the Cluster: what was applied to the one before is no more, and all of it comes again.
async fn installed_anew(world: &mut World, kept: &Bound) {
    world.members[0].stop().unwrap();
    world.ready("m1", "False").await;
    let anew = world.control_plane.start_member("m1-anew").await.unwrap();
    let at = Server::of(anew.client().await.unwrap());
    assert!(!at.has(&Id::namespace("shop")).await);
    answers_for(world, "m1", &anew).await;
    world.ready("m1", "True").await;
    let is_ours = |copy: &Value| copy["metadata"]["labels"]["karmada.io/managed"] == "true";
    at.until(&kept.template, "is there again", is_ours).await;
    // Of a Work that stands applied, a change finds its way, too.
    world.plane.merge(&kept.template, json!({"data": {"k": "2"}})).await;
    at.until(&kept.template, "follows", |copy| copy["data"]["k"] == "2")
        .await;
    world.applied(kept, "m1").await;
    (world.members[0], world.m1) = (anew, at);
}

/// Where a Cluster's member is, and how it is spoken to.
async fn answers_for(world: &World, cluster: &str, member: &Member) {
    let api = member.api();
    let secret = json!({"stringData": {"token": api.token(Identity::Admin), "caBundle": api.ca_bundle()}});
    world.plane.merge(&Id::credentials(cluster), secret).await;
    let spec = json!({"spec": {"apiEndpoint": api.endpoint()}});
    world.plane.merge(&Id::cluster(cluster), spec).await;
}

/// Its Cluster is deleted while nobody answers there: nothing waits for it any more.
async fn gone_for_ever(world: &mut World, kept: &Bound) {
    let gone = MEMBERS[1];
    world.members[1].stop().unwrap();
    world.ready(gone, "False").await;
    world.plane.delete(&kept.template).await;
    world.m1.until_gone(&kept.template).await;
    let waits = |work: &Value| work["metadata"]["deletionTimestamp"].is_string();
    world.plane.until(&kept.work(gone), "waits", waits).await;
    assert!(world.plane.has(&kept.binding).await, "it waits for the member");
    world.plane.delete(&Id::cluster(gone)).await;
    world.plane.until_gone(&kept.work(gone)).await;
    world.plane.until_gone(&kept.binding).await;
}
