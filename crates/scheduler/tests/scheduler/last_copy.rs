//! The last running copy stays in the result until another one works.

use std::time::Duration;

use api_types::work::condition;
use kube_sandbox::{EventEffect, Match, Verb};
use serde_json::{Value, json};
use test_bench::paused;

use crate::bench::{Bench, one_to_two, shown, task};

/// Three replicas by weights 1:2, of which only the copy on member1 is healthy.
async fn scene() -> Bench {
    let bench = Bench::new(&["member1", "member2"]);
    bench.put_deployment(&json!({"placement": one_to_two(), "clusters": [
        {"name": "member1", "replicas": 1}, {"name": "member2", "replicas": 2},
    ]}));
    report(&bench, &[healthy("member1", 1), unhealthy("member2")]).await;
    bench
}

async fn report(bench: &Bench, items: &[Value]) {
    bench.patch_status(json!({"aggregatedStatus": items})).await;
}

fn healthy(cluster: &str, replicas: i32) -> Value {
    json!({"clusterName": cluster, "applied": true, "health": "Healthy", "status": {"availableReplicas": replicas}})
}

fn unhealthy(cluster: &str) -> Value {
    json!({"clusterName": cluster, "applied": true, "health": "Unhealthy"})
}

async fn message(bench: &Bench) -> String {
    let binding = bench.binding().await;
    binding.condition(condition::SCHEDULED).unwrap().message.clone()
}

/// How many Events on the workload say this.
fn times_told(bench: &Bench, what: &str) -> usize {
    let events = bench.events("Deployment", "nginx");
    events.iter().filter(|(_, note)| note.contains(what)).count()
}

const DONE: &str = "Binding has been scheduled successfully.";
const KEPT: &str = "Binding has been scheduled successfully. member1 stays in the result until another copy is healthy: \
                    its copy may be the last that runs.";

// Scaled down to one replica, the weights leave it to member2, where nothing works yet.
#[test]
fn scaling_down_takes_the_last_copy_after_another_is_healthy() {
    paused(async {
        let bench = scene().await;
        let _process = bench.start_scheduler("a").await;
        bench.until(1).await;
        bench.patch(json!({"spec": {"replicas": 1}})).await;
        bench.until(2).await;
        let binding = bench.binding().await;
        assert_eq!(shown(&binding), "member1:1 member2:1");
        assert_eq!(message(&bench).await, KEPT);
        assert_eq!(
            binding.status.unwrap().scheduler_observed_generation,
            binding.metadata.generation
        );
        assert_eq!(
            times_told(&bench, "Result: {member1:1, member2:1} member1 stays in the result"),
            1
        );

        // Statuses come and go, and nothing is written for them.
        let writes = bench.writes("scheduler");
        for second in 3_u16..60 {
            report(
                &bench,
                &[healthy("member1", i32::from(1 + second % 2)), unhealthy("member2")],
            )
            .await;
            bench.until(second.into()).await;
        }
        bench.until(3600).await;
        assert_eq!(bench.writes("scheduler"), writes);

        report(&bench, &[healthy("member1", 1), healthy("member2", 1)]).await;
        bench.until(3601).await;
        assert_eq!(bench.placed().await, "member2:1");
        assert_eq!(message(&bench).await, DONE);
        assert_eq!(bench.writes("scheduler").len(), writes.len() + 2);
        assert_eq!(times_told(&bench, "member1 stays in the result"), 1, "said once");
    });
}

fn with_room(bench: &Bench, name: &str, pods: &str) {
    bench.put_cluster(name, "True", &json!([]));
    let mut cluster = bench
        .plane
        .get("cluster.karmada.io/v1alpha1", "Cluster", None, name)
        .unwrap();
    cluster["status"]["resourceSummary"] = json!({"allocatable": {"pods": pods}});
    bench.put(cluster);
}

// A person asks for a fresh placement, which moves all to member2. Its first word that it does not work yet, and each after
// that, is no reason to bring them back to member1.
#[test]
fn a_fresh_placement_goes_through() {
    paused(async {
        let bench = Bench::new(&[]);
        with_room(&bench, "member1", "0");
        with_room(&bench, "member2", "20");
        let aggregated = json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"});
        bench.put_deployment(&json!({
            "placement": {"replicaScheduling": aggregated}, "clusters": [{"name": "member1", "replicas": 3}],
        }));
        report(&bench, &[healthy("member1", 3)]).await;
        let _process = bench.start_scheduler("a").await;
        bench.until(10).await;
        assert_eq!(bench.placed().await, "member1:3");
        bench
            .patch(json!({"spec": {"rescheduleTriggeredAt": bench.clock.now()}}))
            .await;
        bench.until(11).await;
        assert_eq!(bench.placed().await, "member1:3 member2:3");
        assert_eq!(noted(&bench).await.as_deref(), Some("member1:3"));
        for second in 12..20 {
            report(&bench, &[healthy("member1", 3), unhealthy("member2")]).await;
            bench.until(second).await;
            assert_eq!(bench.placed().await, "member1:3 member2:3");
            report(&bench, &[healthy("member1", 3)]).await;
        }
        report(&bench, &[healthy("member1", 3), healthy("member2", 3)]).await;
        bench.until(21).await;
        assert_eq!(bench.placed().await, "member2:3");
        assert_eq!(message(&bench).await, DONE);
        assert_eq!(noted(&bench).await, None);
    });
}

