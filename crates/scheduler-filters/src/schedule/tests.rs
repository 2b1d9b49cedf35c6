#![expect(clippy::needless_pass_by_value, reason = "JSON literals read best as they are")]

use api_types::cluster::Cluster;
use api_types::work::{Binding, TargetCluster};
use proptest::prelude::{Just, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::strategy::Strategy as Generator;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::request::DeletionBy;
use crate::testing::{cluster, config_map, deployment, now, one_to_two, shown, tainted};

fn members(more: [Value; 3]) -> Vec<Cluster> {
    more.into_iter()
        .enumerate()
        .map(|(n, more)| cluster(&format!("member{}", n + 1), more))
        .collect()
}

fn all_fine() -> Vec<Cluster> {
    members([json!({}), json!({}), json!({})])
}

fn placed_with(binding: &Binding, clusters: &[Cluster], rules: Rules, start: StartFrom) -> Result<Decision, Failure> {
    let fleet: Fleet = clusters.iter().cloned().collect();
    schedule(&Scheduling {
        binding,
        fleet: &fleet,
        plugins: &Plugins::default(),
        rules,
        start,
        now: now(),
    })
}

fn placed(binding: &Binding, clusters: &[Cluster]) -> String {
    match placed_with(binding, clusters, Rules::default(), StartFrom::GroupInUse) {
        Ok(decision) => shown(&decision.clusters),
        Err(failure) => format!("{}: {failure}", failure.reason()),
    }
}

// The worked example, step by step.
#[test]
fn the_worked_example() {
    let mut binding = deployment(json!({"placement": one_to_two()}));
    assert_eq!(placed(&binding, &all_fine()), "member1:1 member2:2");

    let down = members([tainted("down", "NoExecute"), json!({}), json!({})]);
    binding.spec.clusters = targets(&[("member1", 1), ("member2", 2)]);
    assert_eq!(
        placed(&binding, &down),
        "member1:1 member2:2",
        "the scheduler evicts nobody"
    );

    binding.spec.clusters = targets(&[("member2", 2)]);
    assert_eq!(placed(&binding, &down), "member2:3");
}

fn targets(clusters: &[(&str, i32)]) -> Vec<TargetCluster> {
    clusters
        .iter()
        .map(|(name, replicas)| TargetCluster {
            name: (*name).to_owned(),
            replicas: *replicas,
            ..TargetCluster::default()
        })
        .collect()
}

fn duplicated(more: Value) -> Value {
    let mut placement = json!({"replicaScheduling": {"replicaSchedulingType": "Duplicated"}});
    for (key, value) in more.as_object().unwrap() {
        placement[key] = value.clone();
    }
    placement
}

fn at_most(max: i64) -> Value {
    json!({"spreadConstraints": [{"spreadByField": "cluster", "maxGroups": max, "minGroups": 1}]})
}

#[rstest]
#[case::everywhere(duplicated(json!({})), "member1:3 member2:3 member3:3")]
#[case::absent_is_duplicated(json!({}), "member1:3 member2:3 member3:3")]
#[case::first_by_name(duplicated(at_most(1)), "member1:3")]
#[case::an_empty_strategy_is_divided(json!({"replicaScheduling": {}}), "member1:1 member2:1 member3:1")]
#[case::weights_look_at_no_constraint(
    json!({"replicaScheduling": {"replicaSchedulingType": "Divided"}, "spreadConstraints": [{"spreadByField": "cluster", "maxGroups": 1}]}),
    "member1:1 member2:1 member3:1"
)]
#[case::too_few(
    duplicated(json!({"spreadConstraints": [{"spreadByField": "cluster", "maxGroups": 9, "minGroups": 4}]})),
    "SchedulerError: failed to select clusters: the number of feasible clusters is less than spreadConstraint.MinGroups (3 of 4)"
)]
fn strategies(#[case] placement: Value, #[case] expected: &str) {
    assert_eq!(
        placed(&deployment(json!({"placement": placement})), &all_fine()),
        expected
    );
}

