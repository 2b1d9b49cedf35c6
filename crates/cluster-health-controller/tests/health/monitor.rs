//! The monitor: who reports, and who is silent.

use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use kube_sandbox::{Effect, EventEffect, Match};
use serde_json::json;

use crate::bench::Bench;
use crate::reporters::{Reporter, pass};
use crate::said;
use test_bench::paused;

pub fn unknown() -> (String, String) {
    said("Unknown", "ClusterStatusUnknown")
}

pub fn ready() -> (String, String) {
    said("True", "ClusterReady")
}

pub fn count(events: &[(String, String)], reason: &str) -> usize {
    events.iter().filter(|(found, _)| found == reason).count()
}

// C27 (karmada#2096), C68 (karmada#439, #2571), for a member that nobody here can probe.
#[test]
fn a_pull_cluster_whose_agent_is_silent_becomes_unknown_at_the_grace_period_once() {
    paused(async {
        let (bench, process, mut agents) = Bench::watched(&["m1", "m2", "m3"]).await;
        // m1 renews at 1, 11, 21, …
        pass(&bench, 101, &agents).await;
        agents[0].alive = false;
        pass(&bench, 140, &agents).await;
        assert_eq!(bench.ready("m1").await, ready());
        let silence = "failover_lease_silence_seconds";
        let seconds = process.metrics().value(silence, &[("member_cluster", "m1")]).unwrap();
        assert!((38.9..39.1).contains(&seconds), "{seconds}");
        pass(&bench, 141, &agents).await;
        assert_eq!(bench.ready("m1").await, unknown());
        assert_eq!(
            bench.said("m1", "Ready").await.1,
            "Cluster status controller stopped posting cluster status. (its agent has not renewed Lease karmada-cluster/m1 \
             for 40s)"
        );
        pass(&bench, 1000, &agents).await;
        assert_eq!(bench.status_writes("m1").len(), 2, "never observed, unknown");
        let events = bench.events("m1").await;
        let told: Vec<&str> = events
            .iter()
            .filter(|(reason, note)| reason == "ClusterUnknown" && note.contains("agent"))
            .map(|(_, note)| note.as_str())
            .collect();
        assert_eq!(
            told,
            ["Ready is Unknown: its agent has not renewed Lease karmada-cluster/m1 for 40s"]
        );
        // The agent returns, and falls silent again: the same once more.
        agents[0].alive = true;
        pass(&bench, 1001, &agents).await;
        bench.report("m1", "True", "ClusterReady").await;
        pass(&bench, 1101, &agents).await;
        assert_eq!(bench.ready("m1").await, ready());
        agents[0].alive = false;
        pass(&bench, 1200, &agents).await;
        assert_eq!(bench.ready("m1").await, unknown());
        for name in ["m2", "m3"] {
            assert_eq!(bench.ready(name).await, ready());
        }
    });
}

// C52 (kubernetes#108844): the clock of the control plane jumps.
#[test]
fn a_jump_of_the_control_planes_clock_marks_nobody_and_spares_nobody() {
    paused(async {
        let (bench, _process, mut agents) = Bench::watched(&["m1", "m2", "m3"]).await;
        let writes = bench.writes().len();
        for hours in [24, -24, -24, 24] {
            bench.step_clock(SignedDuration::from_hours(hours));
            for _ in 0..10 {
                renewals(&bench, &agents).await;
            }
        }
        assert_eq!(bench.writes()[writes..], [""; 0]);
        agents[0].alive = false;
        // It was heard ten seconds ago.
        for hours in [24, -48, 24] {
            bench.step_clock(SignedDuration::from_hours(hours));
            assert_eq!(bench.ready("m1").await, ready());
            renewals(&bench, &agents).await;
        }
        assert_eq!(bench.ready("m1").await, unknown(), "40 s of its silence have passed");
    });
}

