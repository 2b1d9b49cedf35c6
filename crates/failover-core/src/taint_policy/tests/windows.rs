//! Since when, until when, and what a restart keeps of it.

use super::*;

#[test]
fn added_after_its_window_and_removed_after_its_window() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "True");
    world.look();
    assert_eq!(world.writes, 0, "a healthy cluster is not written");
    world.now = at(10);
    world.condition("Ready", "False");
    assert_eq!(world.look().next_look, Some(at(310)));
    assert_eq!(world.state("p"), Some(PolicyClusterState::PendingAdd));
    world.until(309);
    assert!(world.taints().is_empty());
    world.until(310);
    assert_eq!(world.taints(), [TAINT]);
    assert_eq!(world.cluster.spec.taints[0].time_added, Some(Time(at(310))));
    let writes = world.writes;
    world.until(10_000);
    assert_eq!(
        (world.writes, writes),
        (2, 2),
        "opened and fired: nothing else is written"
    );
    assert_eq!(world.state("p"), Some(PolicyClusterState::Tainted));

    world.condition("Ready", "True");
    assert_eq!(world.look().next_look, Some(at(10_180)));
    world.until(10_179);
    assert_eq!(
        (world.taints().len(), world.state("p")),
        (1, Some(PolicyClusterState::PendingRemove))
    );
    world.until(10_180);
    assert!(world.taints().is_empty());
    assert_eq!(world.annotation(annotation::TAINT_WINDOWS), None);
    assert_eq!(world.annotation(annotation::MANAGED_TAINTS), None);
    assert_eq!(world.state("p"), None);
}

/// Stored times have whole seconds, ours have not.
#[test]
fn a_fraction_of_a_second_is_no_reason_for_another_write() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.now = at(10) + SignedDuration::from_micros(345_678);
    world.condition("Ready", "False");
    world.look();
    world.pass(301);
    assert_eq!((world.taints(), world.writes), (vec![TAINT.to_owned()], 2));
    world.look();
    world.pass(100);
    assert_eq!(world.writes, 2);
}

#[test]
fn the_change_names_policy_and_conditions() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look();
    world.now = at(300);
    world.look();
    let TaintChange::Add { why, .. } = &world.last.as_ref().unwrap().taints[0] else {
        panic!("added at 300")
    };
    assert_eq!(why, "policy p: Ready=False for 300 s");
}

#[test]
fn a_blip_leaves_nothing_but_the_count() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "True");
    world.look();
    world.now = at(10);
    world.condition("Ready", "False");
    world.look();
    world.until(309);
    world.condition("Ready", "True");
    world.look();
    assert_eq!(world.annotation(annotation::TAINT_WINDOWS), None);
    assert_eq!(world.last.as_ref().unwrap().next_look, None);
    world.until(1000);
    assert!(world.taints().is_empty());
    assert_eq!(world.memory.as_ref().unwrap().transitions("uid-p"), 2);
}

#[test]
fn one_listed_value_after_another_keeps_the_window() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look();
    world.until(200);
    world.condition("Ready", "Unknown");
    assert_eq!(world.look().next_look, Some(at(300)));
    assert_eq!(world.writes, 2, "the new transition time is recorded");
    world.restart();
    world.until(300);
    assert_eq!(
        world.taints(),
        [TAINT],
        "the recorded time lets a restarted process keep the window"
    );
}

#[test]
fn a_merged_blip_starts_the_window_anew() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look();
    world.until(200);
    world.condition("Ready", "True");
    world.now = at(205);
    world.condition("Ready", "False");
    assert_eq!(world.look().next_look, Some(at(505)));
}

