use std::time::Duration;

use eviction_queue::Flags;
use eviction_queue_api::v1;
use failover_core::eviction::queue::WithdrawReason;
use jiff::SignedDuration;
use kube_sandbox::Sandbox;

use crate::world::{Evictions, Producer, World, evict};
use test_bench::paused;

async fn evictions_in(seconds: u64, consumers: usize, world: &World) -> Evictions {
    let evictions = Evictions::default();
    let all = futures::future::join_all((0..consumers).map(|_| evict(world, evictions.clone())));
    let _ = tokio::time::timeout(Duration::from_secs(seconds), all).await;
    evictions
}

// C42 (karmada#7495), S01 (karmada f8fdd02): the rate is the rate, whatever the number of consumers.
#[test]
fn exact_with_one_and_eight_consumers() {
    for consumers in [1, 8] {
        paused(async move {
            let world = World::new();
            let _queue = world.queue("q", world.flags(0.5)).await;
            let entries = world
                .entries_of("m1", 400)
                .into_iter()
                .chain(world.entries_of("m2", 400))
                .collect();
            let _producer = Producer::publish(&world, entries).await;
            let evictions = evictions_in(600, consumers, &world).await;
            assert!(
                evictions.count().abs_diff(300) <= 1,
                "{} with {consumers} consumers",
                evictions.count()
            );
            assert!(evictions.closest().unwrap() >= SignedDuration::from_secs(2));
        });
    }
}

// S02 (karmada f8fdd02): rate 0 means stop.
#[test]
fn zero_stops() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(0.0)).await;
        let _producer = Producer::publish(&world, world.entries_of("m1", 50)).await;
        assert_eq!(evictions_in(600, 3, &world).await.count(), 0);
        let status = world.status().await;
        assert_eq!((status.totals.unwrap().ready, status.evictions_per_second), (50, 0.0));
    });
}

// S03 (karmada f8fdd02): gauges are computed from the queue's state: never above what is there, and 0 at the end.
#[test]
fn gauges_do_not_drift() {
    paused(async {
        let world = World::new();
        let queue = world.queue("q", world.flags(10.0)).await;
        let entries = world.entries_of("m1", 100);
        let producer = Producer::publish(&world, entries.clone()).await;
        let total = || queue.metrics().value("evict_total", &[("cluster_name", "m1")]);
        let kind = || {
            queue.metrics().value(
                "evict_kind_total",
                &[("cluster_name", "m1"), ("resource_kind", "apps/v1/Deployment")],
            )
        };
        for _ in 0..5 {
            producer.upsert(&entries);
            world.settle().await;
            assert_eq!(
                (total(), kind()),
                (Some(100.0), Some(100.0)),
                "the same again is no more"
            );
        }
        assert_eq!(evictions_in(20, 2, &world).await.count(), 100);
        assert_eq!(
            (total(), kind()),
            (Some(0.0), None),
            "the lane stands as long as the fault"
        );
        let value = |name: &str| queue.metrics().value(name, &[("cluster_name", "m1")]);
        assert!(value("evict_rate").is_some_and(|rate| (rate - 100.0 / 60.0).abs() < 1e-9));
        assert_eq!(value("evict_success_rate"), Some(1.0));
        assert_eq!(queue.metrics().value("cluster_fault_num", &[]), Some(2.0));
        assert_eq!(queue.metrics().value("cluster_fault_rate", &[]), Some(0.4));
        let latencies = || value("evict_processing_latency_seconds_count");
        assert_eq!(latencies(), Some(100.0));
        let text = queue.metrics().render();
        assert_eq!(controller_kit::metrics::complaints(&text), [""; 0], "{text}");
        world.heal("m1");
        world.settle().await;
        assert_eq!(total(), None, "and goes with it");
        assert_eq!(latencies(), Some(100.0), "the cluster is there");
        world.remove_cluster("m1").await;
        let text = queue.metrics().render();
        assert!(
            !text.contains("cluster_name=\"m1\""),
            "nothing of a cluster that is gone: {text}"
        );
    });
}