// What this version does not do is refused with a message and never done wrongly.
#[rstest]
#[case::preference(json!({"replicaScheduling": {"replicaDivisionPreference": "Tidy"}}), "replicaDivisionPreference Tidy")]
#[case::dynamic(json!({"replicaScheduling": {"weightPreference": {"dynamicWeight": "Mood"}}}), "dynamicWeight Mood")]
#[case::zone_alone(duplicated(json!({"spreadConstraints": [{"spreadByField": "zone", "maxGroups": 1}]})), "just support cluster and region spread constraint")]
#[case::label(duplicated(json!({"spreadConstraints": [{"spreadByLabel": "l", "maxGroups": 1}]})), "spreadByLabel")]
#[case::workload_affinity(json!({"workloadAffinity": {}}), "workloadAffinity")]
#[case::overflow(
    json!({"clusterAffinities": [{"affinityName": "a", "overflowAffinities": [{"affinityName": "b"}]}]}),
    "overflowAffinities"
)]
#[case::unknown_type(json!({"replicaScheduling": {"replicaSchedulingType": "Scattered"}}), "replicaSchedulingType Scattered")]
fn unsupported(#[case] placement: Value, #[case] what: &str) {
    let fine = members([
        json!({"spec": {"zones": ["z"]}}),
        json!({"spec": {"zones": ["z"]}}),
        json!({"spec": {"zones": ["z"]}}),
    ]);
    let answer = placed(&deployment(json!({"placement": placement})), &fine);
    assert!(
        answer.starts_with("SchedulerError: this scheduler does not support") && answer.contains(what),
        "{answer}"
    );
}

#[test]
fn workloads_with_several_components_are_unsupported() {
    let mut binding = deployment(json!({"placement": {}}));
    let components = json!([{"name": "jobmanager", "replicas": 1}, {"name": "taskmanager", "replicas": 2}]);
    binding.spec.components = serde_json::from_value(components).unwrap();
    assert_eq!(
        placed(&binding, &all_fine()),
        "SchedulerError: this scheduler does not support workloads with several components: the workload is left as it is"
    );
}

#[test]
fn a_refused_fleet_reads_as_stock_words_it() {
    let binding = deployment(json!({"placement": {"clusterAffinity": {"clusterNames": ["member1"]}}}));
    let down = members([
        tainted("cluster.karmada.io/not-ready", "NoSchedule"),
        json!({}),
        json!({}),
    ]);
    assert_eq!(
        placed(&binding, &down),
        "NoClusterFit: 0/3 clusters are available: 1 cluster(s) had untolerated taint \
         {cluster.karmada.io/not-ready:NoSchedule}, 2 cluster(s) did not match the placement cluster affinity constraint."
    );
    assert_eq!(
        placed(&binding, &[]),
        "NoClusterFit: 0/0 clusters are available: no cluster exists."
    );
}

// C80, karmada#1258: exactly one group, and it fails.
#[test]
fn c80_exactly_one_group_moves_whole() {
    let mut binding = deployment(json!({
        "placement": duplicated(at_most(1)),
        "gracefulEvictionTasks": [{"fromCluster": "member1", "reason": "TaintUntolerated", "producer": "TaintManager"}],
    }));
    let down = members([tainted("down", "NoExecute"), json!({}), json!({})]);
    assert_eq!(placed(&binding, &down), "member2:3");
    // Nothing fails back: what runs on member2 stays there when member1 returns.
    binding.spec.clusters = targets(&[("member2", 3)]);
    binding.spec.graceful_eviction_tasks.clear();
    assert_eq!(placed(&binding, &all_fine()), "member2:3");
}

// C83, karmada#1323: the result alone never exceeds maxGroups.
#[test]
fn c83_never_more_than_max_groups() {
    let mut binding = deployment(json!({"replicas": 110, "placement": duplicated(at_most(2))}));
    binding.spec.clusters = targets(&[("member1", 110), ("member3", 110)]);
    binding.spec.replicas = Some(180);
    assert_eq!(placed(&binding, &all_fine()), "member1:180 member3:180");
}

