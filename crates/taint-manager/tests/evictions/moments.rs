//! Somebody dies, or sleeps past its time, at moments all through a run in which ten workloads leave a cluster: with streams
//! and leases open, in the middle of a snapshot, of a renewal, of a hand-over.

use std::collections::BTreeMap;

use api_types::BindingKey;
use controller_kit::{KitFlags, Mode, Running};
use eviction_queue_api::v1::EntryState;
use jiff::{SignedDuration, Timestamp};
use rstest::rstest;
use serde_json::json;
use taint_manager::Flags;

use super::scene::{NOT_READY, Scene};
use test_bench::paused;

const WORKLOADS: u32 = 10;
/// When `m1` fails.
const FAILS: u64 = 20;
const RATE: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Queue,
    /// Who publishes, in a process of its own.
    Producer,
    /// Who holds the leases, in a process of its own.
    Evictor,
    /// These two in one process.
    Manager,
}

impl Who {
    /// The processes of a run in which this one is disturbed: the queue, and those that the taint manager is made of.
    fn company(self) -> &'static [Self] {
        match self {
            Self::Queue | Self::Manager => &[Self::Queue, Self::Manager],
            Self::Producer | Self::Evictor => &[Self::Queue, Self::Producer, Self::Evictor],
        }
    }

    async fn start(self, scene: &Scene, number: u32) -> Running {
        let controllers = match self {
            Self::Queue => return scene.queue(&format!("queue-{number}"), RATE).await,
            Self::Manager => "*",
            Self::Producer => "taintManager",
            Self::Evictor => "evictor",
        };
        let kit = KitFlags::default()
            .with_controllers(controllers)
            .with_feature_gates("Failover=true");
        let identity = format!("{self:?}-{number}").to_lowercase();
        scene.start(&identity, Flags::default(), kit).await
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Ends at once, and another one is started.
    Dies,
    /// Stands still for a minute while another one takes over, and goes on where it was.
    Sleeps,
}

/// What came of a run: when each workload was due, and in which order they left.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    due: BTreeMap<BindingKey, Timestamp>,
    order: Vec<BindingKey>,
}

/// The workloads do not become due in the order of their names.
fn toleration(n: u32) -> i64 {
    i64::from(n * 7 % WORKLOADS)
}

async fn run(fate: Option<(Who, Fate, u64)>) -> Run {
    let scene = Scene::new(&["m1", "m2", "m3"]);
    for n in 0..WORKLOADS {
        let tolerations = json!([{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": toleration(n)}]);
        scene.binding(
            &format!("web-{n}"),
            &["m1"],
            json!({"placement": {"clusterTolerations": tolerations}}),
        );
    }
    let who = fate.map_or(Who::Manager, |(who, ..)| who);
    let mut processes = BTreeMap::new();
    for each in who.company() {
        processes.insert(*each, each.start(&scene, 0).await);
    }
    let mut standby: Vec<Running> = Vec::new();
    scene.until(FAILS).await;
    scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
    if let Some((who, fate, at_millis)) = fate {
        if fate == Fate::Sleeps {
            // The one that takes over is there already.
            standby.push(who.start(&scene, 1).await);
        }
        scene.until_millis(at_millis).await;
        let victim = processes.get_mut(&who).unwrap();
        match fate {
            Fate::Dies => {
                victim.crash();
                *victim = who.start(&scene, 1).await;
            }
            Fate::Sleeps => {
                victim.freeze();
                scene.until_millis(at_millis + 60_000).await;
                victim.thaw();
            }
        }
    }
    scene.until(FAILS + 140).await;
    assert_eq!(scene.entries().await.len(), 0, "{fate:?}: left in the queue");
    assert_eq!(scene.spec_writes().len(), WORKLOADS as usize, "{fate:?}");
    let records = scene.plane.list("failover.karmada.io/v1alpha1", "FailoverRecord");
    let due = records.iter().map(|record| {
        let name = record["spec"]["binding"]["name"].as_str().unwrap_or_default();
        let due = record["spec"]["dueAt"].as_str().unwrap_or_default();
        (
            BindingKey::namespaced("default", name),
            due.parse().unwrap_or(Timestamp::UNIX_EPOCH),
        )
    });
    Run {
        due: due.collect(),
        order: scene.rules.evictions().into_iter().map(|(_, key, _)| key).collect(),
    }
}

/// Rules 1, 2 and 5: every workload leaves once, none before it is due, in the same order and with the same due times as
/// when nothing happens.
#[test]
fn whoever_dies_or_sleeps_at_any_moment() {
    paused(async {
        let undisturbed = run(None).await;
        assert_eq!(undisturbed.order.len(), WORKLOADS as usize);
        assert!(undisturbed.due.len() == WORKLOADS as usize, "{undisturbed:#?}");
        // Odd steps, so that the moments fall before, into and after everything that happens at round times.
        for at_millis in (FAILS * 1_000 + 3..FAILS * 1_000 + 26_000).step_by(2_037) {
            for who in [Who::Queue, Who::Producer, Who::Evictor, Who::Manager] {
                for fate in [Fate::Dies, Fate::Sleeps] {
                    let mut disturbed = run(Some((who, fate, at_millis))).await;
                    // Graceful eviction, which is not here, makes up for a record that the dead could not write.
                    assert!(disturbed.due.len() + 1 >= undisturbed.due.len());
                    for (key, due) in &undisturbed.due {
                        disturbed.due.entry(key.clone()).or_insert(*due);
                    }
                    assert_eq!(disturbed, undisturbed, "{who:?} {fate:?} at {at_millis} ms");
                }
            }
        }
    });
}

/// What a new leader of the queue is told again stands there as it stood: since when it is ready, and in which order.
#[rstest]
fn a_rebuilt_queue_stands_as_it_stood(#[values(Mode::Standalone, Mode::Beside)] mode: Mode) {
    paused(async {
        let scene = Scene::in_mode(mode, &["m1", "m2", "m3"]);
        for n in 0..WORKLOADS {
            scene.binding(&format!("web-{n}"), &["m1"], json!({}));
        }
        let queue = scene.queue("queue-0", 0.1).await;
        let _manager = scene.manager("manager-0").await;
        scene.until(FAILS).await;
        scene.taint("m1", &json!([scene.no_execute(NOT_READY)])).await;
        scene.until(FAILS + 25).await;
        let ready = |entries: Vec<eviction_queue_api::v1::Entry>| -> Vec<_> {
            let ready = entries.into_iter().filter(|entry| entry.state() == EntryState::Ready);
            ready.map(|entry| (entry.published.unwrap().key, entry.since)).collect()
        };
        let before = ready(scene.entries().await);
        assert!(before.len() > 5, "{before:?}");
        queue.crash();
        let _queue = scene.queue("queue-1", 0.1).await;
        scene.until(FAILS + 25 + 20).await;
        let after = ready(scene.entries().await);
        // The first may have gone meanwhile.
        assert_eq!(after, before[before.len() - after.len()..]);
        let due = scene.started + SignedDuration::from_secs(i64::try_from(FAILS).unwrap());
        assert!(
            after
                .iter()
                .all(|(_, since)| since.as_ref().unwrap().seconds == due.as_second())
        );
    });
}
