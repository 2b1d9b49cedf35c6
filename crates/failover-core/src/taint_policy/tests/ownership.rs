//! Whose a taint is, and when ours goes.

use super::*;

// S08 (karmada f8fdd02): stock takes a taint for its own by key and effect. Here it is whose record says so.
#[test]
fn what_others_added_stays() {
    let mut world = World::new(&[not_ready("p", 0)]);
    let theirs = Taint {
        key: "not-ready".into(),
        value: Some("mine".into()),
        effect: "NoExecute".into(),
        time_added: Some(Time(at(-5))),
    };
    world.cluster.spec.taints.push(theirs.clone());
    world.condition("Ready", "False");
    world.look();
    world.until(400);
    assert_eq!(world.cluster.spec.taints, std::slice::from_ref(&theirs));
    assert!(
        world.last.as_ref().unwrap().reports["p"]
            .message
            .contains("is not ours")
    );
    world.condition("Ready", "True");
    world.look();
    world.until(1000);
    assert_eq!(world.cluster.spec.taints, [theirs]);
}

// C39 (karmada#1945): without the time at which it was added no toleration could count from it.
#[test]
fn missing_times_are_stamped_where_they_decide() {
    let mut world = World::new(&[]);
    for effect in ["NoExecute", "PreferNoExecute", "NoSchedule"] {
        world.cluster.spec.taints.push(Taint {
            key: "k".into(),
            value: None,
            effect: effect.into(),
            time_added: None,
        });
    }
    world.now = at(7);
    world.look();
    let times: Vec<_> = world.cluster.spec.taints.iter().map(|t| t.time_added.clone()).collect();
    assert_eq!(times, [Some(Time(at(7))), Some(Time(at(7))), None]);
    world.until(100);
    assert_eq!(world.writes, 1);
}

#[test]
fn our_own_lost_time_is_put_back() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.cluster.spec.taints[0].time_added = None;
    world.until(900);
    assert_eq!(world.cluster.spec.taints[0].time_added, Some(Time(at(310))));
}

#[test]
fn the_older_of_two_values_wins_and_both_are_told() {
    let policies = [
        policy("young", 5, not_ready_spec("b", "NoExecute")),
        policy("old", 1, not_ready_spec("a", "NoExecute")),
    ];
    let mut world = World::new(&policies);
    world.condition("Ready", "False");
    world.look();
    world.until(300);
    assert_eq!(world.cluster.spec.taints[0].value.as_deref(), Some("a"));
    for name in ["young", "old"] {
        let conflict = world.last.as_ref().unwrap().reports[name].conflict.clone().unwrap();
        assert!(conflict.contains("old is the oldest and wins"), "{conflict}");
    }
    // Without the older one the younger's value comes, and the taint keeps its time.
    world.policies.remove(1);
    world.until(400);
    assert_eq!(world.cluster.spec.taints[0].value.as_deref(), Some("b"));
    assert_eq!(world.cluster.spec.taints[0].time_added, Some(Time(at(300))));
    assert_eq!(world.last.as_ref().unwrap().reports["young"].conflict, None);
}

#[test]
fn wanted_by_any_is_wanted() {
    let mut slow = not_ready_spec("", "NoExecute");
    slow["taintsToAdd"][0]["removeOnMismatchSeconds"] = json!(600);
    let mut world = tainted(&[not_ready("p", 0), policy("slow", 1, slow)]);
    world.until(1000);
    world.condition("Ready", "True");
    world.look();
    world.until(1599);
    assert_eq!(world.taints(), [TAINT]);
    world.until(1600);
    assert!(world.taints().is_empty());
}

// C57, karmada#6390: the case says that the taints of a policy that was edited or deleted stay. The specification decides
// otherwise: a person acted, and they go at once.
#[test]
fn a_deleted_or_edited_policy_takes_its_taint_along_at_once() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.policies.clear();
    world.until(320);
    assert!(world.taints().is_empty());
    world.until(5000);
    assert_eq!(world.writes, 3, "opened, added, removed");

    let mut world = tainted(&[not_ready("p", 0)]);
    world.restart();
    world.policies.clear();
    world.until(320);
    assert!(
        world.taints().is_empty(),
        "also when it was deleted while nobody looked"
    );

    let mut world = tainted(&[not_ready("p", 0)]);
    let mut spec = not_ready_spec("", "NoExecute");
    spec["taintsToAdd"][0]["key"] = json!("other");
    edit(&mut world, "p", spec);
    world.until(320);
    assert_eq!(
        world.taints(),
        ["other:NoExecute"],
        "the conditions have held for long enough"
    );
}

