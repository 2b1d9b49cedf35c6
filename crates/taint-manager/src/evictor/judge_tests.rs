use std::collections::BTreeMap;

use api_types::cluster::Cluster;
use api_types::policy::PurgeMode;
use api_types::work::Binding;
use failover_core::eviction::Switches;
use failover_core::eviction::desired_entry::{Wanted, wanted};
use failover_core::eviction::queue::NoTargetRestsOn;
use rstest::rstest;
use scheduler_filters::Registry;
use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-01-01T00:10:00Z";

fn cluster_ready_since(name: &str, since: &str) -> Cluster {
    let mut cluster = cluster(name, &json!([]));
    let since = serde_json::from_value(json!(since)).unwrap();
    cluster.status.as_mut().unwrap().conditions[0].last_transition_time = since;
    cluster
}

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
    match decided(&binding(), now, others, check) {
        Decision::End(completion) => (completion.outcome.as_str().to_owned(), completion.reason),
        Decision::Evict(eviction) => ("Evict".to_owned(), eviction.affected.cause.identity()),
    }
}

/// Unhealthy on m1 for longer than it is tolerated, and asked to keep state by rules of its own.
fn failing() -> Binding {
    let mut binding = binding();
    binding.spec.failover = serde_json::from_value(json!({
        "cluster": {"statePreservation": {"rules": [{"aliasLabelName": "of-cluster", "jsonPath": "{.job}"}]}},
        "application": {
            "decisionConditions": {},
            "statePreservation": {"rules": [{"aliasLabelName": "job", "jsonPath": "{.job}"}]},
        },
    }))
    .unwrap();
    let clock = r#"{"m1": {"unhealthySince": "2026-01-01T00:00:00Z"}}"#;
    binding.metadata.annotations = Some([("failover.karmada.io/health-clock".to_owned(), clock.to_owned())].into());
    binding.status = serde_json::from_value(json!({"aggregatedStatus": [
        {"clusterName": "m1", "applied": true, "health": "Unhealthy", "status": {"job": "J1"}},
    ]}))
    .unwrap();
    binding
}

/// The failure of an application goes the same way: a place is looked for, and its own state is kept.
#[test]
fn an_application_that_fails_is_judged_like_a_cluster() {
    let m1 = cluster_ready_since("m1", "2025-01-01T00:00:00Z");
    let key = match failover_core::application::wanted(Some(&failing()), Some(&m1)) {
        Wanted::Entry(entry) => entry.key,
        Wanted::Nothing(nothing) => panic!("{nothing:?}"),
    };
    let judged = |binding: &Binding, others: &[Cluster]| {
        let live = Live {
            key: &key,
            binding: Some(binding),
            cluster: Some(&m1),
            recovering: &BTreeMap::new(),
            switches: &Switches {
                failover: failover_core::eviction::FailoverGate::Off,
                ..Switches::all_on(PurgeMode::Directly)
            },
            now: NOW.parse().unwrap(),
        };
        let fleet: Fleet = others.iter().chain([&m1]).cloned().collect();
        let basis = Basis {
            fleet: &fleet,
            schedulers: &Schedulers::default(),
            check: PreEvictionCheck::Affinity,
            state_wait: Duration::from_secs(60),
            second_owner: None,
        };
        judge(&live, &basis)
    };
    let m2 = [cluster("m2", &json!([]))];
    match judged(&failing(), &m2) {
        Decision::Evict(eviction) => {
            assert_eq!(eviction.affected.cause, *key.cause);
            assert_eq!(
                (eviction.affected.purge_mode, eviction.affected.grace_period_seconds),
                (PurgeMode::Gracefully, Some(600)),
                "the flag of taints says nothing of applications"
            );
            let labels: Vec<_> = eviction.state.labels.into_iter().collect();
            assert_eq!(labels, [("job".to_owned(), "J1".to_owned())]);
        }
        Decision::End(completion) => panic!("{completion:?}"),
    }
    let mut been_on_m2 = failing();
    been_on_m2.spec.active_eviction_history =
        serde_json::from_value(json!([{"clusterName": "m2", "creationTimestamp": "2026-01-01T00:05:00Z"}])).unwrap();
    match judged(&been_on_m2, &m2) {
        Decision::End(Completion {
            outcome: OutcomeKind::NoTarget { recheck_at, .. },
            ..
        }) => assert_eq!(recheck_at, Some("2026-01-01T00:15:00Z".parse().unwrap())),
        other => panic!("{other:?}"),
    }
}

fn decided(binding: &Binding, now: &Cluster, others: &[Cluster], check: PreEvictionCheck) -> Decision {
    decided_beside(None, binding, now, others, check)
}

