//! One trace a move, across processes, from the taint to the clean-up.

use controller_kit::telemetry::TraceContext;

use crate::common::{World, simulate};
use crate::scene::{self, Told};

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

        let spans: Vec<(&str, &str)> = told.iter().map(|(process, span)| (*process, span.name)).collect();
        let mut sorted = spans.clone();
        sorted.sort_unstable();
        assert_eq!(
            sorted,
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
        let (_, first) = told.iter().find(|(_, span)| span.name == "move").unwrap();
        assert_eq!(first.parent_id, None);
        for (_, span) in &told {
            assert_eq!(span.trace_id, first.trace_id, "{span:?}");
            assert!(span.name == "move" || span.parent_id == Some(first.span_id), "{span:?}");
            assert!(span.attributes.contains(&("binding", scene::binding())), "{span:?}");
            assert!(span.attributes.contains(&("cluster", "member1".to_owned())), "{span:?}");
            assert_eq!(span.error, None, "{span:?}");
        }
        // The taint is the beginning, and nothing is missing between it and the end.
        let cluster = world.cluster("member1").await;
        let taint = cluster
            .spec
            .taints
            .iter()
            .find(|taint| taint.effect == "NoExecute")
            .unwrap();
        assert_eq!(first.from, taint.time_added.as_ref().unwrap().0);
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

        let records = world.plane().list("failover.karmada.io/v1alpha1", "FailoverRecord");
        let carried = records[0]["spec"]["traceparent"].as_str().unwrap().to_owned();
        let of = TraceContext::read(Some(&carried)).unwrap();
        assert_eq!((of.trace_id, of.span_id), (first.trace_id, first.span_id));
        world.finish(processes).await;
    });
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