// C50 (karmada#6274): recovery abandons what is queued, at once and without spending tokens.
#[test]
fn recovery_abandons_what_is_queued() {
    paused(async {
        let world = World::new();
        let queue = world.queue("q", world.flags(1.0)).await;
        let entries = world.entries_of("m1", 100);
        let producer = Producer::publish(&world, entries.clone()).await;
        let evictions = Evictions::default();
        let consumer = evict(&world, evictions.clone());
        tokio::pin!(consumer);
        let _ = tokio::time::timeout(Duration::from_millis(10_500), &mut consumer).await;
        let before = evictions.count();
        assert!((9..=11).contains(&before), "{before}");
        world.heal("m1");
        let _ = tokio::time::timeout(Duration::from_secs(60), &mut consumer).await;
        assert_eq!(
            evictions.count(),
            before,
            "held, whether or not the producer has seen the recovery"
        );
        producer.withdraw(
            entries.iter().map(|entry| &*entry.key),
            WithdrawReason::ClusterRecovered,
        );
        world.settle().await;
        let status = world.status().await;
        assert_eq!(status.totals.unwrap(), eviction_queue_api::v1::Totals::default());
        assert!((status.tokens - 1.0).abs() < 1e-9);
        assert_eq!(queue.metrics().value("evict_total", &[("cluster_name", "m1")]), None);
    });
}

fn taint(plane: &Sandbox, name: &str, taints: &serde_json::Value) {
    plane
        .put(serde_json::json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"syncMode": "Push", "taints": taints},
        }))
        .unwrap();
}

#[test]
fn a_rate_of_0_says_that_it_is_the_reason() {
    paused(async {
        let world = World::new();
        let _queue = world.queue("q", world.flags(0.0)).await;
        let _consumer = crate::world::Consumer::connect(&world.client(), 0).await.unwrap();
        let _producer = Producer::publish(&world, world.entries_of("m1", 1)).await;
        world.settle().await;
        let status = world.status().await;
        let reason = "--resource-eviction-rate is 0; 2 of 5 clusters are faulty (40.0 %), not more than 55.0 %";
        assert_eq!(status.reason, reason);
        assert_eq!(status.notes, [format!("nothing is released: {reason}")]);
    });
}

// C44 (kubernetes#30138), C46 (kubernetes#20640), C48 (kubernetes/enhancements#5263): the regime follows the fleet, and says why.
#[test]
fn regimes_say_why() {
    paused(async {
        let world = World::new();
        let queue = world.queue("q", world.flags(1.0)).await;
        let regime = || async {
            world.settle().await;
            let status = world.status().await;
            (status.regime().as_str_name().to_owned(), status.reason)
        };
        assert_eq!(
            regime().await,
            (
                "REGIME_NORMAL".into(),
                "2 of 5 clusters are faulty (40.0 %), not more than 55.0 %".into()
            )
        );
        world.fail("h1");
        assert_eq!(
            regime().await,
            (
                "REGIME_HALTED".into(),
                "3 of 5 clusters are faulty (60.0 %), more than 55.0 % of a fleet of at most 10".into()
            )
        );
        world.fail("h2");
        world.fail("h3");
        assert_eq!(regime().await.0, "REGIME_ALL_FAULTY");
        for n in 0..6 {
            world.heal(&format!("x{n}"));
        }
        assert_eq!(regime().await.0, "REGIME_NORMAL", "5 of 11");
        taint(
            &world.plane,
            "x0",
            &serde_json::json!([{"key": "cluster.karmada.io/drain", "effect": "NoExecute"}]),
        );
        assert_eq!(regime().await.0, "REGIME_NORMAL", "a drain is no failure");
        world.fail("x1");
        world.fail("x2");
        assert_eq!(regime().await.0, "REGIME_REDUCED", "7 of 11");
        assert_eq!(
            queue.metrics().value("failover_queue_regime", &[("regime", "Reduced")]),
            Some(1.0)
        );
        assert_eq!(
            queue.metrics().value("failover_queue_regime", &[("regime", "Normal")]),
            Some(0.0)
        );

        world.put(serde_json::json!({
            "apiVersion": "failover.karmada.io/v1alpha1", "kind": "FailoverPause", "metadata": {"name": "freeze"},
            "spec": {"scope": "All", "reason": "change freeze", "until": world.clock.now() + SignedDuration::from_secs(60)},
        }));
        assert_eq!(
            regime().await,
            (
                "REGIME_PAUSED".into(),
                "FailoverPause freeze covers all: change freeze".into()
            )
        );
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(regime().await.0, "REGIME_REDUCED", "a pause ends by itself");
    });
}

