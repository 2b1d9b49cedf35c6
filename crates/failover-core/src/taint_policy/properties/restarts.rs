//! A restart, with a time in which nobody looks, changes no firing time.

use super::*;

/// For how many seconds nobody looks after an event, if at all.
fn outages() -> impl Strategy<Value = Vec<Option<i64>>> {
    prop::collection::vec(prop::option::weighted(0.4, 1_i64..600), 1..40)
}

/// The taints of ours, with the times at which they were added.
fn ours(world: &World) -> Vec<(String, Option<Time>)> {
    let taints = world.cluster.spec.taints.iter();
    taints
        .map(|taint| (TaintId::of(taint).to_string(), taint.time_added.clone()))
        .collect()
}

fn ids(taints: &[(String, Option<Time>)]) -> Vec<&String> {
    let mut ids: Vec<&String> = taints.iter().map(|(id, _)| id).collect();
    ids.sort();
    ids
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    /// Conditions change only while somebody looks. Whenever the restarted process is up, the same taints stand as
    /// where nothing was ever restarted; one that became due in an outage stands from its end on.
    #[test]
    fn an_outage_changes_no_firing_time(policies in policies(), history in history(), outages in outages()) {
        let (mut steady, mut restarted) = (World::new(&policies), World::new(&policies));
        let mut outages = outages.into_iter().cycle();
        let mut stood: Vec<(String, Option<Time>)> = Vec::new();
        let mut second = 0;
        for (gap, event) in history {
            if matches!(event, Event::TheirTaint(_)) {
                // Whether it is taken for ours or theirs depends on which of the two comes first.
                continue;
            }
            for world in [&mut steady, &mut restarted] {
                world.now = at(second);
                apply(world, &event);
                world.look();
                world.let_the_restored_end(|world| {
                    world.look();
                });
            }
            let outage = outages.next().flatten().map(|length| length.min(gap));
            let back = second + outage.unwrap_or_default();
            if outage.is_some() {
                restarted.restart();
                restarted.last = None;
            }
            let next = second + gap;
            while second < next {
                second += 1;
                wake(&mut steady, second);
                if second == back && outage.is_some() {
                    restarted.now = at(second);
                    restarted.look();
                    wake(&mut restarted, second);
                } else if second > back {
                    wake(&mut restarted, second);
                }
                if second >= back {
                    let (expected, found) = (ours(&steady), ours(&restarted));
                    prop_assert_eq!(ids(&expected), ids(&found), "at second {}", second);
                    for (id, time) in found.iter().filter(|added| !stood.contains(*added)) {
                        let without = expected.iter().find(|(other, _)| other == id).unwrap();
                        prop_assert!(*time >= without.1, "{} was early", id);
                    }
                    stood = found;
                }
            }
        }
    }

    /// Conditions change while nobody looks: what is added after that has matched for its window since somebody saw it,
    /// or since before the outage without a change.
    #[test]
    fn what_changed_in_an_outage_makes_nothing_early(
        add in 1_i64..400,
        seen in 0_i64..500,
        change in prop::sample::select(vec!["True", "Unknown"]),
        changed_after in 1_i64..300,
        back_after in 1_i64..300,
        up_after in 1_i64..300,
    ) {
        let spec = json!({
            "matchConditions": [{"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}],
            "taintsToAdd": [{"key": "k", "effect": "NoExecute", "addOnMatchSeconds": add, "removeOnMismatchSeconds": 60}]
        });
        let mut world = World::new(&[policy("p", 0, spec)]);
        world.condition("Ready", "False");
        world.look();
        world.until(seen);
        let stood = world.has("k:NoExecute");
        world.restart();
        world.now = at(seen + changed_after);
        world.condition("Ready", change);
        world.now = at(seen + changed_after + back_after);
        world.condition("Ready", "False");
        let up = seen + changed_after + back_after + up_after;
        world.now = at(up);
        world.look();
        prop_assert_eq!(world.has("k:NoExecute"), stood, "neither added nor removed by the look itself");
        world.last.as_mut().unwrap().next_look = world.evaluate().next_look;
        world.until(up + add - 1);
        prop_assert_eq!(world.has("k:NoExecute"), stood);
        world.until(up + add);
        prop_assert!(world.has("k:NoExecute"));
    }
}
