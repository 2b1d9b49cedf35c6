use std::collections::BTreeSet;

use api_types::work::Binding;
use rstest::rstest;
use serde_json::{Value, json};

use crate::baseline;
use crate::plugin::{Filter, Plugins, Registry, Score};
use crate::request::{DeletionBy, Refusal, Request, Rules};
use crate::testing::{cluster, config_map, deployment, not_ready, now, tainted};
use crate::{DefaultState, Fleet, plugins};

/// Judges cluster m1, given `more`, for a binding of a Deployment with `spec`.
fn judged(filter: &dyn Filter, spec: Value, more: Value) -> Result<(), Refusal> {
    let binding = deployment(spec);
    with_request(&binding, Rules::default(), |request| {
        filter.filter(request, &cluster("m1", more))
    })
}

fn with_request<T>(binding: &Binding, rules: Rules, ask: impl FnOnce(&Request<'_>) -> T) -> T {
    let (fleet, placement) = (Fleet::default(), binding.spec.placement.clone().unwrap_or_default());
    let affinity = placement.cluster_affinity.clone();
    ask(&Request {
        binding,
        placement: &placement,
        affinity: affinity.as_ref(),
        fleet: &fleet,
        rules,
        now: now(),
    })
}

fn present() -> Value {
    json!({"clusters": [{"name": "m1", "replicas": 3}]})
}

// C65, karmada PR#5216: a missing kind keeps new work away, and takes nothing away that runs.
#[rstest]
#[case::serves(json!({}), json!({}), true)]
#[case::does_not(json!({}), json!({"status": {"apiEnablements": []}}), false)]
#[case::runs_there_already(present(), json!({"status": {"apiEnablements": []}}), true)]
fn api_enablement(#[case] spec: Value, #[case] more: Value, #[case] passes: bool) {
    assert_eq!(judged(&plugins::ApiEnablement, spec, more).is_ok(), passes);
}

#[test]
fn affinity_judges_also_what_is_there() {
    let only_m2 = json!({"clusters": [{"name": "m1"}], "placement": {"clusterAffinity": {"clusterNames": ["m2"]}}});
    let refusal = judged(&plugins::ClusterAffinity, only_m2, json!({})).unwrap_err();
    assert_eq!(
        refusal.reason,
        "cluster(s) did not match the placement cluster affinity constraint"
    );
}

#[rstest]
#[case::no_schedule(json!({}), tainted("k", "NoSchedule"), Some("cluster(s) had untolerated taint {k:NoSchedule}"))]
#[case::no_execute(json!({}), tainted("k", "NoExecute"), Some("cluster(s) had untolerated taint {k:NoExecute}"))]
#[case::tolerated(json!({"placement": {"clusterTolerations": [{"operator": "Exists"}]}}), tainted("k", "NoExecute"), None)]
#[case::another_effect_tolerated(
    json!({"placement": {"clusterTolerations": [{"operator": "Exists", "effect": "NoExecute"}]}}),
    tainted("k", "NoSchedule"),
    Some("cluster(s) had untolerated taint {k:NoSchedule}")
)]
// C38, karmada#4952: a toleration's seconds say nothing about NoSchedule, which is tolerated or not.
#[case::no_schedule_tolerated_for_no_time(
    json!({"placement": {"clusterTolerations": [{"operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 0}]}}),
    tainted("k", "NoSchedule"),
    None
)]
// C77, karmada PR#2449: what is there is not judged, or the scheduler would evict past the queue.
#[case::there_already(present(), tainted("k", "NoSchedule"), None)]
#[case::there_already_no_execute(present(), tainted("k", "NoExecute"), None)]
// A toleration that soon ends is no place to settle; one that lasts is.
#[case::runs_out(
    json!({"placement": {"clusterTolerations": [{"operator": "Exists", "tolerationSeconds": 59}]}}),
    tainted("k", "NoExecute"),
    Some("would be left again at once")
)]
#[case::lasts(
    json!({"placement": {"clusterTolerations": [{"operator": "Exists", "tolerationSeconds": 300}]}}),
    tainted("k", "NoExecute"),
    None
)]
#[case::prefer_no_execute_without_opt_in(json!({}), tainted("k", "PreferNoExecute"), None)]
#[case::prefer_no_execute_with_opt_in(
    json!({"failover": {"cluster": {"tolerationSeconds": 0}}}),
    tainted("k", "PreferNoExecute"),
    Some("would be left again at once")
)]
#[case::prefer_no_schedule(json!({}), tainted("k", "PreferNoSchedule"), None)]
fn taint_toleration(#[case] spec: Value, #[case] more: Value, #[case] refused: Option<&str>) {
    let answer = judged(&plugins::TaintToleration, spec, more);
    match refused {
        None => assert_eq!(answer, Ok(())),
        Some(words) => assert!(
            answer.as_ref().is_err_and(|refusal| refusal.reason.contains(words)),
            "{answer:?}"
        ),
    }
}

#[rstest]
#[case::default_block(json!(null), Some("2026-01-01T12:05:00Z"))]
#[case::shorter_and_over(json!(60), None)]
#[case::until_cleared(json!(0), Some(""))]
fn eviction_history(#[case] block: Value, #[case] refused_until: Option<&str>) {
    let spec = json!({
        "failover": {"application": {"decisionConditions": {}, "blockPredecessorSeconds": block}},
        "activeEvictionHistory": [
            {"clusterName": "m1", "creationTimestamp": "2026-01-01T11:00:00Z"},
            {"clusterName": "m1", "creationTimestamp": "2026-01-01T11:55:00Z"},
            {"clusterName": "m2", "creationTimestamp": "2026-01-01T11:59:00Z"},
        ],
    });
    let answer = judged(&plugins::EvictionHistory, spec, json!({}))
        .err()
        .map(|refusal| refusal.until);
    let expected = refused_until.map(|until| {
        if until.is_empty() {
            None
        } else {
            Some(until.parse().unwrap())
        }
    });
    assert_eq!(answer, expected);
}

