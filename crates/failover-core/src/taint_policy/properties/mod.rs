//! Rules of the engine on arbitrary histories: conditions that come and go, restarts, other people's taints, edits.

mod annotations;
mod blips;
mod edits;
mod latch;
mod restarts;
mod wanted_by_any;

use std::collections::BTreeMap;

use api_types::taint_policy::ClusterTaintPolicy;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use proptest::prelude::*;
use serde_json::json;

use super::tests::{World, at, policy};
use super::*;

#[derive(Clone, Debug)]
enum Event {
    Condition(&'static str, &'static str),
    Restart,
    /// Somebody adds a taint by hand, if none of its key and effect stands.
    TheirTaint(Taint),
    Nothing,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (prop_oneof![Just("Ready"), Just("Disk")], prop_oneof![Just("True"), Just("False"), Just("Unknown")])
            .prop_map(|(t, s)| Event::Condition(t, s)),
        1 => Just(Event::Restart),
        1 => their_taint().prop_map(Event::TheirTaint),
        2 => Just(Event::Nothing),
    ]
}

/// Often the very taint that a policy would add, as kubectl adds it: with the policy's value and without a time.
fn their_taint() -> impl Strategy<Value = Taint> {
    let parts = (
        prop::sample::select(vec!["k1", "k2", "theirs"]),
        prop::sample::select(vec!["a", "b", "theirs"]),
        prop::sample::select(vec!["NoExecute", "NoExecute", "NoSchedule"]),
        prop::sample::select(vec![None, Some(at(-77))]),
    );
    parts.prop_map(|(key, value, effect, time_added)| Taint {
        key: key.to_owned(),
        value: Some(value.to_owned()),
        effect: effect.to_owned(),
        time_added: time_added.map(Time),
    })
}

fn history() -> impl Strategy<Value = Vec<(i64, Event)>> {
    prop::collection::vec((1_i64..400, event()), 1..40)
}

fn short_history() -> impl Strategy<Value = Vec<(i64, Event)>> {
    prop::collection::vec((1_i64..400, event()), 1..6)
}

/// Whether the first try to write what a look found is refused.
fn refusals() -> impl Strategy<Value = Vec<bool>> {
    prop::collection::vec(prop::bool::weighted(0.3), 1..60)
}

fn policies() -> impl Strategy<Value = Vec<ClusterTaintPolicy>> {
    let one = (
        prop_oneof![Just("Ready"), Just("Disk")],
        prop::sample::subsequence(vec!["True", "False", "Unknown"], 1..3),
        prop_oneof![Just("In"), Just("NotIn")],
        prop_oneof![Just("k1"), Just("k2")],
        prop_oneof![Just("a"), Just("b")],
        1_i64..300,
        1_i64..300,
        0_i64..3,
    );
    prop::collection::vec(one, 1..4).prop_map(|all| {
        let make = |(index, (type_, values, operator, key, value, add, remove, created))| {
            let spec = json!({
                "matchConditions": [{"conditionType": type_, "operator": operator, "statusValues": values}],
                "taintsToAdd": [{"key": key, "value": value, "effect": "NoExecute", "addOnMatchSeconds": add, "removeOnMismatchSeconds": remove}]
            });
            policy(&format!("p{index}"), created, spec)
        };
        all.into_iter().enumerate().map(make).collect()
    })
}

/// For how long a policy has been matching (or not), by the conditions alone.
struct Oracle {
    matching: BTreeMap<String, (bool, Timestamp)>,
}

impl Oracle {
    fn look(&mut self, world: &World) {
        for policy in &world.policies {
            let conditions = policy.spec.match_conditions.as_deref().unwrap();
            let matching = super::conditions::all_hold(conditions, &world.cluster);
            let name = policy.metadata.name.clone().unwrap();
            let entry = self.matching.entry(name).or_insert((matching, world.now));
            if entry.0 != matching {
                *entry = (matching, world.now);
            }
        }
    }
}

fn apply(world: &mut World, event: &Event) {
    match event {
        Event::Condition(type_, status) => world.condition(type_, status),
        Event::Restart => world.restart(),
        Event::TheirTaint(taint) => {
            if !world.has(&TaintId::of(taint).to_string()) {
                world.add_by_hand(taint.clone());
            }
        }
        Event::Nothing => {}
    }
}

fn theirs(world: &World) -> Vec<Taint> {
    let taints = world.cluster.spec.taints.iter();
    taints
        .filter(|taint| world.theirs.contains(&TaintId::of(taint)))
        .cloned()
        .collect()
}