fn decided_beside(
    held: Option<&Completion>,
    binding: &Binding,
    now: &Cluster,
    others: &[Cluster],
    check: PreEvictionCheck,
) -> Decision {
    let tainted = cluster(
        "m1",
        &json!([{"key": "k", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]),
    );
    let switches = Switches::all_on(PurgeMode::Gracefully);
    let published = wanted(Some(binding), Some(&tainted), &BTreeMap::new(), &switches);
    let Wanted::Entry(entry) = published else {
        panic!("{published:?}")
    };
    let fleet: Fleet = others.iter().chain([now]).cloned().collect();
    let live = Live {
        key: &entry.key,
        binding: Some(binding),
        cluster: Some(now),
        recovering: &BTreeMap::new(),
        switches: &switches,
        now: NOW.parse().unwrap(),
    };
    let basis = Basis {
        fleet: &fleet,
        schedulers: &Schedulers::default().with("strict", Registry::builtin().enable(&["APIEnablement"].into())),
        check,
        state_wait: Duration::from_secs(660),
        second_owner: held,
    };
    judge(&live, &basis)
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

fn tainted_m1() -> Cluster {
    cluster(
        "m1",
        &json!([{"key": "k", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]),
    )
}

/// The binding with this scheduler on a fleet whose other cluster has a taint that only one plugin minds.
fn with_scheduler(name: &str) -> Decision {
    let mut binding = binding();
    binding.spec.scheduler_name = Some(name.to_owned());
    let full = cluster("m2", &json!([{"key": "full", "effect": "NoSchedule"}]));
    decided(&binding, &tainted_m1(), &[full], PreEvictionCheck::Affinity)
}

// Each binding is judged with the plugins of its own scheduler, and where these are not known that is said.
#[rstest]
#[case::the_default(
    "default-scheduler",
    Some(
        "no other cluster can take it: 1 cluster(s) had untolerated taint {full:NoSchedule}, 1 cluster(s) is the one to be left"
    )
)]
#[case::one_that_minds_no_taint("strict", None)]
#[case::nobody_knows_it(
    "theirs",
    Some(
        "no other cluster can take it: 1 cluster(s) had untolerated taint {full:NoSchedule}, 1 cluster(s) is the one to be left (asked with the default plugins: those of scheduler theirs are not known, --scheduler-plugins names them)"
    )
)]
fn the_plugins_of_the_scheduler_that_the_binding_names(#[case] scheduler: &str, #[case] no_target: Option<&str>) {
    match (with_scheduler(scheduler), no_target) {
        (Decision::Evict(_), None) => {}
        (Decision::End(completion), Some(expected)) => assert_eq!(completion.message, expected),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_no_target_for_want_of_room_waits_for_room() {
    let rests_on = |check| match decided(&binding(), &tainted_m1(), &[cluster("m2", &json!([]))], check) {
        Decision::End(Completion {
            outcome: OutcomeKind::NoTarget { rests_on, .. },
            ..
        }) => Some(rests_on),
        _ => None,
    };
    assert_eq!(rests_on(PreEvictionCheck::Affinity), None);
    assert_eq!(
        rests_on(PreEvictionCheck::Capacity),
        Some(NoTargetRestsOn::PlacesAndResources)
    );
}

// The state is asked for only when there is a place; then it is waited for, and kept.
#[test]
fn state_is_kept_or_waited_for() {
    let mut binding = binding();
    binding.spec.failover = serde_json::from_value(json!({"cluster": {"statePreservation": {
        "rules": [{"aliasLabelName": "job", "jsonPath": "{.job}"}]}}}))
    .unwrap();
    let end = |binding: &Binding, others: &[Cluster]| match decided(
        binding,
        &tainted_m1(),
        others,
        PreEvictionCheck::Affinity,
    ) {
        Decision::End(completion) => completion,
        Decision::Evict(eviction) => panic!("{eviction:?}"),
    };
    let m2 = [cluster("m2", &json!([]))];
    assert_eq!(end(&binding, &[]).reason, "NoTarget");
    let missing = end(&binding, &m2);
    // Looked for again in ten seconds.
    let until = "2026-01-01T00:10:10Z".parse().unwrap();
    assert_eq!(
        (missing.outcome, missing.reason.as_str()),
        (OutcomeKind::Wait { until }, "StateMissing")
    );
    binding.status =
        serde_json::from_value(json!({"aggregatedStatus": [{"clusterName": "m1", "status": {"job": "J1"}}]})).unwrap();
    match decided(&binding, &tainted_m1(), &m2, PreEvictionCheck::Affinity) {
        Decision::Evict(eviction) => assert_eq!(eviction.state.labels["job"], "J1"),
        Decision::End(completion) => panic!("{completion:?}"),
    }
}

#[test]
fn without_need_nobody_looks_for_a_place() {
    let recovered = cluster("m1", &json!([]));
    assert_eq!(
        ends(&recovered, &[], PreEvictionCheck::Affinity),
        said("NotNeeded", "NoCause")
    );
}

/// A second owner holds what has to leave, and nothing else: what is over is over, and is said to be.
#[test]
fn a_second_owner_holds_what_has_to_leave() {
    let held = Completion {
        outcome: OutcomeKind::Wait {
            until: "2026-01-01T00:15:00Z".parse().unwrap(),
        },
        reason: "SecondOwner".to_owned(),
        message: "why".to_owned(),
    };
    let judged = |now: &Cluster| {
        let m2 = [cluster("m2", &json!([]))];
        match decided_beside(Some(&held), &binding(), now, &m2, PreEvictionCheck::Affinity) {
            Decision::End(completion) => completion,
            Decision::Evict(eviction) => panic!("{eviction:?}"),
        }
    };
    assert_eq!(judged(&tainted_m1()), held);
    assert_eq!(judged(&cluster("m1", &json!([]))).reason, "NoCause");
}
