//! A member that never rests, for a day: what is made and dropped at each of its returns is dropped for good.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

#[allow(dead_code, reason = "shared with the other tests of a Pull member")]
#[path = "../pull/log.rs"]
mod log;
#[allow(dead_code, reason = "shared with the other tests of a Pull member")]
#[path = "../pull/world.rs"]
mod world;

use controller_kit::KitFlags;
use kube::api::{Api, DeleteParams};
use kube_sandbox::Member;
use test_bench::{Footprint, Heap, assert_flat, heap, held_to_its_end, paused};

use world::World;

#[global_allocator]
static HEAP: Heap = heap();

const HOUR: u64 = 3600;
/// In hours: after so many everything was listed anew once (`--relist-interval`), which has a series of its own.
const UNTIL_LISTED_ANEW: u64 = 3;

/// What befalls a member.
type Outage = fn(&Member);

/// What befalls the member within an hour: from which second, for how many, and how. The last quarter of the hour is
/// quiet, so that what was begun has come to its end.
const OUTAGES: [(u64, u64, Outage); 7] = [
    (60, 15, Member::stop),
    (200, 300, Member::stop),
    (700, 120, Member::hang),
    (1000, 90, |member| member.fail(500)),
    (1200, 60, Member::garbage),
    (1400, 200, Member::unready),
    (1800, 600, Member::stop),
];

async fn an_hour(world: &World, begins_at: u64) {
    let works = Api::<api_types::work::Work>::namespaced(world.client(), "karmada-es-m1");
    for (number, (second, length, happens)) in OUTAGES.into_iter().enumerate() {
        world.until(begins_at + second).await;
        let guest = format!("guest-{number}");
        world.put_work("Deployment", &guest);
        world.until(begins_at + second + 5).await;
        happens(&world.m1());
        // Deleted while the member is away: the Work waits for it.
        works.delete(&guest, &DeleteParams::default()).await.unwrap();
        world.until(begins_at + second + length).await;
        world.m1().resume();
    }
    world.until(begins_at + HOUR).await;
}

/// Lets the member flap for some hours, and then tells how many bytes the agent and the control plane's controllers held at
/// the end.
async fn flap(hours: u64) -> [usize; 2] {
    // Each process is the only one of its kind: a day of renewals takes its time and shows nothing.
    let world = World::with(KitFlags {
        leader_elect: false,
        ..KitFlags::default()
    });
    let plane = world.start_control_plane().await;
    let agent = world.start_agent("agent-0").await;
    world.until(20).await;
    world.put_work("Deployment", "web");
    let footprints = || [Footprint::of(&world, &agent), Footprint::of(&world, &plane)];
    for hour in 0..UNTIL_LISTED_ANEW {
        an_hour(&world, hour * HOUR).await;
    }
    let first = footprints();
    let of_the_first = world.reasons("Cluster", "m1");
    assert!(
        of_the_first.iter().any(|reason| reason == "ClusterNotReady"),
        "{of_the_first:?}"
    );
    for hour in UNTIL_LISTED_ANEW..hours {
        an_hour(&world, hour * HOUR).await;
    }
    for (last, first) in footprints().iter().zip(&first) {
        assert_eq!(last.changes_since(first), [""; 0]);
    }
    assert_eq!(world.ready().await.0, "True");
    let there = world.m1().sandbox().list("apps/v1", "Deployment");
    assert_eq!(there.len(), 1, "the guests are gone: {there:?}");
    [held_to_its_end(&HEAP, agent).await, held_to_its_end(&HEAP, plane).await]
}

#[test]
fn a_day_of_flapping_leaves_nothing_behind() {
    // What is remembered for an hour at most has come to its full size by then.
    let after_some_hours = paused(flap(4));
    let after_a_day = paused(flap(24));
    for (number, what) in ["the agent", "the control plane"].into_iter().enumerate() {
        assert_flat(what, after_some_hours[number], after_a_day[number]);
    }
}
