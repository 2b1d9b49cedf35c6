//! The plan's moves against what the controllers' functions give, one by one.

use std::collections::BTreeSet;
use std::sync::Arc;

use api_types::cluster::Cluster;
use api_types::work::Binding;
use failover_core::eviction::{Switches, Verdict, verdict};
use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::json;

use scheduler_filters::schedule::StartFrom;
use scheduler_filters::{Fleet, Question, Scheduling, feasibility, schedule};

use super::*;

#[derive(Clone, Debug)]
struct Workload {
    /// Bits: on member1 to member5.
    places: u8,
    divided: bool,
    /// Bits of the clusters that it may use; its places always count.
    allowed: u8,
    tolerates: Option<Option<i64>>,
    priority: i32,
}

fn workload() -> impl Strategy<Value = Workload> {
    let tolerates = prop_oneof![3 => Just(None), 1 => Just(Some(None)), 2 => (0..100_i64).prop_map(|s| Some(Some(s)))];
    (1..32_u8, any::<bool>(), 0..32_u8, tolerates, 0..3).prop_map(|(places, divided, allowed, tolerates, priority)| {
        Workload {
            places,
            divided,
            allowed,
            tolerates,
            priority,
        }
    })
}

fn names(bits: u8) -> Vec<String> {
    (0..5)
        .filter(|bit| bits & (1 << bit) != 0)
        .map(|bit| format!("member{}", bit + 1))
        .collect()
}

fn built(index: usize, workload: &Workload) -> Binding {
    let places = names(workload.places);
    let replicas = if workload.divided { places.len() } else { 3 };
    let each = if workload.divided { 1 } else { 3 };
    let clusters: Vec<_> = places
        .iter()
        .map(|name| json!({"name": name, "replicas": each}))
        .collect();
    let mut placement = json!({"clusterAffinity": {"clusterNames": names(workload.allowed | workload.places)}});
    placement["replicaScheduling"] = if workload.divided {
        json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"})
    } else {
        json!({"replicaSchedulingType": "Duplicated"})
    };
    if let Some(seconds) = workload.tolerates {
        placement["clusterTolerations"] = json!([{"operator": "Exists", "tolerationSeconds": seconds}]);
    }
    let mut binding = binding(
        &format!("app-{index}"),
        json!({"clusters": clusters, "replicas": replicas, "placement": placement}),
    );
    binding.spec.schedule_priority = serde_json::from_value(json!({"priority": workload.priority})).unwrap();
    binding
}

/// The fleet with member1 drained since now.
fn drained() -> Fleet {
    let mut fleet = clusters(5);
    fleet[0].spec.taints.push(drain_taint(FewerCopies::Refused, now()));
    fleet.into_iter().map(Arc::new).collect()
}

