#![expect(clippy::needless_pass_by_value, reason = "JSON literals read best as they are")]

mod by_room;
mod properties;

use api_types::policy::PurgeMode;
use api_types::work::ResourceHealth;
use proptest::prelude::{Just, any, prop, prop_assert, prop_assert_eq, prop_compose, prop_oneof, proptest};
use proptest::strategy::Strategy as Generator;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::plugin::Plugins;
use crate::request::{DeletionBy, Rules};
use crate::schedule::{Decision, StartFrom, schedule};
use crate::testing::{cluster, config_map, deployment, not_ready, now, one_to_two, shown, tainted};

fn fleet(more: &[Value]) -> Fleet {
    let clusters = more.iter().enumerate();
    clusters
        .map(|(n, more)| cluster(&format!("member{}", n + 1), more.clone()))
        .collect()
}

fn fine(clusters: usize) -> Fleet {
    fleet(&vec![json!({}); clusters])
}

fn placed(binding: &Binding, fleet: &Fleet) -> Decision {
    placed_by(binding, fleet, Rules::default(), StartFrom::GroupInUse)
}

fn placed_by(binding: &Binding, fleet: &Fleet, rules: Rules, start: StartFrom) -> Decision {
    schedule(&Scheduling {
        binding,
        fleet,
        plugins: &Plugins::default(),
        rules,
        start,
        now: now(),
    })
    .unwrap()
}

/// The result, and which of it is kept.
fn told(decision: &Decision) -> String {
    let kept = decision.kept.as_ref().map(|kept| format!(", {} kept", names(kept)));
    format!("{}{}", shown(&decision.clusters), kept.unwrap_or_default())
}

fn names(kept: &Kept) -> String {
    let names: Vec<&str> = kept.targets.iter().map(|target| target.name.as_str()).collect();
    names.join(" ")
}

/// The scheduler writes it.
fn write(binding: &mut Binding, decision: Decision) {
    let annotations = binding.metadata.annotations.get_or_insert_default();
    match note(decision.kept.as_ref()) {
        Some(note) => annotations.insert(annotation::KEPT_COPIES.to_owned(), note),
        None => annotations.remove(annotation::KEPT_COPIES),
    };
    binding.spec.clusters = decision.clusters;
}

/// A copy that `replicas` run of.
fn healthy(cluster: &str, replicas: i32) -> Value {
    json!({"clusterName": cluster, "applied": true, "health": "Healthy", "status": {"availableReplicas": replicas}})
}

fn saying(cluster: &str, health: &str) -> Value {
    json!({"clusterName": cluster, "applied": true, "health": health})
}

/// A workload of one replica that the clusters share by equal weights, so that all but one have to do without.
fn shared(more: Value) -> Binding {
    let mut binding = deployment(json!({"replicas": 1, "placement": {"replicaScheduling": {}}}));
    binding.spec.clusters = targets(more["clusters"].clone());
    binding.spec.graceful_eviction_tasks =
        serde_json::from_value(more.get("tasks").cloned().unwrap_or(json!([]))).unwrap();
    binding.status = serde_json::from_value(json!({"aggregatedStatus": more["status"]})).unwrap();
    binding
}

fn targets(clusters: Value) -> Vec<TargetCluster> {
    serde_json::from_value(clusters).unwrap()
}

fn on(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"name": name, "replicas": 1})).collect()
}

