//! The copies that run, counted at every moment while one leaves: what is let go is replaced, and not by what somebody ran
//! before.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube_sandbox::{Behaviour, Effect, Match, Verb, Who};
use serde_json::{Value, json};

use crate::common::{World, simulate};

const MINUTES: Duration = Duration::from_secs(900);
const BINDING: &str = "default/web-deployment";
const LOOK_EVERY: Duration = Duration::from_millis(100);

fn deployment(replicas: i32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": "default", "name": "web", "labels": {"app": "web"}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "nginx", "resources": {"requests": {"cpu": "100m"}}}]}}}})
}

fn policy(placement: &Value) -> Value {
    json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"namespace": "default", "name": "web"},
        "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
            "placement": placement}})
}

/// Replicas that are available on a member now, by the member itself; absent where there is no copy.
fn available_on(world: &World, member: &str) -> Option<i64> {
    let sandbox = world.fleet.member(member).unwrap();
    let copy = sandbox.sandbox().get("apps/v1", "Deployment", Some("default"), "web")?;
    Some(copy["status"]["availableReplicas"].as_i64().unwrap_or(0))
}

async fn all_ready(world: &World, members: &[&str]) {
    for member in members {
        world
            .wait_for("a Ready member", MINUTES, || async {
                world.cluster(member).await.is_ready().then_some(())
            })
            .await;
    }
}

/// What each member's copy is said to have available, of copies that are Healthy.
async fn healthy(world: &World) -> BTreeMap<String, i64> {
    let binding = world.binding(BINDING).await;
    let status = binding.and_then(|binding| binding.status).unwrap_or_default();
    let items = status.aggregated_status.into_iter();
    items
        .filter(|item| item.health == Some(api_types::work::ResourceHealth::Healthy))
        .map(|item| {
            let shown = item.status.and_then(|status| status["availableReplicas"].as_i64());
            (item.cluster_name, shown.unwrap_or(0))
        })
        .collect()
}

/// A member that was away comes back re-installed while it is the one that another copy waits for. It is Ready before
/// anything was read there; what it ran before is not what it runs.
#[test]
fn a_member_that_comes_back_empty_replaces_no_copy_before_it_runs_one() {
    simulate(|| async {
        let world = World::new(&["member1", "member2"]);
        let process = world.run("all-in-one", &[]).await;
        all_ready(&world, &["member1", "member2"]).await;
        world.create(policy(
            &json!({"clusterAffinity": {"clusterNames": ["member1", "member2"]}}),
        ));
        world.create(deployment(2));
        let both = BTreeMap::from([("member1".to_owned(), 2), ("member2".to_owned(), 2)]);
        world
            .wait_for("a copy on each", MINUTES, || async {
                (healthy(&world).await == both).then_some(())
            })
            .await;
        let member2 = world.fleet.member("member2").unwrap();
        member2.stop();
        world
            .wait_for("member2 to be away", MINUTES, || async {
                (!world.cluster("member2").await.is_ready()).then_some(())
            })
            .await;
        tokio::time::sleep(Duration::from_secs(120)).await;

        // A person takes the workload off member1.
        let plane = world.plane();
        let now = world.clock.now().round(jiff::Unit::Second).unwrap().to_string();
        let mut cluster = plane
            .get("cluster.karmada.io/v1alpha1", "Cluster", None, "member1")
            .unwrap();
        cluster["spec"]["taints"] = json!([{"key": "out", "effect": "NoExecute", "timeAdded": now}]);
        let mut binding = plane
            .get(
                "work.karmada.io/v1alpha2",
                "ResourceBinding",
                Some("default"),
                "web-deployment",
            )
            .unwrap();
        binding["spec"]["clusters"] = json!([{"name": "member2", "replicas": 2}]);
        binding["spec"]["gracefulEvictionTasks"] = json!([{"fromCluster": "member1", "purgeMode": "Gracefully",
            "reason": "TaintUntolerated", "producer": "TaintManager", "replicas": 2, "creationTimestamp": now,
            "clustersBeforeFailover": ["member1", "member2"]}]);
        world.put(binding);
        world.put(cluster);
        tokio::time::sleep(Duration::from_secs(30)).await;

        // Another member2, of the same name: nothing runs there, nothing starts, and it is slow to say so.
        let there: Api<Deployment> = Api::namespaced(member2.sandbox().observer(), "default");
        there.delete("web", &Default::default()).await.unwrap();
        member2.behave(Who::Everything, Behaviour::NeverReady);
        let lists = Match::any().verb(Verb::List).resource("deployments");
        member2.faults().inject(lists, Effect::Latency(Duration::from_secs(3)));
        member2.resume();
        world
            .wait_for("member2 to be back", MINUTES, || async {
                world.cluster("member2").await.is_ready().then_some(())
            })
            .await;
        let leaving = async || {
            let binding = world.binding(BINDING).await.unwrap();
            let tasks = binding.spec.graceful_eviction_tasks.into_iter();
            tasks.map(|task| task.from_cluster).collect::<Vec<_>>()
        };
        for _ in 0..600 {
            assert_eq!(
                available_on(&world, "member1"),
                Some(2),
                "the only copy that runs: {:?}",
                world.binding(BINDING).await.unwrap().status
            );
            tokio::time::sleep(LOOK_EVERY).await;
        }
        assert_eq!(leaving().await, ["member1"]);
        assert_eq!(available_on(&world, "member2"), Some(0));

        member2.behave(Who::Everything, Behaviour::ReadyAfter(Duration::from_secs(5)));
        there.delete("web", &Default::default()).await.unwrap();
        world
            .wait_for("the old copy to go", MINUTES, || async {
                available_on(&world, "member1").is_none().then_some(())
            })
            .await;
        assert_eq!(available_on(&world, "member2"), Some(2));
        world.finish(vec![process]).await;
    });
}

/// C124, karmada#1383: a cluster of a divided workload is deleted. Its replicas move, and at no moment fewer are
/// available than were asked for.
#[test]
fn c124_the_deletion_of_a_cluster_leaves_no_replica_missing() {
    simulate(|| async {
        let members = ["member1", "member2", "member3"];
        let world = World::new(&members);
        let process = world.run("all-in-one", &[]).await;
        all_ready(&world, &members).await;
        let weight = |name: &str| json!({"targetCluster": {"clusterNames": [name]}, "weight": 1});
        world.create(policy(&json!({
            "clusterAffinity": {"clusterNames": members},
            "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
                "weightPreference": {"staticWeightList": members.map(weight)}},
        })));
        world.create(deployment(6));
        let available = || -> i64 { members.iter().filter_map(|name| available_on(&world, name)).sum() };
        world
            .wait_for("six replicas", MINUTES, || async { (available() == 6).then_some(()) })
            .await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(available_on(&world, "member1"), Some(2));

        let clusters: Api<api_types::cluster::Cluster> = Api::all(world.client());
        clusters.delete("member1", &Default::default()).await.unwrap();
        let mut looks = 0;
        while available_on(&world, "member1").is_some() {
            assert!(available() >= 6, "{} available", available());
            looks += 1;
            assert!(looks < 9_000, "the copy on member1 stays");
            tokio::time::sleep(LOOK_EVERY).await;
        }
        assert!(looks > 0);
        for _ in 0..600 {
            assert_eq!(available(), 6);
            tokio::time::sleep(LOOK_EVERY).await;
        }
        assert_eq!(
            (available_on(&world, "member2"), available_on(&world, "member3")),
            (Some(3), Some(3))
        );
        assert!(clusters.get_opt("member1").await.unwrap().is_none(), "it has gone");
        world.finish(vec![process]).await;
    });
}
