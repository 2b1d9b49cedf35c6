#![expect(clippy::needless_pass_by_value, reason = "JSON literals read best as they are")]

mod room;

use api_types::cluster::Cluster;
use failover_core::cluster_health::freshness::SETTLES_IN;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::testing::{cluster, config_map, deployment, not_ready, now, one_to_two, shown, tainted};

fn members(more: [Value; 3]) -> Vec<Cluster> {
    more.into_iter()
        .enumerate()
        .map(|(n, more)| cluster(&format!("member{}", n + 1), more))
        .collect()
}

/// member1 is down, the others are fine.
fn member1_down() -> Vec<Cluster> {
    let mut down = not_ready();
    down["spec"] = tainted("down", "NoExecute")["spec"].clone();
    members([down, json!({}), json!({})])
}

fn asked_with(
    binding: &Binding,
    clusters: &[Cluster],
    check: PreEvictionCheck,
    fewer_copies: FewerCopies,
) -> Feasibility {
    let fleet: Fleet = clusters.iter().cloned().collect();
    feasibility(&Question {
        binding,
        leaving: &"member1".into(),
        fleet: &fleet,
        plugins: &Plugins::default(),
        rules: Rules::default(),
        check,
        fewer_copies,
        now: now(),
    })
}

fn asked(binding: &Binding, clusters: &[Cluster]) -> Feasibility {
    asked_with(binding, clusters, PreEvictionCheck::Affinity, FewerCopies::Refused)
}

fn on(names: &[&str], replicas: i32, placement: Value) -> Binding {
    let clusters: Vec<Value> = names
        .iter()
        .map(|name| json!({"name": name, "replicas": replicas}))
        .collect();
    deployment(json!({"clusters": clusters, "placement": placement}))
}

fn duplicated(names: &[&str], groups: Option<(i64, i64)>) -> Value {
    let constraints: Vec<Value> = groups
        .into_iter()
        .map(|(min, max)| json!({"spreadByField": "cluster", "minGroups": min, "maxGroups": max}))
        .collect();
    json!({"clusterAffinity": {"clusterNames": names}, "spreadConstraints": constraints})
}

fn result(answer: &Feasibility) -> String {
    match &answer.outcome {
        Outcome::Fits { result, .. } => shown(result),
        Outcome::NoTarget { why } => why.clone(),
    }
}

// The worked example: the remaining cluster takes the missing replica. (The document's narrower wording, new clusters
// only, would forbid its own example.)
#[test]
fn divided_replicas_may_go_to_clusters_that_remain() {
    let binding = deployment(json!({
        "clusters": [{"name": "member1", "replicas": 1}, {"name": "member2", "replicas": 2}], "placement": one_to_two(),
    }));
    let answer = asked(&binding, &member1_down());
    assert_eq!((answer.fits(), result(&answer).as_str()), (true, "member2:3"));
}

#[test]
fn divided_replicas_find_no_place_where_no_ready_cluster_is_left() {
    let mut binding = on(&["member1", "member2"], 1, one_to_two());
    binding.spec.replicas = Some(2);
    let mut down = member1_down();
    down[1] = cluster("member2", not_ready());
    let answer = asked(&binding, &down);
    assert!(!answer.fits());
    assert_eq!(answer.refusals.0["member2"].reason, "cluster(s) is not Ready");
    assert_eq!(answer.refusals.0["member1"].reason, "cluster(s) is the one to be left");
    assert!(
        answer.why().contains("no other cluster can take it"),
        "{}",
        answer.why()
    );
}

#[rstest]
#[case::gains_one(&["member1", "member2"], duplicated(&["member1", "member2", "member3"], None), true)]
#[case::nothing_to_gain(&["member1", "member2"], duplicated(&["member1", "member2"], None), false)]
#[case::the_only_one_moves(&["member1"], duplicated(&["member1", "member2"], Some((1, 1))), true)]
#[case::min_groups_without_the_faulty_one(&["member1", "member2"], duplicated(&["member1", "member2", "member3"], Some((3, 3))), false)]
#[case::min_groups_kept(&["member1", "member2"], duplicated(&["member1", "member2", "member3"], Some((2, 3))), true)]
#[case::nowhere(&["member1"], duplicated(&["member1"], None), false)]
fn duplicated_must_gain_a_cluster(#[case] present: &[&str], #[case] placement: Value, #[case] fits: bool) {
    let answer = asked(&on(present, 3, placement), &member1_down());
    assert_eq!(answer.fits(), fits, "{answer:?}");
}

