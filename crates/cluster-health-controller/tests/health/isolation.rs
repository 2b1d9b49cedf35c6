//! When nothing is marked: the push reporter is down, or it is the monitor that hears nothing.

use api_types::cluster::condition;
use controller_kit::KitFlags;
use controller_kit::telemetry::Recording;
use serde_json::json;

use crate::bench::Bench;
use crate::monitor::{count, ready, unknown};
use crate::reporters::{Reporter, pass};
use crate::said;
use test_bench::paused;

const OVERRIDE: &str = "override.failover.karmada.io/not-isolated-until";

#[test]
fn when_the_push_reporter_is_silent_nothing_is_marked_and_a_person_sees_it() {
    paused(async {
        let bench = Bench::new(&["m1", "m2"]);
        let reporter = bench.start_with("reporter-0", "clusterStatus").await;
        let monitor = bench.monitor("monitor-0").await;
        bench.until(62).await;
        assert_eq!(bench.ready("m1").await, ready());
        let down = |process: &controller_kit::Running| process.metrics().value("failover_reporter_down", &[]);
        assert_eq!(down(&monitor), Some(0.0));
        assert_eq!(bench.said("m1", "ReporterDown").await.0, "");
        reporter.crash();
        bench.until(95).await;
        assert_eq!(bench.said("m1", "ReporterDown").await.0, "");
        bench.until(101).await;
        for name in ["m1", "m2"] {
            let (status, message) = bench.said(name, "ReporterDown").await;
            assert_eq!(status, "True");
            assert!(
                message.starts_with(
                    "clusterStatus has not renewed Lease karmada-system/cluster-status for 40s: nobody probes"
                ) && message.ends_with("start clusterStatus"),
                "{message}"
            );
            assert_eq!(bench.ready(name).await, ready());
        }
        assert_eq!(down(&monitor), Some(1.0));
        bench.until(110).await;
        let writes = bench.writes().len();
        bench.until(3600).await;
        assert_eq!(bench.writes()[writes..], [""; 0]);
        assert_eq!(bench.ready("m1").await, ready());
        // A restarted monitor neither takes it back nor says it twice.
        monitor.stop().await;
        let monitor = bench.monitor("monitor-1").await;
        bench.until(3700).await;
        assert_eq!(bench.writes()[writes..], [""; 0]);
        let _reporter = bench.start_with("reporter-1", "clusterStatus").await;
        bench.until(3760).await;
        assert_eq!(bench.said("m1", "ReporterDown").await, said("False", ""));
        assert_eq!(down(&monitor), Some(0.0));
        let events = bench.lease_events("cluster-status").await;
        assert!(
            count(&events, "ReporterDown") == 1 && count(&events, "ReporterUp") == 1,
            "{events:?}"
        );
    });
}

#[test]
fn a_push_cluster_is_unknown_when_a_reporter_that_lives_names_it() {
    paused(async {
        let bench = Bench::new(&["m1", "m2"]);
        let mut reporters = [Reporter::push(1)];
        let _monitor = bench.monitor("monitor-0").await;
        bench.until(1).await;
        for name in ["m1", "m2"] {
            bench.report(name, "True", "ClusterReady").await;
        }
        pass(&bench, 62, &reporters).await;
        reporters[0].annotations = json!({"failover.karmada.io/probes-overdue": "m1"});
        pass(&bench, 67, &reporters).await;
        assert_eq!(bench.ready("m1").await, unknown());
        assert_eq!(bench.ready("m2").await, ready());
        let (_, message) = bench.said("m1", "Ready").await;
        assert!(
            message.contains("says Lease karmada-system/cluster-status"),
            "{message}"
        );
        assert_eq!(bench.status_writes("m1").last(), Some(&66));
        // It has an answer again: its word is newer than its list.
        bench.report("m1", "True", "ClusterReady").await;
        pass(&bench, 69, &reporters).await;
        assert_eq!(bench.ready("m1").await, ready());
        reporters[0].annotations = json!({});
        pass(&bench, 200, &reporters).await;
        assert_eq!(bench.ready("m1").await, ready());
        let told = bench.events("m1").await;
        let told = told
            .iter()
            .filter(|(reason, note)| reason == "ClusterUnknown" && note.contains("probe"));
        assert_eq!(told.count(), 1);
    });
}

#[test]
fn the_list_of_a_reporter_that_is_silent_marks_nobody() {
    paused(async {
        let bench = Bench::new(&["m1", "m2"]);
        let mut reporter = Reporter::push(1);
        // It died an hour ago, and its list stands there still.
        reporter.annotations = json!({"failover.karmada.io/probes-overdue": "m1,m2"});
        reporter.renew(&bench);
        let _monitor = bench.monitor("monitor-0").await;
        bench.until(1).await;
        for name in ["m1", "m2"] {
            bench.report(name, "True", "ClusterReady").await;
        }
        bench.until(1000).await;
        for name in ["m1", "m2"] {
            assert_eq!(bench.ready(name).await, ready());
            assert_eq!(bench.said(name, "ReporterDown").await.0, "True");
        }
    });
}

