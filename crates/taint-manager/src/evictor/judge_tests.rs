use std::collections::BTreeMap;

use api_types::cluster::Cluster;
use api_types::policy::PurgeMode;
use api_types::work::Binding;
use failover_core::eviction::Switches;
use failover_core::eviction::desired_entry::{Wanted, wanted};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-01-01T00:10:00Z";

fn cluster(name: &str, taints: &Value) -> Cluster {
    serde_json::from_value(json!({
        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "20"},
        "spec": {"syncMode": "Push", "taints": taints},
        "status": {
            "conditions": [{"type": "Ready", "status": "True", "reason": "R", "message": "", "lastTransitionTime": NOW}],
            "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}],
        },
    }))
    .unwrap()
}

fn binding() -> Binding {
    serde_json::from_value(json!({
        "metadata": {"namespace": "n", "name": "web", "uid": "b1", "resourceVersion": "10", "generation": 1},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "n", "name": "web"},
            "clusters": [{"name": "m1", "replicas": 2}], "replicas": 2, "placement": {"clusterAffinity": {}},
        },
    }))
    .unwrap()
}

/// The lease of what was published for the binding on the tainted cluster, judged when only `others` and the cluster
/// as it is now are there: outcome and reason, or the cause.
fn ends(now: &Cluster, others: &[Cluster], check: PreEvictionCheck) -> (String, String) {
    let tainted = cluster(
        "m1",
        &json!([{"key": "k", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]),
    );
    let (binding, switches) = (binding(), Switches::all_on(PurgeMode::Gracefully));
    let published = wanted(Some(&binding), Some(&tainted), &BTreeMap::new(), &switches);
    let Wanted::Entry(entry) = published else {
        panic!("{published:?}")
    };
    let fleet: Fleet = others.iter().chain([now]).cloned().collect();
    let live = Live {
        key: &entry.key,
        binding: Some(&binding),
        cluster: Some(now),
        recovering: &BTreeMap::new(),
        switches: &switches,
        now: NOW.parse().unwrap(),
    };
    let places = Places {
        fleet: &fleet,
        plugins: &Plugins::default(),
        check,
    };
    match judge(&live, &places) {
        Decision::End(completion) => (completion.outcome.as_str().to_owned(), completion.reason),
        Decision::Evict(affected) => ("Evict".to_owned(), affected.cause.identity()),
    }
}

fn said(outcome: &str, reason: &str) -> (String, String) {
    (outcome.to_owned(), reason.to_owned())
}

#[rstest]
#[case::somewhere_to_go(1, PreEvictionCheck::Affinity, said("Evict", "k:NoExecute@2026-01-01T00:00:00Z"))]
#[case::nowhere_to_go(0, PreEvictionCheck::Affinity, said("NoTarget", "NoTarget"))]
#[case::nobody_asks(0, PreEvictionCheck::Off, said("Evict", "k:NoExecute@2026-01-01T00:00:00Z"))]
fn places(#[case] others: usize, #[case] check: PreEvictionCheck, #[case] expected: (String, String)) {
    let tainted = cluster(
        "m1",
        &json!([{"key": "k", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]),
    );
    let free = [cluster("m2", &json!([]))];
    assert_eq!(ends(&tainted, &free[..others], check), expected);
}

#[test]
fn without_need_nobody_looks_for_a_place() {
    let recovered = cluster("m1", &json!([]));
    assert_eq!(
        ends(&recovered, &[], PreEvictionCheck::Affinity),
        said("NotNeeded", "NoCause")
    );
}