#[test]
fn what_has_no_replicas_counts_as_duplicated() {
    let binding = config_map(json!({
        "clusters": [{"name": "member1"}, {"name": "member2"}], "placement": {"clusterAffinity": {"clusterNames": ["member1", "member2"]}},
    }));
    assert!(!asked(&binding, &member1_down()).fits());
    let binding = config_map(json!({"clusters": [{"name": "member1"}, {"name": "member2"}], "placement": {}}));
    assert!(asked(&binding, &member1_down()).fits());
}

// Fewer candidates than failed clusters: as many move as there are candidates.
#[test]
fn two_copies_do_not_leave_for_one_candidate() {
    let mut binding = on(&["member1"], 3, duplicated(&["member1", "member2", "member3"], None));
    binding.spec.graceful_eviction_tasks = serde_json::from_value(json!([
        {"fromCluster": "member2", "reason": "TaintUntolerated", "producer": "TaintManager"},
    ]))
    .unwrap();
    let mut down = member1_down();
    down[1] = down[0].clone();
    down[1].metadata.name = Some("member2".to_owned());
    let answer = asked(&binding, &down);
    assert!(
        !answer.fits(),
        "member2's copy wants member3, and the scheduler has not looked yet: {answer:?}"
    );

    // The scheduler has looked and member3 took that copy: none is left for member1's.
    binding
        .spec
        .clusters
        .push(serde_json::from_value(json!({"name": "member3", "replicas": 3})).unwrap());
    binding.status = serde_json::from_value(json!({
        "schedulerObservedGeneration": 1,
        "conditions": [{"type": "Scheduled", "status": "True", "reason": "Success", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    }))
    .unwrap();
    assert!(!asked(&binding, &down).fits());
}

#[test]
fn fewer_copies_where_that_is_accepted_and_one_is_healthy() {
    let mut binding = on(&["member1", "member2"], 3, duplicated(&["member1", "member2"], None));
    let accepted = |binding: &Binding| {
        asked_with(
            binding,
            &member1_down(),
            PreEvictionCheck::Affinity,
            FewerCopies::AcceptedIfOneIsHealthy,
        )
        .fits()
    };
    assert!(!accepted(&binding), "nobody knows whether member2's copy runs");
    let shows = |available: i64| {
        let item = json!({"clusterName": "member2", "applied": true, "health": "Healthy",
            "status": {"availableReplicas": available}});
        serde_json::from_value(json!({"aggregatedStatus": [item]})).unwrap()
    };
    binding.status = shows(1);
    assert!(!accepted(&binding), "1 of 3 replicas is no copy that works");
    binding.status = shows(3);
    assert!(accepted(&binding));
    assert!(!asked(&binding, &member1_down()).fits(), "it was not accepted");

    binding.spec.placement =
        serde_json::from_value(json!({"clusterAffinity": {"clusterNames": ["member1"]}, "replicaScheduling": {}}))
            .unwrap();
    assert!(!accepted(&binding), "replicas are not copies");
}

// Nothing else would bring it up again: no cluster changes when a report counts again.
#[test]
fn a_copy_that_was_not_reported_since_its_cluster_is_back_names_the_time_to_ask_again() {
    let mut binding = on(&["member1", "member2"], 3, duplicated(&["member1", "member2"], None));
    let item = json!({"clusterName": "member2", "applied": true, "health": "Healthy",
        "status": {"availableReplicas": 3}, "collectedAt": "2026-01-01T11:00:00Z"});
    binding.status = serde_json::from_value(json!({"aggregatedStatus": [item]})).unwrap();
    let since: Timestamp = "2026-01-01T11:59:57Z".parse().unwrap();
    let mut clusters = member1_down();
    clusters[1].status.as_mut().unwrap().conditions[0]
        .last_transition_time
        .0 = since;
    let answer = |fewer_copies: FewerCopies| asked_with(&binding, &clusters, PreEvictionCheck::Affinity, fewer_copies);
    let accepted = answer(FewerCopies::AcceptedIfOneIsHealthy);
    assert!(!accepted.fits(), "it may have come back empty");
    assert_eq!(accepted.recheck_at, Some(since + SETTLES_IN));
    assert!(
        accepted
            .why()
            .ends_with("; member2 has not reported the copy since it is Ready again"),
        "{}",
        accepted.why()
    );
    assert_eq!(answer(FewerCopies::Refused).recheck_at, None, "it would not do");
}

// Beside stock, which says Unknown of what shows no status.
#[test]
fn a_copy_without_a_status_works_once_it_is_applied() {
    let placement = duplicated(&["member1", "member2"], None);
    let mut binding =
        config_map(json!({"clusters": [{"name": "member1"}, {"name": "member2"}], "placement": placement}));
    let item = json!({"clusterName": "member2", "applied": true, "health": "Unknown"});
    binding.status = serde_json::from_value(json!({"aggregatedStatus": [item]})).unwrap();
    let answer = asked_with(
        &binding,
        &member1_down(),
        PreEvictionCheck::Affinity,
        FewerCopies::AcceptedIfOneIsHealthy,
    );
    assert!(answer.fits(), "{answer:?}");
}

#[test]
fn a_block_names_the_time_to_ask_again() {
    let mut binding = on(&["member1"], 3, duplicated(&["member1", "member2"], None));
    binding.spec.active_eviction_history =
        serde_json::from_value(json!([{"clusterName": "member2", "creationTimestamp": "2026-01-01T11:55:00Z"}]))
            .unwrap();
    let answer = asked(&binding, &member1_down());
    assert_eq!(
        (answer.fits(), answer.recheck_at),
        (false, Some("2026-01-01T12:05:00Z".parse().unwrap()))
    );
}

// An application that fails wherever it goes does not go to and fro: while every other cluster is blocked there is no
// target, until the first block ends; with blockPredecessorSeconds 0 until a person clears the history.
#[rstest]
#[case::until_the_first_ends(json!(600), &[("member2", "11:55:00"), ("member3", "11:52:00")], Err(Some("2026-01-01T12:02:00Z")))]
#[case::one_has_ended(json!(600), &[("member2", "11:55:00"), ("member3", "11:50:00")], Ok("member3"))]
#[case::without_an_end(json!(0), &[("member2", "11:55:00"), ("member3", "10:00:00")], Err(None))]
#[case::of_one_cluster_alone(json!(0), &[("member2", "11:55:00")], Ok("member3"))]
#[case::twice_there(json!(600), &[("member2", "11:55:00"), ("member3", "11:40:00"), ("member3", "11:59:00")], Err(Some("2026-01-01T12:05:00Z")))]
fn clusters_where_the_application_failed_are_no_place(
    #[case] block_predecessor_seconds: Value,
    #[case] history: &[(&str, &str)],
    #[case] expected: Result<&str, Option<&str>>,
) {
    let history: Vec<Value> = history
        .iter()
        .map(|(name, time)| json!({"clusterName": name, "creationTimestamp": format!("2026-01-01T{time}Z")}))
        .collect();
    for placement in [
        duplicated(&["member1", "member2", "member3"], Some((1, 1))),
        json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}}),
    ] {
        let mut binding = on(&["member1"], 3, placement);
        binding.spec.active_eviction_history = serde_json::from_value(json!(history)).unwrap();
        binding.spec.failover = serde_json::from_value(json!({"application": {
            "decisionConditions": {}, "blockPredecessorSeconds": block_predecessor_seconds}}))
        .unwrap();
        let answer = asked(&binding, &members([json!({}), json!({}), json!({})]));
        match expected {
            Ok(name) => assert!(result(&answer).starts_with(name) && answer.fits(), "{answer:?}"),
            Err(until) => {
                assert!(
                    answer.why().contains("blocked because the application failed there"),
                    "{answer:?}"
                );
                assert_eq!(answer.recheck_at, until.map(|until| until.parse().unwrap()));
            }
        }
    }
}