// C56, karmada-website#843: the case says that the taint of a cluster that is no longer selected stays. The specification
// decides otherwise: a person acted, and it goes at once.
#[test]
fn a_cluster_that_is_no_longer_targeted_loses_the_taint_at_once() {
    let mut spec = not_ready_spec("", "NoExecute");
    spec["targetCluster"] = json!({"labelSelector": {"matchLabels": {"tier": "prod"}}});
    let mut world = tainted(&[policy("p", 0, spec)]);
    world.cluster.metadata.labels = None;
    world.until(320);
    assert!(world.taints().is_empty());
    let changes = &world.last.as_ref().unwrap().taints;
    assert!(matches!(&changes[0], TaintChange::Remove { why, .. } if why == "policy p no longer targets the cluster"));
}

#[test]
fn a_changed_window_or_condition_keeps_the_taint() {
    let mut world = tainted(&[not_ready("p", 0)]);
    let mut spec = not_ready_spec("", "NoExecute");
    spec["taintsToAdd"][0]["addOnMatchSeconds"] = json!(3000);
    edit(&mut world, "p", spec.clone());
    world.until(400);
    assert_eq!(world.taints(), [TAINT]);
    spec["matchConditions"][0]["statusValues"] = json!(["Unknown"]);
    edit(&mut world, "p", spec);
    assert_eq!(
        world.look().next_look,
        Some(at(580)),
        "it no longer matches: the removal window runs"
    );
    world.until(580);
    assert!(world.taints().is_empty());
}

#[test]
fn a_renamed_policy_makes_nothing_flicker() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.policies = vec![not_ready("q", 5)];
    world.until(320);
    assert_eq!(world.taints(), [TAINT]);
    assert_eq!(world.cluster.spec.taints[0].time_added, Some(Time(at(310))));
    world.condition("Ready", "True");
    world.look();
    world.until(500);
    assert!(world.taints().is_empty());
}

// S08 (karmada f8fdd02): another value is another taint, and nobody puts ours back over it.
#[test]
fn a_taint_put_in_place_of_ours_is_theirs() {
    let mut world = tainted(&[not_ready("p", 0)]);
    world.cluster.spec.taints[0].value = Some("mine".to_owned());
    world.until(400);
    world.condition("Ready", "True");
    world.look();
    world.until(5000);
    assert_eq!(world.cluster.spec.taints[0].value.as_deref(), Some("mine"));
}

#[test]
fn of_two_taints_of_a_kind_only_ours_goes() {
    let mut world = tainted(&[not_ready("p", 0)]);
    // Only a server without our list type lets this in.
    world.add_theirs("not-ready", "NoExecute", Some(at(-5)));
    world.cluster.spec.taints.reverse();
    world.until(400);
    assert_eq!(world.taints().len(), 2);
    world.condition("Ready", "True");
    world.look();
    world.until(580);
    let left = &world.cluster.spec.taints;
    assert_eq!((left.len(), left[0].value.as_deref()), (1, Some("theirs")));
    let writes = world.writes;
    world.until(5000);
    assert_eq!(world.writes, writes);
}

#[test]
fn an_edit_that_ends_one_policys_wish_leaves_the_others() {
    let mut world = tainted(&[not_ready("p", 0), not_ready("q", 1)]);
    let mut spec = not_ready_spec("", "NoExecute");
    spec["targetCluster"] = json!({"exclude": ["m1"]});
    edit(&mut world, "p", spec);
    world.until(400);
    assert_eq!(world.taints(), [TAINT]);
    let managed = ManagedTaints::read(world.cluster.metadata.annotations.as_ref()).unwrap();
    let names: Vec<&String> = managed
        .taints
        .values()
        .flat_map(|entry| entry.policies.keys())
        .collect();
    assert_eq!(names, ["q"]);
}
