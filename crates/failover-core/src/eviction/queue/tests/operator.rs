use std::sync::Arc;

use super::*;

fn ask(kind: OrderKind) -> OrderRequest {
    OrderRequest {
        kind,
        caller: Arc::from("ada"),
        reason: "a test runs".into(),
    }
}

fn order(sim: &mut Sim, kind: OrderKind) {
    let key = sim.only().key().clone();
    sim.tell(Event::Order {
        key,
        request: ask(kind),
    });
}

/// The taint manager has written the order, in this version of the binding.
fn written(sim: &mut Sim, version: &str) {
    let entry = sim.only();
    let (key, id) = (entry.key().clone(), entry.order.as_ref().unwrap().id);
    sim.effects.clear();
    sim.tell(Event::OrderWritten {
        key,
        id,
        binding_version: version.into(),
    });
}

fn hold(sim: &Sim) -> Option<HoldReason> {
    match &sim.only().state {
        State::Held { reason, .. } => Some(*reason),
        _ => None,
    }
}

fn publish(sim: &mut Sim, version: &str, stay: Option<bool>) {
    let mut entry = published("m1", "web", 0);
    entry.versions.binding = version.into();
    entry.hold = stay.map(|by_drop| {
        let hold = ProducerHold {
            reason: HoldReason::Stay,
            message: "stays".into(),
            by_drop,
        };
        hold.into()
    });
    sim.publish(vec![entry]);
}

fn confirms(sim: &Sim) -> Vec<&str> {
    let confirm = |effect: &'_ Effect| match effect {
        Effect::Confirm { binding_version, .. } => Some(binding_version.clone()),
        _ => None,
    };
    sim.effects
        .iter()
        .filter(|effect| confirm(effect).is_some())
        .map(|effect| match effect {
            Effect::Confirm { binding_version, .. } => binding_version.as_str(),
            _ => "",
        })
        .collect()
}

#[test]
fn a_drop_holds_from_the_order_until_the_producer_says_stay() {
    let mut sim = Sim::new(settings(1.0));
    publish(&mut sim, "10", None);
    order(&mut sim, OrderKind::Drop);
    assert_eq!(hold(&sim), Some(HoldReason::Dropped));
    let State::Held { message, .. } = &sim.only().state else {
        panic!("it is held")
    };
    assert!(message.starts_with("dropped by ada: a test runs;"), "{message}");
    sim.consumer(9, 5);
    sim.run_until(60_000, |_| {});
    assert!(sim.held.is_empty(), "what is dropped is not released");

    // An upsert from before the write does not end it, nor does the producer's restart.
    publish(&mut sim, "11", None);
    sim.hello(2, 2);
    sim.tell(Event::Upsert {
        stream: 2,
        entries: vec![sim.only().published.as_ref().clone()],
    });
    sim.tell(Event::SnapshotComplete { stream: 2 });
    assert_eq!(hold(&sim), Some(HoldReason::Dropped));

    written(&mut sim, "12");
    assert_eq!(
        hold(&sim),
        Some(HoldReason::Dropped),
        "the producer has not said it yet"
    );
    assert_eq!(confirms(&sim), ["12"], "and is asked to");
    let mut entry = published("m1", "web", 0);
    entry.versions.binding = "12".into();
    entry.hold = Some(
        ProducerHold {
            reason: HoldReason::Stay,
            message: "stays".into(),
            by_drop: true,
        }
        .into(),
    );
    sim.tell(Event::Upsert {
        stream: 2,
        entries: vec![entry],
    });
    assert_eq!((hold(&sim), &sim.only().order), (Some(HoldReason::Stay), &None));
}

#[test]
fn what_is_written_and_known_needs_no_word_of_the_producer() {
    let mut sim = Sim::new(settings(1.0));
    publish(&mut sim, "10", None);
    order(&mut sim, OrderKind::Drop);
    publish(&mut sim, "12", Some(true));
    assert_eq!(
        hold(&sim),
        Some(HoldReason::Dropped),
        "somebody else may have written it"
    );
    written(&mut sim, "12");
    assert_eq!((hold(&sim), confirms(&sim)), (Some(HoldReason::Stay), vec![]));
}

