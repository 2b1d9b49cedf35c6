//! Which labels a copy carries because they were preserved of the copy before it.
//!
//! They are given to a copy when it comes, and to no copy that was there before the failure: it has a state of its own.
//! Whoever makes the copy notes on it what it was given, since the task that says so goes when the copy works.

use std::collections::BTreeMap;

use api_types::ClusterName;
use api_types::work::{Binding, GracefulEvictionTask};

/// The labels for a copy that comes to `cluster` now: those of every open task of a copy that was left, unless the
/// cluster held the workload before that. Of two tasks with the same label the younger counts.
///
/// A task that does not say where the workload was before (stock writes none for taints) counts where the result is one
/// cluster alone, which is what stock wants.
#[must_use]
pub fn labels_for(binding: &Binding, cluster: &ClusterName) -> BTreeMap<String, String> {
    let is_alone = binding.spec.clusters.len() == 1;
    let comes_by = |task: &&GracefulEvictionTask| {
        let before = &task.clusters_before_failover;
        let was_there = before.iter().any(|name| name == cluster.as_str());
        task.from_cluster != cluster.as_str() && !was_there && (!before.is_empty() || is_alone)
    };
    let mut tasks: Vec<&GracefulEvictionTask> = binding.spec.graceful_eviction_tasks.iter().filter(comes_by).collect();
    tasks.sort_by_key(|task| task.creation_timestamp.as_ref().map(|time| time.0));
    let labels = tasks.into_iter().flat_map(|task| &task.preserved_label_state);
    labels.map(|(label, value)| (label.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn task(from: &str, before: &[&str], second: u32, job: &str) -> Value {
        json!({
            "fromCluster": from, "reason": "TaintUntolerated", "producer": "TaintManager",
            "clustersBeforeFailover": before, "preservedLabelState": {"job": job},
            "creationTimestamp": format!("2026-01-01T00:00:{second:02}Z"),
        })
    }

    #[rstest]
    #[case::comes_by_it(json!(["m2"]), json!([task("m1", &["m1"], 0, "a")]), Some("a"))]
    #[case::was_there_before(json!(["m2"]), json!([task("m1", &["m1", "m2"], 0, "a")]), None)]
    #[case::the_younger_of_two(json!(["m2"]), json!([task("m3", &["m3"], 9, "b"), task("m1", &["m1"], 0, "a")]), Some("b"))]
    #[case::back_where_it_was(json!(["m2"]), json!([task("m2", &["m1"], 0, "a")]), None)]
    #[case::stock_s_task(json!(["m2"]), json!([task("m1", &[], 0, "a")]), Some("a"))]
    #[case::stock_s_task_and_several_copies(json!(["m2", "m3"]), json!([task("m1", &[], 0, "a")]), None)]
    #[case::several_copies(json!(["m2", "m3"]), json!([task("m1", &["m1"], 0, "a")]), Some("a"))]
    #[case::no_task(json!(["m2"]), json!([]), None)]
    fn labels_of_a_copy_that_comes(#[case] clusters: Value, #[case] tasks: Value, #[case] job: Option<&str>) {
        let names = clusters.as_array().unwrap();
        let targets: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        let binding: Binding = serde_json::from_value(json!({
            "metadata": {"namespace": "n", "name": "b"},
            "spec": {"resource": {"apiVersion": "v1", "kind": "X", "name": "b"}, "clusters": targets, "gracefulEvictionTasks": tasks},
        }))
        .unwrap();
        let labels = labels_for(&binding, &"m2".into());
        assert_eq!(labels.get("job").map(String::as_str), job);
    }
}
