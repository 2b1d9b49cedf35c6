//! Whatever is asked for: an answer, and a right one.

use api_types::cluster::Cluster;
use proptest::prelude::*;
use scheduler_filters::schedule::StartFrom;
use scheduler_filters::{FewerCopies, Fleet, Plugins, PreEvictionCheck, Question, Rules, feasibility};
use serde_json::{Value, json};

use crate::objects::*;

fn any_count() -> impl Strategy<Value = i32> {
    prop_oneof![0_i32..12, Just(i32::MAX), Just(i32::MAX - 1)]
}

fn any_quantity() -> impl Strategy<Value = String> {
    prop_oneof![
        (0_i64..20).prop_map(|n| n.to_string()),
        Just(i64::MAX.to_string()),
        Just("9e99".to_owned()),
        Just("-5".to_owned()),
        Just("much".to_owned()),
        Just("100m".to_owned()),
    ]
}

fn any_cluster() -> impl Strategy<Value = Value> {
    let summary =
        prop_oneof![
        Just(Value::Null),
        (any_quantity(), any_quantity(), any_quantity(), any_quantity()).prop_map(|(pods, cpu, taken, waiting)| json!({
            "allocatable": {"pods": pods, "cpu": cpu}, "allocated": {"pods": taken}, "allocating": {"cpu": waiting},
        })),
    ];
    let spec = prop::sample::select(vec![
        json!({}),
        json!({"region": "a"}),
        json!({"region": "b"}),
        json!({"region": "b", "zones": ["z"], "provider": "p"}),
        json!({"region": "", "taints": [{"key": "k", "effect": "NoSchedule"}]}),
        json!({"region": "a", "taints": [{"key": "k", "effect": "NoExecute"}]}),
    ]);
    let status = prop::sample::select(vec!["True", "False", "Unknown"]);
    (summary, spec, status).prop_map(|(summary, spec, status)| {
        let mut object = json!({"spec": spec, "status": {"conditions": ready(status)}});
        if !summary.is_null() {
            object["status"]["resourceSummary"] = summary;
        }
        object
    })
}

fn any_placement() -> impl Strategy<Value = Value> {
    let weight = prop_oneof![-3_i64..4, Just(i64::MAX), Just(i64::MIN)];
    let way = prop_oneof![
        Just(duplicated()),
        Just(aggregated()),
        Just(dynamic_weight()),
        Just(json!({})),
        prop::collection::vec(weight, 0..6).prop_map(|weights| {
            let names: Vec<String> = (0..weights.len()).map(|n| format!("m{n}")).collect();
            let each: Vec<(&str, i64)> = names.iter().map(String::as_str).zip(weights).collect();
            static_weights(&each)
        }),
    ];
    let groups = prop_oneof![-2_i64..6, Just(i64::MAX), Just(i64::MIN)];
    let field = prop::sample::select(vec!["cluster", "region", "zone", "provider", "", "planet"]);
    let constraints = prop::collection::vec((field, groups.clone(), groups), 0..4);
    (way, constraints).prop_map(|(way, constraints)| spread(way, &constraints))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_answer_is_a_right_one(
        members in prop::collection::vec(any_cluster(), 0..7),
        on in prop::collection::btree_map(0_usize..8, any_count(), 0..5),
        placement in any_placement(), replicas in any_count(), fresh in any::<bool>(), asks_cpu in any::<bool>(),
    ) {
        let clusters: Vec<Cluster> = members.iter().enumerate().map(|(n, more)| cluster(&format!("m{n}"), more)).collect();
        let on: Vec<(String, i32)> = on.into_iter().map(|(n, replicas)| (format!("m{n}"), replicas)).collect();
        let present: Vec<(&str, i32)> = on.iter().map(|(name, replicas)| (name.as_str(), *replicas)).collect();
        let mut binding = deployment(replicas, &placement, &present);
        if asks_cpu {
            binding.spec.replica_requirements = serde_json::from_value(json!({"resourceRequest": {"cpu": "1"}})).unwrap();
        }
        let start = if fresh { StartFrom::FirstGroup } else { StartFrom::GroupInUse };
        let is_present = |name: &str| present.iter().any(|(on, _)| *on == name);
        match placed(&binding, &clusters, start) {
            Err(failure) => {
                prop_assert!(!failure.to_string().is_empty());
                prop_assert!(["NoClusterFit", "SchedulerError", "Unschedulable"].contains(&failure.reason()));
            }
            Ok(decision) => {
                prop_assert!(replicas == 0 || !decision.clusters.is_empty(), "empty is no result");
                for target in &decision.clusters {
                    let cluster = clusters.iter().find(|cluster| cluster.cluster_name().as_str() == target.name);
                    prop_assert!(cluster.is_some_and(|cluster| cluster.spec.taints.is_empty() || is_present(&target.name)));
                    prop_assert!(replicas == 0 || target.replicas > 0);
                }
                let sum: i64 = decision.clusters.iter().map(|target| i64::from(target.replicas)).sum();
                let copies = i64::try_from(decision.clusters.len()).unwrap();
                let is_divided = placement["replicaScheduling"]["replicaSchedulingType"] == "Divided";
                prop_assert_eq!(sum, if is_divided { i64::from(replicas) } else { i64::from(replicas) * copies });
            }
        }
        // The check before an eviction answers as well.
        if let Some((leaving, _)) = present.first() {
            let fleet: Fleet = clusters.iter().cloned().collect();
            for check in [PreEvictionCheck::Affinity, PreEvictionCheck::Capacity] {
                let answer = feasibility(&Question {
                    binding: &binding, leaving: &(*leaving).into(), fleet: &fleet, plugins: &Plugins::default(),
                    rules: Rules::default(), check, fewer_copies: FewerCopies::Refused, now: now(),
                });
                prop_assert!(!answer.why().is_empty());
            }
        }
    }
}
