//! The gate `Failover` in mid-flight: the process is started again with the other value at each step of the worked
//! example. Off: no cluster causes a move, what has begun runs to its end, taints that are there stay and go as usual.

use std::time::Duration;

use api_types::names::taint;
use api_types::work::condition;
use controller_kit::Running;
use k8s_openapi::api::apps::v1::Deployment;
use karmada_failover::story::example;
use karmada_failover::story::expect::{BINDING, placement};
use kube::api::{Api, Patch, PatchParams};
use kube_sandbox::{Behaviour, Who};
use serde_json::json;

use crate::common::{World, simulate};
use crate::scene::{LONG, PACE, effects, moved, placed, replaced, status};

/// Until which step the gate is on, before it is off for ten minutes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Until {
    /// nginx runs and all is well.
    Placed,
    /// member1 is not Ready, no NoExecute taint yet.
    NotReady,
    /// The NoExecute taint is there; nginx tolerates it for another while, so its entry waits in the queue.
    Tainted,
    /// The task is written, the new copy is not healthy yet.
    Evicted,
    /// The old copy is let go; its Work waits for member1.
    Moved,
}

/// nginx tolerates the taint for so long: time enough to switch between the taint and the eviction.
const TOLERATED_SECONDS: u64 = 120;
const LONG_ENOUGH: Duration = Duration::from_secs(600);

async fn story() -> World {
    let world = World::new(&["member1", "member2"]);
    example::taint_policies(&PACE)
        .into_iter()
        .for_each(|policy| world.create(policy));
    world.create(json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterTaintPolicy",
        "metadata": {"name": "not-ready-prefer-no-execute"},
        "spec": {
            "matchConditions": [{"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}],
            "taintsToAdd": [{"key": taint::NOT_READY, "effect": "PreferNoExecute",
                "addOnMatchSeconds": PACE.add_on_match_seconds, "removeOnMismatchSeconds": PACE.remove_on_mismatch_seconds}],
        },
    }));
    let mut policy = example::propagation_policy();
    policy["spec"]["placement"]["clusterTolerations"] = json!([{"key": taint::NOT_READY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATED_SECONDS}]);
    world.create(example::deployment());
    world.create(policy);
    world
}

async fn run(world: &World, identity: &str, gate: &str) -> Running {
    let process = world
        .run(identity, &[&format!("--feature-gates=Failover={gate}")])
        .await;
    let shown = process
        .metrics()
        .value("failover_feature_gate_enabled", &[("gate", "Failover")]);
    assert_eq!(shown, Some(if gate == "true" { 1.0 } else { 0.0 }));
    process
}

async fn reach(world: &World, step: Until) {
    placed(world).await;
    if step == Until::Placed {
        tokio::time::sleep(Duration::from_secs(60)).await;
        return;
    }
    // The new copies take their time, so that the switch finds the move under way.
    world
        .fleet
        .member("member2")
        .unwrap()
        .behave(Who::Everything, Behaviour::ReadyAfter(Duration::from_secs(90)));
    world.fleet.member("member1").unwrap().stop();
    world
        .wait_for(&format!("{step:?}"), LONG, || async {
            let reached = match step {
                Until::Placed => true,
                Until::NotReady => !world.cluster("member1").await.is_ready(),
                Until::Tainted => effects(world, "member1")
                    .await
                    .iter()
                    .any(|effect| effect == "NoExecute"),
                Until::Evicted => !world.binding(BINDING).await?.spec.graceful_eviction_tasks.is_empty(),
                Until::Moved => moved(world).await.is_some(),
            };
            reached.then_some(())
        })
        .await;
    if step == Until::Placed || step == Until::NotReady {
        assert_eq!(world.rules.evictions().len(), 0);
    }
}

/// What the policy of the NoExecute taint says about itself.
async fn said_by_policy(world: &World) -> String {
    let policy = world
        .fleet
        .control_plane()
        .get(
            "policy.karmada.io/v1alpha1",
            "ClusterTaintPolicy",
            None,
            "not-ready-no-execute",
        )
        .unwrap();
    policy["status"]["conditions"].to_string()
}

