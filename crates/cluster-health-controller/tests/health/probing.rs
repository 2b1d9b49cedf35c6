//! When members are asked: each on time whatever others do, none without a pause, one that is being deleted too.

use std::time::Duration;

use api_types::cluster::Cluster;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube_sandbox::{Effect, EventEffect, Match, Verb};
use serde_json::json;

use crate::bench::Bench;
use crate::said;
use test_bench::paused;

/// Seconds between the simulated start and each probe of the member.
fn gaps(probes: &[Duration]) -> Vec<Duration> {
    probes.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Five hundred clusters, of which every fifth takes connections and answers nothing.
struct FiveHundred {
    bench: Bench,
    names: Vec<String>,
}

/// How often a member is looked at, in seconds.
const PERIOD: u64 = 10;

impl FiveHundred {
    fn new() -> Self {
        let names: Vec<String> = (0..500).map(|n| format!("m{n:03}")).collect();
        let bench = Bench::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let all = Self { bench, names };
        for name in all.hanging() {
            all.bench.member(name).hang();
        }
        all
    }

    fn hanging(&self) -> impl Iterator<Item = &str> {
        self.names.iter().step_by(5).map(String::as_str)
    }

    fn healthy(&self) -> impl Iterator<Item = &str> {
        let healthy = self.names.iter().enumerate().filter(|(n, _)| !n.is_multiple_of(5));
        healthy.map(|(_, name)| name.as_str())
    }

    /// Lets six periods pass from `second` on, in which each of `names` is probed on time.
    async fn are_probed_on_time(&self, second: u64, names: impl Iterator<Item = &str>) {
        const PERIODS: usize = 6;
        self.bench.until(second).await;
        let before = self.bench.probes();
        self.bench.until(second + PERIODS as u64 * PERIOD).await;
        let after = self.bench.probes();
        for name in names {
            let (before, after) = (before[name].len(), &after[name]);
            assert_eq!(after.len() - before, PERIODS, "{name}: one probe a period");
            for gap in gaps(&after[before - 1..]) {
                assert_eq!(gap, Duration::from_secs(PERIOD), "{name} is asked every period");
            }
        }
    }
}

// C68; karmada#439, karmada#2571, and stock's five workers that hanging members occupy: of five hundred clusters a
// hundred take connections and answer nothing, and every other one is asked in every period.
#[test]
fn of_five_hundred_a_hundred_hang_and_every_other_one_is_probed_on_time() {
    paused(async {
        let all = FiveHundred::new();
        let _process = all.bench.start_with("health-0", "clusterStatus").await;
        all.are_probed_on_time(1, all.names.iter().map(String::as_str)).await;
        for (names, expected) in [
            (all.hanging().collect::<Vec<_>>(), "False"),
            (all.healthy().collect(), "True"),
        ] {
            for name in names {
                assert_eq!(all.bench.ready(name).await.0, expected, "{name}");
            }
        }
    });
}

// The same while every answer of the control plane takes a while, and what is to be written of those that hang takes
// longer than a period.
#[test]
fn of_five_hundred_every_healthy_one_is_probed_on_time_beside_a_slow_control_plane() {
    paused(async {
        let all = FiveHundred::new();
        let (faults, slow) = (all.bench.plane().faults(), Duration::from_secs(PERIOD + 5));
        faults.seeded_latency(7, Duration::from_millis(800));
        for name in all.hanging() {
            let status = Match::writes().resource("clusters").name(name);
            faults.inject(status, Effect::Latency(slow));
        }
        let _process = all.bench.start_with("health-0", "clusterStatus").await;
        // From the second look on: the first one waits for its Secret.
        all.are_probed_on_time(PERIOD + 5, all.healthy()).await;
        for name in all.healthy() {
            assert_eq!(all.bench.ready(name).await.0, "True", "{name}");
        }
        let tried = faults.count(&Match::any().verb(Verb::Patch).resource("clusters"));
        assert!(
            tried >= 400 + 2 * 100,
            "those that hang are written of again and again: {tried}"
        );
    });
}

// A member that answers just later than a probe may take is asked once a period, with a pause in between; so is one
// that answers later than the period.
#[test]
fn a_slow_member_is_not_asked_back_to_back() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let _process = bench.start("health-0").await;
        bench.until(60).await;
        for slow in [8_900, 9_050, 10_050, 25_000] {
            bench.member("m1").slow(Duration::from_millis(slow));
            let before = bench.probes()["m1"].len();
            tokio::time::sleep(Duration::from_secs(100)).await;
            let probes = bench.probes()["m1"][before..].to_vec();
            assert!((8..=10).contains(&probes.len()), "{slow} ms: {probes:?}");
            for gap in gaps(&probes) {
                assert!(gap >= Duration::from_secs(10), "{slow} ms: asked again after {gap:?}");
            }
            let expected = if slow < 9_000 { "True" } else { "False" };
            assert_eq!(bench.ready("m1").await.0, expected, "{slow} ms");
        }
    });
}

