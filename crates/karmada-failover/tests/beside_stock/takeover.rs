//! The hand-over: what stock's controllers wrote before ours were started is gone on with, without any move of its own; what
//! they write after that shows that they are on.

use std::time::Duration;

use api_types::work::Binding;
use controller_kit::Running;
use karmada_failover::story::example::Pace;
use karmada_failover::story::expect::{BINDING, placement};
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube_sandbox::rules::Settings;
use kube_sandbox::{Effect, Match, Verb};
use rstest::rstest;
use serde_json::{Value, json};
use test_bench::stock::{in_stocks_form, serve_like_stock};

use crate::common::{World, simulate};

const PACE: Pace = Pace {
    probe_seconds: 10,
    threshold_seconds: 30,
    add_on_match_seconds: 60,
    remove_on_mismatch_seconds: 60,
    evictions_per_second: 0.5,
};

const LONG: Duration = Duration::from_secs(900);

/// nginx runs 1:2 beside a stock Karmada, and nobody looks after failover.
async fn handed_over() -> World {
    let world = World::watched(&["member1", "member2"], Settings::exact(PACE.evictions_per_second));
    serve_like_stock(world.plane());
    let stock = world
        .run(
            "stock",
            &["--controllers=*,-taintManager,-evictor,-gracefulEviction,-applicationFailover,-clusterTaintPolicy"],
        )
        .await;
    world.create(karmada_failover::story::example::deployment());
    world.create(karmada_failover::story::example::propagation_policy());
    let running = || async {
        let status = world.binding(BINDING).await?.status?;
        (status
            .aggregated_status
            .iter()
            .filter(|item| item.health.as_ref().is_some_and(|health| health.as_str() == "Healthy"))
            .count()
            == 2)
            .then_some(())
    };
    world.wait_for("nginx", LONG, running).await;
    stock.stop().await;
    for policy in karmada_failover::story::example::taint_policies(&PACE) {
        world.create(in_stocks_form(policy));
    }
    world
}

/// A person, or a controller of stock, writes what is wanted of the binding.
async fn write(world: &World, spec: Value) {
    let api: Api<Binding> = Api::namespaced_with(world.client(), "default", &Default::default());
    let patch = Patch::Merge(json!({"spec": spec}));
    api.patch("nginx-deployment", &PatchParams::default(), &patch)
        .await
        .unwrap();
}

async fn taint(world: &World, cluster: &str, taints: Value) {
    let api: Api<api_types::cluster::Cluster> = Api::all(world.client());
    let patch = Patch::Merge(json!({"spec": {"taints": taints}}));
    api.patch(cluster, &PatchParams::default(), &patch).await.unwrap();
}

/// And stock has tainted it.
async fn member1_fails(world: &World) {
    world.member("member1").stop();
    let at = world.clock.now();
    let taints = json!([
        {"key": "cluster.karmada.io/not-ready", "effect": "NoSchedule", "timeAdded": at},
        {"key": "cluster.karmada.io/not-ready", "effect": "NoExecute", "timeAdded": at},
    ]);
    taint(world, "member1", taints).await;
}

async fn ours(world: &World) -> Running {
    world.run("ours", &["--beside-stock"]).await
}

