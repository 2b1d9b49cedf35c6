//! What is seen of what runs.

use eviction_queue_api::v1;
use failoverctl::check::Code;
use failoverctl::check::facts::{Facts, StockEvent};
use failoverctl::check::verdict::State;
use serde_json::json;

use super::Row;
use crate::objects::{after, lease, lease_of_version, leases_without};

pub const STANDALONE: &[Row] = &[
    (Code::SecondOwner, |_| {}, State::Fine),
    (
        Code::SecondOwner,
        |facts| {
            facts
                .leases
                .as_mut()
                .unwrap()
                .push(lease("karmada-controller-manager", -1, ""));
        },
        State::Problem,
    ),
    (Code::SecondOwner, held_for_another, State::Problem),
    (Code::Controllers, |_| {}, State::Fine),
    (
        Code::Controllers,
        |facts| facts.leases = Ok(leases_without(&["evictor"])),
        State::Problem,
    ),
    (
        Code::Queue,
        |facts| facts.queue.as_mut().unwrap().consumers = 0,
        State::Problem,
    ),
    (
        Code::Queue,
        |facts| facts.queue = Err("no eviction queue runs".to_owned()),
        State::Problem,
    ),
    (Code::Queue, |_| {}, State::Fine),
    (Code::Policies, |_| {}, State::Fine),
    (Code::Policies, |facts| facts.policies = Ok(Vec::new()), State::Note),
];

pub const BESIDE: &[Row] = &[
    // Its address is one of the host cluster's, to which no way has to lead from here.
    (
        Code::Queue,
        |facts| facts.queue = Err("no route".to_owned()),
        State::NotSeen,
    ),
    (
        Code::Queue,
        |facts| {
            facts.queue = Err("no route".to_owned());
            facts.way_to_queue_named = true;
        },
        State::Problem,
    ),
    (
        Code::Queue,
        |facts| {
            facts.queue = Err("no eviction queue runs".to_owned());
            facts.leases = Ok(leases_without(&["eviction-queue"]));
        },
        State::Problem,
    ),
    (Code::SecondOwner, |_| {}, State::Fine),
    (
        Code::SecondOwner,
        |facts| facts.leases.as_mut().unwrap().push(lease("binding", -1, "")),
        State::Problem,
    ),
    (Code::SecondOwner, |facts| told(facts, 10), State::Problem),
    (Code::SecondOwner, |facts| told(facts, -4_000), State::Fine),
    (Code::Gates, |_| {}, State::Fine),
    (
        Code::Gates,
        |facts| facts.leases = Ok(vec![lease("taint-manager", -1, "Failover=false")]),
        State::Note,
    ),
    (
        Code::Gates,
        |facts| facts.leases = Ok(vec![lease("taint-manager", -1, "Failover=maybe")]),
        State::Problem,
    ),
    (Code::Versions, |_| {}, State::Fine),
    (Code::Versions, |facts| of_version(facts, "0.2.0"), State::Note),
    (Code::Versions, |facts| of_version(facts, "0.3.0"), State::Problem),
    (Code::Versions, |facts| agent_of_version(facts, "0.2.0"), State::Note),
    (Code::Versions, |facts| agent_of_version(facts, "0.3.0"), State::Problem),
    (Code::Caches, |_| {}, State::Fine),
    (Code::Caches, disturbed, State::Note),
];

/// Stock told something so many seconds from now; ours took over an hour ago.
fn told(facts: &mut Facts, seconds: i64) {
    for lease in facts.leases.as_mut().unwrap() {
        let at = format!("{:.6}", after(-3_600));
        lease.spec.as_mut().unwrap().acquire_time = serde_json::from_value(json!(at)).unwrap();
    }
    facts.stock_events = Ok(vec![StockEvent {
        source: "resource-binding-graceful-eviction-controller".to_owned(),
        about: "ResourceBinding default/web".to_owned(),
        at: after(seconds),
    }]);
}

/// The queue holds evictions where somebody else was seen.
fn held_for_another(facts: &mut Facts) {
    let queue = facts.queue.as_mut().unwrap();
    queue.held.push(v1::HeldEntries {
        reason: v1::HoldReason::SecondOwner.into(),
        entries: 3,
    });
}

fn annotate(facts: &mut Facts, name: &str, value: &str) {
    let lease = &mut facts.leases.as_mut().unwrap()[0];
    let annotations = lease.metadata.annotations.as_mut().unwrap();
    annotations.insert(name.to_owned(), value.to_owned());
}

fn of_version(facts: &mut Facts, version: &str) {
    annotate(facts, "failover.karmada.io/version", version);
}

fn agent_of_version(facts: &mut Facts, version: &str) {
    let leases = facts.leases.as_mut().unwrap();
    leases.push(lease_of_version("execution-member1", version));
}

fn disturbed(facts: &mut Facts) {
    annotate(facts, "failover.karmada.io/disturbances", "lists show the past");
}
