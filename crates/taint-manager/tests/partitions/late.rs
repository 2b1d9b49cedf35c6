//! The network keeps what was sent and delivers it when others have taken over long ago.

use std::rc::Rc;

use kube_sandbox::{Effect, Match};
use serde_json::json;

use super::cuts::{ONE_OF_EACH, all_left_once, m1_fails_under};
use super::machines::{Plan, Runs, on_machines};
use super::scene::{NOT_READY, Scene};

const TWO_QUEUES: &[Plan] = &[
    ("queue-0", Runs::Queue, 0),
    ("queue-1", Runs::Queue, 10),
    ("manager-0", Runs::Manager, 0),
];
const TWO_MANAGERS: &[Plan] = &[
    ("queue-0", Runs::Queue, 0),
    ("manager-0", Runs::Manager, 0),
    ("manager-1", Runs::Manager, 10),
];

/// Leases, renewals and outcomes arrive a minute late: what they were granted for has been released again meanwhile.
#[test]
fn leases_that_arrive_a_minute_late() {
    on_machines(ONE_OF_EACH, |scene: Rc<Scene>| async move {
        m1_fails_under(&scene, 12).await;
        scene.until(27).await;
        turmoil::hold("manager-0", "queue-0");
        scene.until(87).await;
        turmoil::release("manager-0", "queue-0");
        scene.until(230).await;
        all_left_once(&scene, 12).await;
    });
}

/// What the old leader of the queue had sent arrives when the new one leads: it counts for nothing.
#[test]
fn leases_of_a_leader_whose_time_is_over() {
    on_machines(TWO_QUEUES, |scene: Rc<Scene>| async move {
        m1_fails_under(&scene, 12).await;
        scene.until(27).await;
        turmoil::hold("manager-0", "queue-0");
        // Cut off from the API server, too, the leader ends and the other one takes its place.
        let cut_off = Match::any().client("eviction-queue@queue-0");
        let fault = scene.plane.faults().inject(cut_off, Effect::Hang);
        scene.until(150).await;
        assert_eq!(scene.evicted(), 12, "the other leader has done everything");
        scene.plane.faults().remove(fault);
        turmoil::release("manager-0", "queue-0");
        scene.until(230).await;
        all_left_once(&scene, 12).await;
    });
}

/// The word of a producer whose term is over arrives when its successor has said otherwise: it evicts nothing.
#[test]
fn the_word_of_a_producer_whose_term_is_over() {
    on_machines(TWO_MANAGERS, |scene: Rc<Scene>| async move {
        for n in 0..5 {
            scene.binding(&format!("web-{n}"), &["m1"], json!({}));
            scene.binding(
                &format!("api-{n}"),
                &["m2"],
                json!({"placement": {"clusterTolerations":
                [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 100}]}}),
            );
        }
        scene.until(20).await;
        turmoil::hold("manager-0", "queue-0");
        scene.taint("m2", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(22).await;
        // Its word on m2 is on its way. It loses its Lease, and everybody comes to bear what happened to m2.
        let fault = scene
            .plane
            .faults()
            .inject(Match::any().client("taint-manager@manager-0"), Effect::Hang);
        for n in 0..5 {
            let forever = json!([{"operator": "Exists", "effect": "NoExecute"}]);
            let patch = json!({"spec": {"placement": {"clusterTolerations": forever}}});
            scene.patch(&format!("default/api-{n}"), patch).await;
        }
        scene.until(90).await;
        assert_eq!(scene.entries().await.len(), 0, "the successor has nobody to name");
        scene.plane.faults().remove(fault);
        turmoil::release("manager-0", "queue-0");
        scene.until(300).await;
        assert_eq!(scene.entries().await.len(), 0);
        assert_eq!(scene.evicted(), 0);
    });
}
