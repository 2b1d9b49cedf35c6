//! A story as it is played beside a stock Karmada.

use std::time::Duration;

use karmada_failover::story::scenario::{Action, Scenario};
use serde_json::{Value, json};
use test_bench::stock::{StockActors, in_stocks_form, serve_like_stock};

use crate::common::simulate;
use crate::stage::{Told, play_with, world};

/// Stock's controllers write at most so long after one another.
const BETWEEN_WRITES: Duration = Duration::from_secs(4);

/// The same story, whose people write what stock does not know into annotations.
fn beside_stock(mut scenario: Scenario) -> Scenario {
    scenario.given = scenario.given.into_iter().map(in_stocks_form).collect();
    let acts = scenario.chapters.iter_mut().flat_map(|chapter| &mut chapter.acts);
    for action in acts.flat_map(|act| &mut act.actions) {
        match action {
            Action::Create(object) | Action::Put(object) => *object = in_stocks_form(object.take()),
            Action::Patch { patch, .. } if *patch == json!({"spec": {"activeEvictionHistory": null}}) => {
                let annotation = api_types::names::annotation::ACTIVE_EVICTION_HISTORY;
                *patch = json!({"metadata": {"annotations": {annotation: Value::Null}}});
            }
            _ => {}
        }
    }
    scenario
}

/// What came of a story there.
pub fn told(scenario: Scenario, seed: u64) -> Told {
    let scenario = beside_stock(scenario);
    let told = std::sync::Mutex::new(None);
    simulate(|| async {
        let mut given = scenario.clone();
        let mut empty = scenario.clone();
        empty.given.clear();
        let world = world(&empty);
        serve_like_stock(world.plane());
        std::mem::take(&mut given.given)
            .into_iter()
            .for_each(|object| world.create(object));
        let actors = StockActors::start(&world.client(), seed, BETWEEN_WRITES);
        *told.lock().unwrap() = Some(play_with(world, &scenario, &["--beside-stock"]).await);
        let [whole, parts] = actors.stored();
        assert!(
            whole > 0 && parts > 0,
            "the others wrote: {whole} whole objects, {parts} parts"
        );
        drop(actors);
    });
    told.into_inner().unwrap().unwrap()
}
