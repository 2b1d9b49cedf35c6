//! One trace a move, across processes, from the taint to the clean-up.

use std::time::Duration;

use controller_kit::telemetry::{Span, TraceContext};
use karmada_failover::story::scenario::Fare;
use karmada_failover::story::scenario::objects::{binding_of, deployment, duplicated, failing_over};
use karmada_failover::story::theatre::set_simulated_workload;
use serde_json::json;

use crate::common::{World, simulate};
use crate::scene::{self, SOON, Told};

#[test]
fn a_move_is_one_trace_across_processes() {
    simulate(|| async {
        let world = World::new(&["member1", "member2", "member3"]);
        let told = Told::default();
        let processes = scene::start(&world, &told).await;
        scene::begin(&world).await;
        assert!(told.lock().is_empty(), "nothing moves, nothing is traced");
        scene::fail(&world).await;
        let told = told.lock().clone();

        assert_spans_of_a_move(&told);
        let first = assert_one_trace(&told, &scene::binding());
        // The taint is the beginning, and nothing is missing between it and the end.
        let cluster = world.cluster("member1").await;
        let taint = cluster
            .spec
            .taints
            .iter()
            .find(|taint| taint.effect == "NoExecute")
            .unwrap();
        assert_eq!(first.from, taint.time_added.as_ref().unwrap().0);
        assert_without_gaps(&told, &first);
        assert_carried_by_the_record(&world, &first);
        world.finish(processes).await;
    });
}

/// An application fails on a cluster that is well: another process says that it has to leave, and tells the beginning.
#[test]
fn a_move_by_an_application_is_one_trace_too() {
    simulate(|| async {
        let world = World::new(&["member1", "member2", "member3"]);
        let told = Told::default();
        let processes = scene::start(&world, &told).await;
        let failover = json!({"application": {
            "decisionConditions": {"tolerationSeconds": 60}, "preConditions": {"healthyState": "Healthy"},
            "purgeMode": "Gracefully",
        }});
        world.create(deployment("web", 2));
        let clusters = ["member1", "member2", "member3"];
        world.create(failing_over(duplicated("web", &clusters, 1), failover));
        let key = binding_of("web");
        // Where it is, and healthy, when nothing of it is on its way.
        let settled_on = |cluster: &'static str| {
            let (world, key) = (&world, key.clone());
            move || {
                let key = key.clone();
                async move {
                    let binding = world.binding(&key).await?;
                    let status = binding.status_on(&cluster.into())?;
                    let healthy = status.health.as_ref()?.as_str() == "Healthy";
                    let there = binding.spec.clusters.iter().all(|target| target.name == cluster);
                    (healthy && there && binding.spec.graceful_eviction_tasks.is_empty()).then_some(())
                }
            }
        };
        world.wait_for("web on member1", SOON, settled_on("member1")).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(told.lock().is_empty(), "nothing moves, nothing is traced");
        let ill_from = world.clock.now();
        set_simulated_workload(&world.fleet, "member1", "web", Fare::Ill).unwrap();
        world.wait_for("web on member2", SOON, settled_on("member2")).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        let told = told.lock().clone();

        assert_spans_of_a_move(&told);
        let first = assert_one_trace(&told, &key);
        let seen_after = first.from.duration_since(ill_from).as_secs_f64();
        assert!(
            (-1.0..30.0).contains(&seen_after),
            "the first sight of it, not {seen_after} s later"
        );
        assert_without_gaps(&told, &first);
        assert_carried_by_the_record(&world, &first);
        world.finish(processes).await;
    });
}

/// What each process tells of one move.
fn assert_spans_of_a_move(told: &[(&'static str, Span)]) {
    let mut spans: Vec<(&str, &str)> = told.iter().map(|(process, span)| (*process, span.name)).collect();
    spans.sort_unstable();
    assert_eq!(
        spans,
        [
            ("eviction-queue", "in the queue"),
            ("eviction-queue", "lease"),
            ("graceful-eviction-controller", "clean up"),
            ("graceful-eviction-controller", "place anew"),
            ("graceful-eviction-controller", "until healthy"),
            ("taint-manager", "evict"),
            ("taint-manager", "move"),
            ("taint-manager", "until due"),
        ]
    );
}

/// All that was told is one trace under its first span, of this binding leaving member1.
fn assert_one_trace(told: &[(&'static str, Span)], binding: &str) -> Span {
    let (_, first) = told.iter().find(|(_, span)| span.name == "move").unwrap();
    assert_eq!(first.parent_id, None);
    for (_, span) in told {
        assert_eq!(span.trace_id, first.trace_id, "{span:?}");
        assert!(span.name == "move" || span.parent_id == Some(first.span_id), "{span:?}");
        assert!(span.attributes.contains(&("binding", binding.to_owned())), "{span:?}");
        assert!(span.attributes.contains(&("cluster", "member1".to_owned())), "{span:?}");
        assert_eq!(span.error, None, "{span:?}");
    }
    first.clone()
}

/// Nothing is missing between the beginning and the end.
fn assert_without_gaps(told: &[(&'static str, Span)], first: &Span) {
    let last = told.iter().map(|(_, span)| span.until).max().unwrap();
    let mut reached = first.from;
    let mut parts: Vec<_> = told.iter().filter(|(_, span)| span.name != "move").collect();
    parts.sort_by_key(|(_, span)| span.from);
    for (_, part) in parts {
        let gap = part.from.duration_since(reached).as_secs_f64();
        assert!(gap <= 1.0, "{gap} s before {part:?}");
        reached = reached.max(part.until);
    }
    assert_eq!(reached, last);
}

fn assert_carried_by_the_record(world: &World, first: &Span) {
    let records = world.plane().list("failover.karmada.io/v1alpha1", "FailoverRecord");
    let carried = records[0]["spec"]["traceparent"].as_str().unwrap().to_owned();
    let of = TraceContext::read(Some(&carried)).unwrap();
    assert_eq!((of.trace_id, of.span_id), (first.trace_id, first.span_id));
}

/// The queue and the evictor begin again: the spans of the move still belong to one trace.
#[test]
fn a_restart_tears_no_trace() {
    simulate(|| async {
        let world = World::new(&["member1", "member2", "member3"]);
        let told = Told::default();
        let first = scene::start(&world, &told).await;
        scene::begin(&world).await;
        world.fleet.member("member1").unwrap().stop();
        world
            .wait_for("the taint", std::time::Duration::from_secs(900), || async {
                let taints = world.cluster("member1").await.spec.taints;
                taints.iter().any(|taint| taint.effect == "NoExecute").then_some(())
            })
            .await;
        for process in first {
            process.stop().await;
        }
        let again = scene::start(&world, &told).await;
        scene::fail(&world).await;
        let told = told.lock().clone();
        let traces: std::collections::BTreeSet<u128> = told.iter().map(|(_, span)| span.trace_id).collect();
        assert_eq!(traces.len(), 1, "{told:#?}");
        assert_eq!(told.iter().filter(|(_, span)| span.name == "move").count(), 1);
        world.finish(again).await;
    });
}

/// Off without an endpoint: no entry and no record carries anything.
#[test]
fn nothing_is_carried_where_nobody_hears() {
    simulate(|| async {
        let world = World::new(&["member1", "member2", "member3"]);
        let process = world.run("all-in-one", &[]).await;
        scene::begin(&world).await;
        scene::fail(&world).await;
        let records = world.plane().list("failover.karmada.io/v1alpha1", "FailoverRecord");
        assert_eq!(records.len(), 1);
        assert!(records[0]["spec"].get("traceparent").is_none(), "{}", records[0]);
        world.finish(vec![process]).await;
    });
}
