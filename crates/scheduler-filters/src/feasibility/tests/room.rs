//! Room on the clusters that are left.

use super::*;

fn by_room(division: &str) -> Value {
    match division {
        "Aggregated" => json!({"replicaScheduling": {
            "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}}),
        _ => json!({"replicaScheduling": {
            "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
            "weightPreference": {"dynamicWeight": "AvailableReplicas"}}}),
    }
}

// The scheduler would place nothing without room, so the check asks for it whatever its setting.
#[rstest]
#[case::aggregated_where_most_room_is("Aggregated", 3, 5, Ok("member3:3"))]
#[case::by_weight("AvailableReplicas", 4, 8, Ok("member2:1 member3:2"))]
#[case::together("Aggregated", 1, 2, Ok("member2:1 member3:2"))]
#[case::too_little(
    "Aggregated",
    1,
    1,
    Err("3 replicas want a place, and the other clusters have room for 2")
)]
#[case::none(
    "AvailableReplicas",
    0,
    0,
    Err("3 replicas want a place, and the other clusters have room for 0")
)]
fn divided_by_room_there_must_be_room(
    #[case] division: &str,
    #[case] member2: u32,
    #[case] member3: u32,
    #[case] expected: Result<&str, &str>,
) {
    let down = member1_down();
    let others = members([json!({}), room_for(member2), room_for(member3)]);
    let clusters = [down[0].clone(), others[1].clone(), others[2].clone()];
    let answer = asked(&of_one_cpu(on(&["member1"], 3, by_room(division))), &clusters);
    match expected {
        Ok(expected) => assert_eq!(result(&answer), expected),
        Err(why) => {
            assert_eq!((answer.fits(), answer.why()), (false, why));
            assert_eq!(answer.rests_on, NoTargetRestsOn::PlacesAndResources);
            let of_member2 = &answer.refusals.0[&ClusterName::from("member2")].reason;
            assert_eq!(*of_member2, format!("cluster(s) has room for {member2} of 3 replicas"));
        }
    }
}

// The scheduler places all that is missing or nothing.
#[test]
fn what_waits_for_a_scale_up_cannot_move_before_that() {
    let mut binding = of_one_cpu(on(&["member1"], 3, by_room("Aggregated")));
    binding.spec.replicas = Some(10);
    let down = member1_down();
    let others = members([json!({}), room_for(4), room_for(5)]);
    let answer = asked(&binding, &[down[0].clone(), others[1].clone(), others[2].clone()]);
    assert_eq!(
        (answer.fits(), answer.why()),
        (
            false,
            "10 replicas want a place (7 of these were missing before), and the other clusters have room for 9"
        )
    );
}

/// Regions 2 to 3 and clusters 2 to 3, on two of one region and one of another; the one that fails may be replaced in a third.
#[test]
fn a_copy_may_be_replaced_in_a_region_that_is_not_in_use() {
    let constraints = json!([
        {"spreadByField": "region", "minGroups": 2, "maxGroups": 3},
        {"spreadByField": "cluster", "minGroups": 2, "maxGroups": 3},
    ]);
    let binding = on(
        &["member1", "member2", "member3"],
        3,
        json!({"spreadConstraints": constraints}),
    );
    let region = |name: &str| json!({"spec": {"region": name}});
    let mut down = member1_down()[0].clone();
    down.spec.region = Some("a".to_owned());
    let others = members([json!({}), region("a"), region("b")]);
    let clusters = [
        down,
        others[1].clone(),
        others[2].clone(),
        cluster("member4", region("c")),
    ];
    let answer = asked(&binding, &clusters);
    assert_eq!(result(&answer), "member2:3 member3:3 member4:3");
    assert!(answer.fits());
    assert!(!asked(&binding, &clusters[..3]).fits(), "nothing replaces it");
}

/// The first group has no cluster left, the second has too little room: more room is a chance.
#[test]
fn of_several_groups_each_is_a_chance() {
    let mut placement = by_room("Aggregated");
    placement["clusterAffinities"] = json!([
        {"affinityName": "near", "clusterNames": ["member1"]}, {"affinityName": "far", "clusterNames": ["member2"]},
    ]);
    let down = member1_down();
    let others = members([json!({}), room_for(2), json!({})]);
    let answer = asked(
        &of_one_cpu(on(&["member1"], 3, placement)),
        &[down[0].clone(), others[1].clone(), others[2].clone()],
    );
    assert_eq!(
        (answer.fits(), answer.rests_on),
        (false, NoTargetRestsOn::PlacesAndResources)
    );
    assert!(
        answer.why().contains("far: Clusters available replicas 2"),
        "{}",
        answer.why()
    );
}

/// Two clusters fail, and there is room for the replicas of one: those of one move.
#[test]
fn divided_by_room_as_many_leave_as_find_room() {
    let mut binding = of_one_cpu(on(&["member1", "member2"], 3, by_room("Aggregated")));
    binding.spec.replicas = Some(6);
    let down = member1_down();
    let mut also_down = room_for(9);
    also_down["status"]["conditions"] = not_ready()["status"]["conditions"].clone();
    let others = members([json!({}), also_down, room_for(3)]);
    let clusters = [down[0].clone(), others[1].clone(), others[2].clone()];
    assert_eq!(result(&asked(&binding, &clusters)), "member2:3 member3:3");
}

/// `more` for a cluster that is Ready and has room for so many replicas of one CPU.
fn room_for(replicas: u32) -> Value {
    json!({"status": {"resourceSummary": {"allocatable": {"cpu": replicas.to_string(), "pods": "110"}}}})
}

