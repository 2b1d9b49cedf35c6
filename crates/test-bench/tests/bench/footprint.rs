//! What a process leaves behind is seen.

use std::time::Duration;

use controller_kit::{Context, Controller, KitFlags};
use serde_json::json;
use test_bench::{Bench, Footprint, paused};

/// What it does every second.
type EverySecond = fn(&Context, u32);

/// What has changed between the tenth and the hundredth second of a process that does this.
fn changes(every_second: EverySecond) -> Vec<String> {
    let controller = Controller::new("ticking", move |ctx| async move {
        for second in 0.. {
            every_second(&ctx, second);
            tokio::select! {
                () = ctx.shutdown.cancelled() => break,
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
            }
        }
        Ok(())
    });
    paused(async {
        let bench = Bench::new(&[]);
        bench.put(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "default", "name": "s"}}));
        let process = bench.process("ticking", "ticking-0", KitFlags::default());
        let running = process.controllers([controller]).start().await.unwrap();
        bench.until(10).await;
        let first = Footprint::of(&bench, &running);
        bench.until(100).await;
        let second = Footprint::of(&bench, &running);
        let changes = second.changes_since(&first);
        assert_eq!(first == second, changes.is_empty());
        changes
    })
}

#[test]
fn a_process_that_only_works_stays_what_it_is() {
    let works: EverySecond = |ctx, _| ctx.metrics.counter("ticks_total", &[]).increment(1);
    assert_eq!(changes(works), [""; 0]);
}

#[test]
fn what_is_left_behind_is_named() {
    let leaves_a_task: EverySecond = |ctx, _| {
        ctx.tasks.spawn("forgotten", std::future::pending());
    };
    let tasks = changes(leaves_a_task);
    assert_eq!(tasks.len(), 2, "{tasks:?}");
    assert_eq!(tasks[0], "task forgotten: 11, now 101");
    assert!(tasks[1].starts_with("tasks of the runtime: "), "{tasks:?}");
    let leaves_a_series: EverySecond = |ctx, second| {
        let second = second.to_string();
        ctx.metrics.gauge("second", &[("at", &second)]).set(1.0);
    };
    let series = changes(leaves_a_series);
    assert_eq!(series.len(), 90, "{series:?}");
    assert_eq!(series[0], "series second{at=\"100\"}: 0, now 1");
}
