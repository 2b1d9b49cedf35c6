//! A story as it is played beside a stock Karmada.

use karmada_failover::story::scenario::Scenario;
use test_bench::stock::Company;

use crate::common::simulate;
use crate::stage::{Told, play_in, world_among};

/// What came of a story there, where stock's controllers write at the moments that this seed draws.
pub fn told(scenario: &Scenario, seed: u64) -> Told {
    let told = std::sync::Mutex::new(None);
    simulate(|| async {
        let world = world_among(|plane| Company::of_stock(plane, seed), scenario);
        *told.lock().unwrap() = Some(play_in(world, scenario).await);
    });
    told.into_inner().unwrap().unwrap()
}
