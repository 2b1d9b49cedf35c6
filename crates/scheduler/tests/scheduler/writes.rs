//! Writes that meet others, get lost, or are the last before a crash.

use kube_sandbox::{Effect, Match, Verb};
use rstest::rstest;
use serde_json::{Value, json};
use test_bench::paused;

use crate::bench::{Bench, one_to_two, shown, task};

// Another writer comes between the read and the write.
#[test]
fn a_conflict_places_anew_and_loses_nobodys_change() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let conflict = |times| {
            let when = Match::writes().resource("resourcebindings").client("scheduler");
            bench.plane.faults().inject_times(when, 0, times, Effect::Conflict);
        };
        conflict(2);
        let _process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": one_to_two()}));
        bench.until(1).await;
        assert_eq!(bench.placed().await, "member1:1 member2:2");

        // The scheduler's view lags: what it decides from it must not land.
        let late = Match::any().verb(Verb::Watch).resource("resourcebindings");
        bench.plane.faults().disturb_events(
            late,
            0,
            1,
            kube_sandbox::EventEffect::Delay(std::time::Duration::from_secs(30)),
        );
        bench
            .patch(json!({"spec": {"replicas": 6}, "metadata": {"annotations": {"kept": "yes"}}}))
            .await;
        bench.fail_cluster("member2");
        bench.put_cluster("member2", "True", &json!([]));
        bench.until(60).await;
        let binding = bench.binding().await;
        assert_eq!(shown(&binding), "member1:2 member2:4");
        assert_eq!(binding.metadata.annotations.unwrap()["kept"], "yes");
    });
}

#[test]
fn a_restart_at_any_write_comes_to_the_same_end() {
    for writes in 0..3 {
        paused(async {
            let bench = Bench::new(&["member1", "member2"]);
            let bindings = Match::writes().resource("resourcebindings").client("scheduler");
            bench.plane.faults().freeze_after_write(bindings, writes);
            let first = bench.start_scheduler("a").await;
            bench.put_deployment(&json!({"placement": one_to_two()}));
            bench.until(5).await;
            first.crash();
            bench.plane.faults().thaw();
            bench.plane.faults().clear();
            let _second = bench.start_scheduler("b").await;
            bench.until(60).await;
            let binding = bench.binding().await;
            assert_eq!(shown(&binding), "member1:1 member2:2", "after {writes} writes");
            assert_eq!(binding.condition("Scheduled").unwrap().status, "True");
            assert_eq!(
                binding.status.unwrap().scheduler_observed_generation,
                binding.metadata.generation
            );
        });
    }
}

// The write is stored, and nobody hears of it.
#[test]
fn a_lost_answer_is_found_out_by_reading() {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let writes = Match::writes().resource("resourcebindings").client("scheduler");
        bench.plane.faults().inject_times(writes, 0, 2, Effect::AnswerLost);
        let _process = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": one_to_two()}));
        bench.until(60).await;
        let binding = bench.binding().await;
        assert_eq!(shown(&binding), "member1:1 member2:2");
        assert_eq!(binding.condition("Scheduled").unwrap().status, "True");
        assert_eq!(
            binding.status.unwrap().scheduler_observed_generation,
            binding.metadata.generation
        );
    });
}

// The process dies between the result and the status of a failover to another group, and the first group is well again.
#[rstest]
#[case::divided(json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}))]
#[case::looked_at_each_time(json!({"replicaSchedulingType": "Duplicated"}))]
fn the_group_of_a_failover_is_not_lost_with_the_status(#[case] scheduling: Value) {
    paused(async {
        let bench = Bench::new(&["member1", "member2"]);
        let first = bench.start_scheduler("a").await;
        bench.put_deployment(&json!({"placement": {"replicaScheduling": scheduling, "clusterAffinities": [
            {"affinityName": "near", "clusterNames": ["member1"]}, {"affinityName": "far", "clusterNames": ["member2"]},
        ]}}));
        bench.until(1).await;
        assert_eq!(bench.placed().await, "member1:3");
        let group = async || bench.binding().await.status.unwrap().scheduler_observed_affinity_name;
        bench.fail_cluster("member1");
        let writes = Match::writes().resource("resourcebindings").client("scheduler");
        bench.plane.faults().freeze_after_write(writes, 1);
        let evicted = [task("member1", 3, bench.clock.now())];
        bench
            .patch(json!({"spec": {"clusters": [], "gracefulEvictionTasks": evicted}}))
            .await;
        bench.until(5).await;
        assert_eq!(bench.placed().await, "member2:3");
        assert_eq!(group().await.as_deref(), Some("near"));
        first.crash();
        bench.plane.faults().thaw();
        bench.plane.faults().clear();
        bench.put_cluster("member1", "True", &json!([]));
        let _second = bench.start_scheduler("b").await;
        bench.until(60).await;
        assert_eq!(bench.placed().await, "member2:3");
        assert_eq!(group().await.as_deref(), Some("far"));
        bench.patch(json!({"spec": {"replicas": 6}})).await;
        bench.until(120).await;
        assert_eq!(bench.placed().await, "member2:6");
    });
}
