//! Faults that users of schedulers like this one met.

use api_types::policy::PurgeMode;
use api_types::work::Binding;
use failover_core::eviction::{Switches, Verdict, cause_on_cluster};
use jiff::SignedDuration;
use rstest::rstest;
use scheduler_filters::schedule::StartFrom;
use serde_json::{Value, json};

use crate::objects::*;

// karmada#1640, #1717, C76: nothing is evicted, and a cluster that is not Ready neither loses its part nor gets a part of
// a scale-up.
#[rstest]
#[case::by_room(dynamic_weight(), json!({}), "m1:5 m2:15")]
#[case::aggregated(aggregated(), json!({}), "m1:5 m2:15")]
#[case::tainted_too(
    dynamic_weight(),
    tainted("cluster.karmada.io/not-ready", "NoSchedule"),
    "m1:5 m2:15"
)]
// The spec decides: fixed weights are divided anew, also over one that takes nothing new.
#[case::fixed_weights(
    static_weights(&[("m1", 1), ("m2", 1)]), tainted("cluster.karmada.io/not-ready", "NoSchedule"), "m1:10 m2:10"
)]
fn c76_scaling_beside_a_cluster_that_is_not_ready(
    #[case] placement: Value,
    #[case] more: Value,
    #[case] scaled_up: &str,
) {
    let m1 = cluster("m1", &and(and(not_ready(), &room(100)), &more));
    let clusters = [m1, cluster("m2", &room(100))];
    let up = deployment(20, &placement, &[("m1", 5)]);
    assert_eq!(answer(&up, &clusters), scaled_up);
    let down = deployment(3, &placement, &[("m1", 5), ("m2", 5)]);
    let placed = placed(&down, &clusters, StartFrom::GroupInUse).unwrap().clusters;
    assert!(placed.iter().all(|target| target.replicas <= 5), "only decreases");
    assert_eq!(placed.iter().map(|target| target.replicas).sum::<i32>(), 3);
}

// karmada PR#2449, C77: eviction is the taint manager's business, and by its own time.
#[rstest]
#[case::duplicated(duplicated())]
#[case::aggregated(aggregated())]
#[case::by_room(dynamic_weight())]
fn c77_a_taint_takes_nothing_away(#[case] mut placement: Value) {
    placement["clusterTolerations"] =
        json!([{"key": "down", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]);
    placement["clusterAffinity"] = json!({"clusterNames": ["m1"]});
    let binding = deployment(2, &placement, &[("m1", 2)]);
    let no_schedule = cluster("m1", &tainted("down", "NoSchedule"));
    let no_execute = cluster("m1", &tainted("down", "NoExecute"));
    assert_eq!(answer(&binding, &[no_schedule]), "m1:2");
    assert_eq!(answer(&binding, std::slice::from_ref(&no_execute)), "m1:2");
    match cause_on_cluster(&binding, &no_execute, &Switches::all_on(PurgeMode::Gracefully)) {
        Verdict::Affected(affected) => assert_eq!(affected.due_at, now() + SignedDuration::from_secs(300)),
        verdict @ Verdict::NotAffected(_) => panic!("{verdict:?}"),
    }
}

// karmada PR#7154 (#7234, #7236, #7237), C79: nobody has room. The case asks for a condition; Duplicated is not judged by
// room, as in stock, so that it is placed. What is divided by room says that there is none.
#[rstest]
#[case::duplicated(duplicated(), "m2:3")]
#[case::aggregated(
    aggregated(),
    "Unschedulable: Clusters available replicas 0 are not enough to schedule."
)]
fn c79_no_cluster_of_any_region_has_room(#[case] placement: Value, #[case] expected: &str) {
    let placement = spread(placement, &[("region", 1, 1), ("cluster", 1, 1)]);
    let clusters = [
        cluster("m1", &and(region("a"), &room(0))),
        cluster("m2", &and(region("b"), &room(0))),
        cluster("m3", &region("b")),
    ];
    assert_eq!(answer(&deployment(3, &placement, &[]), &clusters), expected);
}

// karmada#1258, #3194, C80: exactly one group.
#[rstest]
#[case::by_cluster(&[("cluster", 1, 1)])]
#[case::by_region(&[("region", 1, 1), ("cluster", 1, 1)])]
fn c80_exactly_one_group_moves_whole(#[case] constraints: &[(&str, i64, i64)]) {
    let placement = spread(duplicated(), constraints);
    let binding = deployment(3, &placement, &[("m1", 3)]);
    let fine = [
        cluster("m1", &and(region("a"), &room(9))),
        cluster("m2", &and(region("b"), &room(3))),
    ];
    let mut failed = fine.clone();
    failed[0] = cluster("m1", &and(region("a"), &tainted("down", "NoExecute")));
    assert_eq!(
        answer(&binding, &failed),
        "m1:3",
        "the taint manager evicts, not the scheduler"
    );
    let mut moved = evicted(binding, "m1");
    assert_eq!(answer(&moved, &failed), "m2:3");
    moved.spec.clusters = targets(&[("m2", 3)]);
    moved.spec.graceful_eviction_tasks.clear();
    assert_eq!(answer(&moved, &fine), "m2:3", "nothing fails back");
}

