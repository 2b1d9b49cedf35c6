//! What holds for every task.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::assess::Settings;
use super::super::fate::Fate;
use super::{before, binding, cluster, copy, judged, judged_with, no_execute, noon, task};

fn any_task() -> impl Strategy<Value = Value> {
    let mode = prop::sample::select(vec!["Directly", "Gracefully", "Never", "Immediately", "Graciously"]);
    (
        prop::sample::select(vec!["m1", "m2"]),
        mode,
        prop::option::of(0_i32..1000),
        prop::option::of(any::<bool>()),
    )
        .prop_map(|(from, mode, grace, suppress)| {
            let mut more = json!({"purgeMode": mode});
            match (grace, suppress) {
                (Some(seconds), None) => more["gracePeriodSeconds"] = json!(seconds),
                (_, Some(suppress)) => more["suppressDeletion"] = json!(suppress),
                (None, None) => {}
            }
            task(from, more)
        })
}

proptest! {
    // Correctness rule 4: without a result a copy goes only by suppressDeletion false.
    #[test]
    fn without_a_result_nothing_goes_but_by_its_owners_word(task in any_task(), seconds in 0_i64..100_000) {
        let suppressed = task["suppressDeletion"].clone();
        let after = binding(json!([]), json!([task]), json!([copy("m1", "Healthy", 1)]));
        let clusters = [cluster("m1", "False", &no_execute()), cluster("m2", "False", &no_execute())];
        let fate = judged(&after, &clusters, noon() + jiff::SignedDuration::from_secs(seconds));
        prop_assert_eq!(matches!(fate, Fate::Ends(_)), suppressed == json!(false));
    }

    // A task is judged by its own fields: what stands beside it in the list changes nothing.
    #[test]
    fn the_company_of_a_task_changes_nothing(one in any_task(), seconds in 0_i64..2000) {
        let now = noon() + jiff::SignedDuration::from_secs(seconds);
        let clusters = [cluster("m1", "False", &no_execute()), cluster("m2", "False", &no_execute()), cluster("m3", "True", &json!([]))];
        let with = |tasks: Value| binding(json!([{"name": "m3", "replicas": 3}]), tasks, json!([copy("m3", "Unhealthy", 0)]));
        let alone = judged(&with(json!([one])), &clusters, now);
        let other = task("m4", json!({"gracePeriodSeconds": 1}));
        let together = judged_with(&with(json!([other, one])), Some(&before()), &clusters, now, &Settings::default()).remove(1).fate;
        prop_assert_eq!(alone, together);
    }
}
