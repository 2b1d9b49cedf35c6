//! What every story does that is no scenario of the demo: it says how it goes, under the correctness rules.

use std::sync::Arc;

use anyhow::ensure;
use controller_kit::Clock;
use karmada_failover::story::scenario::TAINTS_OF_PEOPLE;
use kube::Client;
use kube_sandbox::rules::{Settings, Watching};

/// One line, or a picture of some, for whoever reads along.
#[expect(clippy::print_stdout, reason = "the story is told on standard output")]
pub fn say(text: &str) {
    println!("{text}");
}

/// Begins to hold the rules against what happens on this control plane.
pub fn watch_rules(client: &Client, highest_evictions_per_second: f64) -> Watching {
    let clock = Clock::system();
    let settings = Settings {
        people_s_taint_keys: TAINTS_OF_PEOPLE,
        ..Settings::real_time(highest_evictions_per_second)
    };
    Watching::start(client, settings, Arc::new(move || clock.now()))
}

/// The end of a story that came so far: it came out right if no rule was broken.
pub fn came_out_right(rules: Watching) -> anyhow::Result<bool> {
    let broken: Vec<String> = rules.finish().iter().map(ToString::to_string).collect();
    ensure!(broken.is_empty(), "rules are broken: {broken:#?}");
    say("all of it came out right");
    Ok(true)
}