fn open_task() -> Value {
    json!({"gracefulEvictionTasks": [{"fromCluster": "m1", "reason": "TaintUntolerated", "producer": "TaintManager"}]})
}

#[test]
fn cluster_eviction_is_off_and_refuses_every_open_task_where_it_is_on() {
    assert!(judged(&plugins::ClusterEviction, open_task(), json!({})).is_err());
    assert!(judged(&plugins::ClusterEviction, json!({}), json!({})).is_ok());
    assert!(!Plugins::default().names().contains(&"ClusterEviction"));
    let on = Registry::builtin().enable(&BTreeSet::from(["ClusterEviction", "NoSuch"]));
    assert_eq!(on.names(), ["ClusterEviction"]);
}

#[test]
fn spread_by_a_field_wants_the_field() {
    let by_region =
        json!({"placement": {"spreadConstraints": [{"spreadByField": "region"}, {"spreadByField": "cluster"}]}});
    let refusal = judged(&plugins::SpreadConstraint, by_region.clone(), json!({})).unwrap_err();
    assert_eq!(refusal.reason, "cluster(s) did not have region property");
    assert!(judged(&plugins::SpreadConstraint, by_region, json!({"spec": {"region": "r"}})).is_ok());
}

#[rstest]
#[case::new(json!({}), json!({}), 100)]
#[case::present(present(), json!({}), 200)]
#[case::disliked(json!({}), tainted("k", "PreferNoSchedule"), 0)]
#[case::disliked_no_execute(json!({}), tainted("k", "PreferNoExecute"), 0)]
#[case::tolerated(json!({"placement": {"clusterTolerations": [{"operator": "Exists"}]}}), tainted("k", "PreferNoSchedule"), 100)]
#[case::a_soft_taint_moves_nothing(present(), tainted("k", "PreferNoSchedule"), 200)]
fn scores(#[case] spec: Value, #[case] more: Value, #[case] expected: i64) {
    let binding = deployment(spec);
    let cluster = cluster("m1", more);
    assert_eq!(
        with_request(&binding, Rules::default(), |request| Plugins::default()
            .score(request, &cluster)),
        expected
    );
}

#[rstest]
#[case::ready(json!({}), json!({}), DeletionBy::Queue, true)]
#[case::not_ready_is_left_to_taints(json!({}), not_ready(), DeletionBy::Queue, true)]
#[case::never_reported(json!({}), json!({"status": {"conditions": []}}), DeletionBy::Queue, false)]
#[case::never_reported_but_there(present(), json!({"status": {"conditions": []}}), DeletionBy::Queue, true)]
#[case::being_deleted(json!({}), deleted(), DeletionBy::Queue, false)]
#[case::being_deleted_but_there(present(), deleted(), DeletionBy::Queue, true)]
#[case::being_deleted_and_nobody_evicts(present(), deleted(), DeletionBy::Scheduler, false)]
// C40, kubernetes#67300: between the eviction and the taint the task blocks the cluster.
#[case::open_task_not_ready(open_task(), not_ready(), DeletionBy::Queue, false)]
#[case::open_task_tainted(open_task(), tainted("k", "NoExecute"), DeletionBy::Queue, false)]
#[case::open_task_recovered(open_task(), json!({}), DeletionBy::Queue, true)]
fn baseline_rules(#[case] spec: Value, #[case] more: Value, #[case] deletion: DeletionBy, #[case] passes: bool) {
    let binding = deployment(spec);
    let rules = Rules {
        deletion,
        ..Rules::default()
    };
    let answer = with_request(&binding, rules, |request| {
        baseline::check(request, &cluster("m1", more))
    });
    assert_eq!(answer.is_ok(), passes, "{answer:?}");
}

fn deleted() -> Value {
    json!({"metadata": {"deletionTimestamp": "2026-01-01T11:00:00Z"}})
}

#[test]
fn a_plugin_of_ones_own_joins_by_its_name() {
    struct OnlyEven;
    impl Filter for OnlyEven {
        fn name(&self) -> &'static str {
            "OnlyEven"
        }
        fn filter(&self, _: &Request<'_>, cluster: &api_types::cluster::Cluster) -> Result<(), Refusal> {
            let even = cluster.cluster_name().as_str().ends_with(['0', '2', '4', '6', '8']);
            even.then_some(())
                .ok_or_else(|| Refusal::new(self.name(), "cluster(s) is odd"))
        }
    }
    struct Nosy;
    impl Score for Nosy {
        fn name(&self) -> &'static str {
            "Nosy"
        }
        fn score(&self, _: &Request<'_>, _: &api_types::cluster::Cluster) -> i64 {
            1_000_000
        }
    }
    let registry = Registry::builtin()
        .with_filter(OnlyEven, DefaultState::On)
        .with_score(Nosy, DefaultState::Off);
    let binding = config_map(json!({}));
    let refused = with_request(&binding, Rules::default(), |request| {
        registry
            .defaults()
            .filter(request, &cluster("m1", json!({})))
            .unwrap_err()
    });
    assert_eq!(refused.plugin, "OnlyEven");
    let scored = registry.enable(&BTreeSet::from(["Nosy"]));
    let score = with_request(&binding, Rules::default(), |request| {
        scored.score(request, &cluster("m1", json!({})))
    });
    assert_eq!(score, 100, "no plugin outshouts the others");
}
