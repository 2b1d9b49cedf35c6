//! What is remembered as ours, by what became of the write: only what was stored.

use super::*;

/// A person adds by hand what the policy would add, as kubectl does: no value, no time.
fn add_by_hand(world: &mut World) {
    world.add_by_hand(Taint {
        key: "not-ready".to_owned(),
        effect: "NoExecute".to_owned(),
        ..Taint::default()
    });
}

/// A world in which the taint is due, and nothing is there yet.
fn due() -> World {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look();
    world.now = at(300);
    world
}

#[test]
fn what_a_person_adds_while_our_write_is_refused_is_theirs() {
    let mut world = due();
    world.look_only();
    assert!(matches!(
        world.last.as_ref().unwrap().taints[..],
        [TaintChange::Add { .. }]
    ));
    add_by_hand(&mut world);
    world.until(301);
    assert_eq!(world.policy_condition("p", "Ready").reason, "ForeignTaint");
    assert_eq!(world.annotation(annotation::MANAGED_TAINTS), None);
    world.condition("Ready", "True");
    world.look();
    world.until(5000);
    assert_eq!(world.taints(), [TAINT], "it stays when the cluster recovers");
}

/// A person took ours back, which we could not write down, and then put one there after all: the record that still
/// stands makes it no taint of ours.
#[test]
fn what_a_person_puts_back_while_our_record_is_out_of_date_is_theirs() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.cluster.spec.taints.clear();
    world.look_only();
    add_by_hand(&mut world);
    world.look();
    assert_eq!(world.annotation(annotation::MANAGED_TAINTS), None);
    world.condition("Ready", "True");
    world.look();
    world.until(5000);
    assert_eq!(world.taints(), [TAINT]);
}

/// The write was stored, or was not; the next version tells.
#[test]
fn a_write_that_nobody_answered_makes_ours_what_was_stored_of_it() {
    let mut world = due();
    world.look_unanswered();
    world.until(301);
    assert_eq!(world.policy_condition("p", "Ready").reason, "Evaluated");
    world
        .cluster
        .metadata
        .annotations
        .as_mut()
        .unwrap()
        .remove(annotation::MANAGED_TAINTS);
    world.condition("Ready", "True");
    world.look();
    world.until(481);
    assert!(world.taints().is_empty(), "seen stored, it is known as ours");
}

/// Another policy joined in a write that nobody answered: both are known to have had it when it is taken back.
#[test]
fn who_wanted_it_too_is_known_although_nobody_answered() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.policies.push(not_ready("q", 1));
    world.look();
    world.now = at(610);
    world.look_unanswered();
    world.look();
    assert!(
        world.last.as_ref().unwrap().notices.is_empty(),
        "nobody edited the record"
    );
    world.cluster.spec.taints.clear();
    world.until(5000);
    assert!(world.taints().is_empty());
}

/// Before anybody looked again, a person takes back what was stored without an answer.
#[test]
fn what_was_stored_without_an_answer_can_be_taken_back() {
    let mut world = due();
    world.look_unanswered();
    world.cluster.spec.taints.clear();
    world.until(5000);
    assert!(world.taints().is_empty());
    assert_eq!(world.state("p"), Some(PolicyClusterState::Dismissed));
}

/// Whatever took our taint away with its record, it was not a person when we asked for it.
#[test]
fn a_removal_that_nobody_answered_is_no_dismissal() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.condition("Ready", "True");
    world.look();
    world.now = at(490);
    world.look_unanswered();
    assert!(world.taints().is_empty());
    world.condition("Ready", "False");
    world.look();
    world.until(790);
    assert_eq!(world.taints(), [TAINT]);
}

/// Nobody answered, and it was not stored: the next version settles that, and a person may take back what stands.
#[test]
fn a_removal_that_was_lost_on_its_way_stands_in_the_way_of_no_dismissal() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.condition("Ready", "True");
    world.look();
    world.now = at(490);
    world.cluster.metadata.resource_version = Some("7".to_owned());
    let lost = world.look_unheard();
    assert!(matches!(lost.taints[..], [TaintChange::Remove { .. }]));
    world.condition("Ready", "False");
    world.cluster.metadata.resource_version = Some("8".to_owned());
    world.look();
    world.cluster.spec.taints.clear();
    world
        .cluster
        .metadata
        .annotations
        .as_mut()
        .unwrap()
        .remove(annotation::MANAGED_TAINTS);
    world.cluster.metadata.resource_version = Some("9".to_owned());
    world.until(5000);
    assert!(world.taints().is_empty());
    assert_eq!(world.state("p"), Some(PolicyClusterState::Dismissed));
}

#[test]
fn a_dismissal_that_could_not_be_written_is_told_when_it_is() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.cluster.spec.taints.clear();
    for _ in 0..2 {
        world.look_only();
        assert_eq!(world.last.as_ref().unwrap().notices[0].reason, "TaintDismissed");
    }
    world.look();
    assert_eq!(world.last.as_ref().unwrap().notices.len(), 1);
    world.look();
    assert!(world.last.as_ref().unwrap().notices.is_empty());
}

/// What is gone while its policy does not match is just gone, also where that could not be written before it matches
/// again.
#[test]
fn what_was_gone_while_nothing_matched_is_no_dismissal_later() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.condition("Ready", "True");
    world.look();
    world.cluster.spec.taints.clear();
    world.look_only();
    world.condition("Ready", "False");
    world.look();
    world.until(610);
    assert_eq!(world.taints(), [TAINT]);
}