#[test]
fn a_cluster_that_is_being_deleted_is_no_place() {
    let binding = on(&["member1", "member2"], 1, one_to_two());
    let mut clusters = member1_down();
    clusters[1] = cluster(
        "member2",
        json!({"metadata": {"deletionTimestamp": "2026-01-01T11:00:00Z"}}),
    );
    assert!(!asked(&binding, &clusters).fits());
}

#[test]
fn a_placement_that_the_scheduler_cannot_do_holds_the_eviction() {
    let answer = asked(&on(&["member1"], 3, json!({"workloadAffinity": {}})), &member1_down());
    assert!(
        !answer.fits() && answer.why().contains("workloadAffinity"),
        "{answer:?}"
    );
}

// Only clusters with Ready=True count, those where a copy is included.
#[rstest]
#[case::min_groups_of_which_one_is_not_ready(duplicated(&["member1", "member2", "member3"], Some((2, 3))), false)]
#[case::the_ready_one_takes_it(duplicated(&["member1", "member2", "member3"], None), true)]
fn a_present_cluster_that_is_not_ready_is_no_place(#[case] placement: Value, #[case] fits: bool) {
    let mut clusters = member1_down();
    clusters[1] = cluster("member2", not_ready());
    let answer = asked(&on(&["member1", "member2"], 3, placement), &clusters);
    assert_eq!(answer.fits(), fits, "{answer:?}");
    assert_eq!(answer.refusals.0["member2"].reason, "cluster(s) is not Ready");
}

#[test]
fn nothing_is_checked_when_the_check_is_off() {
    let binding = on(&["member1"], 3, duplicated(&["member1"], None));
    assert!(asked_with(&binding, &member1_down(), PreEvictionCheck::Off, FewerCopies::Refused).fits());
}

