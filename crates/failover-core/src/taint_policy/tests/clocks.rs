//! Wall clocks that are set: what runs, runs by elapsed time, in the process that saw the clock being set and in the next.

use super::*;

/// Steps of the clock, in both directions.
const STEPS: [SignedDuration; 4] = [
    SignedDuration::from_hours(1),
    SignedDuration::from_hours(-1),
    SignedDuration::from_millis(900),
    SignedDuration::from_millis(-900),
];

/// When the clock is set, in the life of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Set {
    BeforeTheWindow,
    InTheWindow,
}

/// The rest of a window of `seconds`: 40 s of it are seen before the clock is set, or after; then, at 90 s, a process
/// starts that has only what is stored. It writes nothing, and looks when the window ends.
fn across_a_restart(world: &mut World, seconds: i64, step: SignedDuration, set: Set, begin: impl FnOnce(&mut World)) {
    if set == Set::BeforeTheWindow {
        world.wall_ahead = step;
    }
    begin(world);
    world.look();
    world.pass(40);
    world.wall_ahead = step;
    world.pass(20);
    world.pass(30);
    world.restart_by_the_wall_clock();
    let writes = world.writes;
    let due = world.now + SignedDuration::from_secs(seconds - 90) + CLOCK_STEP;
    assert_eq!(world.look().next_look, Some(due), "{step}, {set:?}");
    world.pass(seconds - 91);
    assert_eq!(world.writes, writes, "{step}, {set:?}: all that is stored was stored");
}

#[test]
fn a_clock_that_was_set_makes_no_taint_early_or_late_in_the_next_process() {
    for (step, set) in STEPS
        .iter()
        .flat_map(|step| [(step, Set::BeforeTheWindow), (step, Set::InTheWindow)])
    {
        let mut world = World::new(&[not_ready("p", 0)]);
        world.condition("Ready", "True");
        world.look();
        across_a_restart(&mut world, 300, *step, set, |world| world.condition("Ready", "False"));
        assert!(world.taints().is_empty(), "{step}, {set:?}");
        world.pass(1);
        assert_eq!(world.taints(), [TAINT], "{step}, {set:?}");
        let added = world.cluster.spec.taints[0].time_added.clone().unwrap().0;
        let off = added.as_second() - world.wall().as_second();
        assert!((0..=1).contains(&off), "{off} s");
    }
}

#[test]
fn a_clock_that_was_set_moves_no_removal_in_the_next_process() {
    for (step, set) in STEPS
        .iter()
        .flat_map(|step| [(step, Set::BeforeTheWindow), (step, Set::InTheWindow)])
    {
        let mut world = tainted(&[not_ready("p", 0)]);
        across_a_restart(&mut world, 180, *step, set, |world| world.condition("Ready", "True"));
        assert_eq!(world.taints(), [TAINT], "{step}, {set:?}");
        world.pass(1);
        assert!(world.taints().is_empty(), "{step}, {set:?}");
    }
}

/// What a person took back is forgotten once the policy has not matched for 180 s: until then it stays away, though the
/// policy has matched for its window again.
#[test]
fn a_clock_that_was_set_shortens_no_dismissal_in_the_next_process() {
    for (step, set) in STEPS
        .iter()
        .flat_map(|step| [(step, Set::BeforeTheWindow), (step, Set::InTheWindow)])
    {
        for (not_matching, comes_back) in [(179, false), (181, true)] {
            let mut world = tainted(&[not_ready("p", 0)]);
            world.cluster.spec.taints.clear();
            world.look();
            across_a_restart(&mut world, 180, *step, set, |world| world.condition("Ready", "True"));
            world.pass(not_matching - 179);
            world.condition("Ready", "False");
            world.look();
            world.pass(299);
            assert!(world.taints().is_empty());
            world.pass(1);
            assert_eq!(world.has(TAINT), comes_back, "{step}, {set:?}, after {not_matching} s");
        }
    }
}

/// A step that is not worth storing windows again: the next process ends a window in the second after it is due, and not
/// before. Where a window is stored anyway, it is stored by the clock as it is.
#[test]
fn small_steps_make_nothing_early() {
    for millis in [1, 100, 199, -1, -100, -199] {
        let step = SignedDuration::from_millis(millis);
        for set in [Set::BeforeTheWindow, Set::InTheWindow] {
            let mut world = World::new(&[not_ready("p", 0)]);
            world.condition("Ready", "True");
            world.look();
            if set == Set::BeforeTheWindow {
                world.wall_ahead = step;
            }
            world.condition("Ready", "False");
            world.look();
            world.wall_ahead = step;
            world.pass(90);
            assert_eq!(world.writes, 1);
            world.restart_by_the_wall_clock();
            let due = world.now + SignedDuration::from_secs(300 - 90);
            let late = world.look().next_look.unwrap().duration_since(due);
            let expected = match set {
                Set::BeforeTheWindow => CLOCK_STEP,
                Set::InTheWindow => CLOCK_STEP - step,
            };
            assert_eq!(late, expected, "{step}, {set:?}");
            assert!(late.is_positive() && late < SignedDuration::from_secs(1));
        }
    }
}

/// While nobody looks, a clock that is set is taken for time that passed: nothing there could tell the two apart.
#[test]
fn a_clock_that_was_set_while_nobody_ran_makes_no_window_longer_than_it_is() {
    for (jumped_to, fires) in [(-5000, -4700), (250, 300), (9000, 9000)] {
        let mut world = World::new(&[not_ready("p", 0)]);
        world.condition("Ready", "False");
        world.look();
        world.restart();
        world.now = at(jumped_to);
        world.look();
        if jumped_to < fires {
            let due = at(fires) + CLOCK_STEP;
            assert_eq!(world.last.as_ref().unwrap().next_look, Some(due));
            world.until(fires);
        }
        assert_eq!(world.taints(), [TAINT]);
    }
}

#[test]
fn what_is_told_follows_the_wall_clock() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look();
    assert_eq!(world.report("p").fires_at, Some(at(300)));
    assert!(
        world.forecast()[0].starts_with("2026-01-01T00:05:00Z adds"),
        "{:?}",
        world.forecast()
    );
    world.wall_ahead = SignedDuration::from_hours(2);
    world.pass(10);
    let report = world.report("p");
    assert_eq!((report.since, report.fires_at), (Some(at(7200)), Some(at(7500))));
    assert!(
        world.forecast()[0].starts_with("2026-01-01T02:05:00Z adds"),
        "{:?}",
        world.forecast()
    );
    assert_eq!(
        world.last.as_ref().unwrap().next_look,
        Some(at(300)),
        "by the process's own time"
    );
}

/// A clock that gains or loses half a millisecond each second, as one that is disciplined does: a write for each 0.2 s
/// that add up, and nothing early.
#[test]
fn a_clock_that_is_kept_in_step_costs_next_to_nothing() {
    for nudge in [SignedDuration::from_micros(500), SignedDuration::from_micros(-500)] {
        let mut quick = not_ready_spec("", "NoExecute");
        quick["taintsToAdd"][0]["addOnMatchSeconds"] = json!(7300);
        let mut world = World::new(&[policy("p", 0, quick)]);
        world.condition("Ready", "False");
        world.look();
        for _ in 0..7200 {
            world.wall_ahead += nudge;
            world.pass(1);
        }
        assert_eq!(world.writes, 1 + 18, "3.6 s came together, 0.2 s a write");
        let due = world.last.as_ref().unwrap().next_look.unwrap().duration_since(at(7300));
        assert!(
            !due.is_negative() && due < SignedDuration::from_millis(5),
            "off by {due}"
        );
    }
}