// C76, karmada#1640: a cluster that is not Ready keeps its part of a scale-up and of a scale-down.
#[test]
fn c76_scaling_moves_nothing_off_a_cluster_that_is_not_ready() {
    let not_ready = members([crate::testing::not_ready(), json!({}), json!({})]);
    let weights = json!({"clusterAffinity": {"clusterNames": ["member1", "member2"]}, "replicaScheduling": {}});
    let mut binding = deployment(json!({"replicas": 10, "placement": weights}));
    binding.spec.clusters = targets(&[("member1", 5)]);
    assert_eq!(placed(&binding, &not_ready), "member1:5 member2:5");
    binding.spec.clusters = targets(&[("member1", 5), ("member2", 5)]);
    binding.spec.replicas = Some(4);
    assert_eq!(placed(&binding, &not_ready), "member1:2 member2:2");
}

// C84, karmada#744.
#[test]
fn c84_the_replicas_of_a_lost_cluster_move() {
    let weights = json!({"replicaScheduling": {"weightPreference": {"staticWeightList": [
        {"targetCluster": {"clusterNames": ["member1"]}, "weight": 4},
        {"targetCluster": {"clusterNames": ["member2"]}, "weight": 1},
    ]}}});
    let mut binding = deployment(json!({"replicas": 15, "placement": weights}));
    assert_eq!(placed(&binding, &all_fine()), "member1:12 member2:3");
    binding.spec.clusters = targets(&[("member1", 12)]);
    let down = members([json!({}), tainted("down", "NoExecute"), json!({})]);
    assert_eq!(placed(&binding, &down), "member1:15");
}

#[test]
fn what_has_no_replicas_goes_everywhere() {
    assert_eq!(
        placed(&config_map(json!({})), &all_fine()),
        "member1:0 member2:0 member3:0"
    );
    assert_eq!(
        placed(&config_map(json!({"placement": one_to_two()})), &all_fine()),
        "member1:0 member2:0"
    );
}

#[test]
fn a_workload_scaled_to_nothing_stays_where_it_is() {
    let mut binding = deployment(json!({"replicas": 0, "placement": one_to_two()}));
    assert_eq!(placed(&binding, &all_fine()), "");
    binding.spec.clusters = targets(&[("member2", 2)]);
    assert_eq!(placed(&binding, &all_fine()), "member2:0");
}

fn groups() -> Value {
    json!({"clusterAffinities": [
        {"affinityName": "first", "clusterNames": ["member1"]},
        {"affinityName": "second", "clusterNames": ["member2"]},
        {"affinityName": "third", "clusterNames": ["member3"]},
    ]})
}

#[rstest]
#[case::the_first_that_fits("", [json!({}), json!({}), json!({})], StartFrom::GroupInUse, "first member1:3")]
#[case::the_next("", [tainted("k", "NoSchedule"), json!({}), json!({})], StartFrom::GroupInUse, "second member2:3")]
#[case::from_the_one_in_use_on("second", [json!({}), tainted("k", "NoSchedule"), json!({})], StartFrom::GroupInUse, "third member3:3")]
#[case::never_back_by_itself("third", [json!({}), json!({}), json!({})], StartFrom::GroupInUse, "third member3:3")]
#[case::back_when_asked("third", [json!({}), json!({}), json!({})], StartFrom::FirstGroup, "first member1:3")]
fn ordered_groups(#[case] in_use: &str, #[case] more: [Value; 3], #[case] start: StartFrom, #[case] expected: &str) {
    let mut binding = deployment(json!({"placement": groups()}));
    if !in_use.is_empty() {
        binding.status = serde_json::from_value(json!({"schedulerObservingAffinityName": in_use})).unwrap();
    }
    let decision = placed_with(&binding, &members(more), Rules::default(), start).unwrap();
    assert_eq!(
        format!("{} {}", decision.affinity_name.unwrap(), shown(&decision.clusters)),
        expected
    );
}