/// Everybody who lives renews now; then ten seconds pass by elapsed time.
async fn renewals(bench: &Bench, agents: &[Reporter]) {
    for agent in agents.iter().filter(|agent| agent.alive) {
        agent.renew(bench);
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
}

// C54 (kubernetes#6193, PR#6217): agents' clocks are apart from ours.
#[test]
fn clocks_of_agents_that_are_apart_make_no_difference() {
    paused(async {
        let (bench, _process, mut agents) = Bench::watched(&["m1", "m2", "m3"]).await;
        agents[0].clock_is_off_by = SignedDuration::from_mins(-10);
        agents[1].clock_is_off_by = SignedDuration::from_mins(10);
        let writes = bench.writes().len();
        pass(&bench, 320, &agents).await;
        assert_eq!(bench.writes()[writes..], [""; 0]);
        agents[0].alive = false;
        agents[1].alive = false;
        pass(&bench, 400, &agents).await;
        assert_eq!(bench.status_writes("m1").last(), Some(&351), "renewed at 311");
        assert_eq!(bench.status_writes("m2").last(), Some(&353), "renewed at 313");
    });
}

// C73 (kueue#13094): restarts during an outage.
#[test]
fn restarts_of_the_monitor_mark_nobody_early_and_a_silent_cluster_one_grace_period_later_at_most() {
    paused(async {
        let (bench, process, mut agents) = Bench::watched(&["m1", "m2", "m3"]).await;
        pass(&bench, 101, &agents).await;
        agents[0].alive = false;
        pass(&bench, 120, &agents).await;
        process.stop().await;
        let process = bench.monitor("monitor-1").await;
        pass(&bench, 135, &agents).await;
        process.stop().await;
        let process = bench.monitor("monitor-2").await;
        pass(&bench, 174, &agents).await;
        assert_eq!(bench.ready("m1").await, ready());
        pass(&bench, 176, &agents).await;
        assert_eq!(bench.ready("m1").await, unknown());
        // Later ones change nothing, and say nothing twice.
        let writes = bench.status_writes("m1").len();
        let mut running = process;
        for second in [200, 300, 400] {
            pass(&bench, second, &agents).await;
            running.stop().await;
            running = bench.monitor(&format!("monitor-{second}")).await;
        }
        pass(&bench, 600, &agents).await;
        assert_eq!(bench.status_writes("m1").len(), writes);
        let told = bench.events("m1").await;
        let told = told
            .iter()
            .filter(|(reason, note)| reason == "ClusterUnknown" && note.contains("agent"));
        assert_eq!(told.count(), 1);
        assert_eq!(bench.ready("m2").await, ready());
    });
}

#[test]
fn a_crash_of_the_monitor_marks_nobody_early() {
    paused(async {
        for crash in [110, 125, 139, 140, 141] {
            let (bench, process, mut agents) = Bench::watched(&["m1", "m2", "m3"]).await;
            pass(&bench, 101, &agents).await;
            agents[0].alive = false;
            pass(&bench, crash, &agents).await;
            process.crash();
            let _next = bench.monitor("monitor-1").await;
            pass(&bench, crash + 100, &agents).await;
            assert_eq!(bench.ready("m1").await, unknown());
            let marked = *bench.status_writes("m1").last().unwrap();
            // The new one takes the Lease after 15 to 20 s, and listens for a grace period.
            let latest = i64::try_from(crash).unwrap() + 20 + 40;
            assert!((141..=latest).contains(&marked), "crash at {crash}: marked at {marked}");
            assert_eq!(bench.ready("m2").await, ready());
            assert_eq!(bench.ready("m3").await, ready());
        }
    });
}

// C72 (kueue PR#11559): the loss has a beginning although what it began with is gone.
#[test]
fn the_time_runs_from_the_last_sign_although_the_lease_is_gone() {
    paused(async {
        let (bench, _process, mut agents) = Bench::watched(&["m1", "m2"]).await;
        pass(&bench, 101, &agents).await;
        agents[0].alive = false;
        pass(&bench, 120, &agents).await;
        let leases = Api::<Lease>::namespaced(bench.plane().observer(), "karmada-cluster");
        leases.delete("m1", &DeleteParams::default()).await.unwrap();
        pass(&bench, 200, &agents).await;
        assert_eq!(bench.status_writes("m1").last(), Some(&141));
        let (_, message) = bench.said("m1", "Ready").await;
        assert!(
            message.contains("there has been no Lease karmada-cluster/m1 for 40s"),
            "{message}"
        );
    });
}

// C66 (karmada PR#5227): the monitor writes its own condition only, on the version that it read.
#[test]
fn marking_keeps_what_others_wrote_meanwhile() {
    paused(async {
        let (bench, _process, mut agents) = Bench::watched(&["m1", "m2", "m3"]).await;
        pass(&bench, 101, &agents).await;
        agents[0].alive = false;
        pass(&bench, 130, &agents).await;
        // Another writer's change that the monitor's informer is not shown in time.
        let late = Match::any().resource("clusters").name("m1");
        bench
            .plane()
            .faults()
            .disturb_events(late, 0, 1, EventEffect::Delay(Duration::from_secs(30)));
        let clusters = Api::<api_types::cluster::Cluster>::all(bench.plane().observer());
        let cluster = bench.cluster("m1").await;
        let mut conditions = serde_json::to_value(cluster.status.unwrap().conditions).unwrap();
        conditions.as_array_mut().unwrap().push(
            json!({"type": "Network", "status": "False", "reason": "X", "message": "new", "lastTransitionTime": "2026-01-01T00:02:00Z"}),
        );
        let patch = Patch::Merge(json!({"status": {"conditions": conditions}}));
        clusters
            .patch_status("m1", &PatchParams::default(), &patch)
            .await
            .unwrap();
        pass(&bench, 145, &agents).await;
        assert_eq!(bench.ready("m1").await, unknown());
        assert_eq!(bench.said("m1", "Network").await, said("False", "new"));
    });
}

// C66: somebody who reports at the very moment is alive; the mark must not land on the report.
#[test]
fn a_report_that_the_monitor_has_not_been_shown_is_not_overwritten() {
    paused(async {
        let (bench, _process, mut agents) = Bench::watched(&["m1", "m2", "m3"]).await;
        pass(&bench, 101, &agents).await;
        agents[0].alive = false;
        pass(&bench, 135, &agents).await;
        let late = Match::any().resource("clusters").name("m1");
        bench
            .plane()
            .faults()
            .disturb_events(late, 0, 1, EventEffect::Delay(Duration::from_secs(10)));
        bench.report("m1", "False", "ClusterNotReady").await;
        pass(&bench, 160, &agents).await;
        assert_eq!(bench.ready("m1").await, said("False", "ClusterNotReady"));
        // Shown to the monitor at 145: another grace period from there.
        pass(&bench, 184, &agents).await;
        assert_eq!(bench.ready("m1").await, said("False", "ClusterNotReady"));
        pass(&bench, 186, &agents).await;
        assert_eq!(bench.ready("m1").await, unknown());
    });
}

#[test]
fn a_watch_that_shows_no_renewals_marks_nobody() {
    paused(async {
        let (bench, _process, mut agents) = Bench::watched(&["m1", "m2"]).await;
        let renewals = Match::any().resource("leases").name("m1");
        let fault = bench
            .plane()
            .faults()
            .disturb_events(renewals, 0, 1_000, EventEffect::Drop);
        let writes = bench.writes().len();
        pass(&bench, 300, &agents).await;
        assert_eq!(
            bench.writes()[writes..],
            [""; 0],
            "the Lease is read live before a mark"
        );
        bench.plane().faults().remove(fault);
        agents[0].alive = false;
        pass(&bench, 400, &agents).await;
        assert_eq!(bench.ready("m1").await, unknown());
    });
}

#[test]
fn a_lease_that_cannot_be_read_marks_nobody() {
    paused(async {
        let (bench, _process, mut agents) = Bench::watched(&["m1", "m2"]).await;
        agents[0].alive = false;
        let reads = Match::any().resource("leases").name("m1").verb(kube_sandbox::Verb::Get);
        let fault = bench.plane().faults().inject(
            reads,
            Effect::Error {
                code: 500,
                reason: "InternalError".to_owned(),
                message: "etcd is away".to_owned(),
            },
        );
        pass(&bench, 80, &agents).await;
        assert_eq!(bench.ready("m1").await, ready());
        bench.plane().faults().remove(fault);
        pass(&bench, 140, &agents).await;
        assert_eq!(bench.ready("m1").await, unknown());
    });
}

#[test]
fn a_mark_whose_answer_was_lost_is_told_once() {
    paused(async {
        let (bench, _process, mut agents) = Bench::watched(&["m1", "m2"]).await;
        agents[0].alive = false;
        let status = Match::writes().resource("clusters").subresource("status");
        bench.plane().faults().inject_times(status, 0, 1, Effect::AnswerLost);
        pass(&bench, 100, &agents).await;
        assert_eq!(bench.ready("m1").await, unknown());
        let events = bench.events("m1").await;
        let told = events
            .iter()
            .filter(|(reason, note)| reason == "ClusterUnknown" && note.contains("agent"));
        assert_eq!(told.count(), 1, "{events:?}");
    });
}

#[test]
fn an_agent_that_never_comes_is_told_once() {
    paused(async {
        let (bench, process, agents) = Bench::watched(&["m1", "m2", "m3"]).await;
        bench.put_pull_cluster("new");
        pass(&bench, 79, &agents).await;
        let bare = "Cluster status controller never posted cluster status.";
        assert_eq!(bench.said("new", "Ready").await, said("Unknown", bare));
        pass(&bench, 81, &agents).await;
        let (_, message) = bench.said("new", "Ready").await;
        assert!(
            message.contains("no Lease karmada-cluster/new for 1m: is its agent running"),
            "{message}"
        );
        assert_eq!(bench.ready("new").await, said("Unknown", "ClusterStatusNeverUpdated"));
        process.stop().await;
        let _next = bench.monitor("monitor-1").await;
        pass(&bench, 300, &agents).await;
        assert_eq!(count(&bench.events("new").await, "ClusterNeverReported"), 1);
        assert_eq!(bench.status_writes("new").len(), 2);
    });
}

// C70 (karmada#5839): series go with their Cluster, and begin anew with another of the same name.
#[test]
fn series_of_leases_go_with_their_cluster() {
    paused(async {
        let (bench, process, mut agents) = Bench::watched(&["m1", "m2"]).await;
        let silence = |name| {
            process
                .metrics()
                .value("failover_lease_silence_seconds", &[("member_cluster", name)])
        };
        agents[0].alive = false;
        pass(&bench, 100, &agents).await;
        assert!(silence("m1").unwrap() > 80.0);
        let clusters = Api::<api_types::cluster::Cluster>::all(bench.plane().observer());
        clusters.delete("m1", &DeleteParams::default()).await.unwrap();
        pass(&bench, 120, &agents).await;
        assert!(clusters.get_opt("m1").await.unwrap().is_none());
        assert_eq!(silence("m1"), None);
        let text = process.metrics().render();
        assert!(!text.contains("m1"), "{text}");
        assert_eq!(controller_kit::metrics::complaints(&text), [""; 0], "{text}");
        bench.put_pull_cluster("m1");
        pass(&bench, 125, &agents).await;
        assert!(silence("m1").unwrap() < 6.0);
    });
}

#[test]
fn an_hour_of_twenty_clusters_costs_no_write() {
    paused(async {
        let names: Vec<String> = (0..20).map(|number| format!("m{number:02}")).collect();
        let bench = Bench::new(&[]);
        let mut reporters = vec![Reporter::push(2)];
        for (number, name) in names.iter().enumerate() {
            if number % 2 == 0 {
                bench.put_cluster(name);
            } else {
                bench.put_pull_cluster(name);
                reporters.push(Reporter::agent(name, 1 + number as u64 % 10));
            }
        }
        let _monitor = bench.monitor("monitor-0").await;
        bench.until(1).await;
        for name in &names {
            bench.report(name, "True", "ClusterReady").await;
        }
        pass(&bench, 60, &reporters).await;
        bench.plane().faults().reset_counts();
        let writes = bench.writes().len();
        pass(&bench, 3660, &reporters).await;
        assert_eq!(bench.writes()[writes..], [""; 0]);
        let reads = bench
            .plane()
            .faults()
            .counts()
            .into_iter()
            .filter(|((verb, resource), _)| resource == "leases" && *verb == kube_sandbox::Verb::Get);
        assert_eq!(
            reads.map(|(_, count)| count).sum::<u64>(),
            0,
            "nothing is looked at twice at rest"
        );
        for name in &names {
            assert_eq!(bench.ready(name).await, ready());
        }
    });
}