#[test]
fn a_restart_keeps_the_due_time_unless_a_condition_changed_meanwhile() {
    for (changed_meanwhile, fires) in [(false, 310), (true, 550)] {
        let mut world = World::new(&[not_ready("p", 0)]);
        world.now = at(10);
        world.condition("Ready", "False");
        world.look();
        world.restart();
        world.now = at(200);
        if changed_meanwhile {
            world.condition("Ready", "Unknown");
        }
        world.now = at(250);
        let late = if changed_meanwhile {
            SignedDuration::ZERO
        } else {
            CLOCK_STEP
        };
        assert_eq!(world.look().next_look, Some(at(fires) + late));
        world.until(fires - 1);
        assert!(world.taints().is_empty());
        world.until(fires);
        assert_eq!(world.taints(), [TAINT]);
    }
}

#[test]
fn a_restart_keeps_the_removal_window_too() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.until(400);
    world.condition("Ready", "True");
    world.look();
    world.restart();
    world.now = at(500);
    assert_eq!(world.look().next_look, Some(at(580) + CLOCK_STEP));
}

// C59, karmada#6368: what changed while the controller was down is dealt with at the first look, and what did not change
// is not written. The case knows no windows: here one that was open ends by its own time.
#[test]
fn what_became_due_during_an_outage_is_done_at_once() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look();
    world.restart();
    world.now = at(5000);
    world.look();
    assert_eq!(world.taints(), [TAINT]);

    let mut healthy = World::new(&[not_ready("p", 0)]);
    healthy.condition("Ready", "True");
    healthy.look();
    healthy.restart();
    healthy.until(5000);
    assert_eq!(healthy.writes, 0);
}

// C60, clusternet#673: the condition was written, and the process ended before anything else was. The stored condition
// decides, not its change: the window opens at the first look after the start.
#[test]
fn a_condition_that_nobody_acted_on_opens_its_window_at_the_start() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "True");
    world.look();
    world.now = at(100);
    world.condition("Ready", "False");
    world.restart();
    world.now = at(250);
    assert_eq!(world.look().next_look, Some(at(550)));
    world.until(550);
    assert_eq!(world.taints(), [TAINT]);
}

#[test]
fn a_window_that_could_not_be_written_still_counts() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look_only();
    world.now = at(100);
    assert_eq!(world.look().next_look, Some(at(300)));
    world.now = at(200);
    world.condition("Ready", "True");
    world.look_only();
    world.now = at(210);
    world.condition("Ready", "False");
    assert_eq!(
        world.look().next_look,
        Some(at(510)),
        "the blip was seen though not written"
    );
}

#[test]
fn a_cluster_joined_anew_starts_clean() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look();
    world.now = at(200);
    world.cluster.metadata.uid = Some("cluster-2".to_owned());
    assert_eq!(world.look().next_look, Some(at(500)));

    // An old manifest, with our annotations and without the taint: nobody took anything back.
    let mut world = tainted(&[not_ready("p", 0)]);
    world.cluster.metadata.uid = Some("cluster-2".to_owned());
    world.cluster.spec.taints.clear();
    world.now = at(400);
    world.look();
    assert_eq!(world.state("p"), Some(PolicyClusterState::PendingAdd));
    world.until(700);
    assert_eq!(world.taints(), [TAINT]);
}

#[test]
fn without_conditions_a_policy_always_matches() {
    let spec = json!({"taintsToAdd": [{"key": "k", "effect": "NoSchedule", "addOnMatchSeconds": 60, "removeOnMismatchSeconds": 1}]});
    let mut world = World::new(&[policy("p", 0, spec)]);
    world.look();
    world.until(60);
    assert_eq!(world.taints(), ["k:NoSchedule"]);
}

#[test]
fn ready_crossings_are_scored_across_restarts() {
    let mut world = World::new(&[]);
    world.condition("Ready", "True");
    world.look();
    assert_eq!(world.writes, 0);
    world.now = at(100);
    world.condition("Ready", "False");
    world.look_only();
    world.look();
    world.restart();
    world.now = at(200);
    world.condition("Ready", "True");
    world.look();
    let score = FlapScore::read(world.cluster.metadata.annotations.as_ref()).unwrap();
    assert!(score.score > 1.9 && score.score < 2.0, "{score:?}");
    let writes = world.writes;
    world.until(5000);
    assert_eq!(world.writes, writes);
}
