//! The Failover gate and suspended policies.

use super::*;

#[test]
fn with_the_gate_off_only_what_moves_nothing_is_added() {
    let mut spec = not_ready_spec("", "NoExecute");
    let no_schedule =
        json!({"key": "not-ready", "effect": "NoSchedule", "addOnMatchSeconds": 5, "removeOnMismatchSeconds": 5});
    spec["taintsToAdd"].as_array_mut().unwrap().push(no_schedule);
    let mut world = World::new(&[policy("p", 0, spec)]);
    world.gate = FailoverGate::Disabled;
    world.condition("Ready", "False");
    world.look();
    world.until(1000);
    assert_eq!(world.taints(), ["not-ready:NoSchedule"]);
    let report = &world.last.as_ref().unwrap().reports["p"];
    assert!(report.held_by_gate && report.message.contains("feature gate Failover is off"));
    let status = status::of_policy(&world.policies[0], &[("m1", report)], world.gate, world.now);
    let ready = api_types::conditions::get(&status.conditions, "Ready").unwrap();
    assert_eq!(
        (ready.status.as_str(), ready.reason.as_str()),
        ("False", "FailoverGateOff")
    );

    // Switched on, what is due is due; switched off again, what stands is removed as usual.
    world.gate = FailoverGate::Enabled;
    world.until(1001);
    assert!(world.has(TAINT));
    world.gate = FailoverGate::Disabled;
    world.until(1100);
    assert!(world.has(TAINT));
    world.condition("Ready", "True");
    world.look();
    world.until(1280);
    assert!(world.taints().is_empty());
}

#[test]
fn a_suspended_policy_reports_and_does_nothing() {
    let mut spec = not_ready_spec("", "NoExecute");
    spec["suspended"] = json!(true);
    let mut world = World::new(&[policy("p", 0, spec.clone())]);
    world.condition("Ready", "False");
    world.look();
    world.until(1000);
    assert!(world.taints().is_empty());
    let report = &world.last.as_ref().unwrap().reports["p"];
    assert!(
        report.matching && report.message.contains("suspended"),
        "{}",
        report.message
    );

    let mut world = tainted(&[not_ready("p", 0)]);
    edit(&mut world, "p", spec);
    world.condition("Ready", "True");
    world.look();
    world.until(5000);
    assert_eq!(world.taints(), [TAINT], "it removes nothing either");
    edit(&mut world, "p", not_ready_spec("", "NoExecute"));
    world.until(5001);
    assert!(world.taints().is_empty(), "the window ran meanwhile");
}

#[test]
fn what_a_switch_keeps_away_is_shown_as_pending_without_a_time() {
    let mut spec = not_ready_spec("", "PreferNoExecute");
    let mut held = World::new(&[policy("p", 0, spec.clone())]);
    held.gate = FailoverGate::Disabled;
    spec["suspended"] = json!(true);
    let mut suspended = World::new(&[policy("p", 0, spec)]);
    for (world, switch) in [
        (&mut held, "feature gate Failover is off"),
        (&mut suspended, "is suspended"),
    ] {
        world.condition("Ready", "False");
        world.look();
        for second in [1, 299, 300, 1000] {
            world.until(second);
            let report = world.report("p");
            assert_eq!(
                (report.state.clone(), report.fires_at),
                (Some(PolicyClusterState::PendingAdd), None)
            );
            let words = "not-ready:PreferNoExecute is not added at 2026-01-01T00:05:00Z: ";
            assert!(
                report.message.contains(words) && report.message.contains(switch),
                "{}",
                report.message
            );
        }
        assert_eq!(world.writes, 1, "the window is recorded, and nothing else");
    }
}

#[test]
fn the_gate_holds_what_is_due_and_says_how_many() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.gate = FailoverGate::Disabled;
    world.condition("Ready", "False");
    world.look();
    assert!(!world.report("p").held_by_gate, "not due yet");
    world.until(300);
    assert!(
        world
            .policy_condition("p", "Ready")
            .message
            .contains("1 clusters would have one now")
    );
}