// Equal weights, one replica: the template's UID lets member1 win the tie of names.
#[rstest]
#[case::nothing_is_known(on(&["member2"]), json!([]), "member1:1")]
#[case::the_last_one_runs_there(on(&["member2"]), json!([healthy("member2", 1)]), "member1:1 member2:1, member2 kept")]
#[case::it_may_run_there(on(&["member2"]), json!([saying("member2", "Unknown")]), "member1:1 member2:1, member2 kept")]
#[case::it_runs_in_part(
    on(&["member2"]),
    json!([{"clusterName": "member2", "applied": true, "health": "Unhealthy", "status": {"availableReplicas": 1}}]),
    "member1:1 member2:1, member2 kept"
)]
#[case::it_has_stopped(on(&["member2"]), json!([saying("member2", "Unhealthy")]), "member1:1")]
#[case::it_was_never_applied(
    on(&["member2"]), json!([{"clusterName": "member2", "applied": false, "health": "Unknown"}]), "member1:1"
)]
#[case::the_new_one_has_not_reported(
    on(&["member1", "member2"]), json!([healthy("member2", 1)]), "member1:1 member2:1, member2 kept"
)]
#[case::the_new_one_is_unhealthy(
    on(&["member1", "member2"]), json!([saying("member1", "Unhealthy"), healthy("member2", 1)]),
    "member1:1 member2:1, member2 kept"
)]
#[case::the_new_one_works(
    on(&["member1", "member2"]), json!([healthy("member1", 1), healthy("member2", 1)]), "member1:1"
)]
#[case::the_new_one_shows_fewer_replicas(
    json!([{"name": "member1", "replicas": 2}, {"name": "member2", "replicas": 1}]),
    json!([healthy("member1", 1), healthy("member2", 1)]),
    "member1:1 member2:1, member2 kept"
)]
#[case::a_status_from_before_the_copy_came(
    on(&["member2"]), json!([healthy("member1", 1), healthy("member2", 1)]), "member1:1 member2:1, member2 kept"
)]
#[case::of_no_replicas_nothing_runs(
    json!([{"name": "member2", "replicas": 0}]), json!([healthy("member2", 0)]), "member1:1"
)]
fn a_division(#[case] clusters: Value, #[case] status: Value, #[case] expected: &str) {
    let binding = shared(json!({"clusters": clusters, "status": status}));
    assert_eq!(told(&placed(&binding, &fine(2))), expected);
}

#[test]
fn the_reason_is_told() {
    let binding = shared(json!({
        "clusters": on(&["member1", "member2"]),
        "status": [saying("member1", "Unhealthy"), healthy("member2", 1)],
    }));
    let kept = placed(&binding, &fine(2)).kept.unwrap();
    assert_eq!(
        kept.to_string(),
        "member2 stays in the result until another copy is healthy: its copy may be the last that runs."
    );
    assert_eq!(kept.waits_for(), "member1 reports the copy as Unhealthy");
    let clusters = on(&["member1", "member2", "member3"]);
    let unknown = json!([saying("member2", "Unknown"), saying("member3", "Unknown")]);
    let binding = shared(json!({"clusters": clusters, "status": unknown}));
    assert_eq!(
        placed(&binding, &fine(3)).kept.unwrap().to_string(),
        "member2, member3 stay in the result until another copy is healthy: any of these copies may be the last that \
         runs."
    );
}

/// Three copies too many: of those that work one, by most replicas, then by name; if none does, all that may.
#[rstest]
#[case::the_one_that_works([saying("member2", "Unknown"), healthy("member3", 1), saying("member4", "Unknown")], [5, 1, 5], "member3")]
#[case::most_replicas([healthy("member2", 1), healthy("member3", 2), healthy("member4", 1)], [1, 2, 1], "member3")]
#[case::first_by_name([healthy("member2", 1), healthy("member3", 1), healthy("member4", 1)], [1, 1, 1], "member2")]
#[case::nobody_knows([saying("member2", "Unknown"), saying("member3", "Unhealthy"), saying("member4", "Unknown")], [1, 1, 1], "member2 member4")]
fn of_several(#[case] status: [Value; 3], #[case] replicas: [i32; 3], #[case] expected: &str) {
    let clusters: Value = (2..)
        .zip(replicas)
        .map(|(n, replicas)| json!({"name": format!("member{n}"), "replicas": replicas}))
        .collect();
    let binding = shared(json!({"clusters": clusters, "status": status}));
    assert_eq!(names(&placed(&binding, &fine(4)).kept.unwrap()), expected);
}

