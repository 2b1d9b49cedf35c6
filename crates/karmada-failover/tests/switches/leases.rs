//! One Lease for each controller, the same whether it runs in a binary of its own or in the one of all: nothing can run
//! twice, and every Lease says which version, gates and controllers its holder has.

use std::collections::BTreeMap;
use std::time::Duration;

use api_types::names::namespace;
use controller_kit::leader::{CONTROLLERS_ANNOTATION, GATES_ANNOTATION, VERSION_ANNOTATION, lease_name};
use controller_kit::{Controller, KitFlags, Process, Running};
use eviction_queue_api::QueueClient;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, ResourceExt};

use crate::common::{World, simulate};
use crate::scene::replaced;

/// The components as separate binaries: by which name each runs, and what it can run.
fn separate(world: &World) -> Vec<(&'static str, Vec<Controller>)> {
    let queue = eviction_queue::Flags {
        transport: eviction_queue::Transport::Memory(world.network.clone()),
        ..eviction_queue::Flags::default()
    };
    let mut wiring = taint_manager::Wiring::by_flags(&taint_manager::Flags::default());
    let network = world.network.clone();
    wiring.queue = std::sync::Arc::new(move |ctx| {
        QueueClient::by_lease(ctx.client.clone(), &ctx.system_namespace, &ctx.identity).through(network.clone())
    });
    let way = wiring.queue.clone();
    vec![
        (
            "cluster-health-controller",
            cluster_health_controller::controllers(Default::default()),
        ),
        (
            "taint-policy-controller",
            taint_policy_controller::controllers(Default::default()),
        ),
        (
            "taint-manager",
            taint_manager::controllers_with(Default::default(), wiring),
        ),
        (
            "application-failover-controller",
            application_failover_controller::controllers(Default::default(), way),
        ),
        ("eviction-queue", eviction_queue::controllers(queue)),
        (
            "graceful-eviction-controller",
            graceful_eviction_controller::controllers(Default::default()),
        ),
        ("scheduler", scheduler::controllers(Default::default())),
        (
            "propagation-controllers",
            propagation_controllers::controllers(Default::default()),
        ),
    ]
}

async fn start_separate(world: &World) -> Vec<(Vec<&'static str>, Running)> {
    let mut processes = Vec::new();
    for (component, controllers) in separate(world) {
        let names = controllers.iter().map(Controller::name).collect();
        let running = Process::builder(component, world.fleet.control_plane().client_named(component))
            .clock(world.clock.clone())
            .identity(component)
            .flags(KitFlags::default().with_feature_gates("Failover=true"))
            .controllers(controllers)
            .start()
            .await
            .unwrap();
        processes.push((names, running));
    }
    processes
}

async fn leases(world: &World) -> BTreeMap<String, Lease> {
    let api: Api<Lease> = Api::namespaced(world.client(), namespace::SYSTEM);
    let all = api.list(&Default::default()).await.unwrap().items;
    all.into_iter().map(|lease| (lease.name_any(), lease)).collect()
}

fn holder(lease: &Lease) -> &str {
    lease
        .spec
        .as_ref()
        .unwrap()
        .holder_identity
        .as_deref()
        .unwrap_or_default()
}

fn leads(process: &Running, controller: &str) -> bool {
    process
        .metrics()
        .value("failover_leader", &[("controller", controller)])
        == Some(1.0)
}

#[test]
fn the_one_of_all_and_the_separate_ones_never_run_a_controller_twice() {
    simulate(|| async {
        let world = World::new(&["member1", "member2"]);
        let all_in_one = world.run("all-in-one", &[]).await;
        tokio::time::sleep(Duration::from_secs(30)).await;
        let separate = start_separate(&world).await;
        tokio::time::sleep(Duration::from_secs(300)).await;
        let names: Vec<&str> = separate.iter().flat_map(|(names, _)| names.iter().copied()).collect();
        let known = all_in_one.metrics().render();
        let known = known
            .lines()
            .filter(|line| line.starts_with("failover_controller_enabled{"))
            // It has a binary of its own and no Lease: every replica answers.
            .filter(|line| !line.contains("controller=\"webhook\""))
            .count();
        assert_eq!(
            names.len(),
            known,
            "each controller of the one of all has a binary of its own, and the other way round"
        );
        let stored = leases(&world).await;
        assert_eq!(stored.len(), names.len(), "one Lease a controller: {:?}", stored.keys());
        for (controllers, process) in &separate {
            assert_eq!(process.has_ended(), None, "{controllers:?} wait for their turn");
            for controller in controllers {
                assert_eq!(holder(&stored[&lease_name(controller)]), "all-in-one");
                assert!(
                    leads(&all_in_one, controller) && !leads(process, controller),
                    "{controller} runs once"
                );
            }
        }

        replaced(all_in_one).await;
        tokio::time::sleep(Duration::from_secs(30)).await;
        let stored = leases(&world).await;
        let again = world.run("all-in-one again", &[]).await;
        tokio::time::sleep(Duration::from_secs(300)).await;
        assert_eq!(leases(&world).await.len(), stored.len());
        for (controllers, process) in &separate {
            for controller in controllers {
                assert!(
                    leads(process, controller) && !leads(&again, controller),
                    "{controller} went over, and stays"
                );
            }
        }
        let mut processes = vec![again];
        processes.extend(separate.into_iter().map(|(_, process)| process));
        world.finish(processes).await;
    });
}

#[test]
fn leases_tell_version_gates_and_controllers() {
    simulate(|| async {
        let world = World::new(&[]);
        let some = world
            .run(
                "some",
                &["--controllers=scheduler,detector", "--feature-gates=Failover=false"],
            )
            .await;
        let rest = world.run("rest", &["--controllers=*,-scheduler,-detector"]).await;
        tokio::time::sleep(Duration::from_secs(30)).await;
        for (name, lease) in leases(&world).await {
            let said = |annotation: &str| lease.annotations().get(annotation).map(String::as_str);
            assert_eq!(said(VERSION_ANNOTATION), Some(controller_kit::VERSION), "{name}");
            let (gates, is_of_some) = match holder(&lease) {
                "some" => ("Failover=false", true),
                "rest" => ("Failover=true", false),
                other => panic!("{name} is held by {other}"),
            };
            assert_eq!(said(GATES_ANNOTATION), Some(gates), "{name}");
            assert_eq!(name == "scheduler" || name == "detector", is_of_some, "{name}");
            let controllers: Vec<&str> = said(CONTROLLERS_ANNOTATION).unwrap().split(',').collect();
            if is_of_some {
                assert_eq!(controllers, ["detector", "scheduler"]);
            } else {
                assert_eq!(controllers.len(), 14, "{controllers:?}");
                assert!(!controllers.contains(&"scheduler") && controllers.iter().any(|one| lease_name(one) == name));
            }
        }
        world.finish(vec![some, rest]).await;
    });
}

/// What differs between the holders is found by `failoverctl status`.
#[test]
fn gates_that_disagree_are_shown() {
    simulate(|| async {
        let world = World::new(&[]);
        let some = world
            .run(
                "some",
                &["--controllers=taintManager", "--feature-gates=Failover=false"],
            )
            .await;
        let rest = world.run("rest", &["--controllers=*,-taintManager"]).await;
        tokio::time::sleep(Duration::from_secs(30)).await;
        let status = crate::scene::status(&world).await;
        assert!(status.contains("the components do not agree"), "{status}");
        world.finish(vec![some, rest]).await;
    });
}