// karmada#3243, C81: minGroups is a hard minimum. There is no option to take it for a wish: whoever can do with two regions
// says minGroups 2, and what runs stays where it is then.
#[rstest]
#[case::duplicated(duplicated(), 3, &[("a1", 3), ("b1", 3)], "a1:3 b1:3")]
#[case::aggregated(aggregated(), 6, &[("a1", 2), ("b1", 2)], "a1:4 b1:2")]
fn c81_too_few_regions_take_nothing_away(
    #[case] placement: Value,
    #[case] replicas: i32,
    #[case] left: &[(&str, i32)],
    #[case] with_two: &str,
) {
    let clusters = [
        cluster("a1", &and(region("a"), &room(9))),
        cluster("b1", &and(region("b"), &room(8))),
        cluster("c1", &and(region("c"), &tainted("down", "NoExecute"))),
    ];
    let on_three = |min| spread(placement.clone(), &[("region", min, 3), ("cluster", min, 3)]);
    let binding = |min| evicted(deployment(replicas, &on_three(min), left), "c1");
    assert_eq!(
        answer(&binding(3), &clusters),
        "SchedulerError: failed to select clusters: the number of feasible region is less than spreadConstraint.MinGroups (2 of 3)"
    );
    assert_eq!(answer(&binding(2), &clusters), with_two);
}

// karmada#1323, PR#1324, C83: the result alone has no more clusters than maxGroups, scaled up or failed over.
#[rstest]
#[case::both_have_room(100, 100, 100, "m1:90 m2:90")]
// m2 would have to give up what runs there.
#[case::another_has_more(
    5,
    5,
    200,
    "SchedulerError: failed to select clusters: no enough resource when selecting 2 clusters"
)]
#[case::another_beside_it_has_more(5, 70, 200, "m1:60 m2:120")]
#[case::no_two_have_room(
    5,
    5,
    5,
    "SchedulerError: failed to select clusters: no enough resource when selecting 2 clusters"
)]
fn c83_never_more_than_max_groups(#[case] m1: i64, #[case] m2: i64, #[case] m3: i64, #[case] expected: &str) {
    let placement = spread(dynamic_weight(), &[("cluster", 1, 2)]);
    let clusters = [
        cluster("m1", &room(m1)),
        cluster("m2", &room(m2)),
        cluster("m3", &room(m3)),
    ];
    let scaled = deployment(180, &placement, &[("m1", 55), ("m2", 55)]);
    assert_eq!(answer(&scaled, &clusters), expected);
    if let Ok(decision) = placed(&evicted(scaled, "m1"), &clusters, StartFrom::GroupInUse) {
        assert!(decision.clusters.len() <= 2, "{decision:?}");
    }
}

// karmada#744, C84: the replicas of a lost cluster move, and the sum is right.
#[rstest]
#[case::fixed_weights(static_weights(&[("m1", 4), ("m2", 1)]))]
#[case::aggregated(aggregated())]
#[case::by_room(dynamic_weight())]
fn c84_the_replicas_of_a_lost_cluster_move(#[case] placement: Value) {
    let lost = cluster("m2", &and(room(100), &tainted("down", "NoExecute")));
    let clusters = [cluster("m1", &room(100)), lost];
    let binding = deployment(15, &placement, &[("m1", 12), ("m2", 3)]);
    assert_eq!(answer(&evicted(binding, "m2"), &clusters), "m1:15");
}

// kubeadmiral PR#96, C91: more is counted than there is. The estimate is no less than nothing, and no round adds replicas.
#[rstest]
#[case::aggregated(aggregated())]
#[case::by_room(dynamic_weight())]
fn c91_an_estimate_below_nothing_adds_nothing(#[case] placement: Value) {
    let full = json!({"status": {"resourceSummary": {
        "allocatable": {"pods": "10"}, "allocated": {"pods": "8"}, "allocating": {"pods": "40"},
    }}});
    let clusters = [cluster("m1", &full), cluster("m2", &full), cluster("m3", &room(2))];
    let mut binding = deployment(6, &placement, &[("m1", 4)]);
    let sum = |binding: &Binding| binding.spec.clusters.iter().map(|target| target.replicas).sum::<i32>();
    for round in 0..10 {
        let start = if round % 2 == 0 {
            StartFrom::GroupInUse
        } else {
            StartFrom::FirstGroup
        };
        let decision = placed(&binding, &clusters, start).unwrap();
        binding.spec.clusters = decision.clusters;
        assert_eq!(sum(&binding), 6, "{binding:?}");
    }
    binding.spec.replicas = Some(20);
    for _ in 0..10 {
        let failure = placed(&binding, &clusters, StartFrom::GroupInUse).unwrap_err();
        assert_eq!(failure.reason(), "Unschedulable");
    }
}

/// Ordered groups: where the group in use has too little room the next one is tried, as in stock; and none is worse than that.
#[test]
fn a_group_without_room_gives_way_to_the_next() {
    let mut placement = aggregated();
    placement["clusterAffinities"] = json!([
        {"affinityName": "near", "clusterNames": ["m1"]}, {"affinityName": "far", "clusterNames": ["m1", "m2"]},
    ]);
    let clusters = [cluster("m1", &room(3)), cluster("m2", &room(9))];
    let decision = |replicas, on| placed(&deployment(replicas, &placement, on), &clusters, StartFrom::GroupInUse);
    assert_eq!(decision(3, &[]).unwrap().affinity_name.as_deref(), Some("near"));
    let more = decision(9, &[("m1", 3)]).unwrap();
    assert_eq!(
        (more.affinity_name.as_deref(), shown(&more.clusters).as_str()),
        (Some("far"), "m1:5 m2:4")
    );
    assert_eq!(
        decision(90, &[("m1", 3)]).unwrap_err().to_string(),
        "Clusters available replicas 3 are not enough to schedule. (This is of the affinity group near. far: Clusters available \
         replicas 12 are not enough to schedule.)"
    );
}