proptest! {
    // What fits is found by the scheduler afterwards, and nothing goes to the cluster that was left.
    #[test]
    fn what_fits_is_placed_afterwards(
        states in prop::collection::vec(prop::sample::select(vec![json!({}), tainted("k", "NoSchedule"), not_ready()]), 2),
        present in prop::collection::btree_set(1_usize..4, 1..4),
        divided in any::<bool>(),
    ) {
        let down = member1_down();
        let clusters = members([json!({}), states[0].clone(), states[1].clone()]);
        let clusters = vec![down[0].clone(), clusters[1].clone(), clusters[2].clone()];
        let placement = if divided { json!({"replicaScheduling": {}}) } else { json!({}) };
        let mut names: Vec<String> = present.iter().map(|n| format!("member{n}")).collect();
        if !names.contains(&"member1".to_owned()) {
            names.push("member1".to_owned());
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let binding = on(&names, 1, placement);
        if let Outcome::Fits { result, gained, .. } = asked(&binding, &clusters).outcome {
            prop_assert!(!result.is_empty());
            prop_assert!(result.iter().all(|target| target.name != "member1"));
            prop_assert!(divided || !gained.is_empty());
            let after = after_eviction(&binding, &"member1".into());
            let fleet: Fleet = clusters.into_iter().collect();
            let placed = schedule(&Scheduling {
                binding: &after, fleet: &fleet, plugins: &Plugins::default(), rules: Rules::default(),
                start: StartFrom::GroupInUse, now: now(),
            }).unwrap();
            prop_assert!(placed.clusters.iter().all(|target| target.name != "member1"));
            prop_assert!(gained.iter().all(|name| placed.clusters.iter().any(|target| target.name == name.as_str())));
        }
    }
}

#[rstest]
#[case::deletion("deletion@2026-01-01T00:00:00Z", "", FewerCopies::AcceptedIfOneIsHealthy)]
#[case::drain_that_says_so(
    "cluster.karmada.io/drain:NoExecute@2026-01-01T00:00:00Z",
    "accept-fewer-copies",
    FewerCopies::AcceptedIfOneIsHealthy
)]
#[case::drain("cluster.karmada.io/drain:NoExecute@2026-01-01T00:00:00Z", "", FewerCopies::Refused)]
#[case::failure_of_a_drained_cluster(
    "cluster.karmada.io/not-ready:NoExecute@2026-01-01T00:00:00Z",
    "accept-fewer-copies",
    FewerCopies::Refused
)]
#[case::application("application@2026-01-01T00:00:00Z", "accept-fewer-copies", FewerCopies::Refused)]
fn fewer_copies_are_a_persons_word(#[case] cause: &str, #[case] drain: &str, #[case] expected: FewerCopies) {
    let taints = json!([
        {"key": "cluster.karmada.io/drain", "effect": "NoExecute", "value": drain},
        {"key": "cluster.karmada.io/not-ready", "effect": "NoExecute", "value": "accept-fewer-copies"},
    ]);
    let cluster = cluster("member1", json!({"spec": {"syncMode": "Push", "taints": taints}}));
    assert_eq!(FewerCopies::accepted_by(&cause.parse().unwrap(), &cluster), expected);
}

// Nothing is evicted without a target that anybody knows of; the words say what is not known, and what to do.
#[rstest]
#[case::workload_affinity(json!({"workloadAffinity": {}}), "workloadAffinity")]
#[case::dynamic(json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
    "weightPreference": {"dynamicWeight": "Mood"}}}), "dynamicWeight Mood")]
#[case::label(json!({"spreadConstraints": [{"spreadByLabel": "l", "maxGroups": 1}]}), "spreadByLabel")]
fn a_placement_that_is_not_known_is_said_so(#[case] placement: Value, #[case] what: &str) {
    let answer = asked(&on(&["member1"], 2, placement), &member1_down());
    assert!(!answer.fits());
    assert!(answer.why().starts_with(what), "{}", answer.why());
    assert!(answer.why().contains("--pre-eviction-check=off"), "{}", answer.why());
}

/// What is attached and stays for its owner on its way out claims no candidate of its own.
#[test]
fn a_mirror_wants_no_place() {
    let mut binding = on(&["member1"], 2, duplicated(&["member1", "member2", "member3"], None));
    let mirror = json!({"fromCluster": "member3", "reason": "TaintUntolerated", "producer": "DependencyMirror"});
    binding.spec.graceful_eviction_tasks = vec![serde_json::from_value(mirror).unwrap()];
    let answer = asked(&binding, &member1_down());
    assert!(answer.fits(), "{}", answer.why());
}
