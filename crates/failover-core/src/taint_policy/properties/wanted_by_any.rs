//! Wanted by any policy is wanted.

use super::*;

/// One policy by the words of its spec: it wants the taint from when it has matched for its add window until it has not
/// matched for its removal window.
struct Wish {
    add: i64,
    remove: i64,
    matching: bool,
    since: i64,
    wants: bool,
}

impl Wish {
    fn at(&mut self, second: i64, matching: bool) {
        if self.matching != matching {
            (self.matching, self.since) = (matching, second);
        }
        let held = second - self.since;
        if self.matching && held >= self.add {
            self.wants = true;
        } else if !self.matching && held >= self.remove {
            self.wants = false;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// At every second the one taint that all of them name stands if one of them wants it, and only then; it lists
    /// those that do.
    #[test]
    fn a_taint_stands_while_any_policy_wants_it(
        windows in prop::collection::vec((prop::sample::select(vec!["Ready", "Disk"]), 1_i64..200, 1_i64..200), 1..4),
        changes in prop::collection::vec((1_i64..250, prop::sample::select(vec!["Ready", "Disk"]), prop::bool::ANY), 1..15),
    ) {
        let policies: Vec<ClusterTaintPolicy> = windows.iter().enumerate().map(|(n, (type_, add, remove))| {
            let spec = json!({
                "matchConditions": [{"conditionType": type_, "operator": "NotIn", "statusValues": ["True"]}],
                "taintsToAdd": [{"key": "k", "effect": "NoExecute", "addOnMatchSeconds": add, "removeOnMismatchSeconds": remove}]
            });
            policy(&format!("p{n}"), 0, spec)
        }).collect();
        let mut wishes: Vec<Wish> = windows
            .iter()
            .map(|(_, add, remove)| Wish { add: *add, remove: *remove, matching: false, since: i64::MIN / 2, wants: false })
            .collect();
        let mut world = World::new(&policies);
        let mut listed: Vec<String> = Vec::new();
        let mut second = 0;
        for (gap, type_, good) in changes {
            world.now = at(second);
            world.condition(type_, if good { "True" } else { "False" });
            world.look();
            for now in second..second + gap {
                wake(&mut world, now);
                for ((type_, ..), wish) in windows.iter().zip(&mut wishes) {
                    let matching = world.cluster.condition(type_).is_some_and(|condition| condition.status == "False");
                    wish.at(now, matching);
                }
                let wanting: Vec<String> =
                    wishes.iter().enumerate().filter(|(_, wish)| wish.wants).map(|(n, _)| format!("p{n}")).collect();
                prop_assert_eq!(world.has("k:NoExecute"), !wanting.is_empty(), "at second {}", now);
                let changed = world.last.as_ref().is_some_and(Evaluation::has_changes);
                if changed {
                    let managed = ManagedTaints::read(world.cluster.metadata.annotations.as_ref()).unwrap();
                    listed = managed.taints.into_values().flat_map(|entry| entry.policies.into_keys()).collect();
                }
                prop_assert_eq!(&listed, &wanting, "at second {}", now);
            }
            second += gap;
        }
    }
}
