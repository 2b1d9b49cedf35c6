//! Whose control plane it is, and who does not start there.

use controller_kit::leader::MODE_ANNOTATION;
use controller_kit::process::Process;
use controller_kit::tasks::Failure;
use controller_kit::{Ended, Mode};
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use kube_sandbox::Reachability;
use rstest::rstest;
use serde_json::{Value, json};

use crate::world::{World, idle, seconds_and_a_bit, settle, within_hours};

const CLUSTERS: &str = "/apis/cluster.karmada.io/v1alpha1";

/// What a stock Karmada's aggregated API server serves of Clusters.
fn of_stock() -> Value {
    let resource = |name: &str, kind: &str| json!({"name": name, "kind": kind, "namespaced": false, "verbs": []});
    json!({"kind": "APIResourceList", "groupVersion": "cluster.karmada.io/v1alpha1", "resources": [
        resource("clusters", "Cluster"), resource("clusters/proxy", "Cluster"), resource("clusters/status", "Cluster"),
    ]})
}

/// A process on a control plane that answers what it serves of Clusters in this way, with an HTTP status.
fn process(world: &World, status: u16, served: &Value) -> Process {
    let (behind, served) = (world.sandbox.client_named("p"), served.to_string());
    let front = tower::service_fn(move |request: Request<Body>| {
        let (behind, served) = (behind.clone(), served.clone());
        async move {
            if request.uri().path() == CLUSTERS {
                let answer = Response::builder().status(status).body(Body::from(served.into_bytes()));
                return Ok::<_, tower::BoxError>(answer.unwrap());
            }
            Ok(behind.send(request).await?)
        }
    });
    Process::builder("test", Client::new(front, "default"))
        .clock(world.clock.clone())
        .identity("p")
}

#[rstest]
#[case::what_stock_does_too(Some(Mode::Standalone), false)]
#[case::what_is_for_it(Some(Mode::Beside), true)]
#[case::what_is_the_same_everywhere(None, true)]
#[tokio::test(start_paused = true)]
async fn beside_stock_only_starts_what_is_not_done_twice(#[case] mode: Option<Mode>, #[case] starts: bool) {
    within_hours(1, async {
        let world = World::new();
        let controller = mode
            .into_iter()
            .fold(idle("one"), |controller, mode| controller.for_mode(mode));
        let running = process(&world, 200, &of_stock())
            .controllers([controller])
            .start()
            .await
            .unwrap();
        settle().await;
        let lease = world.lease("one").await;
        assert_eq!(lease.is_some(), starts, "who does not start takes no Lease");
        if starts {
            assert_eq!(running.has_ended(), None);
            let said = lease.and_then(|lease| lease.metadata.annotations).unwrap_or_default();
            assert_eq!(said.get(MODE_ANNOTATION).map(String::as_str), mode.map(Mode::name));
            return;
        }
        let Some(Ended::Failed(Failure::Failed { task, message })) = running.has_ended() else {
            panic!("it does not end")
        };
        assert_eq!(task, "one");
        for words in ["clusters/proxy", "--kubeconfig", "mode: beside", "--beside-stock"] {
            assert!(message.contains(words), "{message}");
        }
    })
    .await;
}

#[rstest]
#[case::the_crd(200, json!({"kind": "APIResourceList", "groupVersion": "cluster.karmada.io/v1alpha1", "resources": [
    {"name": "clusters", "kind": "Cluster", "namespaced": false, "verbs": []},
    {"name": "clusters/status", "kind": "Cluster", "namespaced": false, "verbs": []}]}))]
#[case::nothing_yet(404, json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": "not found"}))]
#[tokio::test(start_paused = true)]
async fn where_all_is_ours_everything_starts(#[case] status: u16, #[case] served: Value) {
    within_hours(1, async {
        let world = World::new();
        let running = process(&world, status, &served)
            .controllers([idle("one").for_mode(Mode::Standalone), idle("two")])
            .start()
            .await
            .unwrap();
        settle().await;
        assert_eq!(running.has_ended(), None);
        let lease = world.lease("one").await.unwrap();
        assert_eq!(lease.metadata.annotations.unwrap()[MODE_ANNOTATION], "standalone");
        let other = world.lease("two").await.unwrap();
        assert!(!other.metadata.annotations.unwrap().contains_key(MODE_ANNOTATION));
    })
    .await;
}

// An aggregated API server that is down has no answer: nobody takes its silence for a control plane of ours.
#[tokio::test(start_paused = true)]
async fn no_answer_is_waited_for() {
    within_hours(1, async {
        let world = World::new();
        let down = json!({"kind": "Status", "status": "Failure", "code": 503, "reason": "ServiceUnavailable", "message": "down"});
        let waiting = process(&world, 503, &down)
            .controllers([idle("one").for_mode(Mode::Standalone)])
            .start()
            .await
            .unwrap();
        seconds_and_a_bit(600).await;
        assert_eq!((waiting.has_ended(), world.lease("one").await), (None, None));
        assert_eq!(waiting.stop().await, Ended::Stopped, "it stops when it is asked to");

        world.sandbox.set_reachability(Reachability::Stopped);
        let started = world.start("p", idle("one").for_mode(Mode::Standalone)).await;
        seconds_and_a_bit(60).await;
        assert_eq!(started.has_ended(), None);
        world.sandbox.set_reachability(Reachability::Up);
        seconds_and_a_bit(60).await;
        assert_eq!(started.has_ended(), None);
        assert!(world.lease("one").await.is_some(), "and goes on as soon as there is one");
    })
    .await;
}