#[test]
fn when_all_leases_go_stale_the_monitor_is_isolated_and_one_renewal_gives_all_a_full_grace_period() {
    paused(async {
        let names = ["m1", "m2", "m3", "m4"];
        let (bench, process, mut agents) = Bench::watched(&names).await;
        pass(&bench, 100, &agents).await;
        for agent in &mut agents {
            agent.alive = false;
        }
        let isolated = || process.metrics().value("failover_monitor_isolated", &[]);
        // The last renewal was at 97.
        pass(&bench, 136, &agents).await;
        assert_eq!(isolated(), Some(0.0));
        pass(&bench, 138, &agents).await;
        assert_eq!(isolated(), Some(1.0));
        for name in names {
            assert_eq!(bench.ready(name).await, ready());
            let (status, message) = bench.said(name, "MonitorIsolated").await;
            assert_eq!(status, "True");
            assert!(
                message.starts_with("none of the 4 leases that count has been renewed for 40s")
                    && message.contains(OVERRIDE),
                "{message}"
            );
        }
        let writes = bench.writes().len();
        pass(&bench, 3601, &agents).await;
        assert_eq!(
            bench.writes()[writes..],
            [""; 0],
            "nothing is marked, nothing said twice"
        );
        agents[3].alive = true;
        agents[3].renew(&bench);
        pass(&bench, 3640, &agents).await;
        assert_eq!(isolated(), Some(0.0));
        for name in names {
            assert_eq!(bench.ready(name).await, ready(), "a full grace period from 3601");
        }
        pass(&bench, 3642, &agents).await;
        for name in &names[..3] {
            assert_eq!(bench.ready(name).await, unknown());
            assert_eq!(bench.said(name, "MonitorIsolated").await, said("False", ""));
        }
        assert_eq!(bench.ready("m4").await, ready());
        assert_eq!(bench.said("m4", "MonitorIsolated").await, said("False", ""));
        let events = bench.lease_events("cluster").await;
        assert_eq!(
            (count(&events, "MonitorIsolated"), count(&events, "MonitorHears")),
            (1, 1),
            "{events:?}"
        );
    });
}

#[test]
fn a_person_has_the_silent_marked_while_the_monitor_seems_isolated() {
    paused(async {
        let names = ["m1", "m2", "m3"];
        let (bench, _process, mut agents) = Bench::watched(&names).await;
        for agent in &mut agents {
            agent.alive = false;
        }
        pass(&bench, 200, &agents).await;
        bench.annotate_lease("cluster", OVERRIDE, "soon").await;
        pass(&bench, 300, &agents).await;
        assert_eq!(bench.ready("m1").await, ready());
        let events = bench.lease_events("cluster").await;
        let (_, note) = events
            .iter()
            .find(|(reason, _)| reason == "MonitorOverrideUnreadable")
            .unwrap();
        assert!(note.contains("is not a time such as"), "{note}");
        assert_eq!(count(&events, "MonitorOverrideUnreadable"), 1);
        bench
            .annotate_lease("cluster", OVERRIDE, &bench.at(500).to_string())
            .await;
        pass(&bench, 306, &agents).await;
        for name in names {
            assert_eq!(bench.ready(name).await, unknown());
            assert_eq!(bench.said(name, "MonitorIsolated").await, said("False", ""));
        }
        pass(&bench, 520, &agents).await;
        let events = bench.lease_events("cluster").await;
        assert_eq!(
            (
                count(&events, "MonitorOverridden"),
                count(&events, "MonitorOverrideEnded")
            ),
            (1, 1),
            "{events:?}"
        );
    });
}

#[test]
fn with_the_push_reporter_heard_silent_agents_are_marked() {
    paused(async {
        let (bench, _process, mut agents) = Bench::watched(&["m1", "m2", "m3"]).await;
        agents.push(Reporter::push(22));
        pass(&bench, 100, &agents).await;
        for agent in &mut agents[..3] {
            agent.alive = false;
        }
        pass(&bench, 200, &agents).await;
        for name in ["m1", "m2", "m3"] {
            assert_eq!(
                bench.ready(name).await,
                unknown(),
                "the monitor sees that somebody renews"
            );
        }
    });
}

// Nobody holds a Lease then: that nobody is watched is said, and nobody is taken for silent.
#[test]
fn without_leases_the_push_reporter_is_not_watched_and_a_warning_says_so() {
    paused(async {
        let bench = Bench::new(&["m1", "m2"]);
        let log = Recording::start("warn", &bench.clock).unwrap();
        let kit = KitFlags {
            leader_elect: false,
            ..KitFlags::default()
        };
        let _process = bench.start_as("health-0", kit).await;
        bench.until(60).await;
        bench.member("m1").stop();
        bench.until(660).await;
        let warnings = || {
            log.lines()
                .into_iter()
                .filter(|line| line.contains("--leader-elect=false"))
        };
        assert_eq!(warnings().count(), 1, "{log:?}");
        assert!(warnings().all(|line| line.contains("nobody sees that it has ended")));
        assert_eq!(bench.ready("m1").await, said("False", "ClusterNotReachable"));
        assert_eq!(bench.ready("m2").await, said("True", "ClusterReady"));
        for name in ["m1", "m2"] {
            assert!(bench.cluster(name).await.condition(condition::REPORTER_DOWN).is_none());
        }
    });
}
