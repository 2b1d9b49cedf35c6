//! From a member that fails to a taint, and back: on the second, over restarts and weather.

use super::*;

#[test]
fn a_member_that_stops_is_tainted_after_threshold_and_window_and_freed_after_both() {
    paused(async {
        let bench = Bench::new(&["m1", "m2"]);
        bench.put_not_ready_policy();
        let _health = bench.start_health("health-0").await;
        let taints = bench.start_taints("taints-0").await;
        bench.until(60).await;
        assert!(bench.taints("m1").await.is_empty());
        bench.member("m1").stop();
        bench.until(110).await;
        let failed = bench.cluster("m1").await.condition("Ready").unwrap().clone();
        assert_eq!(failed.status, "False");
        let failed_second =
            u64::try_from(failed.last_transition_time.0.duration_since(bench.started).as_secs()).unwrap();
        let status = bench.policy("not-ready").await.status.unwrap();
        assert_eq!(
            (status.target_clusters, status.matching, status.pending, status.tainted),
            (2, 1, 1, 0)
        );
        assert!(
            taints
                .metrics()
                .value("cluster_taint_policy_seconds_until_change", &[("member_cluster", "m1")])
                .unwrap()
                > 280.0
        );
        bench.until(failed_second + 299).await;
        assert!(bench.taints("m1").await.is_empty());
        bench.until(failed_second + 301).await;
        assert_eq!(bench.taints("m1").await, [TAINT]);
        assert!(bench.taints("m2").await.is_empty());
        let events = bench.events("m1").await;
        let (_, note) = events
            .iter()
            .find(|(reason, _)| reason == "TaintClusterSucceed")
            .unwrap();
        assert_eq!(
            note,
            "Taint cluster succeed: added cluster.karmada.io/not-ready:NoExecute (policy not-ready: Ready=False for 300 s)"
        );
        bench.until(1000).await;
        let status = bench.policy("not-ready").await.status.unwrap();
        assert_eq!((status.matching, status.pending, status.tainted), (1, 0, 1));
        assert_eq!(status.clusters[0].state.as_str(), "Tainted");

        bench.member("m1").resume();
        bench.until(1050).await;
        let ready = bench.cluster("m1").await.condition("Ready").unwrap().clone();
        assert_eq!(ready.status, "True");
        let ready_second = u64::try_from(ready.last_transition_time.0.duration_since(bench.started).as_secs()).unwrap();
        bench.until(ready_second + 179).await;
        assert_eq!(bench.taints("m1").await, [TAINT]);
        bench.until(ready_second + 181).await;
        assert!(bench.taints("m1").await.is_empty());
        let annotations = bench.cluster("m1").await.metadata.annotations.unwrap_or_default();
        let kept: Vec<&String> = annotations.keys().collect();
        assert_eq!(
            kept,
            ["failover.karmada.io/flap-score"],
            "windows and ownership leave no trace"
        );
        bench.until(ready_second + 183).await;
        assert!(bench.policy("not-ready").await.status.unwrap().clusters.is_empty());
    });
}

#[test]
fn a_restart_of_either_controller_in_mid_window_keeps_the_due_time() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put_not_ready_policy();
        let health = bench.start_health("health-0").await;
        let taints = bench.start_taints("taints-0").await;
        bench.until(60).await;
        bench.member("m1").stop();
        bench.until(150).await;
        let failed = bench
            .cluster("m1")
            .await
            .condition("Ready")
            .unwrap()
            .last_transition_time
            .0;
        let failed = u64::try_from(failed.duration_since(bench.started).as_secs()).unwrap();
        health.crash();
        taints.crash();
        bench.until(200).await;
        let _health = bench.start_health("health-1").await;
        let taints = bench.start_taints("taints-1").await;
        bench.until(260).await;
        taints.stop().await;
        bench.until(290).await;
        let _taints = bench.start_taints("taints-2").await;
        bench.until(failed + 299).await;
        assert!(bench.taints("m1").await.is_empty());
        bench.until(failed + 301).await;
        assert_eq!(bench.taints("m1").await, [TAINT]);
    });
}

// C59, karmada#6368: what became due while nobody ran is done at the first look.
#[test]
fn a_window_that_ended_during_an_outage_fires_at_the_start() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put_not_ready_policy();
        bench.set_ready("m1", "True").await;
        let taints = bench.start_taints("taints-0").await;
        bench.until(10).await;
        bench.set_ready("m1", "False").await;
        bench.until(20).await;
        taints.stop().await;
        bench.until(1000).await;
        assert!(bench.taints("m1").await.is_empty());
        let _taints = bench.start_taints("taints-1").await;
        bench.until(1001).await;
        assert_eq!(bench.taints("m1").await, [TAINT]);
    });
}

#[test]
fn the_window_fires_on_the_second_and_the_whole_outage_costs_two_writes() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put_not_ready_policy();
        bench.set_ready("m1", "True").await;
        let _taints = bench.start_taints("taints-0").await;
        bench.until(50).await;
        bench.until_millis(50_345).await;
        bench.set_ready("m1", "False").await;
        bench.until_millis(350_344).await;
        assert!(bench.taints("m1").await.is_empty());
        bench.until_millis(350_347).await;
        assert_eq!(bench.taints("m1").await, [TAINT]);
        bench.until(7000).await;
        let on_clusters: Vec<String> = bench
            .writes("taints")
            .into_iter()
            .filter(|w| w.contains(" clusters "))
            .collect();
        assert_eq!(on_clusters.len(), 2, "{on_clusters:?}");
    });
}

/// Whatever interleaving of latencies, conflicts and lost answers: never early, in the end right, no rule broken.
#[test]
fn the_weather_of_an_api_server_changes_nothing_but_a_little_time() {
    paused(async {
        for seed in 1..=10 {
            let bench = Bench::new(&["m1", "m2", "m3"]);
            bench.put_not_ready_policy();
            let faults = bench.plane().faults();
            faults.seeded_latency(seed, Duration::from_millis(40));
            for client in ["taints", "health"] {
                let writes = Match::writes().resource("clusters").client(client);
                faults.inject_times(writes.clone(), seed % 3, 1, Effect::Conflict);
                faults.inject_times(writes.clone(), 2 + seed % 4, 1, Effect::AnswerLost);
                faults.inject_times(writes, 5 + seed % 2, 1, Effect::Disconnect);
            }
            let _health = bench.start_health("health-0").await;
            let mut taints = bench.start_taints("taints-0").await;
            bench.until(60).await;
            bench.member("m1").stop();
            bench.until(90 + seed * 17).await;
            taints.crash();
            taints = bench.start_taints("taints-1").await;
            faults.cut_watches(Match::any().verb(Verb::Watch).resource("clusters"));
            bench.until(460).await;
            assert_eq!(bench.taints("m1").await, [TAINT], "seed {seed}");
            assert!(bench.taints("m2").await.is_empty() && bench.taints("m3").await.is_empty());
            bench.member("m1").resume();
            bench.until(760).await;
            assert!(
                bench.taints("m1").await.is_empty(),
                "seed {seed}: {:#?} {:?}",
                bench.writes("taints"),
                bench.events("m1").await
            );
            taints.stop().await;
        }
    });
}
