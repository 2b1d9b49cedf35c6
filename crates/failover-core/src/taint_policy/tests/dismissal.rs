//! A person takes a taint of ours back.

use super::*;

#[test]
fn a_person_may_take_it_back() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.now = at(400);
    world.cluster.spec.taints.clear();
    world.look();
    assert_eq!(world.last.as_ref().unwrap().notices[0].reason, "TaintDismissed");
    assert_eq!(world.state("p"), Some(PolicyClusterState::Dismissed));
    let writes = world.writes;
    world.restart();
    world.until(5000);
    assert_eq!(
        (world.taints().len(), world.writes),
        (0, writes),
        "not again, also after a restart"
    );

    // Shorter than the removal window: still dismissed.
    world.condition("Ready", "True");
    world.look();
    world.until(5100);
    world.condition("Ready", "False");
    world.look();
    world.until(6000);
    assert!(world.taints().is_empty());

    // Longer: forgotten, and the next failure counts.
    world.condition("Ready", "True");
    world.look();
    world.until(6180);
    assert_eq!(world.annotation(annotation::TAINT_WINDOWS), None);
    world.condition("Ready", "False");
    world.look();
    world.until(6480);
    assert_eq!(world.taints(), [TAINT]);
}

/// As a tool does that owns the whole Cluster: taints and annotations are as they were before. Each time, not only once.
#[test]
fn what_is_taken_together_with_its_record_is_taken_back() {
    for looked_before in [true, false] {
        let mut world = tainted(&[not_ready("p", 0)]);
        if looked_before {
            world.until(320);
        }
        for sync in 1..=3 {
            world.cluster.spec.taints.clear();
            world.cluster.metadata.annotations = None;
            world.look();
            let notices = &world.last.as_ref().unwrap().notices;
            assert_eq!(notices[0].reason, "TaintDismissed");
            assert_eq!(world.state("p"), Some(PolicyClusterState::Dismissed));
            world.until(320 + sync * 1000);
            assert!(world.taints().is_empty(), "sync {sync}");
        }
        // It ends as every dismissal does.
        world.condition("Ready", "True");
        world.look();
        world.until(3500);
        world.condition("Ready", "False");
        world.look();
        world.until(3800);
        assert_eq!(world.taints(), [TAINT]);
    }
}

#[test]
fn an_edited_policy_ends_a_dismissal() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.cluster.spec.taints.clear();
    world.until(400);
    assert!(world.taints().is_empty());
    edit(&mut world, "p", not_ready_spec("v", "NoExecute"));
    world.until(401);
    assert_eq!(world.taints(), [TAINT]);
}

#[test]
fn a_taint_removed_while_the_policy_no_longer_matches_is_just_gone() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.until(400);
    world.condition("Ready", "True");
    world.look();
    world.cluster.spec.taints.clear();
    world.until(410);
    assert_eq!(world.annotation(annotation::MANAGED_TAINTS), None);
    assert_eq!(world.annotation(annotation::TAINT_WINDOWS), None);
}

#[test]
fn a_dismissal_is_a_condition_of_the_policy_that_names_the_cluster() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.cluster.spec.taints.clear();
    world.until(400);
    let ready = world.policy_condition("p", "Ready");
    assert_eq!((ready.status.as_str(), ready.reason.as_str()), ("True", "Dismissed"));
    assert!(ready.message.starts_with("taken back by hand") && ready.message.ends_with(": m1"));
    let since = world.report("p").message.clone();
    assert!(since.contains("has not matched for 180 s, or is edited"), "{since}");
}

#[test]
fn what_is_taken_back_while_nobody_looks_is_dismissed_too() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.restart();
    world.cluster.spec.taints.clear();
    world.until(5000);
    assert!(world.taints().is_empty());
    assert_eq!(world.state("p"), Some(PolicyClusterState::Dismissed));
}

#[test]
fn a_taint_of_two_policies_is_taken_back_from_both() {
    let mut slow = not_ready_spec("", "NoExecute");
    slow["taintsToAdd"][0]["removeOnMismatchSeconds"] = json!(600);
    let mut world = tainted(&[not_ready("p", 0), policy("slow", 1, slow)]);
    world.cluster.spec.taints.clear();
    world.until(400);
    world.condition("Ready", "True");
    world.look();
    world.until(650);
    // For p it is forgotten, for slow it is not: p adds it again, in its own time.
    world.condition("Ready", "False");
    world.look();
    world.until(949);
    assert!(world.taints().is_empty());
    world.until(950);
    assert_eq!(world.taints(), [TAINT]);
    assert_eq!(world.state("p"), Some(PolicyClusterState::Tainted));
}

#[test]
fn in_stocks_form_what_was_taken_back_stays_away_until_the_latch_opens() {
    let mut world = World::new(&[stock("s")]);
    world.condition("Ready", "False");
    world.look();
    assert_eq!(world.taints(), [TAINT]);
    world.cluster.spec.taints.clear();
    world.until(100);
    world.condition("Ready", "Unknown");
    world.until(200);
    assert!(world.taints().is_empty());
    world.condition("Ready", "True");
    world.until(201);
    world.condition("Ready", "False");
    world.until(202);
    assert_eq!(world.taints(), [TAINT]);
}