async fn with_the_gate_off(world: &World, step: Until, evictions: usize) {
    let member1 = world.fleet.member("member1").unwrap();
    let had = effects(world, "member1").await;
    member1.stop();
    tokio::time::sleep(LONG_ENOUGH).await;

    assert_eq!(
        world.rules.evictions().len(),
        evictions,
        "{step:?}: off, no cluster causes a move"
    );
    let has = effects(world, "member1").await;
    if had.iter().any(|effect| effect == "NoExecute") {
        assert_eq!(
            has,
            ["NoExecute", "NoSchedule", "PreferNoExecute"],
            "{step:?}: taints that are there stay"
        );
    } else {
        assert_eq!(has, ["NoSchedule"], "{step:?}: of the effects only NoSchedule is added");
        assert!(
            said_by_policy(world).await.contains("Failover"),
            "{step:?}: {}",
            said_by_policy(world).await
        );
    }
    let status = status(world).await;
    assert!(status.contains("feature gate Failover is off"), "{step:?}: {status}");
    assert!(
        status.contains("0 waiting, 0 ready, 0 leased, 0 held"),
        "{step:?}: nothing is queued: {status}"
    );
    let binding = world.binding(BINDING).await.unwrap();
    if evictions == 1 {
        assert!(
            moved(world).await.is_some(),
            "{step:?}: a task that was there runs to its end"
        );
    } else {
        let pending = binding
            .status
            .unwrap_or_default()
            .conditions
            .into_iter()
            .find(|c| c.type_ == condition::EVICTION_PENDING);
        assert!(
            pending.is_none_or(|pending| pending.status != "True"),
            "{step:?}: nothing is pending"
        );
    }
}

#[test]
fn off_and_on_again_at_each_step() {
    for step in [
        Until::Placed,
        Until::NotReady,
        Until::Tainted,
        Until::Evicted,
        Until::Moved,
    ] {
        simulate(|| async {
            let world = story().await;
            let on = run(&world, "on", "true").await;
            reach(&world, step).await;
            let evictions = world.rules.evictions().len();
            replaced(on).await;

            let off = run(&world, "off", "false").await;
            with_the_gate_off(&world, step, evictions).await;
            replaced(off).await;

            let on = run(&world, "on again", "true").await;
            world
                .wait_for(&format!("the move, after {step:?}"), LONG, || moved(&world))
                .await;
            assert_eq!(world.rules.evictions().len(), 1, "{step:?}: and once only");
            world.fleet.member("member1").unwrap().resume();
            world
                .wait_for(&format!("the end, after {step:?}"), LONG, || async {
                    effects(&world, "member1").await.is_empty().then_some(())
                })
                .await;
            world.finish(vec![on]).await;
        });
    }
}

/// Off from the start, nothing leaves a cluster, however long it is gone and although the scheduler is asked anew: with the
/// scheduler, the controllers of bindings and all others on, any of which could move it (C24, karmada#5375).
#[test]
fn off_nothing_moves_however_long_a_cluster_is_gone() {
    simulate(|| async {
        let world = story().await;
        let off = run(&world, "off", "false").await;
        placed(&world).await;
        let member1 = world.fleet.member("member1").unwrap();
        member1.stop();
        let stays = async |on: [(&str, i32); 2]| {
            let binding = world.binding(BINDING).await.unwrap();
            assert_eq!(
                placement(&binding),
                on.map(|(name, copies)| (name.to_owned(), copies)).into()
            );
            assert_eq!(binding.spec.graceful_eviction_tasks, []);
            assert_eq!(world.works("member1").await.len(), 1);
            assert_eq!(world.rules.evictions().len(), 0);
        };
        for _ in 0..12 {
            tokio::time::sleep(Duration::from_secs(300)).await;
            stays([("member1", 1), ("member2", 2)]).await;
        }
        assert_eq!(effects(&world, "member1").await, ["NoSchedule"]);
        let deployments: Api<Deployment> = Api::namespaced(world.client(), "default");
        let six = json!({"spec": {"replicas": 6}});
        deployments
            .patch("nginx", &PatchParams::default(), &Patch::Merge(six))
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_secs(300)).await;
        stays([("member1", 2), ("member2", 4)]).await;
        member1.resume();
        world
            .wait_for("the end", LONG, || async {
                effects(&world, "member1").await.is_empty().then_some(())
            })
            .await;
        world.finish(vec![off]).await;
    });
}

/// Off, a member that returns loses its taints as with the gate on, and the old copy goes: nothing is left behind.
#[test]
fn off_taints_and_old_copies_go_as_usual() {
    for step in [Until::Tainted, Until::Moved] {
        simulate(|| async {
            let world = story().await;
            let on = run(&world, "on", "true").await;
            reach(&world, step).await;
            let evictions = world.rules.evictions().len();
            replaced(on).await;

            let off = run(&world, "off", "false").await;
            with_the_gate_off(&world, step, evictions).await;
            let member1 = world.fleet.member("member1").unwrap();
            member1.resume();
            world
                .wait_for(&format!("the end, after {step:?}"), LONG, || async {
                    effects(&world, "member1").await.is_empty().then_some(())
                })
                .await;
            let copy = member1.sandbox().get("apps/v1", "Deployment", Some("default"), "nginx");
            assert_eq!(copy.is_some(), evictions == 0, "{step:?}: it moved, or stayed");
            assert_eq!(world.rules.evictions().len(), evictions);
            world.finish(vec![off]).await;
        });
    }
}
