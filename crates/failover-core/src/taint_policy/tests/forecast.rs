//! What `kubectl describe cluster` says about what lies ahead.

use super::*;

const ADDED: &str = "2026-01-01T00:05:10Z adds not-ready:NoExecute (policy p: Ready=False since 2026-01-01T00:00:10Z)";
const STAYS: &str = "not-ready:NoExecute stays: policy p until it has not matched for 180 s";
const REMOVED: &str =
    "2026-01-01T00:10:00Z removes not-ready:NoExecute (policy p: Ready=True since 2026-01-01T00:07:00Z)";

#[test]
fn it_says_what_and_when_and_goes_with_the_last_of_it() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "True");
    world.look();
    assert!(world.forecast().is_empty());
    world.now = at(10);
    world.condition("Ready", "False");
    world.look();
    assert_eq!(world.forecast(), [ADDED]);
    world.until(309);
    assert_eq!(world.forecast(), [ADDED], "no running time in it");
    world.until(310);
    assert_eq!(world.forecast(), [STAYS]);
    world.until(420);
    world.condition("Ready", "True");
    world.look();
    assert_eq!(world.forecast(), [REMOVED]);
    world.until(600);
    assert!(world.forecast().is_empty());
    assert_eq!(world.writes, 5 - 1, "written with windows and taints, never alone");
}

/// Longer lines of an annotation are cut by kubectl.
fn assert_kubectl_shows(line: &str) {
    let usual = line
        .replace("not-ready:", "cluster.karmada.io/not-ready:")
        .replace("policy p", "policy not-ready");
    assert!(usual.len() <= 138, "{} {usual}", usual.len());
}

#[test]
fn kubectl_shows_usual_lines_in_full() {
    for line in [ADDED, STAYS, REMOVED] {
        assert_kubectl_shows(line);
    }
}

#[test]
fn what_another_policy_keeps_is_not_said_to_go() {
    let mut always = not_ready_spec("", "NoExecute");
    always.as_object_mut().unwrap().remove("matchConditions");
    let mut world = tainted(&[not_ready("p", 0), policy("always", 5, always.clone())]);
    world.condition("Ready", "True");
    world.look();
    assert_eq!(
        world.forecast(),
        [
            "not-ready:NoExecute stays: policy p until it has not matched for 180 s, policy always until it has not matched for 180 s"
        ]
    );

    // One that will want it before the other lets it go.
    let mut world = tainted(&[not_ready("p", 0)]);
    always["taintsToAdd"][0]["addOnMatchSeconds"] = json!(60);
    world.policies.push(policy("always", 5, always));
    world.condition("Ready", "True");
    world.until(311);
    assert_eq!(world.forecast(), [STAYS]);
    world.until(5000);
    assert_eq!(world.taints(), [TAINT]);
}

#[test]
fn what_keeps_a_taint_away_is_said() {
    let mut suspended = not_ready_spec("", "NoSchedule");
    suspended["suspended"] = json!(true);
    let mut foreign = not_ready_spec("", "NoSchedule");
    foreign["taintsToAdd"][0]["key"] = json!("foreign");
    let mut gated = not_ready_spec("", "NoExecute");
    gated["taintsToAdd"][0]["key"] = json!("gated");
    let mut world = tainted(&[not_ready("p", 0)]);
    let others = [
        policy("f", 1, foreign),
        policy("s", 1, suspended),
        policy("g", 1, gated),
    ];
    world.policies.extend(others);
    world.cluster.spec.taints.clear();
    world.add_theirs("foreign", "NoSchedule", None);
    world.until(320);
    world.until(619);
    world.gate = FailoverGate::Disabled;
    world.policies[1].spec.taints_to_add[0].add_on_match_seconds = 100;
    world.until(700);
    for line in world.forecast() {
        assert_kubectl_shows(line);
    }
    assert_eq!(
        world.forecast(),
        [
            "foreign:NoSchedule stands already and is not ours: it stays, whatever the policies say",
            "gated:NoExecute is not added at 2026-01-01T00:10:20Z: feature gate Failover is off (policy g: Ready=False)",
            "not-ready:NoExecute taken back by hand 2026-01-01T00:05:20Z: back once policy p has not matched for 180 s",
            "not-ready:NoSchedule is not added at 2026-01-01T00:10:20Z: policy s is suspended and does nothing (Ready=False)",
        ]
    );
}

#[test]
fn an_edited_window_is_told_at_once() {
    let mut world = World::new(&[not_ready("p", 0)]);
    world.condition("Ready", "False");
    world.look();
    let mut spec = not_ready_spec("", "NoExecute");
    spec["taintsToAdd"][0]["addOnMatchSeconds"] = json!(60);
    edit(&mut world, "p", spec);
    world.look();
    assert!(world.forecast()[0].starts_with("2026-01-01T00:01:00Z adds not-ready:NoExecute"));
}

#[test]
fn very_many_lines_are_counted() {
    let policies: Vec<_> = (0..50)
        .map(|n| {
            let mut spec = not_ready_spec("", "NoSchedule");
            spec["taintsToAdd"][0]["key"] = json!(format!("k{n:02}"));
            policy(&format!("p{n:02}"), n, spec)
        })
        .collect();
    let mut world = World::new(&policies);
    world.condition("Ready", "False");
    world.look();
    let lines = world.forecast();
    assert_eq!((lines.len(), lines[40]), (41, "and 10 more"));
}
