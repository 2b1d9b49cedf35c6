//! Starting, stopping and failing.

use std::time::Duration;

use controller_kit::process::{Controller, KitFlags, STOP_LIMIT, StartError};
use controller_kit::tasks::Failure;
use controller_kit::{Context, Ended, RequireError, RequiredKind, require_kinds};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_sandbox::{Match, Reachability};
use tokio::time::Instant;

use crate::world::{World, idle, seconds_and_a_bit, settle, within_hours};

fn alive() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

#[tokio::test(start_paused = true)]
async fn all_mistakes_are_reported_at_once() {
    let world = World::new();
    let flags = KitFlags {
        leader_elect_renew_deadline: Duration::from_secs(20),
        ..KitFlags::default()
            .with_controllers("nobody")
            .with_feature_gates("Nothing=true")
    };
    let error = world
        .process("p")
        .flags(flags)
        .controllers([idle("one")])
        .start()
        .await
        .unwrap_err();
    let StartError::Config(problems) = error else {
        panic!("{error}")
    };
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(problems[0].starts_with("--controllers: unknown: nobody; known are one"));
    assert!(problems[1].starts_with("--feature-gates: unknown gate \"Nothing\""));
    assert!(problems[2].starts_with("--leader-elect-renew-deadline (20s) must be shorter"));
}

#[tokio::test(start_paused = true)]
async fn a_controllers_own_mistakes_count_when_it_is_selected() {
    let world = World::new();
    let bad = || Controller::new("two", |_| async { Ok(()) }).problems(["--rate must be above 0".to_owned()]);
    let problems = |list: &str| {
        let flags = KitFlags::default().with_controllers(list);
        world
            .process("p")
            .flags(flags)
            .controllers([idle("one"), bad()])
            .problems()
    };
    assert_eq!(problems("*"), ["--rate must be above 0"]);
    assert_eq!(problems("one"), [] as [&str; 0]);
    assert_eq!(
        problems("-one,-two"),
        ["--controllers selects no controller: there is nothing to run"]
    );
}

