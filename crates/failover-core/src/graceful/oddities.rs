//! Tasks that are not as we write them: another writer's, an older or newer version's, a person's. Each is judged all the
//! same, by the reading that keeps the copy for longest, and what is not taken as it is written is told.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use api_types::policy::PurgeMode;
use api_types::work::{GracefulEvictionTask, task as words};

use super::mirrors::is_mirror;

/// What of a task is not taken as it is written: the field, and how it is read.
#[must_use]
pub fn oddities(task: &GracefulEvictionTask) -> Vec<(String, String)> {
    let reason = &task.reason;
    let known = [words::TAINT_UNTOLERATED, words::APPLICATION_FAILURE];
    let unknown_reason = (!known.contains(&reason.as_str())).then(|| {
        (
            "reason",
            format!("{reason} is not known; it is judged as {}", words::TAINT_UNTOLERATED),
        )
    });
    let unknown_mode = match &task.purge_mode {
        Some(PurgeMode::Other(mode)) => Some((
            "purgeMode",
            format!("{mode} is not known; it is read as {}", task.effective_purge_mode()),
        )),
        _ => None,
    };
    let bad_grace = match (task.grace_period_seconds, task.suppress_deletion) {
        (Some(seconds), _) if seconds < 0 => Some(("gracePeriodSeconds", format!("{seconds} is read as none"))),
        (Some(_), Some(_)) => Some((
            "gracePeriodSeconds",
            "suppressDeletion is given too, and counts".to_owned(),
        )),
        _ => None,
    };
    let odd = [unknown_reason, unknown_mode, bad_grace].into_iter().flatten();
    odd.map(|(field, how)| (field.to_owned(), how)).collect()
}

/// Indexes of the tasks that are not the one for their cluster: of several that one is which keeps the copy for longest;
/// of equal ones the first.
#[must_use]
pub fn surplus(tasks: &[GracefulEvictionTask]) -> BTreeSet<usize> {
    if tasks.len() < 2 {
        return BTreeSet::new();
    }
    let mut of_cluster: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, task) in tasks.iter().enumerate() {
        of_cluster.entry(&task.from_cluster).or_default().push(index);
    }
    let mut surplus = BTreeSet::new();
    for indexes in of_cluster.into_values().filter(|indexes| indexes.len() > 1) {
        let kept = indexes
            .iter()
            .copied()
            .max_by_key(|index| (holds(&tasks[*index]), Reverse(*index)));
        surplus.extend(indexes.into_iter().filter(|index| Some(*index) != kept));
    }
    surplus
}