#[test]
fn undrop_holds_until_the_annotation_is_gone() {
    let mut sim = Sim::new(settings(1.0));
    publish(&mut sim, "12", Some(true));
    order(&mut sim, OrderKind::Undrop);
    assert_eq!(hold(&sim), Some(HoldReason::Undropped));
    written(&mut sim, "13");
    assert_eq!(hold(&sim), Some(HoldReason::Undropped));
    publish(&mut sim, "13", None);
    assert_eq!(sim.only().state, State::Ready);
}

#[test]
fn a_drop_that_is_taken_back_before_it_is_written_waits_for_who_writes() {
    let mut sim = Sim::new(settings(1.0));
    publish(&mut sim, "10", None);
    order(&mut sim, OrderKind::Drop);
    let first = sim.only().order.as_ref().unwrap().id;
    order(&mut sim, OrderKind::Undrop);
    assert_eq!(hold(&sim), Some(HoldReason::Undropped));
    // The word about the drop comes late: it is another order now.
    let key = sim.only().key().clone();
    sim.tell(Event::OrderWritten {
        key,
        id: first,
        binding_version: "11".into(),
    });
    publish(&mut sim, "11", Some(true));
    assert_eq!(hold(&sim), Some(HoldReason::Undropped));
    written(&mut sim, "12");
    publish(&mut sim, "12", None);
    assert_eq!(sim.only().state, State::Ready);
}

#[test]
fn a_lease_is_revoked_and_an_eviction_that_was_written_wins() {
    let mut sim = Sim::new(settings(1.0));
    publish(&mut sim, "10", None);
    sim.consumer(9, 1);
    sim.run_until(1_000, |_| {});
    let lease = sim.lease();
    order(&mut sim, OrderKind::Drop);
    let revoked = |effect: &Effect| matches!(effect, Effect::Revoke { lease: id, .. } if *id == lease);
    assert!(sim.effects.iter().any(revoked), "{:?}", sim.effects);
    assert_eq!(sim.only().state, State::Leased(lease));

    let mut other = Sim {
        queue: sim.queue.clone(),
        millis: sim.millis,
        evicted: Vec::new(),
        held: sim.held.clone(),
        effects: Vec::new(),
    };
    sim.complete(lease, OutcomeKind::Failed);
    assert_eq!(hold(&sim), Some(HoldReason::Dropped));
    other.complete(lease, OutcomeKind::Evicted);
    assert_eq!(other.queue.len(), 0);
}

#[test]
fn a_dry_run_says_what_would_be_and_repeating_is_harmless() {
    let mut sim = Sim::new(settings(1.0));
    publish(&mut sim, "10", None);
    let key = sim.only().key().clone();
    let revision = sim.queue.revision();
    let plan = sim.queue.plan_order(&key, &ask(OrderKind::Drop), sim.now()).unwrap();
    assert!(!plan.is_done);
    assert_eq!(sim.queue.revision(), revision, "nothing has changed");
    assert_eq!(sim.only().state, State::Ready);
    order(&mut sim, OrderKind::Drop);
    let came = Entry {
        revision: plan.entry.revision,
        ..sim.only().clone()
    };
    assert_eq!(came, *plan.entry, "what was said is what came");

    let revision = sim.queue.revision();
    order(&mut sim, OrderKind::Drop);
    assert_eq!(sim.queue.revision(), revision);
    assert!(
        sim.queue
            .plan_order(&key, &ask(OrderKind::Drop), sim.now())
            .unwrap()
            .is_done
    );
}

#[test]
fn what_cannot_be_ordered_is_refused() {
    let mut sim = Sim::new(settings(1.0));
    let key = published("m1", "web", 0).key;
    assert_eq!(
        sim.queue.plan_order(&key, &ask(OrderKind::Drop), sim.now()),
        Err(OrderRefused::NotFound(Box::new(EntryKey::clone(&key))))
    );
    publish(&mut sim, "10", Some(false));
    let refused = sim
        .queue
        .plan_order(&key, &ask(OrderKind::Undrop), sim.now())
        .unwrap_err();
    assert!(
        refused.to_string().contains("annotation failover.karmada.io/stay"),
        "{refused}"
    );
    order(&mut sim, OrderKind::Drop);
    assert_eq!(
        hold(&sim),
        Some(HoldReason::Dropped),
        "what a person keeps can be dropped as well"
    );
    let mut sim = Sim::new(settings(1.0));
    publish(&mut sim, "10", None);
    let plan = sim.queue.plan_order(&key, &ask(OrderKind::Undrop), sim.now()).unwrap();
    assert!(plan.is_done, "what was not dropped may go");
}