#[tokio::test(start_paused = true)]
async fn only_the_selected_run() {
    within_hours(1, async {
        let world = World::new();
        let flags = KitFlags::default().with_controllers("*,-two,three");
        let controllers = [
            idle("one"),
            idle("two"),
            idle("three").off_by_default(),
            idle("four").off_by_default(),
        ];
        let running = world
            .process("p")
            .flags(flags)
            .controllers(controllers)
            .start()
            .await
            .unwrap();
        settle().await;
        let (mut leases, mut shown) = (Vec::new(), Vec::new());
        for name in ["one", "two", "three", "four"] {
            leases.push(world.lease(name).await.is_some());
            shown.push(
                running
                    .metrics()
                    .value("failover_controller_enabled", &[("controller", name)]),
            );
        }
        assert_eq!(leases, [true, false, true, false]);
        assert_eq!(shown, [Some(1.0), Some(0.0), Some(1.0), Some(0.0)]);
        let text = running.metrics().render();
        assert!(text.contains("# HELP failover_controller_enabled 1 for each"), "{text}");
        assert!(
            text.contains("failover_feature_gate_enabled{gate=\"Failover\"} 0"),
            "{text}"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_for_every_replica_takes_no_lease() {
    within_hours(1, async {
        let world = World::new();
        let running = world.start("p", idle("webhook").without_leader_election()).await;
        settle().await;
        assert!(world.lease("webhook").await.is_none());
        assert_eq!(
            running.metrics().value("failover_leader", &[("controller", "webhook")]),
            Some(1.0)
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_fails_or_ends_early_or_panics_ends_the_process() {
    within_hours(1, async {
        let world = World::new();
        let failing = Controller::new("one", |_| async {
            Err(anyhow::anyhow!("no CRDs").context("cannot start"))
        });
        let ended = world.start("p", failing).await.ended().await;
        let expected = Failure::Failed {
            task: "one".into(),
            message: "cannot start: no CRDs".into(),
        };
        assert_eq!(ended, Ended::Failed(expected));
        let lease = world.lease("one").await.unwrap().spec.unwrap();
        assert_eq!(lease.holder_identity.as_deref(), Some(""), "its lease is handed back");

        let early = world
            .start("p", Controller::new("one", |_| async { Ok(()) }))
            .await
            .ended()
            .await;
        assert_eq!(early, Ended::Failed(Failure::EndedEarly { task: "one".into() }));

        let panicking = Controller::new("one", |ctx: Context| async move {
            ctx.tasks.spawn("helper", async { panic!("oops") });
            ctx.shutdown.cancelled().await;
            Ok(())
        });
        let ended = world.start("p", panicking).await.ended().await;
        assert_eq!(
            ended,
            Ended::Failed(Failure::Panicked {
                task: "helper".into(),
                message: "oops".into()
            })
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn stopping_is_bounded_whatever_the_controller_and_the_server_do() {
    within_hours(1, async {
        for reachability in [Reachability::Up, Reachability::Hanging, Reachability::Stopped] {
            let world = World::new();
            let stubborn = Controller::new("stubborn", |ctx: Context| async move {
                ctx.tasks.spawn("deaf", std::future::pending());
                std::future::pending::<()>().await;
                Ok(())
            });
            let before = alive();
            let running = world.start("p", stubborn).await;
            seconds_and_a_bit(12).await;
            world.sandbox.set_reachability(reachability);
            let asked = Instant::now();
            assert_eq!(running.stop().await, Ended::Stopped, "{reachability:?}");
            assert!(asked.elapsed() <= STOP_LIMIT, "{reachability:?}: {:?}", asked.elapsed());
            let holder = world
                .lease("stubborn")
                .await
                .unwrap()
                .spec
                .unwrap()
                .holder_identity
                .unwrap();
            assert_eq!(holder, if reachability == Reachability::Up { "" } else { "p" });
            drop(running);
            settle().await;
            assert_eq!(alive(), before, "{reachability:?}");
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_handed_back_only_after_the_last_task_is_gone() {
    within_hours(1, async {
        let world = World::new();
        world.put("page", "");
        let busy = Controller::new("busy", |ctx: Context| async move {
            let api: kube::Api<ConfigMap> = kube::Api::namespaced(ctx.client.clone(), "default");
            let stop = ctx.shutdown.clone();
            ctx.tasks.spawn("late writer", async move {
                stop.cancelled().await;
                for number in 0..4 {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    let patch = kube::api::Patch::Merge(serde_json::json!({"data": {"v": number.to_string()}}));
                    api.patch("page", &kube::api::PatchParams::default(), &patch)
                        .await
                        .unwrap();
                }
            });
            ctx.shutdown.cancelled().await;
            Ok(())
        });
        let running = world.start("p", busy).await;
        seconds_and_a_bit(12).await;
        assert_eq!(running.stop().await, Ended::Stopped);
        let writes = world.sandbox.faults().writes();
        let last = writes.last().unwrap();
        assert_eq!(last.resource, "leases");
        assert_eq!(world.stored()["page"], "3", "what was begun was finished");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_and_a_dropped_process_leave_no_task() {
    within_hours(1, async {
        let world = World::new();
        let before = alive();
        for drop_it in [false, true] {
            let watching = Controller::new("one", |ctx: Context| async move {
                ctx.informers.of::<ConfigMap>().synced().await?;
                ctx.shutdown.cancelled().await;
                Ok(())
            });
            let running = world.start("p", watching).await;
            seconds_and_a_bit(60).await;
            assert!(alive() > before);
            if drop_it {
                drop(running);
            } else {
                running.crash();
                assert_eq!(running.ended().await, Ended::Crashed);
                drop(running);
            }
            settle().await;
            assert_eq!(alive(), before);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn missing_kinds_are_named_with_what_to_do() {
    within_hours(1, async {
        let world = World::new();
        let kinds = [
            RequiredKind {
                api_version: "cluster.karmada.io/v1alpha1".into(),
                kind: "Cluster".into(),
            },
            RequiredKind::of::<ConfigMap>(),
            RequiredKind {
                api_version: "v1".into(),
                kind: "Nonsense".into(),
            },
        ];
        let error = require_kinds(&world.sandbox.client(), &kinds).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the API server does not serve Cluster (cluster.karmada.io/v1alpha1), Nonsense (v1); \
             install the CRDs: kubectl apply -f charts/karmada-crds/kinds -f charts/control-plane/kinds \
             (not the former where a Karmada is)"
        );
        require_kinds(&world.sandbox.client(), &[RequiredKind::of::<ConfigMap>()])
            .await
            .unwrap();

        world.sandbox.set_reachability(Reachability::Stopped);
        let error = require_kinds(&world.sandbox.client(), &kinds).await.unwrap_err();
        assert!(
            matches!(error, RequireError::Unanswered(_)),
            "an outage is not a missing kind: {error}"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_down_at_start_is_waited_for() {
    within_hours(1, async {
        let world = World::new();
        world.sandbox.set_reachability(Reachability::Stopped);
        let (told, hears) = tokio::sync::oneshot::channel();
        let controller = Controller::new("one", |ctx: Context| async move {
            ctx.require_kinds(&[RequiredKind::of::<ConfigMap>()]).await?;
            let _ = told.send(());
            ctx.shutdown.cancelled().await;
            Ok(())
        });
        let running = world.start_alone("p", controller).await;
        seconds_and_a_bit(600).await;
        assert_eq!(running.has_ended(), None);
        world.sandbox.set_reachability(Reachability::Up);
        tokio::time::timeout(Duration::from_secs(20), hears)
            .await
            .unwrap()
            .unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_process_that_waits_for_the_server_stops_at_once() {
    within_hours(1, async {
        let world = World::new();
        world.sandbox.set_reachability(Reachability::Stopped);
        let waits_for_a_list = Controller::new("one", |ctx: Context| async move {
            ctx.informers.of::<ConfigMap>().synced().await?;
            ctx.shutdown.cancelled().await;
            Ok(())
        });
        let waits_for_kinds = Controller::new("two", |ctx: Context| async move {
            ctx.require_kinds(&[RequiredKind::of::<ConfigMap>()]).await?;
            ctx.shutdown.cancelled().await;
            Ok(())
        });
        let flags = KitFlags {
            leader_elect: false,
            ..KitFlags::default()
        };
        let process = world
            .process("p")
            .flags(flags)
            .controllers([waits_for_a_list, waits_for_kinds]);
        let running = process.start().await.unwrap();
        seconds_and_a_bit(100).await;
        let asked = Instant::now();
        assert_eq!(running.stop().await, Ended::Stopped);
        assert!(asked.elapsed() < Duration::from_millis(100), "{:?}", asked.elapsed());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn at_rest_there_are_no_requests_but_leases_and_watches() {
    within_hours(1, async {
        let world = World::new();
        let watching = Controller::new("one", |ctx: Context| async move {
            ctx.informers.of::<ConfigMap>().synced().await?;
            ctx.shutdown.cancelled().await;
            Ok(())
        });
        let running = world.start("p", watching).await;
        seconds_and_a_bit(60).await;
        world.sandbox.faults().reset_counts();
        seconds_and_a_bit(120).await;
        let faults = world.sandbox.faults();
        assert_eq!(
            faults.count(&Match::any()),
            faults.count(&Match::any().resource("leases"))
        );
        assert_eq!(
            running.metrics().value("failover_leader", &[("controller", "one")]),
            Some(1.0)
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_run_repeats_exactly() {
    async fn trace() -> Vec<String> {
        let world = World::new();
        world.put("page", "");
        world.sandbox.faults().seeded_latency(7, Duration::from_millis(30));
        let run = |identity| {
            let writer = Controller::new("one", |ctx: Context| async move {
                let queue = controller_kit::WorkQueue::<controller_kit::ObjectKey>::new("pages", &ctx);
                let informer = ctx.informers.of::<ConfigMap>();
                let store = informer.synced().await?;
                queue.follow(&ctx, informer.changes(), |change| [change.key.clone()]);
                let client = ctx.client.clone();
                queue
                    .run(&ctx, 3, move |key| {
                        let (store, client) = (store.clone(), client.clone());
                        async move {
                            let api: kube::Api<ConfigMap> = kube::Api::namespaced(client, "default");
                            let version = store
                                .get(&key)
                                .and_then(|object| object.metadata.resource_version.clone());
                            let patch = serde_json::json!({
                                "metadata": {"resourceVersion": version}, "data": {"v": version}
                            });
                            api.patch(&key.name, &Default::default(), &kube::api::Patch::Merge(patch))
                                .await?;
                            Ok::<_, kube::Error>(controller_kit::Next::After(Duration::from_millis(700)))
                        }
                    })
                    .await;
                Ok(())
            });
            world.process(identity).controllers([writer]).start()
        };
        let (a, b) = (run("a").await.unwrap(), run("b").await.unwrap());
        seconds_and_a_bit(30).await;
        a.crash();
        seconds_and_a_bit(60).await;
        assert_eq!(b.has_ended(), None);
        let faults = world.sandbox.faults();
        faults.writes().iter().map(|write| format!("{write:?}")).collect()
    }
    within_hours(1, async {
        let first = trace().await;
        assert!(first.len() > 100);
        assert_eq!(first, trace().await);
    })
    .await;
}