// A control plane that hangs keeps nobody from being probed; what was seen meanwhile is written when it is back.
#[test]
fn a_control_plane_that_hangs_delays_no_probe() {
    paused(async {
        let bench = Bench::new(&["m1", "m2"]);
        let _process = bench.start("health-0").await;
        bench.until(60).await;
        bench.member("m1").stop();
        let status = Match::writes().resource("clusters").subresource("status");
        let hang = bench.plane().faults().inject(status, Effect::Hang);
        bench.until(180).await;
        let probes = &bench.probes()["m2"];
        assert!(gaps(probes).iter().all(|gap| gap.as_secs() == 10), "{probes:?}");
        let late = gaps(&bench.probes()["m1"]).into_iter().max().unwrap();
        assert!(late <= Duration::from_secs(20), "while its own status hangs: {late:?}");
        assert_eq!(bench.ready("m1").await, said("True", "ClusterReady"));
        bench.plane().faults().remove(hang);
        bench.until(200).await;
        assert_eq!(bench.ready("m1").await, said("False", "ClusterNotReachable"));
        let told = bench.events("m1").await;
        assert_eq!(
            told.iter().filter(|(reason, _)| reason == "ClusterNotReady").count(),
            1,
            "{told:?}"
        );
    });
}

// C67; karmada#845: a Cluster whose deletion has begun is still probed, so that its deletion can end as that of one
// that does not answer.
#[test]
fn a_cluster_that_is_being_deleted_is_still_probed() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        bench.put(
            json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "namespace": "default"},
                     "clusters": [{"name": "m1"}]}}),
        );
        let _process = bench.start("health-0").await;
        bench.until(60).await;
        let clusters = Api::<Cluster>::all(bench.plane().observer());
        clusters.delete("m1", &DeleteParams::default()).await.unwrap();
        bench.until(100).await;
        assert_eq!(bench.ready("m1").await, said("True", "ClusterReady"));
        bench.member("m1").hang();
        bench.until(129).await;
        assert_eq!(bench.ready("m1").await, said("True", "ClusterReady"));
        bench.until(150).await;
        assert_eq!(bench.ready("m1").await, said("False", "ClusterNotReachable"));
    });
}

// C66; karmada#5227: what another writer said meanwhile is not written back from an old copy.
#[test]
fn a_condition_of_another_writer_survives_an_old_cache() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let _process = bench.start("health-0").await;
        bench.until(60).await;
        let api = Api::<Cluster>::all(bench.plane().observer());
        let say = async |status: &str| {
            let mut cluster = bench.cluster("m1").await;
            let conditions = &mut cluster.status.as_mut().unwrap().conditions;
            conditions.retain(|condition| condition.type_ != "Network");
            conditions.push(
                serde_json::from_value(json!({"type": "Network", "status": status, "reason": "Other",
                "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}))
                .unwrap(),
            );
            let patch = Patch::Merge(json!({"status": {"conditions": conditions}}));
            api.patch_status("m1", &PatchParams::default(), &patch).await.unwrap();
        };
        say("True").await;
        bench.until(61).await;
        // From here on the controller's cache is old.
        let events = Match::any().verb(Verb::Watch).resource("clusters");
        bench
            .plane()
            .faults()
            .disturb_events(events, 0, u64::MAX, EventEffect::Drop);
        say("False").await;
        bench.member("m1").stop();
        bench.until(120).await;
        assert_eq!(bench.ready("m1").await, said("False", "ClusterNotReachable"));
        let cluster = bench.cluster("m1").await;
        assert_eq!(cluster.condition("Network").unwrap().status, "False");
    });
}

// C63; karmada#1829, karmada#1884.
#[test]
fn alternating_probes_move_nothing_and_steady_ones_move_once() {
    paused(async {
        let bench = Bench::new(&["m1"]);
        let _process = bench.start("health-0").await;
        bench.until(55).await;
        let settled = async || {
            let told = bench.events("m1").await;
            let of = |reason: &str| told.iter().filter(|(r, _)| r == reason).count();
            (of("ClusterReady"), of("ClusterNotReady"))
        };
        assert_eq!(settled().await, (1, 0));
        let writes = bench.writes().len();
        // Every second probe fails, for five minutes.
        for round in 0..15 {
            bench.member("m1").stop();
            bench.until(55 + round * 20 + 10).await;
            bench.member("m1").resume();
            bench.until(55 + round * 20 + 20).await;
        }
        assert_eq!(bench.writes()[writes..], [""; 0]);
        bench.member("m1").stop();
        bench.until(355 + 41).await;
        bench.member("m1").resume();
        assert_eq!(bench.ready("m1").await, said("False", "ClusterNotReachable"));
        bench.until(396 + 41).await;
        assert_eq!(bench.ready("m1").await, said("True", "ClusterReady"));
        bench.until(600).await;
        assert_eq!(settled().await, (2, 1));
    });
}
