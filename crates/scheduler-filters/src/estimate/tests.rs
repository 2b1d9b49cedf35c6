#![expect(clippy::needless_pass_by_value, reason = "JSON literals read best as they are")]

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::testing::cluster;

fn with_summary(summary: Value) -> Cluster {
    cluster("m1", json!({"status": {"resourceSummary": summary}}))
}

fn asking(requests: Value) -> Option<ReplicaRequirements> {
    Some(serde_json::from_value(json!({"resourceRequest": requests})).unwrap())
}

/// 10 CPUs and 20 GiB in 30 pods, of which 4 CPUs, 8 GiB and 6 pods are taken and 1 CPU and 2 pods wait for a node.
fn half_full() -> Value {
    json!({
        "allocatable": {"cpu": "10", "memory": "20Gi", "pods": "30"},
        "allocated": {"cpu": "4", "memory": "8Gi", "pods": "6"},
        "allocating": {"cpu": "1000m", "pods": "2"},
    })
}

#[rstest]
#[case::only_pods(None, 22)]
#[case::asks_for_nothing(asking(json!({})), 22)]
#[case::nothing_of_something(asking(json!({"cpu": "0"})), 22)]
#[case::cpu(asking(json!({"cpu": "1500m"})), 3)]
#[case::memory(asking(json!({"memory": "5Gi"})), 2)]
#[case::the_scarcest(asking(json!({"cpu": "500m", "memory": "1Gi"})), 10)]
#[case::pods_are_the_scarcest(asking(json!({"cpu": "1m"})), 22)]
#[case::too_large(asking(json!({"cpu": "6"})), 0)]
#[case::what_the_cluster_does_not_have(asking(json!({"nvidia.com/gpu": "1"})), 0)]
fn by_the_sums(#[case] requirements: Option<ReplicaRequirements>, #[case] expected: i64) {
    assert_eq!(
        room(&with_summary(half_full()), requirements.as_ref()),
        Room::Replicas(expected)
    );
}

#[rstest]
#[case::no_pods(json!({"allocatable": {"cpu": "10"}}), 0)]
#[case::full(json!({"allocatable": {"cpu": "1", "pods": "10"}, "allocated": {"cpu": "1", "pods": "1"}}), 0)]
#[case::more_than_full(json!({"allocatable": {"cpu": "1", "pods": "10"}, "allocating": {"cpu": "9", "pods": "1"}}), 0)]
#[case::pods_more_than_full(json!({"allocatable": {"cpu": "9", "pods": "10"}, "allocating": {"pods": "400"}}), 0)]
fn what_is_full_takes_none(#[case] summary: Value, #[case] expected: i64) {
    let requirements = asking(json!({"cpu": "500m"}));
    assert_eq!(
        room(&with_summary(summary), requirements.as_ref()),
        Room::Replicas(expected)
    );
}

// facts §3.8: nil summary ⇒ 0.
#[test]
fn without_a_summary_no_room_is_known() {
    let silent = room(&cluster("m1", json!({})), None);
    assert_eq!((silent, silent.replicas()), (Room::NotReported, 0));
}

/// Three grades by CPU and memory with these counts of nodes.
fn graded(counts: [i32; 3]) -> Cluster {
    let range = |name: &str, min: &str, max: &str| json!({"name": name, "min": min, "max": max});
    let grade = |grade: u32, cpu: [&str; 2], memory: [&str; 2]| json!({"grade": grade, "ranges": [range("cpu", cpu[0], cpu[1]), range("memory", memory[0], memory[1])]});
    let counts: Vec<Value> = (0..)
        .zip(counts)
        .map(|(grade, count)| json!({"grade": grade, "count": count}))
        .collect();
    cluster(
        "m1",
        json!({
            "spec": {"resourceModels": [
                grade(0, ["0", "1"], ["0", "4Gi"]), grade(1, ["1", "2"], ["4Gi", "16Gi"]), grade(2, ["2", "64"], ["16Gi", "512Gi"]),
            ]},
            "status": {"resourceSummary": {
                "allocatable": {"cpu": "100", "memory": "400Gi", "pods": "110"}, "allocatableModelings": counts,
            }},
        }),
    )
}

#[rstest]
// Nodes of grade 0 hold none, of grade 1 two, of grade 2 four.
#[case::halves(asking(json!({"cpu": "500m"})), [9, 3, 2], 3 * 2 + 2 * 4)]
// 1.5 CPUs want grade 2, which holds one of them.
#[case::between_two_grades(asking(json!({"cpu": "1500m"})), [9, 3, 2], 2)]
#[case::memory_wants_a_larger_grade(asking(json!({"cpu": "500m", "memory": "5Gi"})), [9, 3, 2], 2 * 3)]
#[case::no_grade_is_large_enough(asking(json!({"cpu": "3"})), [9, 3, 2], 0)]
#[case::pods_are_the_scarcest(asking(json!({"cpu": "1m"})), [0, 0, 9], 110)]
#[case::nothing_of_what_the_grades_do_not_know(asking(json!({"cpu": "50", "ephemeral-storage": "0"})), [9, 9, 9], 0)]
#[case::the_sums_count_then(asking(json!({"cpu": "1", "pods": "1"})), [9, 9, 9], 100)]
fn by_the_grades(#[case] requirements: Option<ReplicaRequirements>, #[case] counts: [i32; 3], #[case] expected: i64) {
    assert_eq!(room(&graded(counts), requirements.as_ref()), Room::Replicas(expected));
}

#[test]
fn fewer_counts_than_grades_are_what_is_known() {
    let mut cluster = graded([9, 3, 2]);
    let status = cluster.status.as_mut().unwrap();
    status
        .resource_summary
        .as_mut()
        .unwrap()
        .allocatable_modelings
        .truncate(2);
    let requirements = asking(json!({"cpu": "500m"}));
    assert_eq!(room(&cluster, requirements.as_ref()), Room::Replicas(6));
}

// Whatever a model says a node has, and a member how many there are.
#[test]
fn more_than_there_are_numbers_is_as_many_as_pods_fit() {
    let mut cluster = graded([1, i32::MAX, i32::MAX]);
    for model in &mut cluster.spec.resource_models[1..] {
        for range in &mut model.ranges {
            range.min.0 = "170000000E".to_owned();
        }
    }
    let requirements = asking(json!({"cpu": "1m"}));
    assert_eq!(room(&cluster, requirements.as_ref()), Room::Replicas(110));
}

proptest! {
    // Whatever is reported is answered, and asking for more finds no more room.
    #[test]
    fn more_wanted_is_no_more_room(
        texts in prop::collection::vec("-?[0-9]{1,6}(m|Ki|Gi|e3)?|.{0,6}", 6), counts in prop::array::uniform3(-3_i32..40),
        cpu in 1_u32..5_000, more in 1_u32..5_000,
    ) {
        let mut cluster = graded(counts);
        let summary = cluster.status.as_mut().unwrap().resource_summary.as_mut().unwrap();
        *summary = serde_json::from_value(json!({
            "allocatable": {"cpu": texts[0], "pods": texts[1]}, "allocated": {"cpu": texts[2], "pods": texts[3]},
            "allocating": {"cpu": texts[4], "pods": texts[5]}, "allocatableModelings": summary.allocatable_modelings,
        })).unwrap();
        let room_for = |cpu: u32| room(&cluster, asking(json!({"cpu": format!("{cpu}m")})).as_ref()).replicas();
        prop_assert!(room_for(cpu) >= room_for(cpu + more));
        prop_assert!(room_for(cpu + more) >= 0);
    }
}
