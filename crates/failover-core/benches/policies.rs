//! 1,000 clusters under 50 ClusterTaintPolicies: what one change of a Cluster costs, and one change of a policy.
//!
//! `cargo xtask bench` holds the results against their bars.

mod cpu_time;

use std::collections::BTreeMap;
use std::hint::black_box;

use api_types::cluster::Cluster;
use api_types::taint_policy::ClusterTaintPolicy;
use cpu_time::CpuTime;
use criterion::{Criterion, criterion_group, criterion_main};
use failover_core::taint_policy::{Evaluation, FailoverGate, Input, Memory, Report, TaintChange, evaluate, status};
use jiff::Timestamp;
use serde_json::json;

const CLUSTERS: usize = 1_000;
const POLICIES: usize = 50;

fn at(second: i64) -> Timestamp {
    Timestamp::constant(1_767_225_600, 0)
        .checked_add(jiff::SignedDuration::from_secs(second))
        .unwrap_or(Timestamp::MAX)
}

/// Every tenth cluster has failed: all of its conditions say so.
fn cluster(number: usize) -> Cluster {
    let bad = number.is_multiple_of(10);
    let condition = |kind: usize| {
        let type_ = if kind == 0 {
            "Ready".to_owned()
        } else {
            format!("Sensor{kind}")
        };
        let status = if bad { "False" } else { "True" };
        json!({"type": type_, "status": status, "reason": "Observed", "message": "as it was observed",
               "lastTransitionTime": at(-1_000)})
    };
    let conditions: Vec<_> = (0..8).map(condition).collect();
    let document = json!({
        "metadata": {
            "name": format!("member-{number:04}"), "uid": format!("uid-of-cluster-{number:04}"),
            "labels": {"tier": if number.is_multiple_of(2) { "gold" } else { "silver" }, "ring": (number % 5).to_string()}
        },
        "spec": {"syncMode": "Push", "region": "r1", "provider": "p1", "zones": ["a", "b"]},
        "status": {"conditions": conditions}
    });
    serde_json::from_value(document).unwrap_or_else(|error| unreachable!("{error}"))
}

/// Every policy speaks of every cluster, by one way of selection or another.
fn policy(number: usize) -> ClusterTaintPolicy {
    let target = match number % 4 {
        0 => json!(null),
        1 => json!({"exclude": ["nobody"]}),
        2 => {
            json!({"labelSelector": {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["gold", "silver"]}]}})
        }
        _ => {
            json!({"fieldSelector": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b", "c"]}]}})
        }
    };
    let taint = |effect: &str| {
        json!({"key": format!("example.com/trouble-{number:02}"), "effect": effect,
               "addOnMatchSeconds": 60 + number, "removeOnMismatchSeconds": 30 + number})
    };
    let (kind, other) = (number % 8, (number + 3) % 8);
    let type_ = |kind: usize| {
        if kind == 0 {
            "Ready".to_owned()
        } else {
            format!("Sensor{kind}")
        }
    };
    let document = json!({
        "metadata": {"name": format!("policy-{number:02}"), "uid": format!("uid-of-policy-{number:02}"), "generation": 1,
                     "creationTimestamp": at(-10_000)},
        "spec": {
            "targetCluster": target,
            "matchConditions": [
                {"conditionType": type_(kind), "operator": "NotIn", "statusValues": ["True"]},
                {"conditionType": type_(other), "operator": "In", "statusValues": ["False", "Unknown"]}
            ],
            "taintsToAdd": [taint("NoSchedule"), taint("NoExecute")]
        }
    });
    serde_json::from_value(document).unwrap_or_else(|error| unreachable!("{error}"))
}

struct Fleet {
    clusters: Vec<(Cluster, Memory)>,
    policies: Vec<ClusterTaintPolicy>,
}

impl Fleet {
    /// A fleet in which all windows have fired: the failed clusters carry a hundred taints each.
    fn settled() -> Self {
        let policies: Vec<ClusterTaintPolicy> = (0..POLICIES).map(policy).collect();
        let clusters = (0..CLUSTERS).map(cluster).map(|mut cluster| {
            let mut memory = None;
            for second in [0, 1_000, 2_000] {
                let found = look(&policies, &cluster, memory.as_ref(), at(second));
                write(&mut cluster, &found);
                memory = Some(found.memory);
            }
            (cluster, memory.unwrap_or_default())
        });
        let clusters = clusters.collect();
        Self { clusters, policies }
    }
}

fn look(policies: &[ClusterTaintPolicy], cluster: &Cluster, memory: Option<&Memory>, now: Timestamp) -> Evaluation {
    let policies: Vec<&ClusterTaintPolicy> = policies.iter().collect();
    evaluate(Input {
        policies: &policies,
        cluster,
        memory,
        gate: FailoverGate::Enabled,
        now,
        wall: now,
    })
}

/// Only additions happen here.
fn write(cluster: &mut Cluster, found: &Evaluation) {
    let added = found.taints.iter().filter_map(|change| match change {
        TaintChange::Add { taint, .. } => Some(taint.clone()),
        _ => None,
    });
    cluster.spec.taints.extend(added);
    let annotations = cluster.metadata.annotations.get_or_insert_default();
    for change in &found.annotations {
        match &change.value {
            Some(text) => annotations.insert(change.name.to_owned(), text.clone()),
            None => annotations.remove(change.name),
        };
    }
}

/// Ready of a failed cluster goes to Unknown: the conditions of 12 policies change their times, nothing fires.
fn a_cluster_change(criterion: &mut Criterion<CpuTime>) {
    let fleet = Fleet::settled();
    let mut criterion = criterion.benchmark_group("policies");
    for (name, number) in [
        ("a change of a failed cluster", 0),
        ("a change of a healthy cluster", 1),
    ] {
        let (cluster, memory) = &fleet.clusters[number];
        assert_eq!(cluster.spec.taints.len(), if number == 0 { 2 * POLICIES } else { 0 });
        let mut changed = cluster.clone();
        for condition in changed.status.iter_mut().flat_map(|status| &mut status.conditions) {
            if condition.type_ == "Ready" {
                "Unknown".clone_into(&mut condition.status);
                condition.last_transition_time.0 = at(3_000);
            }
        }
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| look(black_box(&fleet.policies), &changed, Some(memory), at(3_001)));
        });
    }
    criterion.finish();
}

/// One policy's window is edited: every cluster is judged again under all policies, and the policy's status is made.
fn a_policy_change(criterion: &mut Criterion<CpuTime>) {
    let mut fleet = Fleet::settled();
    fleet.policies[7].spec.taints_to_add[0].remove_on_mismatch_seconds = 5;
    fleet.policies[7].metadata.generation = Some(2);
    let mut criterion = criterion.benchmark_group("policies");
    criterion.sample_size(20);
    criterion.bench_function("a change of a policy over all clusters", |bencher| {
        bencher.iter(|| {
            let found: BTreeMap<&str, Evaluation> = fleet
                .clusters
                .iter()
                .map(|(cluster, memory)| {
                    let name = cluster.metadata.name.as_deref().unwrap_or_default();
                    (name, look(&fleet.policies, cluster, Some(memory), at(3_001)))
                })
                .collect();
            let changed = &fleet.policies[7];
            let reports: Vec<(&str, &Report)> = found
                .iter()
                .filter_map(|(name, found)| Some((*name, found.reports.get("policy-07")?)))
                .collect();
            assert_eq!(reports.len(), CLUSTERS);
            status::of_policy(changed, &reports, FailoverGate::Enabled, at(3_001))
        });
    });
    criterion.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = a_cluster_change, a_policy_change
}
criterion_main!(benches);
