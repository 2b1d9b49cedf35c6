//! Whose control plane it is, and who does not start there.

use controller_kit::leader::MODE_ANNOTATION;
use controller_kit::process::{Controller, Process};
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

/// A process on a control plane that answers this path in this way, with an HTTP status.
fn process(world: &World, path: &'static str, status: u16, served: &Value) -> Process {
    let (behind, served) = (world.sandbox.client_named("p"), served.to_string());
    let front = tower::service_fn(move |request: Request<Body>| {
        let (behind, served) = (behind.clone(), served.clone());
        async move {
            if request.uri().path() == path {
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
#[case::told_that_all_is_ours(idle("one").for_mode(Mode::Standalone), false, None)]
#[case::what_stock_does_itself(idle("one").never_beside_stock(), false, None)]
#[case::told_that_stock_is_there(idle("one").for_mode(Mode::Beside), true, Some("beside"))]
#[case::what_is_the_same_everywhere(idle("one"), true, None)]
#[tokio::test(start_paused = true)]
async fn beside_stock_only_starts_what_is_not_done_twice(
    #[case] controller: Controller,
    #[case] starts: bool,
    #[case] mode: Option<&str>,
) {
    within_hours(1, async {
        let world = World::new();
        let running = process(&world, CLUSTERS, 200, &of_stock())
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
            assert_eq!(said.get(MODE_ANNOTATION).map(String::as_str), mode);
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
        let running = process(&world, CLUSTERS, status, &served)
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
        let waiting = process(&world, CLUSTERS, 503, &down)
            .controllers([idle("one").for_mode(Mode::Standalone)])
            .start()
            .await
            .unwrap();
        seconds_and_a_bit(600).await;
        assert_eq!((waiting.has_ended(), world.lease("one").await), (None, None));
        let missing = waiting.readiness().missing();
        assert_eq!(
            missing,
            ["control plane: the API server has not said yet what it serves"]
        );
        assert_eq!(waiting.stop().await, Ended::Stopped, "it stops when it is asked to");

        world.sandbox.set_reachability(Reachability::Stopped);
        let started = world.start("p", idle("one").for_mode(Mode::Standalone)).await;
        seconds_and_a_bit(60).await;
        assert_eq!(started.has_ended(), None);
        world.sandbox.set_reachability(Reachability::Up);
        seconds_and_a_bit(60).await;
        assert_eq!(started.has_ended(), None);
        assert!(world.lease("one").await.is_some(), "and goes on as soon as there is one");
        assert_eq!(started.readiness().missing(), [""; 0]);
    })
    .await;
}

/// What an API server says of a ClusterTaintPolicy whose CRD lacks these fields of its spec.
fn policies_without(fields: &[&str]) -> Value {
    let crds = api_types::crds();
    let crd = crds.iter().find(|crd| crd.spec.names.kind == "ClusterTaintPolicy");
    let schema = crd.unwrap().spec.versions[0].schema.as_ref().unwrap();
    let mut schema = serde_json::to_value(schema.open_api_v3_schema.as_ref().unwrap()).unwrap();
    schema["x-kubernetes-group-version-kind"] =
        json!([{"group": "policy.karmada.io", "version": "v1alpha1", "kind": "ClusterTaintPolicy"}]);
    for field in fields {
        let spec = &mut schema["properties"]["spec"];
        let (of, name) = match field.split_once('.') {
            Some((list, name)) => (&mut spec["properties"][list]["items"], name),
            None => (spec, *field),
        };
        assert!(
            of["properties"].as_object_mut().unwrap().remove(name).is_some(),
            "{field}"
        );
    }
    json!({"components": {"schemas": {"ClusterTaintPolicy": schema}}})
}

// An API server drops what its CRD does not know: a window that is not kept is one of the default length, a policy that is only
// tried out acts.
#[rstest]
#[case::as_ours(&[], None)]
#[case::of_another_version(
    &["taintsToAdd.removeOnMismatchSeconds"],
    Some("drops ClusterTaintPolicy spec.taintsToAdd.removeOnMismatchSeconds: its CRDs")
)]
#[case::of_quite_another(
    &["matchConditions", "taintsToAdd.addOnMatchSeconds", "taintsToAdd.removeOnMismatchSeconds", "targetCluster", "suspended"],
    Some("spec.taintsToAdd.removeOnMismatchSeconds and 2 more fields (failoverctl check names them): its CRDs")
)]
#[tokio::test(start_paused = true)]
async fn kinds_that_drop_our_fields_are_not_worked_with(#[case] lacks: &[&str], #[case] dropped: Option<&str>) {
    within_hours(1, async {
        let world = World::new();
        let path = "/openapi/v3/apis/policy.karmada.io/v1alpha1";
        let running = process(&world, path, 200, &policies_without(lacks))
            .controllers([idle("one").for_mode(Mode::Standalone)])
            .start()
            .await
            .unwrap();
        settle().await;
        match (running.has_ended(), dropped) {
            (None, None) => assert!(world.lease("one").await.is_some()),
            (Some(Ended::Failed(Failure::Failed { message, .. })), Some(dropped)) => {
                assert!(
                    message.contains(dropped) && message.contains("karmada-crds"),
                    "{message}"
                );
                assert!(world.lease("one").await.is_none());
            }
            (ended, _) => panic!("{ended:?}"),
        }
    })
    .await;
}
