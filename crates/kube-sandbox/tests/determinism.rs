//! The same scene gives the same trace, every time; another seed of latencies gives another.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::needless_pass_by_value
)] // Helpers of tests count as tests.

mod common;

use std::collections::BTreeSet;
use std::time::Duration;

use common::{deployment, paused, simulated_now};
use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, WatchEvent, WatchParams};
use kube_sandbox::{Behaviour, Fleet, Who};
use serde_json::json;
use tokio::task::JoinSet;

/// Rivals for a lease, a watcher and a member with workloads, for ten simulated minutes; everything that happened.
fn trace(seed: u64) -> String {
    paused(async {
        let fleet = Fleet::start(&simulated_now(), &["member1"]);
        let plane = fleet.control_plane().clone();
        plane.faults().seeded_latency(seed, Duration::from_millis(20));
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l", "namespace": "default"}, "spec": {"leaseTransitions": 0}});
        plane.create(lease).unwrap();
        let mut tasks = JoinSet::new();
        for rival in ["one", "two", "three"] {
            let api: Api<Lease> = Api::default_namespaced(plane.client_named(rival));
            tasks.spawn(async move {
                let mut conflicts = 0;
                loop {
                    let Ok(mut lease) = api.get("l").await else { continue };
                    let spec = lease.spec.get_or_insert_default();
                    spec.holder_identity = Some(rival.to_owned());
                    spec.lease_transitions = spec.lease_transitions.map(|n| n + 1);
                    if api.replace("l", &Default::default(), &lease).await.is_err() {
                        conflicts += 1;
                    }
                    tokio::time::sleep(Duration::from_millis(500 + conflicts)).await;
                }
            });
        }
        let member = fleet.member("member1").unwrap();
        member.behave(
            Who::Name("d1".into()),
            Behaviour::CrashAfter {
                ready: Duration::from_secs(3),
                crash: Duration::from_secs(60),
            },
        );
        let api: Api<Deployment> = Api::default_namespaced(member.client());
        let (seen, mut events) = tokio::sync::mpsc::unbounded_channel();
        let watching = api.clone();
        tasks.spawn(async move {
            let mut stream = watching.watch(&WatchParams::default(), "0").await.unwrap().boxed();
            while let Some(Ok(WatchEvent::Added(o) | WatchEvent::Modified(o) | WatchEvent::Deleted(o))) =
                stream.next().await
            {
                let _ = seen.send(serde_json::to_string(&o).unwrap());
            }
        });
        for i in 0..5 {
            api.create(
                &Default::default(),
                &serde_json::from_value(deployment(&format!("d{i}"), i, "nginx")).unwrap(),
            )
            .await
            .unwrap();
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        tokio::time::sleep(Duration::from_secs(600)).await;
        tasks.shutdown().await;
        let mut lines: Vec<String> = plane.faults().writes().iter().map(|w| format!("{w:?}")).collect();
        while let Ok(event) = events.try_recv() {
            lines.push(event);
        }
        lines.push(format!("{:?}", plane.faults().counts()));
        lines.join("\n")
    })
}

#[test]
fn twenty_runs_are_one_trace() {
    let first = trace(7);
    assert!(first.lines().count() > 1000, "too little happened");
    assert!(first.contains("code: 409"), "nobody ever lost a race");
    for run in 1..20 {
        assert!(trace(7) == first, "run {run} differs");
    }
}

#[test]
fn seeds_give_different_interleavings() {
    let traces: BTreeSet<String> = (0..8).map(trace).collect();
    assert_eq!(traces.len(), 8);
}
