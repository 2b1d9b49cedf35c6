//! Stock's form against its own words: from addOn until removeOn, removal wins, nothing waits.

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_taint_stands_while_latched(
        add in prop::sample::subsequence(vec!["True", "False", "Unknown"], 1..3),
        remove in prop::sample::subsequence(vec!["True", "False", "Unknown"], 0..3),
        changes in prop::collection::vec((1_i64..100, prop::sample::select(vec!["True", "False", "Unknown"]), prop::bool::ANY), 1..30),
    ) {
        let when = |values: &Vec<&str>| match values[..] {
            [] => json!([]),
            _ => json!([{"conditionType": "Ready", "operator": "In", "statusValues": values}]),
        };
        let spec = json!({
            "addOnConditions": when(&add), "removeOnConditions": when(&remove),
            "taints": [{"key": "k", "effect": "NoExecute"}]
        });
        let mut world = World::new(&[policy("p", 0, spec)]);
        let (mut latched, mut second) = (false, 0);
        for (gap, status, restarted) in changes {
            second += gap;
            world.now = at(second);
            world.condition("Ready", status);
            if restarted {
                world.restart();
            }
            world.look();
            latched = !remove.contains(&status) && (latched || add.contains(&status));
            prop_assert_eq!(world.has("k:NoExecute"), latched);
            prop_assert_eq!(world.last.as_ref().unwrap().next_look, None);
            prop_assert!(!world.evaluate().has_changes());
        }
    }
}