/// How long a task keeps the copy, as a rank; of two with a grace period the longer one keeps it for longer.
fn holds(task: &GracefulEvictionTask) -> (u8, i32) {
    let grace = task.grace_period_seconds.filter(|seconds| *seconds >= 0);
    let rank = match (
        is_mirror(task),
        task.suppress_deletion,
        task.effective_purge_mode(),
        grace,
    ) {
        (true, ..) => 0,
        (_, Some(false), ..) => 1,
        (_, Some(true), ..) => 6,
        (_, _, PurgeMode::Never, _) => 5,
        (_, _, PurgeMode::Directly, _) => 2,
        (_, _, _, None) => 4,
        (_, _, _, Some(_)) => 3,
    };
    (rank, grace.unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn task(from: &str, more: &Value) -> GracefulEvictionTask {
        let mut task = json!({"fromCluster": from, "reason": "TaintUntolerated", "producer": "TaintManager"});
        for (field, value) in more.as_object().unwrap() {
            task[field] = value.clone();
        }
        serde_json::from_value(task).unwrap()
    }

    #[rstest]
    #[case::as_we_write_it(json!({"gracePeriodSeconds": 5, "purgeMode": "Never"}), &[])]
    #[case::old_spellings(json!({"purgeMode": "Immediately"}), &[])]
    #[case::reason(json!({"reason": "Boredom"}), &["reason: Boredom is not known; it is judged as TaintUntolerated"])]
    #[case::purge_mode(json!({"purgeMode": "Later"}), &["purgeMode: Later is not known; it is read as Gracefully"])]
    #[case::negative(json!({"gracePeriodSeconds": -1}), &["gracePeriodSeconds: -1 is read as none"])]
    #[case::contradiction(json!({"gracePeriodSeconds": 0, "suppressDeletion": true}),
        &["gracePeriodSeconds: suppressDeletion is given too, and counts"])]
    #[case::two_at_once(json!({"reason": "X", "purgeMode": "Y"}),
        &["reason: X is not known; it is judged as TaintUntolerated", "purgeMode: Y is not known; it is read as Gracefully"])]
    fn what_is_told(#[case] more: Value, #[case] expected: &[&str]) {
        let told: Vec<String> = oddities(&task("m1", &more))
            .into_iter()
            .map(|(field, how)| format!("{field}: {how}"))
            .collect();
        assert_eq!(told, expected);
    }

    fn any_task() -> impl Strategy<Value = GracefulEvictionTask> {
        let from = prop::sample::select(vec!["m1", "m2", "m3"]);
        let producer = prop::sample::select(vec!["TaintManager", "DependencyMirror", "other"]);
        let mode = prop::option::of(prop::sample::select(vec![
            "Directly",
            "Gracefully",
            "Never",
            "Immediately",
            "Later",
        ]));
        let more = (
            producer,
            mode,
            prop::option::of(-5_i32..900),
            prop::option::of(any::<bool>()),
        );
        (from, more).prop_map(|(from, (producer, mode, grace, suppress))| {
            task(
                from,
                &json!({"producer": producer, "purgeMode": mode, "gracePeriodSeconds": grace, "suppressDeletion": suppress}),
            )
        })
    }

    proptest! {
        // However many there are: one task is left for each cluster, and it is the same one whatever the order.
        #[test]
        fn one_task_is_left_for_each_cluster(tasks in prop::collection::vec(any_task(), 0..8)) {
            let left = |tasks: &[GracefulEvictionTask]| -> BTreeMap<String, (u8, i32)> {
                let surplus = surplus(tasks);
                let kept = tasks.iter().enumerate().filter(|(index, _)| !surplus.contains(index));
                let kept: Vec<_> = kept.map(|(_, task)| (task.from_cluster.clone(), holds(task))).collect();
                let by_cluster: BTreeMap<_, _> = kept.iter().cloned().collect();
                assert_eq!(kept.len(), by_cluster.len(), "two for one cluster");
                by_cluster
            };
            let clusters: BTreeSet<_> = tasks.iter().map(|task| task.from_cluster.clone()).collect();
            let reversed: Vec<_> = tasks.iter().rev().cloned().collect();
            prop_assert_eq!(left(&tasks).into_keys().collect::<BTreeSet<_>>(), clusters);
            prop_assert_eq!(left(&tasks), left(&reversed));
        }
    }

    #[rstest]
    #[case::one_each(&[("m1", json!({})), ("m2", json!({}))], &[])]
    #[case::equal_ones(&[("m1", json!({})), ("m1", json!({}))], &[1])]
    #[case::a_person_keeps_it(&[("m1", json!({})), ("m1", json!({"suppressDeletion": true}))], &[0])]
    #[case::never(&[("m1", json!({"purgeMode": "Never"})), ("m1", json!({}))], &[1])]
    #[case::directly(&[("m1", json!({"purgeMode": "Directly"})), ("m1", json!({}))], &[0])]
    #[case::grace(&[("m1", json!({"gracePeriodSeconds": 5})), ("m1", json!({"gracePeriodSeconds": 9})), ("m1", json!({"gracePeriodSeconds": 7}))], &[0, 2])]
    #[case::no_grace_is_longest(&[("m1", json!({"gracePeriodSeconds": 900})), ("m1", json!({}))], &[0])]
    #[case::a_mirror_stands_for_nobody(&[("m1", json!({"producer": "DependencyMirror"})), ("m1", json!({"suppressDeletion": false}))], &[0])]
    #[case::among_others(&[("m1", json!({})), ("m2", json!({})), ("m1", json!({})), ("m3", json!({}))], &[2])]
    fn of_two_tasks_for_one_cluster_one_counts(#[case] tasks: &[(&str, Value)], #[case] expected: &[usize]) {
        let tasks: Vec<_> = tasks.iter().map(|(from, more)| task(from, more)).collect();
        assert_eq!(surplus(&tasks), expected.iter().copied().collect());
    }
}
