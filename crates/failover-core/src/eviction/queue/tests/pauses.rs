//! Pauses: what they hold, what they call back, and their end.

use super::*;

#[test]
fn pauses_hold_their_scope_and_expire() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.tell(pause(PauseScopeView::Clusters(["m2".to_owned()].into()), None));
    assert_eq!(sim.only().state, State::Ready);
    sim.tell(pause(PauseScopeView::Clusters(["m1".to_owned()].into()), Some(60_000)));
    assert_eq!(held(&sim), Some(HoldReason::Paused));
    assert_eq!(sim.queue.pauses_held(sim.now().wall)[0].held_entries, 1);
    sim.tell(pause(
        PauseScopeView::Namespaces(["default".to_owned()].into()),
        Some(60_000),
    ));
    assert_eq!(held(&sim), Some(HoldReason::Paused));
    sim.consumer(10, 1);
    sim.run_until(59_999, Sim::evict_all);
    assert_eq!(sim.queue.len(), 1);
    sim.run_until(60_000, Sim::evict_all);
    assert!(sim.queue.is_empty(), "the bucket was full");
}

#[test]
fn a_pause_of_all_is_a_regime() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 1);
    sim.tell(pause(PauseScopeView::All, Some(60_000)));
    sim.run_until(59_999, Sim::evict_all);
    assert_eq!(sim.queue.verdict().reason, "FailoverPause p covers all: freeze");
    assert_eq!(
        (&sim.only().state, sim.queue.pauses_held(sim.now().wall)[0].held_entries),
        (&State::Ready, 1)
    );
    sim.run_until(61_000, Sim::evict_all);
    assert!(sim.queue.is_empty());
}

#[test]
fn a_pause_of_all_ends_what_is_out() {
    let mut sim = Sim::new(settings(1.0));
    sim.publish(vec![published("m1", "a", 0)]);
    sim.consumer(10, 1);
    sim.run_until(1_000, |_| {});
    let lease = sim.lease();
    sim.tell(pause(PauseScopeView::All, None));
    let revoked = |effect: &Effect| match effect {
        Effect::Revoke { lease: id, reason, .. } if *id == lease => Some(reason.clone()),
        _ => None,
    };
    let reasons: Vec<String> = sim.effects.iter().filter_map(revoked).collect();
    assert_eq!(reasons, ["FailoverPause p: freeze"]);
}
