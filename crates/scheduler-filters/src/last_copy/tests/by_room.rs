//! Copies of what is divided by room: scaled down, placed anew, and meanwhile.

use super::*;

fn by_room(division: &str) -> Value {
    let mut scheduling = json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": division});
    if division == "Weighted" {
        scheduling["weightPreference"] = json!({"dynamicWeight": "AvailableReplicas"});
    }
    json!({"replicaScheduling": scheduling})
}

/// Scaled down onto the largest copy, which does not work: the one that works stays beside it, look after look.
#[test]
fn aggregated_scaled_down_keeps_the_copy_that_works() {
    let mut binding = deployment(json!({"replicas": 6, "placement": by_room("Aggregated")}));
    binding.spec.clusters = targets(json!([{"name": "member1", "replicas": 4}, {"name": "member2", "replicas": 8}]));
    let status = json!({"aggregatedStatus": [healthy("member1", 4), saying("member2", "Unhealthy")]});
    binding.status = serde_json::from_value(status).unwrap();
    for _ in 0..3 {
        let decision = placed(&binding, &fine(2));
        assert_eq!(told(&decision), "member1:4 member2:6, member1 kept");
        write(&mut binding, decision);
    }
    let status = json!({"aggregatedStatus": [healthy("member1", 4), healthy("member2", 6)]});
    binding.status = serde_json::from_value(status).unwrap();
    assert_eq!(told(&placed(&binding, &fine(2))), "member2:6");
}

/// A person asks for a fresh placement: member2 has more room than member1, where all runs.
fn asked_for_anew() -> (Binding, Fleet) {
    let mut binding = deployment(json!({"replicas": 3, "placement": by_room("Aggregated")}));
    binding.spec.clusters = targets(json!([{"name": "member1", "replicas": 3}]));
    binding.status = serde_json::from_value(json!({"aggregatedStatus": [healthy("member1", 3)]})).unwrap();
    let room = |pods: &str| json!({"status": {"resourceSummary": {"allocatable": {"pods": pods}}}});
    let fleet = fleet(&[room("0"), room("20"), room("5")]);
    let fresh = placed_by(&binding, &fleet, Rules::default(), StartFrom::FirstGroup);
    assert_eq!(told(&fresh), "member1:3 member2:3, member1 kept");
    write(&mut binding, fresh);
    (binding, fleet)
}

/// What was chosen stands, although member1 comes first by name, and has all the replicas once it works.
#[test]
fn a_fresh_placement_is_not_undone_for_the_copy_that_is_kept() {
    let (mut binding, fleet) = asked_for_anew();
    for status in [
        json!([healthy("member1", 3)]),
        json!([healthy("member1", 3), saying("member2", "Unhealthy")]),
        json!([healthy("member1", 3), healthy("member2", 2)]),
    ] {
        binding.status = serde_json::from_value(json!({"aggregatedStatus": status})).unwrap();
        let decision = placed(&binding, &fleet);
        assert_eq!(told(&decision), "member1:3 member2:3, member1 kept");
        write(&mut binding, decision);
    }
    let status = json!({"aggregatedStatus": [healthy("member1", 3), healthy("member2", 3)]});
    binding.status = serde_json::from_value(status).unwrap();
    let decision = placed(&binding, &fleet);
    assert_eq!(told(&decision), "member2:3");
    write(&mut binding, decision);
    assert_eq!(stored_note(&binding), None);
}

/// While the copy is kept.
#[rstest]
#[case::it_is_scaled_up(4, &["member1", "member2"], "member1:3 member2:4, member1 kept")]
#[case::it_is_scaled_down(2, &["member1", "member2"], "member1:3 member2:2, member1 kept")]
#[case::the_new_one_is_lost(3, &["member1"], "member1:3 member3:3, member1 kept")]
// Nothing but member1 has room for so many: it counts as before.
#[case::the_new_one_is_lost_and_there_is_no_room(8, &["member1"], "member1:3 member3:5")]
fn meanwhile(#[case] replicas: i32, #[case] on: &[&str], #[case] expected: &str) {
    let (mut binding, fleet) = asked_for_anew();
    binding.spec.replicas = Some(replicas);
    binding
        .spec
        .clusters
        .retain(|target| on.contains(&target.name.as_str()));
    if on.len() == 1 {
        let task = json!({"fromCluster": "member2", "replicas": 3, "reason": "r", "producer": "p"});
        binding.spec.graceful_eviction_tasks = serde_json::from_value(json!([task])).unwrap();
    }
    let fleet = fleet.only(|name, _| on.contains(&name.as_str()) || name.as_str() == "member3");
    assert_eq!(told(&placed(&binding, &fleet)), expected);
}

/// What the annotation says of others, and what nobody can read, counts for nothing.
#[rstest]
#[case::it_was_given_other_replicas("member1:2")]
#[case::it_is_not_there("member9:3")]
#[case::not_a_list("member1")]
#[case::not_a_number("member1:many,")]
#[case::empty("")]
fn a_note_that_does_not_fit(#[case] note: &str) {
    let (mut binding, _) = asked_for_anew();
    let annotations = binding.metadata.annotations.get_or_insert_default();
    annotations.insert(annotation::KEPT_COPIES.to_owned(), note.to_owned());
    assert_eq!(without_noted(&binding), None);
}

proptest! {
    /// A copy that is kept counts for none in the next division by room. That comes to rest, and a copy that works is in each step.
    #[test]
    fn divisions_by_room_come_to_rest(
        copies in prop::collection::vec((0_i32..7, any::<bool>()), 1..5), replicas in 1_i32..12, aggregated in any::<bool>(),
        start in prop::sample::select(vec![StartFrom::GroupInUse, StartFrom::FirstGroup]),
    ) {
        let division = if aggregated { "Aggregated" } else { "Weighted" };
        let mut binding = deployment(json!({"replicas": replicas, "placement": by_room(division)}));
        let copies: Vec<(String, i32, bool)> =
            copies.into_iter().enumerate().map(|(n, (replicas, works))| (format!("member{}", n + 1), replicas, works)).collect();
        let there = copies.iter().filter(|(_, replicas, _)| *replicas > 0);
        binding.spec.clusters =
            targets(there.clone().map(|(name, replicas, _)| json!({"name": name, "replicas": replicas})).collect());
        let status = there.map(|(name, replicas, works)| if *works { healthy(name, *replicas) } else { saying(name, "Unhealthy") });
        binding.status = serde_json::from_value(json!({"aggregatedStatus": status.collect::<Vec<_>>()})).unwrap();
        let room = json!({"status": {"resourceSummary": {"allocatable": {"pods": "20"}}}});
        let fleet = fleet(&vec![room; copies.len()]);
        let worked = copies.iter().any(|(_, replicas, works)| *works && *replicas > 0);
        let first = placed_by(&binding, &fleet, Rules::default(), start);
        write(&mut binding, first);
        for _ in 0..4 {
            let again = placed(&binding, &fleet);
            prop_assert_eq!(&again.clusters, &binding.spec.clusters);
            write(&mut binding, again);
            let works = |target: &TargetCluster| copies.iter().any(|(name, replicas, works)| *works && *replicas > 0 && *name == target.name);
            prop_assert!(!worked || binding.spec.clusters.iter().any(works));
        }
    }
}
