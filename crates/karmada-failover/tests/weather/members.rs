//! Members that answer garbage, hang, fail, or come back empty.

use std::time::Duration;

use api_types::cluster::Cluster;
use k8s_openapi::api::apps::v1::Deployment;
use karmada_failover::story::expect::BINDING;
use kube_sandbox::MemberOptions;

use crate::common::simulate;
use crate::scene::{LONG, Scene};

/// Status, reason and message of the Applied condition of nginx's Work for member1.
async fn applied(scene: &Scene) -> (String, String) {
    let works = scene.world.works("member1").await;
    let work = works
        .iter()
        .find(|work| {
            work.metadata
                .name
                .as_deref()
                .is_some_and(|name| name.starts_with("nginx"))
        })
        .unwrap();
    let conditions = &work.status.as_ref().unwrap().conditions;
    let applied = conditions
        .iter()
        .find(|condition| condition.type_ == "Applied")
        .unwrap();
    (applied.status.clone(), applied.message.clone())
}

/// It answers 200 with a page that is no API. By its health endpoint it is Ready; what cannot be done there is said by
/// the Work and counted.
#[test]
fn garbage_is_named_and_not_obeyed() {
    simulate(|| async {
        let mut scene = Scene::new(&[]).await;
        scene.member("member1").garbage();
        scene.minutes(2).await;
        scene.change_image("nginx:2").await;
        scene.minutes(10).await;
        assert_eq!(
            scene.image("member2").as_deref(),
            Some("nginx:2"),
            "the other member goes on"
        );
        assert_eq!(scene.image("member1").as_deref(), Some("nginx"));
        scene.assert_told("a member that answers garbage").await;
        assert!(scene.metric("failover_workqueue_tries_total", "result=\"error\"") > 0.0);
        scene.assert_logged(&["WARN", "karmada-es-member1/nginx"]);

        scene.member("member1").resume();
        scene
            .world
            .wait_for("the new image", LONG, || async {
                (scene.image("member1")? == "nginx:2").then_some(())
            })
            .await;
        scene.minutes(1).await;
        assert_eq!(applied(&scene).await.0, "True");
        assert!(scene.untouched().await.is_some());
        scene.finish().await;
    });
}

#[test]
fn a_member_that_hangs_is_left_and_found_again() {
    simulate(|| async {
        let mut scene = Scene::new(&[]).await;
        scene.member("member1").hang();
        scene.minutes(10).await;
        scene.assert_told("a member that hangs").await;
        assert!(scene.moved().await.is_some());
        scene.member("member1").resume();
        scene.moved_and_clean(10).await;
        scene.finish().await;
    });
}

#[test]
fn a_member_that_answers_503_is_left_and_found_again() {
    simulate(|| async {
        let mut scene = Scene::new(&[]).await;
        scene.member("member1").fail(503);
        scene.minutes(10).await;
        scene.assert_told("a member that answers 5xx").await;
        assert!(scene.moved().await.is_some());
        scene.member("member1").resume();
        scene.moved_and_clean(10).await;
        scene.finish().await;
    });
}

/// Slower than a probe may take is not there.
#[test]
fn answers_that_take_longer_than_allowed_fail_alike() {
    simulate(|| async {
        let mut scene = Scene::new(&[]).await;
        scene.member("member1").slow(Duration::from_secs(25));
        scene.minutes(10).await;
        scene.assert_told("a member that is too slow").await;
        assert!(scene.moved().await.is_some());
        scene.member("member1").resume();
        scene.moved_and_clean(10).await;
        scene.finish().await;
    });
}

/// Its API server got another certificate than the one it is known by: nobody talks to it, and it says what to mend.
#[test]
fn a_member_with_another_certificate_is_left_and_found_again() {
    simulate(|| async {
        let mut scene = Scene::new(&[]).await;
        let member = scene.member("member1");
        scene.roads.refuse_certificate(&member);
        scene.minutes(10).await;
        scene.assert_told("a member with another certificate").await;
        assert!(scene.moved().await.is_some());
        scene.roads.accept_certificate(&member);
        scene.moved_and_clean(10).await;
        scene.finish().await;
    });
}

fn set_up_anew(scene: &Scene) {
    let old = scene.member("member1");
    old.stop();
    let clock = scene.world.clock.clone();
    let mut options = MemberOptions::new("member1", std::sync::Arc::new(move || clock.now()));
    options.sandbox.seed = 77;
    scene.world.fleet.add_member(options);
}

// C107, karmada#2364.
/// Set up anew under its old address during an outage that moved nothing: it gets everything again.
#[test]
fn a_member_that_comes_back_empty_is_filled_again() {
    simulate(|| async {
        let mut scene = Scene::new(&["--feature-gates=Failover=false"]).await;
        scene.member("member1").stop();
        scene.minutes(5).await;
        assert_eq!(scene.ready("member1").await.0, "False");
        set_up_anew(&scene);
        scene.minutes(3).await;
        assert_eq!(scene.ready("member1").await.0, "True");
        let copy = scene.copy("member1").expect("applied again");
        assert_eq!(copy["status"]["availableReplicas"], 1);
        scene.assert_told("a member that comes back empty").await;
        assert!(scene.untouched().await.is_some());
        scene.finish().await;
    });
}

/// The same so fast that no probe saw it away: its versions begin again, so it looks like a server that was set back. The
/// next complete list finds it out (they come every half an hour; here every minute).
#[test]
fn a_member_replaced_between_two_probes_is_filled_again() {
    simulate(|| async {
        let mut scene = Scene::new(&["--relist-interval=60s"]).await;
        set_up_anew(&scene);
        scene.minutes(10).await;
        assert_eq!(scene.ready("member1").await.0, "True");
        let copy = scene.copy("member1").expect("applied again");
        assert_eq!(copy["status"]["availableReplicas"], 1);
        scene.assert_told("a member that comes back empty").await;
        assert!(scene.untouched().await.is_some());
        assert_eq!(scene.world.rules.evictions().len(), 0);
        scene.finish().await;
    });
}

// C117.
/// A workload is deleted while its member is dead, and the Cluster goes, too: what answers is cleaned at once, the rest is
/// named, and let go with the Cluster when `--cluster-deletion-timeout` has passed.
#[test]
fn a_workload_deleted_on_a_dead_member_is_let_go_with_its_cluster_in_time() {
    simulate(|| async {
        let mut scene = Scene::new(&["--cluster-deletion-timeout=10m", "--feature-gates=Failover=false"]).await;
        let client = scene.world.client();
        scene.member("member1").stop();
        scene.minutes(2).await;
        assert_eq!(scene.ready("member1").await.0, "False");
        let deployments: kube::Api<Deployment> = kube::Api::namespaced(client.clone(), "default");
        deployments.delete("nginx", &Default::default()).await.unwrap();
        let clusters: kube::Api<Cluster> = kube::Api::all(client);
        clusters.delete("member1", &Default::default()).await.unwrap();
        scene.minutes(5).await;
        assert!(scene.copy("member2").is_none(), "gone at once where it can");
        let binding = scene.world.binding(BINDING).await.unwrap();
        let blocked = binding.condition("DeletionBlocked").unwrap();
        assert!(
            blocked.status == "True" && blocked.message.contains("member1"),
            "{blocked:?}"
        );
        assert!(!scene.world.works("member1").await.is_empty());

        scene.minutes(7).await;
        assert!(scene.world.works("member1").await.is_empty());
        assert!(clusters.get_opt("member1").await.unwrap().is_none());
        assert!(scene.world.binding(BINDING).await.is_none());
        scene.finish().await;
    });
}