/// The first group lacks one thing, the second another: what is in either is another chance.
#[test]
fn what_any_group_waits_for_counts() {
    let far_is_blocked = json!([{"clusterName": "member2", "creationTimestamp": "2026-01-01T11:59:00Z"}]);
    let binding = deployment(json!({"placement": groups(), "activeEvictionHistory": far_is_blocked}));
    let tainted = tainted("k", "NoSchedule");
    let clusters = members([tainted.clone(), json!({}), tainted]);
    let failure = placed_with(&binding, &clusters, Rules::default(), StartFrom::GroupInUse).unwrap_err();
    assert_eq!(failure.reason(), "NoClusterFit");
    assert_eq!(failure.recheck_at(), Some("2026-01-01T12:09:00Z".parse().unwrap()));
    assert!(!failure.wants_room());
    // Each cluster with the reason of the group that names it.
    let refusals = failure.refusals().unwrap();
    let plugins: Vec<&str> = refusals.0.values().map(|refusal| refusal.plugin).collect();
    assert_eq!(plugins, ["TaintToleration", "EvictionHistory", "TaintToleration"]);
    assert_eq!(refusals.ends_at(), failure.recheck_at());
}

#[test]
fn a_later_group_may_want_room() {
    let mut placement = groups();
    placement["replicaScheduling"] =
        json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"});
    placement["clusterAffinities"].as_array_mut().unwrap().truncate(2);
    let binding = deployment(json!({"placement": placement}));
    let full = json!({"status": {"resourceSummary": {"allocatable": {"pods": "1"}}}});
    let clusters = members([tainted("k", "NoSchedule"), full, json!({})]);
    let failure = placed_with(&binding, &clusters, Rules::default(), StartFrom::GroupInUse).unwrap_err();
    assert!(failure.wants_room(), "{failure}");
    assert_eq!(
        failure.to_string(),
        "0/3 clusters are available: 1 cluster(s) had untolerated taint {k:NoSchedule}, 2 cluster(s) did not match the \
         placement cluster affinity constraint. (This is of the affinity group first. second: Clusters available \
         replicas 1 are not enough to schedule.)"
    );
    // member2 would do but for its room.
    let refused: Vec<&str> = failure.refusals().unwrap().0.keys().map(AsRef::as_ref).collect();
    assert_eq!(refused, ["member1", "member3"]);
}

/// The group in use is the last: stock's words say all.
#[test]
fn one_group_alone_reads_as_stock_words_it() {
    let mut binding = deployment(json!({"placement": groups()}));
    binding.status = serde_json::from_value(json!({"schedulerObservingAffinityName": "third"})).unwrap();
    let clusters = members([json!({}), json!({}), tainted("k", "NoSchedule")]);
    assert_eq!(
        placed(&binding, &clusters),
        "NoClusterFit: 0/3 clusters are available: 1 cluster(s) had untolerated taint {k:NoSchedule}, 2 cluster(s) did not \
         match the placement cluster affinity constraint."
    );
}

#[test]
fn what_is_not_supported_is_so_in_every_group() {
    let mut placement = groups();
    placement["spreadConstraints"] = json!([{"spreadByLabel": "l", "maxGroups": 1}]);
    let binding = deployment(json!({"placement": placement}));
    let failure = placed_with(&binding, &all_fine(), Rules::default(), StartFrom::GroupInUse).unwrap_err();
    assert!(matches!(failure, Failure::Unsupported(_)), "{failure:?}");
}

#[test]
fn deletion_is_left_to_the_queue_unless_nobody_evicts() {
    let mut binding = deployment(json!({"placement": one_to_two()}));
    binding.spec.clusters = targets(&[("member1", 1), ("member2", 2)]);
    let going = members([
        json!({"metadata": {"deletionTimestamp": "2026-01-01T11:00:00Z"}}),
        json!({}),
        json!({}),
    ]);
    let by = |deletion| {
        let rules = Rules {
            deletion,
            ..Rules::default()
        };
        shown(
            &placed_with(&binding, &going, rules, StartFrom::GroupInUse)
                .unwrap()
                .clusters,
        )
    };
    assert_eq!(by(DeletionBy::Queue), "member1:1 member2:2");
    assert_eq!(by(DeletionBy::Scheduler), "member2:3");
}

