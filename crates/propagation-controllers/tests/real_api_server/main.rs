//! Propagation on a real control plane and two real members: what the sandbox cannot prove. One fleet for all of it, since
//! starting one takes longer than most of what is shown; each file is one idea, with objects in a namespace of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "a test that cannot go on fails, and its helpers are part of it"
)]

mod anew;
mod cluster_scoped;
mod conflicts;
mod credentials;
mod defaults;
mod dependencies;
mod identity;
mod kinds;
mod namespaces;
mod outage;
mod preserving;
mod proxy;
mod purge_modes;
mod recreated;
mod refusals;
mod replicas;
mod rest;
mod retention;
mod server;
mod sizes;
mod suspension;
mod whole_way;
mod world;

use std::panic::AssertUnwindSafe;

use e2e_harness::available;
use futures::future::{FutureExt as _, LocalBoxFuture, join_all};

use crate::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn propagation_on_real_api_servers() {
    if available("propagation on real API servers").is_none() {
        return;
    }
    let mut world = World::start().await;
    side_by_side(
        &world,
        [
            (
                "whole way",
                whole_way::every_kind_goes_its_whole_way(&world).boxed_local(),
            ),
            (
                "kinds",
                kinds::every_native_kind_arrives_and_follows(&world).boxed_local(),
            ),
            ("defaults", defaults::what_a_member_chose_stays(&world).boxed_local()),
            ("retention", retention::what_is_the_members_stays(&world).boxed_local()),
            (
                "cluster scope",
                cluster_scoped::a_definition_brings_its_objects(&world).boxed_local(),
            ),
            (
                "suspension",
                suspension::changes_are_held_back_and_let_go(&world).boxed_local(),
            ),
            (
                "preserving",
                preserving::what_is_kept_is_the_members_own(&world).boxed_local(),
            ),
            ("anew", recreated::a_template_made_anew_is_carried(&world).boxed_local()),
            ("leaving", namespaces::one_that_goes_everywhere(&world).boxed_local()),
            ("conflicts", conflicts::what_is_there_already(&world).boxed_local()),
            (
                "gracefully",
                purge_modes::gracefully_the_old_copy_stays(&world, "Gracefully").boxed_local(),
            ),
            (
                "graciously",
                purge_modes::gracefully_the_old_copy_stays(&world, "Graciously").boxed_local(),
            ),
            (
                "directly",
                purge_modes::directly_the_old_copy_goes_first(&world).boxed_local(),
            ),
            (
                "dependencies",
                dependencies::what_pods_need_goes_along(&world).boxed_local(),
            ),
            (
                "refusals",
                refusals::a_member_refuses_in_its_own_words(&world).boxed_local(),
            ),
            ("ports", refusals::a_port_is_taken(&world).boxed_local()),
            ("schemas", refusals::a_schema_is_stricter_there(&world).boxed_local()),
            (
                "large",
                sizes::a_template_of_a_mebibyte_is_carried(&world).boxed_local(),
            ),
            ("too large", sizes::a_work_too_large_is_told(&world).boxed_local()),
            ("replicas", replicas::from_nothing_to_the_largest(&world).boxed_local()),
            (
                "sums",
                replicas::sums_stay_numbers_that_the_api_takes(&world).boxed_local(),
            ),
        ],
    )
    .await;
    rest::nothing_is_written(&world).await;
    // Each has a member to itself.
    side_by_side(
        &world,
        [
            ("terminating", namespaces::one_that_terminates(&world).boxed_local()),
            ("credentials", credentials::the_road_to_a_member(&world).boxed_local()),
        ],
    )
    .await;
    outage::one_member_hangs_and_the_other_goes_and_comes_back(&mut world).await;
    eprintln!("outage: {:.1} s", world.age().as_secs_f64());
    anew::one_is_installed_anew_and_one_is_gone_for_ever(&mut world).await;
    eprintln!("anew: {:.1} s", world.age().as_secs_f64());
}

/// All at the same time, each to its end, so that what fails hides nothing else.
async fn side_by_side<const N: usize>(world: &World, all: [(&str, LocalBoxFuture<'_, ()>); N]) {
    let ended = join_all(all.map(|(name, run)| async move {
        let ended = AssertUnwindSafe(run).catch_unwind().await;
        eprintln!("{name}: {:.1} s", world.age().as_secs_f64());
        ended.err().map(|_| name)
    }));
    let failed: Vec<_> = ended.await.into_iter().flatten().collect();
    world.goes_on();
    assert!(failed.is_empty(), "failed, as told above: {}", failed.join(", "));
}