/// Writes the rate file as kubelet does: a new file takes the place of the old one.
fn write(folder: &tempfile::TempDir, text: &str) -> std::path::PathBuf {
    let (new, path) = (folder.path().join("new"), folder.path().join("rates.yaml"));
    std::fs::write(&new, text).unwrap();
    std::fs::rename(new, &path).unwrap();
    path
}

// A change of the rates acts within a second, without a new leader: the bucket, the leases and the entries stay.
#[test]
fn the_rate_file_acts_within_a_second() {
    paused(async {
        let world = World::new();
        let folder = tempfile::tempdir().unwrap();
        let flags = Flags {
            rate_file: Some(write(&folder, "resourceEvictionRate: 0\n")),
            ..world.flags(1.0)
        };
        world.allow_evictions_per_second(100.0);
        let queue = world.queue("q", flags).await;
        let _producer = Producer::publish(&world, world.entries_of("m1", 400)).await;
        let evictions = Evictions::default();
        let consumer = evict(&world, evictions.clone());
        tokio::pin!(consumer);
        let mut after = async |seconds| {
            let _ = tokio::time::timeout(Duration::from_secs(seconds), &mut consumer).await;
            evictions.count()
        };
        assert_eq!(after(60).await, 0, "the file goes before the flag");
        let epoch = world.status().await.queue_epoch;

        write(&folder, "resourceEvictionRate: 10\n");
        let first = after(1).await;
        assert!((1..=9).contains(&first), "{first}: in force within a second");
        assert!((9..=11).contains(&(after(1).await - first)), "10 a second from then on");

        // What makes no sense changes nothing, and is said wherever somebody looks.
        write(&folder, "resourceEvictionRate: -5\n");
        let before = after(1).await;
        assert!((9..=11).contains(&(after(1).await - before)));
        let said = |text: &str| text.contains("resourceEvictionRate: -5: want a number of evictions per second");
        let status = world.status().await;
        assert!(status.notes.iter().any(|note| said(note)), "{:#?}", status.notes);
        let refused = || {
            queue
                .metrics()
                .value("failover_file_refused", &[("use", "eviction rates")])
        };
        assert_eq!(refused(), Some(1.0));

        // So does a file that is gone.
        std::fs::remove_file(folder.path().join("rates.yaml")).unwrap();
        let before = after(1).await;
        assert!((9..=11).contains(&(after(1).await - before)));
        assert!(
            world
                .status()
                .await
                .notes
                .iter()
                .any(|note| note.contains("cannot be read"))
        );

        // Without the key the flag counts again; thresholds are judged anew.
        write(&folder, "unhealthyClusterThreshold: 0.3\n");
        after(1).await;
        let status = world.status().await;
        assert_eq!(
            (status.regime(), status.notes.len()),
            (v1::Regime::Halted, 1),
            "{:#?}",
            status.notes
        );
        write(&folder, "{}\n");
        after(1).await;
        let status = world.status().await;
        assert_eq!((status.evictions_per_second, status.queue_epoch), (1.0, epoch));
        assert_eq!((refused(), status.notes.len()), (Some(0.0), 0));
    });
}

// At the start there is nothing of before to go on with.
#[test]
fn a_rate_file_that_makes_no_sense_keeps_the_queue_from_starting() {
    let folder = tempfile::tempdir().unwrap();
    let with = |path: std::path::PathBuf| Flags {
        rate_file: Some(path),
        ..Flags::default()
    };
    let bad = with(write(&folder, "maxOutstandingLeases: 0\n")).problems();
    let path = folder.path().join("rates.yaml");
    assert_eq!(
        bad,
        [format!(
            "--rate-file={}: maxOutstandingLeases: 0: want at least 1 (a rate of 0 stops evictions)",
            path.display()
        )]
    );
    let missing = with(folder.path().join("nowhere")).problems();
    assert!(
        missing.len() == 1 && missing[0].contains("cannot be read"),
        "{missing:?}"
    );
    assert_eq!(with(write(&folder, "maxOutstandingLeases: 1\n")).problems(), [""; 0]);
}