/// What somebody else added stands as it did, but for a time where one was missing that decides; and no record says that
/// it is ours.
fn theirs_are_theirs(before: &[Taint], world: &World) -> Result<(), TestCaseError> {
    let after = theirs(world);
    prop_assert_eq!(before.len(), after.len(), "{:?} and then {:?}", before, after);
    for (before, after) in before.iter().zip(&after) {
        let stamped = before.time_added.is_none() && before.effect == "NoExecute";
        let mut expected = before.clone();
        if stamped {
            expected.time_added.clone_from(&after.time_added);
        }
        prop_assert_eq!(&expected, after);
    }
    Ok(())
}

/// In a version that we wrote.
fn nothing_of_theirs_is_recorded(world: &World) -> Result<(), TestCaseError> {
    let managed = ManagedTaints::read(world.cluster.metadata.annotations.as_ref()).unwrap();
    let recorded = managed.taints.keys().find(|id| world.theirs.contains(*id));
    prop_assert!(recorded.is_none(), "{:?} is recorded as ours", recorded);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A taint appears only for a policy that has matched for its window, and goes only when each policy for which it
    /// stood has not matched for its window; with the engine's wake-ups alone both happen on the second; what others
    /// added is never touched.
    #[test]
    fn never_early_never_late_never_theirs(policies in policies(), history in history(), refusals in refusals()) {
        let mut world = World::new(&policies);
        let mut oracle = Oracle { matching: BTreeMap::new() };
        let mut second = 0;
        let mut refusals = refusals.into_iter().cycle();
        for (gap, event) in history {
            // Second by second, looking only when the engine asked to.
            let until = second + gap;
            while second < until {
                second += 1;
                world.now = at(second);
                if world.due_by(world.now + CLOCK_STEP).is_some() {
                    check_look(&mut world, &mut oracle, refusals.next() == Some(true))?;
                }
            }
            apply(&mut world, &event);
            let before = theirs(&world);
            check_look(&mut world, &mut oracle, refusals.next() == Some(true))?;
            theirs_are_theirs(&before, &world)?;
            nothing_of_theirs_is_recorded(&world)?;
        }
    }

    /// The order in which policies are listed plays no part.
    #[test]
    fn any_order_of_policies_gives_the_same(policies in policies(), history in history()) {
        let mut forward = World::new(&policies);
        let mut reversed = World::new(&policies.iter().rev().cloned().collect::<Vec<_>>());
        let mut second = 0;
        for (gap, event) in history {
            second += gap;
            for world in [&mut forward, &mut reversed] {
                world.now = at(second);
                apply(world, &event);
                world.look();
            }
            prop_assert_eq!(forward.last.as_ref(), reversed.last.as_ref());
            prop_assert_eq!(&forward.cluster, &reversed.cluster);
        }
    }

    /// Looking again at the same moment changes nothing, with or without a restart in between.
    #[test]
    fn a_second_look_writes_nothing(policies in policies(), history in history()) {
        let mut world = World::new(&policies);
        let mut second = 0;
        for (gap, event) in history {
            second += gap;
            world.now = at(second);
            apply(&mut world, &event);
            world.look();
            world.let_the_restored_end(|world| {
                world.look();
            });
            let again = world.evaluate_later();
            prop_assert!(!again.has_changes(), "{:?} {:?}", again.taints, again.annotations);
            let after_restart = world.evaluate_afresh();
            prop_assert!(!after_restart.has_changes(), "{:?}", after_restart.annotations);
            wakes_alike(&world, &again, &after_restart)?;
            world.restart();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// A policy's status is the same whatever the order in which its clusters are told.
    #[test]
    fn any_order_of_clusters_gives_the_same(policies in policies(), histories in prop::collection::vec(short_history(), 2..5)) {
        let worlds: Vec<World> = histories
            .into_iter()
            .map(|history| {
                let mut world = World::new(&policies);
                let mut second = 0;
                for (gap, event) in history {
                    second += gap;
                    world.now = at(second);
                    apply(&mut world, &event);
                    world.look();
                }
                world
            })
            .collect();
        let names: Vec<String> = (0..worlds.len()).map(|n| format!("m{n}")).collect();
        for policy in &policies {
            let report = |world: &World| world.last.as_ref().unwrap().reports[policy.metadata.name.as_ref().unwrap()].clone();
            let reports: Vec<Report> = worlds.iter().map(report).collect();
            let mut told: Vec<(&str, &Report)> = names.iter().map(String::as_str).zip(&reports).collect();
            let forward = status::of_policy(policy, &told, FailoverGate::Enabled, at(0));
            told.reverse();
            prop_assert_eq!(forward, status::of_policy(policy, &told, FailoverGate::Enabled, at(0)));
        }
    }
}

/// What runs on after a restart ends when it would have ended, or a step of the clock later.
fn wakes_alike(world: &World, going_on: &Evaluation, afresh: &Evaluation) -> Result<(), TestCaseError> {
    let late = match (going_on.next_look, afresh.next_look) {
        (Some(going_on), Some(afresh)) => afresh.duration_since(going_on) - world.wall_ahead,
        (None, None) => SignedDuration::ZERO,
        (one, other) => return Err(TestCaseError::fail(format!("{one:?} and {other:?}"))),
    };
    prop_assert!(!late.is_negative() && late <= CLOCK_STEP, "{} late", late);
    Ok(())
}

/// One look, judged by the conditions alone; if the write is refused, a second one, which must find the same.
fn check_look(world: &mut World, oracle: &mut Oracle, refused: bool) -> Result<(), TestCaseError> {
    oracle.look(world);
    if refused {
        world.look_only();
    }
    changes_are_due(world, oracle)?;
    let mut found = Ok(());
    world.let_the_restored_end(|world| {
        let changes = changes_are_due(world, oracle);
        found = found.clone().and(changes);
    });
    found?;
    nothing_is_late(world, oracle)
}

/// For how long the policy has matched, or not.
fn held_for(world: &World, oracle: &Oracle, name: &str) -> (bool, i64) {
    let (matching, since) = oracle.matching[name];
    (matching, world.now.duration_since(since).as_secs())
}

/// The windows of a policy.
fn seconds(policy: &ClusterTaintPolicy) -> (i64, i64) {
    let t = &policy.spec.taints_to_add[0];
    (
        i64::from(t.add_on_match_seconds),
        i64::from(t.remove_on_mismatch_seconds),
    )
}

fn changes_are_due(world: &mut World, oracle: &Oracle) -> Result<(), TestCaseError> {
    let now = world.now;
    let managed_before = ManagedTaints::read(world.cluster.metadata.annotations.as_ref()).unwrap();
    let evaluation = world.look().clone();
    for change in &evaluation.taints {
        match change {
            TaintChange::Add { taint, .. } => {
                let reason = world.policies.iter().any(|policy| {
                    let (matching, held) = held_for(world, oracle, policy.metadata.name.as_deref().unwrap());
                    policy.spec.taints_to_add[0].key == taint.key && matching && held >= seconds(policy).0
                });
                prop_assert!(reason, "{taint:?} at {now} without a reason");
            }
            TaintChange::Remove { id, .. } => {
                for name in managed_before.taints[id].policies.keys() {
                    let policy = world
                        .policies
                        .iter()
                        .find(|p| p.metadata.name.as_ref() == Some(name))
                        .unwrap();
                    let (matching, held) = held_for(world, oracle, name);
                    prop_assert!(
                        !matching && held >= seconds(policy).1,
                        "{id} removed at {now} too early for {name}"
                    );
                }
            }
            TaintChange::SetValue { id, .. } => prop_assert!(managed_before.taints.contains_key(id)),
            TaintChange::Stamp { id, .. } => prop_assert!(world.theirs.contains(id), "ours have their times"),
        }
    }
    Ok(())
}

/// What has matched, or not matched, for its window stands, or is gone, now.
fn nothing_is_late(world: &World, oracle: &Oracle) -> Result<(), TestCaseError> {
    let managed = ManagedTaints::read(world.cluster.metadata.annotations.as_ref()).unwrap();
    for policy in &world.policies {
        let name = policy.metadata.name.as_deref().unwrap();
        let ((matching, held), (add, remove)) = (held_for(world, oracle, name), seconds(policy));
        let key = &policy.spec.taints_to_add[0].key;
        if matching && held >= add {
            prop_assert!(
                world.has(&format!("{key}:NoExecute")),
                "{name} has matched for {held} s: no taint"
            );
        }
        if !matching && held >= remove {
            let listed = managed.taints.values().any(|taint| taint.policies.contains_key(name));
            prop_assert!(!listed, "{name} has not matched for {held} s: it still holds a taint");
        }
    }
    Ok(())
}

/// Looks if the engine asked for it by now.
fn wake(world: &mut World, second: i64) {
    world.now = at(second);
    world.let_the_restored_end(|world| {
        world.look();
    });
}