/// A copy on its way out counts unless its owner said that it need not wait.
#[rstest]
#[case::gracefully(json!({}), "member1:1")]
#[case::never(json!({"purgeMode": "Never"}), "member1:1")]
#[case::directly(json!({"purgeMode": "Directly"}), "member1:1 member2:1, member2 kept")]
#[case::for_a_while(json!({"gracePeriodSeconds": 60}), "member1:1 member2:1, member2 kept")]
#[case::asked_for(json!({"suppressDeletion": false}), "member1:1 member2:1, member2 kept")]
fn a_copy_of_a_task(#[case] more: Value, #[case] expected: &str) {
    let mut task =
        json!({"fromCluster": "member3", "replicas": 1, "reason": "TaintUntolerated", "producer": "TaintManager"});
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let binding = shared(json!({
        "clusters": on(&["member2"]), "tasks": [task], "status": [healthy("member2", 1), healthy("member3", 1)],
    }));
    let fleet = fleet(&[json!({}), json!({}), tainted("down", "NoExecute")]);
    assert_eq!(told(&placed(&binding, &fleet)), expected);
}

/// What holds the last copy of a workload, and what a person's word ends.
#[rstest]
#[case::not_ready(not_ready(), "member1:1 member2:1, member2 kept")]
#[case::tainted(tainted("down", "NoExecute"), "member1:1 member2:1, member2 kept")]
#[case::not_named(json!({"metadata": {"labels": {"tier": "none"}}}), "member1:1")]
fn the_cluster_is(#[case] more: Value, #[case] expected: &str) {
    let mut binding = shared(json!({"clusters": on(&["member2"]), "status": [saying("member2", "Unknown")]}));
    binding.spec.placement.as_mut().unwrap().cluster_affinity = serde_json::from_value(json!({
        "labelSelector": {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["none"]}]}
    }))
    .unwrap();
    assert_eq!(told(&placed(&binding, &fleet(&[json!({}), more]))), expected);
}

/// A spread constraint takes member2 for unsuitable, as it does not say its region (fixed weights are divided all the
/// same): the owner did not say that nothing may run there.
#[test]
fn what_a_spread_constraint_groups_by_is_no_word() {
    let mut binding = shared(json!({"clusters": on(&["member2"]), "status": [healthy("member2", 1)]}));
    binding.spec.placement.as_mut().unwrap().spread_constraints = serde_json::from_value(by_region()).unwrap();
    let clusters = fleet(&[json!({"spec": {"region": "r"}}), json!({})]);
    assert_eq!(told(&placed(&binding, &clusters)), "member1:1 member2:1, member2 kept");
}

fn by_region() -> Value {
    json!([{"spreadByField": "region", "minGroups": 1}])
}

#[test]
fn a_cluster_that_is_gone_keeps_nothing() {
    let binding = shared(json!({"clusters": on(&["member2"]), "status": [healthy("member2", 1)]}));
    assert_eq!(told(&placed(&binding, &fine(1))), "member1:1");
}

/// The scheduler empties a cluster that is deleted where nobody else does, after another copy works.
#[test]
fn a_cluster_that_is_deleted_keeps_the_last_copy() {
    let rules = Rules {
        deletion: DeletionBy::Scheduler,
        ..Rules::default()
    };
    let going = fleet(&[
        json!({"metadata": {"deletionTimestamp": "2026-01-01T11:00:00Z"}}),
        json!({}),
    ]);
    let placed = |binding: &Binding| told(&placed_by(binding, &going, rules, StartFrom::GroupInUse));
    let mut binding = shared(json!({"clusters": on(&["member1"]), "status": [healthy("member1", 1)]}));
    assert_eq!(placed(&binding), "member1:1 member2:1, member1 kept");
    binding = shared(json!({
        "clusters": on(&["member1", "member2"]), "status": [healthy("member1", 1), healthy("member2", 1)],
    }));
    assert_eq!(placed(&binding), "member2:1");
}

