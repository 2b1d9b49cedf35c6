//! A reporter that writes another `lastTransitionTime` with each heartbeat, though no status changes.

use super::*;

const TOLD: &str = "the window starts anew whenever lastTransitionTime of Ready moves without another status";

/// Ready says what it said, as if since now; the process looks.
fn heartbeat(world: &mut World) {
    let conditions = &mut world.cluster.status.as_mut().unwrap().conditions;
    conditions[0].last_transition_time = Time(Timestamp::from_second(world.now.as_second()).unwrap());
    world.look();
}

/// One every ten seconds. How often it was told that a window cannot end.
fn heartbeats(world: &mut World, count: usize) -> usize {
    let mut told = 0;
    for _ in 0..count {
        world.pass(10);
        heartbeat(world);
        let notices = &world.last.as_ref().unwrap().notices;
        told += notices.iter().filter(|n| n.reason == "TaintWindowStartsAnew").count();
    }
    told
}

fn failing() -> World {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look();
    world
}

#[test]
fn an_hour_of_it_is_told_once_and_costs_a_write_a_heartbeat() {
    let mut world = failing();
    assert_eq!(heartbeats(&mut world, 2), 0, "twice may be two blips that nobody saw");
    assert_eq!(world.report("p").restless, None);
    assert!(!world.forecast()[0].contains(TOLD));
    assert_eq!(heartbeats(&mut world, 1), 1);
    assert!(
        world.forecast()[0].ends_with(TOLD) && world.forecast()[0].starts_with("adds"),
        "{:?}",
        world.forecast()
    );
    let report = world.report("p");
    assert!(report.message.contains(TOLD), "{}", report.message);
    let ready = world.policy_condition("p", "Ready");
    assert_eq!(
        (ready.status.as_str(), ready.reason.as_str()),
        ("False", "WindowsStartAnew")
    );
    assert!(
        ready.message.ends_with("while the status stays: m1"),
        "{}",
        ready.message
    );

    let (shown, forecast) = (world.report("p").clone(), world.forecast().join("\n"));
    assert_eq!((shown.since, shown.fires_at), (Some(at(0)), None), "no promise is made");
    assert!(shown.restless.as_ref().unwrap().ends_with("as it did 3 times"));

    assert_eq!(heartbeats(&mut world, 357), 0, "said once");
    let now = world.report("p").clone();
    let still = Report {
        restless: now.restless.clone(),
        ..shown
    };
    assert_eq!(now, still, "but for the count");
    assert_eq!(world.forecast().join("\n"), forecast);
    assert!(world.taints().is_empty());
    assert_eq!(world.writes, 1 + 360, "its start, and each time that it starts anew");

    // It stops, and the window ends after all.
    world.pass(299);
    assert!(world.taints().is_empty());
    world.pass(1);
    assert_eq!((world.taints(), world.writes), (vec![TAINT.to_owned()], 362));
    assert_eq!(world.policy_condition("p", "Ready").reason, "Evaluated");
    assert!(
        !world
            .annotation(annotation::TAINT_WINDOWS)
            .unwrap()
            .contains("startedAnew")
    );
}

#[test]
fn a_taint_that_cannot_go_is_told_too() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.condition("Ready", "True");
    world.look();
    assert_eq!(heartbeats(&mut world, 20), 1);
    assert_eq!(world.taints(), [TAINT]);
    assert!(world.forecast()[0].contains(TOLD), "{:?}", world.forecast());
}

/// A window shorter than the time between two heartbeats ends, and where everything stands already nothing is kept from
/// ending.
#[test]
fn where_nothing_is_kept_from_ending_nothing_is_said() {
    let mut quick = not_ready_spec("", "NoExecute");
    quick["taintsToAdd"][0]["addOnMatchSeconds"] = json!(5);
    let mut world = World::new(&[policy("p", 0, quick)]);
    world.condition("Ready", "False");
    world.look();
    assert_eq!(heartbeats(&mut world, 100), 0);
    assert_eq!(world.taints(), [TAINT]);
    assert_eq!(world.policy_condition("p", "Ready").reason, "Evaluated");
}

#[test]
fn another_status_is_a_reason_to_start_anew() {
    let mut world = failing();
    for _ in 0..10 {
        for status in ["True", "False"] {
            world.pass(10);
            world.condition("Ready", status);
            world.look();
        }
        assert_eq!(heartbeats(&mut world, 2), 0, "counted from when it last began to match");
    }
}

#[test]
fn a_restart_neither_forgets_nor_repeats_it() {
    let mut world = failing();
    heartbeats(&mut world, 2);
    world.restart();
    assert_eq!(heartbeats(&mut world, 1), 1, "the third");
    world.restart();
    assert_eq!(heartbeats(&mut world, 10), 0);
    let why = world.report("p").restless.clone().unwrap();
    assert!(why.contains("13 times"), "{why}");
}

#[test]
fn what_could_not_be_written_is_told_when_it_is() {
    let mut world = failing();
    heartbeats(&mut world, 2);
    world.pass(10);
    world.cluster.status.as_mut().unwrap().conditions[0].last_transition_time = Time(world.now);
    world.look_only();
    assert_eq!(world.last.as_ref().unwrap().notices.len(), 1);
    world.look();
    assert_eq!(world.last.as_ref().unwrap().notices.len(), 1);
    world.look();
    assert!(world.last.as_ref().unwrap().notices.is_empty());
}