fn events(world: &World, reason: &str) -> Vec<String> {
    let events = world.plane().list("v1", "Event");
    let notes = events.iter().filter(|event| event["reason"] == reason);
    notes
        .map(|event| event["message"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// As stock writes it for a taint, in a recorded run.
fn stocks_task() -> Value {
    json!({"fromCluster": "member1", "producer": "TaintManager", "purgeMode": "Gracefully", "reason": "TaintUntolerated", "replicas": 1})
}

/// As stock writes it for an application, in recorded runs.
fn stocks_application_task(more: &Value) -> Value {
    let mut task = json!({
        "fromCluster": "member1", "producer": "resource-binding-application-failover-controller", "purgeMode": "Gracefully",
        "reason": "ApplicationFailure", "replicas": 1, "gracePeriodSeconds": 600,
    });
    for (field, value) in more.as_object().unwrap() {
        task[field] = value.clone();
    }
    task
}

#[rstest]
#[case::without_a_time(vec![stocks_task()])]
#[case::two_for_one_cluster(vec![stocks_task(), stocks_task()])]
#[case::for_a_taint_and_for_the_application(vec![stocks_task(), stocks_application_task(&json!({}))])]
fn a_move_of_stock_is_gone_on_with(#[case] tasks: Vec<Value>) {
    simulate(|| async {
        let world = handed_over().await;
        member1_fails(&world).await;
        let duplicates = tasks.len() > 1;
        write(
            &world,
            json!({"clusters": [{"name": "member2", "replicas": 2}], "gracefulEvictionTasks": tasks}),
        )
        .await;
        let ours = ours(&world).await;
        let moved = || async {
            let binding = world.binding(BINDING).await?;
            let on = placement(&binding);
            (binding.spec.graceful_eviction_tasks.is_empty() && on.len() == 1 && on.get("member2") == Some(&3))
                .then_some(())
        };
        world.wait_for("the end of the move", LONG, moved).await;
        assert_eq!(world.rules.evictions().len(), 0, "nobody was moved by ours");
        assert_eq!(events(&world, "DuplicateTask").is_empty(), !duplicates);
        assert!(
            events(&world, "SecondOwner").is_empty(),
            "what was there before is no sign"
        );
        world.member("member1").resume();
        tokio::time::sleep(LONG).await;
        let binding = world.binding(BINDING).await.unwrap();
        assert_eq!(placement(&binding).get("member2"), Some(&3), "nothing moves back");
        assert_eq!(world.rules.evictions().len(), 0);
        let broken = world.broken_rules();
        assert!(
            broken
                .iter()
                .all(|rule| duplicates && rule.contains("two tasks for member1")),
            "{broken:#?}"
        );
        world.finish(vec![ours]).await;
    });
}

// Stock's taint manager writes no time, and ours fills in the present: of many bindings some get it seconds after the start.
#[test]
fn a_time_that_is_filled_in_late_is_no_sign_of_a_second_owner() {
    simulate(|| async {
        let world = handed_over().await;
        member1_fails(&world).await;
        write(
            &world,
            json!({"clusters": [{"name": "member2", "replicas": 2}], "gracefulEvictionTasks": [stocks_task()]}),
        )
        .await;
        let refused = Effect::Error {
            code: 500,
            reason: "InternalError".to_owned(),
            message: "not now".to_owned(),
        };
        let writes = Match::any()
            .verb(Verb::Patch)
            .resource("resourcebindings")
            .client("ours");
        let late = world.plane().faults().inject(writes, refused);
        let began = world.clock.now();
        let ours = ours(&world).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        world.plane().faults().remove(late);
        let filled_in = || async {
            let binding = world.binding(BINDING).await?;
            let task = binding.spec.graceful_eviction_tasks.first()?;
            Some(task.creation_timestamp.as_ref()?.0)
        };
        let at = world.wait_for("its time", LONG, filled_in).await;
        assert!(
            at.duration_since(began).as_secs() >= 1,
            "the test is about what is filled in later than we began"
        );
        tokio::time::sleep(Duration::from_secs(60)).await;
        let told = events(&world, "SecondOwner");
        assert!(told.is_empty(), "{told:?}");
        world.finish(vec![ours]).await;
    });
}

// In stock a task of purgeMode Never, which it writes with suppressDeletion, stays for ever, and so does the copy.
#[test]
fn a_copy_that_stock_keeps_stays() {
    simulate(|| async {
        let world = handed_over().await;
        let kept = stocks_application_task(
            &json!({"purgeMode": "Never", "suppressDeletion": true, "gracePeriodSeconds": null}),
        );
        write(
            &world,
            json!({"clusters": [{"name": "member2", "replicas": 2}], "gracefulEvictionTasks": [kept]}),
        )
        .await;
        let ours = ours(&world).await;
        tokio::time::sleep(2 * LONG).await;
        let binding = world.binding(BINDING).await.unwrap();
        assert_eq!(binding.spec.graceful_eviction_tasks.len(), 1);
        assert!(
            binding.spec.graceful_eviction_tasks[0].creation_timestamp.is_some(),
            "the time was missing"
        );
        let copy = world
            .member("member1")
            .sandbox()
            .get("apps/v1", "Deployment", Some("default"), "nginx");
        assert!(copy.is_some(), "the old copy is kept");
        assert_eq!(world.rules.evictions().len(), 0);
        world.finish(vec![ours]).await;
    });
}

// A task without a message that is younger than our start: somebody else's taint manager still works.
#[rstest]
#[case::with_its_time(true)]
#[case::without_a_time_as_of_stocks_taint_manager(false)]
fn a_task_that_comes_after_the_start_is_a_sign_of_a_second_owner(#[case] says_when: bool) {
    simulate(move || async move {
        let world = handed_over().await;
        let ours = ours(&world).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        let duty = |duty: &str| ours.metrics().value("failover_second_owner", &[("duty", duty)]);
        assert_eq!(duty("taintManager"), Some(0.0));
        let mut task = stocks_task();
        if says_when {
            task["creationTimestamp"] = json!(world.clock.now());
        }
        write(
            &world,
            json!({"clusters": [{"name": "member2", "replicas": 2}], "gracefulEvictionTasks": [task]}),
        )
        .await;
        let told = || async { (!events(&world, "SecondOwner").is_empty()).then_some(()) };
        world.wait_for("the Warning", LONG, told).await;
        assert_eq!(
            (duty("taintManager"), duty("applicationFailover")),
            (Some(1.0), Some(0.0))
        );
        let note = events(&world, "SecondOwner").remove(0);
        assert!(
            note.contains("taintManager") && note.contains("--feature-gates=Failover=false"),
            "{note}"
        );
        tokio::time::sleep(Duration::from_secs(16 * 60)).await;
        assert_eq!(duty("taintManager"), Some(0.0), "no sign for a while");
        world.finish(vec![ours]).await;
    });
}

#[test]
fn an_event_of_stocks_controller_is_a_sign_of_a_second_owner() {
    simulate(|| async {
        let world = handed_over().await;
        let ours = ours(&world).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        let source = "cluster-taint-policy-controller";
        world.create(json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"namespace": "default", "name": "member1.1"},
            "involvedObject": {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "name": "member1"},
            "reason": "TaintClusterSucceed", "message": "Update Cluster(member1) with taints succeed", "type": "Normal",
            "source": {"component": source}, "reportingComponent": source, "reportingInstance": "",
            "firstTimestamp": world.clock.now(), "lastTimestamp": world.clock.now(), "count": 1,
        }));
        let told = || async { (!events(&world, "SecondOwner").is_empty()).then_some(()) };
        world.wait_for("the Warning", LONG, told).await;
        assert_eq!(
            ours.metrics()
                .value("failover_second_owner", &[("duty", "clusterTaintPolicy")]),
            Some(1.0)
        );
        world.finish(vec![ours]).await;
    });
}