#[test]
fn of_a_workload_scaled_to_nothing_no_copy_is_the_last() {
    let mut binding = shared(json!({"clusters": on(&["member2"]), "status": [healthy("member2", 1)]}));
    binding.spec.replicas = Some(0);
    binding.spec.placement.as_mut().unwrap().cluster_affinity =
        serde_json::from_value(json!({"clusterNames": ["member1", "member2"]})).unwrap();
    assert_eq!(told(&placed(&binding, &fine(2))), "member2:0");
}

/// Its completions are shared by the clusters of the result, and that is for good.
#[test]
fn a_job_that_is_divided_keeps_nothing_beside_its_shares() {
    let job = json!({"clusterName": "member2", "applied": true, "health": "Healthy", "status": {"active": 1}});
    let mut binding = shared(json!({"clusters": on(&["member2"]), "status": [job]}));
    binding.spec.resource.api_version = "batch/v1".to_owned();
    binding.spec.resource.kind = "Job".to_owned();
    let apis = json!([{"groupVersion": "batch/v1", "resources": [{"name": "jobs", "kind": "Job"}]}]);
    let serving = vec![json!({"status": {"apiEnablements": apis}}); 2];
    assert_eq!(told(&placed(&binding, &fleet(&serving))), "member1:1");
    binding.spec.placement = Some(Placement {
        spread_constraints: serde_json::from_value(
            json!([{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]),
        )
        .unwrap(),
        ..Placement::default()
    });
    binding.spec.clusters = targets(on(&["member1", "member2"]));
    assert_eq!(
        told(&placed(&binding, &fleet(&serving))),
        "member1:1 member2:1, member2 kept"
    );
}

/// Everything runs on member3; a fresh placement begins with the first group again.
#[test]
fn a_group_that_is_left() {
    let mut binding = shared(json!({"clusters": on(&["member3"]), "status": [healthy("member3", 1)]}));
    binding.spec.placement = serde_json::from_value(json!({"clusterAffinities": [
        {"affinityName": "first", "clusterNames": ["member1"]},
        {"affinityName": "second", "clusterNames": ["member3"]},
    ]}))
    .unwrap();
    let fresh = placed_by(&binding, &fine(3), Rules::default(), StartFrom::FirstGroup);
    assert_eq!(fresh.affinity_name.as_deref(), Some("first"));
    assert_eq!(told(&fresh), "member1:1 member3:1, member3 kept");
    let groups = &mut binding.spec.placement.as_mut().unwrap().cluster_affinities;
    groups.truncate(1);
    let renamed = placed_by(&binding, &fine(3), Rules::default(), StartFrom::FirstGroup);
    assert_eq!(told(&renamed), "member1:1", "the owner names member3 no more");
}

/// A person allows one cluster where two were: the one that is chosen does not work.
#[rstest]
#[case::a_workload(deployment(json!({"replicas": 1})), saying("member1", "Unhealthy"), healthy("member2", 1), "member1:1 member2:1, member2 kept")]
#[case::what_knows_no_health(config_map(json!({})), saying("member1", "Unknown"), saying("member2", "Unknown"), "member1:0")]
#[case::what_is_not_applied(
    config_map(json!({})), json!({"clusterName": "member1", "applied": false}), saying("member2", "Unknown"),
    "member1:0 member2:0, member2 kept"
)]
fn a_spread_constraint_that_is_narrowed(
    #[case] mut binding: Binding,
    #[case] first: Value,
    #[case] second: Value,
    #[case] expected: &str,
) {
    binding.spec.placement = serde_json::from_value(json!({
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
    }))
    .unwrap();
    binding.spec.clusters = targets(json!([
        {"name": "member1", "replicas": binding.replicas()}, {"name": "member2", "replicas": binding.replicas()},
    ]));
    binding.status = serde_json::from_value(json!({"aggregatedStatus": [first, second]})).unwrap();
    assert_eq!(told(&placed(&binding, &fine(2))), expected);
}
