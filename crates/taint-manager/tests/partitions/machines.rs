//! Machines, each with a runtime and a clock of its own that show the same time.

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::{Clock, KitFlags, Mode};
use eviction_queue_api::memory::MemoryNetwork;
use jiff::{SignedDuration, Timestamp};
use kube_sandbox::Housekeeping;
use taint_manager::Flags;
use test_bench::{Bench, STARTED};

use super::scene::{Machine, Scene};
use super::wires;

/// Evictions a second of every queue here.
pub const RATE: f64 = 0.5;
/// Where the test itself is: its look into the queue is never disturbed.
const WATCHER: &str = "watcher";
const TICK: Duration = Duration::from_millis(5);
/// The longest time that a message takes while the network works.
const LATENCY: Duration = Duration::from_millis(20);
/// From an entry's turn to the write: a lease comes, its renewal goes and is confirmed.
const TURN_TO_WRITE: SignedDuration = SignedDuration::from_millis(100);

/// What runs on a machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// The eviction queue.
    Queue,
    /// The taint manager and the evictor.
    Manager,
}

/// A machine: its name, what runs there, and the second of the simulation at which that starts.
pub type Plan = (&'static str, Runs, u64);

/// Plays `test` beside the machines, with `m1` to `m4` as healthy clusters.
pub fn on_machines<F: Future<Output = ()> + 'static>(
    plans: &'static [Plan],
    test: impl FnOnce(Rc<Scene>) -> F + 'static,
) {
    let mut simulation = turmoil::Builder::new()
        .tick_duration(TICK)
        .simulation_duration(Duration::from_secs(3_600))
        .max_message_latency(LATENCY)
        .tcp_capacity(1 << 20)
        .rng_seed(7)
        .build();
    let shared: Rc<OnceCell<Rc<Scene>>> = Rc::default();
    let slot = shared.clone();
    simulation.client(WATCHER, async move {
        let time: kube_sandbox::Now = Arc::new(now);
        let bench = Bench::timed(&[], Housekeeping::default(), clock(), &time);
        bench.rules.set(|settings| settings.write_delay = TURN_TO_WRITE);
        let scene = Rc::new(Scene::on(bench, Mode::Standalone, &["m1", "m2", "m3", "m4"]));
        reach_queues(&scene.network, plans);
        assert!(slot.set(scene.clone()).is_ok());
        test(scene.clone()).await;
        assert_eq!(scene.broken_rules(), [""; 0]);
        Ok(())
    });
    for &(name, runs, starts_at) in plans {
        let shared = shared.clone();
        simulation.host(name, move || {
            let shared = shared.clone();
            async move {
                tokio::time::sleep(Duration::from_secs(starts_at) + TICK).await;
                let scene = shared.get().expect("the first machine has set the scene").clone();
                let machine = Machine {
                    name,
                    clock: clock(),
                    network: MemoryNetwork::default(),
                };
                let process = match runs {
                    Runs::Queue => {
                        wires::serve(machine.network.clone(), address(name));
                        scene.queue_at(&machine, name, RATE).await
                    }
                    Runs::Manager => {
                        reach_queues(&machine.network, plans);
                        let kit = KitFlags::default().with_feature_gates("Failover=true");
                        scene.start_at(&machine, name, Flags::default(), kit).await
                    }
                };
                process.ended().await;
                Ok(())
            }
        });
    }
    simulation.run().unwrap();
}

fn reach_queues(network: &MemoryNetwork, plans: &[Plan]) {
    for (name, runs, _) in plans {
        if *runs == Runs::Queue {
            wires::reach(network, address(name), name);
        }
    }
}

/// What a queue writes on its Lease.
fn address(name: &str) -> String {
    format!("memory:{name}")
}

fn now() -> Timestamp {
    STARTED + turmoil::sim_elapsed().expect("inside of the simulation")
}

fn clock() -> Clock {
    Clock::simulated(now())
}
