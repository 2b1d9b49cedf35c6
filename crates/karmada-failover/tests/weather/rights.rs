//! A right that is taken away while much is to be done: what is refused is said, nothing leaves on half of what there is to
//! know, and when the right is back the story goes on where it stood.

use kube_sandbox::{Effect, FaultId, Match};

use crate::common::simulate;
use crate::scene::Scene;

/// As an API server refuses whom no role gives the right.
fn forbidden(resource: &str) -> Effect {
    Effect::Error {
        code: 403,
        reason: "Forbidden".to_owned(),
        message: format!("{resource} is forbidden: User \"failover\" cannot do that"),
    }
}

/// Nothing of this kind may be done or seen for ten minutes, in which a member fails.
async fn taken_away(resource: &str) -> (Scene, FaultId) {
    let mut scene = Scene::new(&[]).await;
    let faults = scene.world.fleet.control_plane().faults();
    let of_kind = Match::any().resource(resource);
    let refused = faults.inject(of_kind.clone(), forbidden(resource));
    faults.cut_watches(of_kind);
    scene.member("member1").stop();
    scene.minutes(10).await;
    assert_eq!(scene.world.rules.evictions().len(), 0, "{resource}: nothing is evicted");
    scene.assert_logged(&["WARN", "HTTP 403", &format!("{resource} is forbidden")]);
    (scene, refused)
}

/// The right is back, and the member after it.
async fn given_back(scene: &mut Scene, refused: FaultId) {
    scene.world.fleet.control_plane().faults().remove(refused);
    scene.minutes(10).await;
    assert!(scene.moved().await.is_some(), "the right is back");
    scene.member("member1").resume();
    scene.moved_and_clean(10).await;
}

fn without_rights_on(resource: &str) {
    simulate(|| async {
        let (mut scene, refused) = taken_away(resource).await;
        given_back(&mut scene, refused).await;
        scene.finish().await;
    });
}

/// What is known of the Clusters is old, and that is told: nobody else says of it that it is.
#[test]
fn without_rights_on_clusters() {
    simulate(|| async {
        let (mut scene, refused) = taken_away("clusters").await;
        scene.assert_told("a right that is taken away").await;
        given_back(&mut scene, refused).await;
        scene.assert_over("a right that is taken away").await;
        scene.finish().await;
    });
}

#[test]
fn without_rights_on_bindings() {
    without_rights_on("resourcebindings");
}

#[test]
fn without_rights_on_leases() {
    without_rights_on("leases");
}