/// What the controllers would do with one binding on member1: nothing, keep it for want of a place, or move it so.
fn expected(binding: &Binding, fleet: &Fleet, at: Timestamp) -> Option<(Timestamp, Option<String>)> {
    let cluster: &Cluster = fleet.get("member1").unwrap();
    let Verdict::Affected(affected) = verdict(
        binding,
        cluster,
        &Switches::all_on(api_types::policy::PurgeMode::Gracefully),
    ) else {
        return None;
    };
    let settings = Settings::defaults(at);
    let leaving = "member1".into();
    let answer = feasibility(&Question {
        binding,
        leaving: &leaving,
        fleet,
        plugins: settings.schedulers.of(binding).plugins,
        rules: settings.rules,
        check: settings.check,
        fewer_copies: FewerCopies::Refused,
        now: at,
    });
    if !answer.fits() {
        return Some((affected.due_at, None));
    }
    let mut after = binding.clone();
    after.spec.clusters.retain(|target| target.name != "member1");
    after.spec.graceful_eviction_tasks = serde_json::from_value(json!([{
        "fromCluster": "member1", "purgeMode": "Gracefully", "reason": "TaintUntolerated", "producer": "TaintManager",
        "replicas": binding.spec.target(&leaving).unwrap().replicas,
    }]))
    .unwrap();
    let decision = schedule(&Scheduling {
        binding: &after,
        fleet,
        plugins: settings.schedulers.of(binding).plugins,
        rules: settings.rules,
        start: StartFrom::GroupInUse,
        now: at,
    })
    .unwrap();
    Some((affected.due_at, Some(shown(&decision.clusters))))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn each_move_is_what_verdict_feasibility_and_schedule_say(workloads in prop::collection::vec(workload(), 1..12)) {
        let bindings: Vec<Binding> = workloads.iter().enumerate().map(|(index, one)| built(index, one)).collect();
        let world = World { policies: vec![], ..world(clusters(5), bindings.clone()) };
        let plan = planned(world, &draining(&["member1"]));
        let fleet = drained();
        let mut seen = BTreeSet::new();
        for binding in &bindings {
            let key = binding.key();
            let moved = plan.moves.iter().find(|one| one.binding == key);
            let remains = plan.remaining.iter().find(|one| one.binding == key);
            let at = moved.map_or(now(), |one| one.leaves_at);
            match expected(binding, &fleet, at) {
                None => {
                    prop_assert!(moved.is_none() && remains.is_none(), "{key}: {moved:?} {remains:?}");
                    let is_there = binding.spec.target(&"member1".into()).is_some();
                    prop_assert_eq!(plan.staying.iter().any(|one| one.binding == key), is_there);
                }
                Some((due_at, None)) => {
                    prop_assert!(moved.is_none());
                    let remains = remains.unwrap();
                    prop_assert_eq!(remains.due_at, due_at);
                    prop_assert!(matches!(remains.why, NotGoing::NoTarget { .. }), "{remains:?}");
                }
                Some((due_at, Some(result))) => {
                    let moved = moved.unwrap();
                    prop_assert_eq!(moved.due_at, due_at);
                    prop_assert!(moved.leaves_at >= due_at);
                    let NewPlace::Found { result: found, .. } = &moved.to else { panic!("{moved:?}") };
                    prop_assert_eq!(shown(found), result);
                    prop_assert!(seen.insert(key));
                }
            }
        }
        prop_assert_eq!(seen.len(), plan.moves.len(), "nothing moves twice, and nothing else moves");
        for pair in plan.moves.windows(2) {
            let between = pair[1].leaves_at.duration_since(pair[0].leaves_at);
            prop_assert!(between >= SignedDuration::from_millis(1_999), "faster than 0.5/s: {between:?}");
        }
    }

    /// Of several clusters that fail and are drained at once, in a fleet with other troubles: each copy on them is told of
    /// exactly once, leaves once at most, to no cluster that it left, and no faster than the rate of the regime.
    #[test]
    fn every_copy_has_one_fate(
        workloads in prop::collection::vec(workload(), 1..10), failing in 0..4_u8, drained in 0..4_u8, faulty in any::<bool>(),
    ) {
        prop_assume!(failing | drained != 0);
        let bindings: Vec<Binding> = workloads.iter().enumerate().map(|(index, one)| built(index, one)).collect();
        let mut fleet = clusters(5);
        if faulty {
            fleet[4].spec.taints = serde_json::from_value(json!([
                {"key": "old", "effect": "NoExecute", "timeAdded": "2026-01-01T11:00:00Z"},
            ]))
            .unwrap();
        }
        let proposal = Proposal {
            failing: names(failing).iter().map(|name| name.as_str().into()).collect(),
            draining: names(drained << 1).iter().map(|name| (name.as_str().into(), FewerCopies::Refused)).collect(),
            policies: vec![],
        };
        let about = names(failing | drained << 1);
        let plan = planned(world(fleet, bindings.clone()), &proposal);
        let expected = bindings.iter().flat_map(|binding| {
            about.iter().filter(|name| binding.spec.target(&name.as_str().into()).is_some()).map(|name| (binding.key(), name.clone()))
        });
        let expected: BTreeSet<_> = expected.collect();
        let mut told: Vec<_> = plan.moves.iter().map(|one| (one.binding.clone(), one.from.to_string())).collect();
        told.extend(plan.remaining.iter().map(|one| (one.binding.clone(), one.from.to_string())));
        told.extend(plan.staying.iter().map(|one| (one.binding.clone(), one.cluster.to_string())));
        let once: BTreeSet<_> = told.iter().cloned().collect();
        prop_assert_eq!(once.len(), told.len(), "told twice: {:?}", told);
        prop_assert!(expected.is_subset(&once), "not told of: {:?}", expected.difference(&once).collect::<Vec<_>>());
        let mut left: BTreeSet<(String, String)> = BTreeSet::new();
        for one in &plan.moves {
            prop_assert!(one.leaves_at >= one.due_at);
            left.insert((one.binding.to_string(), one.from.to_string()));
            let NewPlace::Found { result, .. } = &one.to else { continue };
            for target in result {
                prop_assert!(!left.contains(&(one.binding.to_string(), target.name.clone())), "it goes back: {one:?}");
            }
        }
        for pair in plan.moves.windows(2) {
            let rate = plan.regimes.iter().rev().find(|phase| phase.from <= pair[0].leaves_at).unwrap().verdict.evictions_per_second;
            let between = pair[1].leaves_at.duration_since(pair[0].leaves_at).as_secs_f64();
            prop_assert!(rate > 0.0 && between >= 1.0 / rate - 0.002, "{between} s apart at {rate}/s");
        }
    }
}
