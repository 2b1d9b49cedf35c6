//! Writes that meet others, get lost, or are the last before a crash.

use kube_sandbox::{Effect, Match, Verb};
use serde_json::json;
use test_bench::paused;

use crate::bench::{Bench, one_to_two, shown};

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