/// The annotation that says which copies are kept.
async fn noted(bench: &Bench) -> Option<String> {
    let annotations = bench.binding().await.metadata.annotations.unwrap_or_default();
    annotations.get(api_types::names::annotation::KEPT_COPIES).cloned()
}

// What is kept was in the result already: there is nothing to write there, and it is told all the same.
#[test]
fn a_copy_that_stays_where_it_is_is_told() {
    paused(async {
        let bench = scene().await;
        let _process = bench.start_scheduler("a").await;
        bench.until(1).await;
        bench
            .patch(json!({"spec": {"replicas": 1, "clusters": [
                {"name": "member1", "replicas": 1}, {"name": "member2", "replicas": 1},
            ]}}))
            .await;
        bench.until(2).await;
        assert_eq!(message(&bench).await, KEPT);
        assert_eq!(times_told(&bench, "member1 stays in the result"), 1);
    });
}

// The status of a cluster that is not Ready proves nothing; that it is Ready may be heard after the status.
#[test]
fn a_cluster_that_becomes_ready_ends_it_too() {
    paused(async {
        let bench = scene().await;
        bench.put_cluster("member2", "Unknown", &json!([]));
        let _process = bench.start_scheduler("a").await;
        bench.patch(json!({"spec": {"replicas": 1}})).await;
        report(&bench, &[healthy("member1", 1), healthy("member2", 1)]).await;
        bench.until(60).await;
        assert_eq!(bench.placed().await, "member1:1 member2:1");
        bench.put_cluster("member2", "True", &json!([]));
        bench.until(61).await;
        assert_eq!(bench.placed().await, "member2:1");
    });
}

// The evictor takes the copy that is kept: it is in a task then, and nobody speaks of the result any more.
#[test]
fn an_eviction_ends_it() {
    paused(async {
        let bench = scene().await;
        let _process = bench.start_scheduler("a").await;
        bench.patch(json!({"spec": {"replicas": 1}})).await;
        bench.until(1).await;
        assert_eq!(message(&bench).await, KEPT);
        bench.fail_cluster("member1");
        bench
            .patch(json!({"spec": {
                "clusters": [{"name": "member2", "replicas": 1}],
                "gracefulEvictionTasks": [task("member1", 1, bench.clock.now())],
            }}))
            .await;
        bench.until(2).await;
        assert_eq!(bench.placed().await, "member2:1");
        assert_eq!(message(&bench).await, DONE);
    });
}

// The copy works while nobody looks.
#[test]
fn a_restart_goes_on_where_it_was() {
    paused(async {
        let bench = scene().await;
        let first = bench.start_scheduler("a").await;
        bench.patch(json!({"spec": {"replicas": 1}})).await;
        bench.until(1).await;
        assert_eq!(bench.placed().await, "member1:1 member2:1");
        first.crash();
        report(&bench, &[healthy("member1", 1), healthy("member2", 1)]).await;
        let _second = bench.start_scheduler("b").await;
        bench.until(60).await;
        assert_eq!(bench.placed().await, "member2:1");
        assert_eq!(message(&bench).await, DONE);
    });
}

// The list is from before member2 joined, and the word of it comes late. That the cache does not know a cluster is no
// reason to take it out of the result.
#[test]
fn a_cluster_that_only_the_cache_misses_stays() {
    /// Enough versions for what a start writes, and that of member1 is older.
    const BEFORE: u64 = 6;
    paused(async {
        let bench = Bench::new(&["member1"]);
        let both = json!([{"name": "member1", "replicas": 3}, {"name": "member2", "replicas": 3}]);
        bench.put_deployment(&json!({"placement": {}, "clusters": both}));
        for n in 0..BEFORE {
            bench
                .patch(json!({"metadata": {"annotations": {"n": n.to_string()}}}))
                .await;
        }
        bench.put_cluster("member2", "True", &json!([]));
        let faults = bench.plane.faults();
        faults.stale_lists(Match::any().verb(Verb::List).resource("clusters"), BEFORE);
        let late = Match::any().verb(Verb::Watch).resource("clusters");
        faults.disturb_events(late, 0, 1, EventEffect::Delay(Duration::from_secs(30)));
        let _process = bench.start_scheduler("a").await;
        bench.until(5).await;
        assert_eq!(bench.placed().await, "member1:3 member2:3");
        bench.until(60).await;
        assert_eq!(bench.placed().await, "member1:3 member2:3");
        assert_eq!(bench.reasons_on("Deployment", "nginx"), ["ScheduleBindingSucceed"]);
    });
}
