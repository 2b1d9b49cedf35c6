//! Stock's form.

use super::*;

#[test]
fn stocks_form_is_latched() {
    let mut world = World::new(&[stock("s")]);
    world.condition("Ready", "False");
    world.look();
    assert_eq!(world.taints(), [TAINT], "no window");
    world.now = at(10);
    world.condition("Ready", "Unknown");
    world.look();
    world.restart();
    world.until(500);
    assert_eq!(
        world.taints(),
        [TAINT],
        "neither list matches: it stays, also over a restart"
    );
    world.condition("Ready", "True");
    world.look();
    assert!(world.taints().is_empty());
    assert_eq!(world.annotation(annotation::TAINT_WINDOWS), None);
}

#[test]
fn with_both_lists_matching_removal_wins() {
    let mut policy = stock("s");
    policy.spec.remove_on_conditions = policy.spec.add_on_conditions.clone();
    let mut world = World::new(&[policy]);
    world.condition("Ready", "False");
    world.look();
    assert_eq!((world.taints().len(), world.writes), (0, 0));
}