#[test]
fn a_block_says_when_it_ends() {
    let binding = deployment(json!({
        "placement": {"clusterAffinity": {"clusterNames": ["member1"]}},
        "activeEvictionHistory": [{"clusterName": "member1", "creationTimestamp": "2026-01-01T11:59:00Z"}],
    }));
    let failure = placed_with(&binding, &all_fine(), Rules::default(), StartFrom::GroupInUse).unwrap_err();
    assert_eq!(failure.recheck_at(), Some("2026-01-01T12:09:00Z".parse().unwrap()));
}

/// Something that may be on a cluster, and whether a workload that is not there yet may go there.
fn any_condition() -> impl Generator<Value = (Value, bool)> {
    prop::sample::select(vec![
        (json!({}), true),
        (tainted("k", "NoSchedule"), false),
        (tainted("k", "NoExecute"), false),
        (tainted("k", "PreferNoSchedule"), true),
        (
            json!({"metadata": {"deletionTimestamp": "2026-01-01T11:00:00Z"}}),
            false,
        ),
        (json!({"status": {"conditions": []}}), false),
        (json!({"status": {"apiEnablements": []}}), false),
    ])
}

fn any_placement() -> impl Generator<Value = Value> {
    prop_oneof![
        (1_i64..5).prop_map(|max| duplicated(at_most(max))),
        Just(duplicated(json!({}))),
        prop::collection::vec(1_i64..6, 0..5).prop_map(|weights| {
            let rules: Vec<Value> = weights
                .iter()
                .enumerate()
                .map(|(n, weight)| json!({"targetCluster": {"clusterNames": [format!("c{n}")]}, "weight": weight}))
                .collect();
            json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "weightPreference": {"staticWeightList": rules}}})
        }),
    ]
}

proptest! {
    #[test]
    fn placements_keep_their_promises(
        conditions in prop::collection::vec(any_condition(), 1..6),
        present in prop::collection::btree_map(0_usize..6, 1_i32..5, 0..3),
        placement in any_placement(),
        replicas in 1_i32..20,
    ) {
        let clusters: Vec<Cluster> =
            conditions.iter().enumerate().map(|(n, (more, _))| cluster(&format!("c{n}"), more.clone())).collect();
        let mut binding = deployment(json!({"replicas": replicas, "placement": placement}));
        let present: Vec<(String, i32)> =
            present.into_iter().filter(|(n, _)| *n < clusters.len()).map(|(n, r)| (format!("c{n}"), r)).collect();
        binding.spec.clusters = present
            .iter()
            .map(|(name, replicas)| TargetCluster { name: name.clone(), replicas: *replicas, ..TargetCluster::default() })
            .collect();

        let answer = placed_with(&binding, &clusters, Rules::default(), StartFrom::GroupInUse);
        let mut reversed = clusters.clone();
        reversed.reverse();
        let again = placed_with(&binding, &reversed, Rules::default(), StartFrom::GroupInUse);
        prop_assert_eq!(&answer, &again, "the order in which clusters come says nothing");

        let allowed = |name: &str| {
            present.iter().any(|(p, _)| p == name)
                || conditions[name[1..].parse::<usize>().unwrap()].1
        };
        match answer {
            Err(_) => prop_assert!(!clusters.iter().any(|c| allowed(c.cluster_name().as_str()))),
            Ok(decision) => {
                prop_assert!(decision.clusters.iter().all(|target| allowed(&target.name)), "{:?}", decision);
                prop_assert!(!decision.clusters.is_empty());
                let placement = binding.spec.placement.as_ref().unwrap();
                if placement.scheduling_type() == api_types::placement::ReplicaSchedulingType::Divided {
                    prop_assert_eq!(decision.clusters.iter().map(|t| t.replicas).sum::<i32>(), replicas);
                } else {
                    prop_assert!(decision.clusters.iter().all(|t| t.replicas == replicas));
                    let max = placement.spread_constraints.first().map_or(usize::MAX, |c| usize::try_from(c.max_groups).unwrap());
                    prop_assert!(decision.clusters.len() <= max);
                    // What is there stays there as far as the maximum allows.
                    let kept = decision.clusters.iter().filter(|t| present.iter().any(|(p, _)| *p == t.name)).count();
                    prop_assert_eq!(kept, present.len().min(max));
                }
            }
        }
    }
}