/// The same binding, of replicas that ask for one CPU.
fn of_one_cpu(mut binding: Binding) -> Binding {
    binding.spec.replica_requirements = serde_json::from_value(json!({"resourceRequest": {"cpu": "1"}})).unwrap();
    binding
}

fn with_capacity(binding: &Binding, member2: Value, member3: Value) -> Feasibility {
    let down = member1_down();
    let others = members([json!({}), member2, member3]);
    let clusters = [down[0].clone(), others[1].clone(), others[2].clone()];
    asked_with(binding, &clusters, PreEvictionCheck::Capacity, FewerCopies::Refused)
}

// The worked example, 1:2 over member1 and member2, where one replica moves to member2.
#[rstest]
#[case::enough(room_for(1), Ok("member2:3"))]
#[case::none(room_for(0), Err("the replicas that move find no room: member2 has room for 0 of 1"))]
#[case::silent(json!({}), Err("the replicas that move find no room: member2 has reported no resources"))]
fn capacity_of_divided_is_that_for_what_is_added(#[case] member2: Value, #[case] expected: Result<&str, &str>) {
    let binding = of_one_cpu(deployment(json!({
        "clusters": [{"name": "member1", "replicas": 1}, {"name": "member2", "replicas": 2}], "placement": one_to_two(),
    })));
    let answer = with_capacity(&binding, member2, json!({}));
    let rests_on = if expected.is_ok() {
        NoTargetRestsOn::Places
    } else {
        NoTargetRestsOn::PlacesAndResources
    };
    assert_eq!((answer.fits(), answer.rests_on), (expected.is_ok(), rests_on));
    assert_eq!(result(&answer), expected.unwrap_or_else(|why| why));
}

#[test]
fn capacity_of_divided_counts_new_clusters_and_those_that_remain() {
    let binding = of_one_cpu(deployment(json!({
        "replicas": 6, "clusters": [{"name": "member1", "replicas": 4}, {"name": "member2", "replicas": 2}],
        "placement": {"replicaScheduling": {}},
    })));
    let answer = with_capacity(&binding, room_for(1), room_for(3));
    assert_eq!((answer.fits(), result(&answer).as_str()), (true, "member2:3 member3:3"));
    let answer = with_capacity(&binding, room_for(0), room_for(2));
    let why = "the replicas that move find no room: member2 has room for 0 of 1, member3 has room for 2 of 3";
    assert_eq!((answer.fits(), result(&answer).as_str()), (false, why));
    assert_eq!(
        answer.refusals.0["member3"].reason,
        "cluster(s) has room for 2 of 3 replicas"
    );
}

#[rstest]
#[case::one_has_room(&["member1"], None, 3, 0, Ok("member2"))]
#[case::none_has(&["member1"], None, 1, 2, Err("no other cluster has room for it: member2 has room for 1 of 3, member3 has room for 2 of 3"))]
#[case::where_it_runs_already_none_is_needed(&["member1", "member2"], None, 0, 3, Ok("member3"))]
#[case::where_it_runs_already_nothing_is_gained(&["member1", "member2"], None, 9, 1, Err("no other cluster has room for it: member3 has room for 1 of 3"))]
// Of two that fit the scheduler takes the one with the most room.
#[case::what_the_scheduler_would_choose_counts(&["member1"], Some((1, 1)), 0, 9, Ok("member3"))]
#[case::even_the_best_has_too_little(&["member1"], Some((1, 1)), 2, 1, Err("minGroups wants 1 clusters, and there is no room: member2 has room for 2 of 3"))]
#[case::min_groups_with_room(&["member1"], Some((2, 2)), 9, 0, Err("minGroups wants 2 clusters, and there is no room: member3 has room for 0 of 3"))]
fn capacity_of_duplicated_is_that_of_each_candidate(
    #[case] present: &[&str],
    #[case] groups: Option<(i64, i64)>,
    #[case] member2: u32,
    #[case] member3: u32,
    #[case] expected: Result<&str, &str>,
) {
    let binding = of_one_cpu(on(present, 3, duplicated(&["member1", "member2", "member3"], groups)));
    let answer = with_capacity(&binding, room_for(member2), room_for(member3));
    match (&answer.outcome, expected) {
        (Outcome::Fits { gained, .. }, Ok(expected)) => assert_eq!(gained, &[ClusterName::from(expected)]),
        (Outcome::NoTarget { why }, Err(expected)) => assert_eq!(why, expected),
        _ => panic!("{answer:?}"),
    }
}

#[test]
fn what_has_no_replicas_needs_no_room() {
    let binding = config_map(json!({"clusters": [{"name": "member1"}], "placement": {}}));
    assert!(with_capacity(&binding, json!({}), json!({})).fits());
}

#[test]
fn without_capacity_room_is_not_judged() {
    let binding = of_one_cpu(on(&["member1"], 3, duplicated(&["member1", "member2"], None)));
    let clusters = [member1_down()[0].clone(), cluster("member2", room_for(0))];
    assert!(asked(&binding, &clusters).fits());
}

// Where nothing is named that could take it, more resources are no other chance.
#[test]
fn what_no_cluster_may_take_does_not_wait_for_room() {
    let binding = of_one_cpu(on(&["member1"], 3, duplicated(&["member1"], None)));
    let answer = with_capacity(&binding, room_for(9), room_for(9));
    assert_eq!((answer.fits(), answer.rests_on), (false, NoTargetRestsOn::Places));
}
