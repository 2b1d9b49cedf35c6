#![expect(clippy::needless_pass_by_value, reason = "JSON literals read best as they are")]

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

/// What is known of a copy.
fn any_item(cluster: usize) -> impl Generator<Value = Option<Value>> {
    let name = format!("member{}", cluster + 1);
    let known = (
        any::<bool>(),
        prop::sample::select(vec!["Healthy", "Unhealthy", "Unknown"]),
        prop::option::of(0_i32..4),
    );
    prop::option::of(known.prop_map(move |(applied, health, available)| {
        let mut item = json!({"clusterName": name, "applied": applied, "health": health});
        if let Some(available) = available {
            item["status"] = json!({"availableReplicas": available});
        }
        item
    }))
}

fn any_cluster() -> impl Generator<Value = Value> {
    prop_oneof![
        4 => Just(json!({})),
        2 => Just(json!({"spec": {"region": "r"}})),
        1 => Just(not_ready()),
        1 => Just(tainted("k", "NoExecute")),
        1 => Just(tainted("k", "PreferNoSchedule")),
        1 => Just(json!({"metadata": {"deletionTimestamp": "2026-01-01T11:00:00Z"}})),
    ]
}

fn any_placement() -> impl Generator<Value = Value> {
    prop_oneof![
        Just(one_to_two()),
        Just(json!({"replicaScheduling": {}})),
        Just(json!({"replicaScheduling": {}, "spreadConstraints": by_region()})),
        (1_i64..3).prop_map(
            |max| json!({"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": max}]})
        ),
        Just(json!({"clusterAffinities": [
            {"affinityName": "first", "clusterNames": ["member1"]},
            {"affinityName": "second", "clusterNames": ["member2", "member3"]},
        ]})),
    ]
}

const MEMBERS: usize = 4;

prop_compose! {
    fn any_scene()(
        clusters in prop::collection::vec(any_cluster(), MEMBERS),
        placement in any_placement(),
        replicas in 1_i32..4,
        present in prop::collection::btree_map(0..MEMBERS, 0_i32..4, 0..MEMBERS),
        left in prop::option::of((0..MEMBERS, any::<bool>())),
        items in (any_item(0), any_item(1), any_item(2), any_item(3)),
        deletion in prop::sample::select(vec![DeletionBy::Queue, DeletionBy::Scheduler]),
        start in prop::sample::select(vec![StartFrom::GroupInUse, StartFrom::FirstGroup]),
    ) -> (Binding, Fleet, Rules, StartFrom) {
        let mut binding = deployment(json!({"replicas": replicas, "placement": placement}));
        let name = |n: usize| format!("member{}", n + 1);
        let targets = present.iter().map(|(n, replicas)| json!({"name": name(*n), "replicas": replicas}));
        binding.spec.clusters = self::targets(targets.collect());
        if let Some((n, waits)) = left.filter(|(n, _)| !present.contains_key(n)) {
            let mode = if waits { "Gracefully" } else { "Directly" };
            binding.spec.graceful_eviction_tasks = serde_json::from_value(json!([{
                "fromCluster": name(n), "replicas": 1, "reason": "r", "producer": "p", "purgeMode": mode,
            }])).unwrap();
        }
        let items: Vec<Value> = [items.0, items.1, items.2, items.3].into_iter().flatten().collect();
        binding.status = serde_json::from_value(json!({"aggregatedStatus": items})).unwrap();
        (binding, fleet(&clusters), Rules { deletion, ..Rules::default() }, start)
    }
}

fn without_status(binding: &Binding) -> Binding {
    Binding {
        status: None,
        ..binding.clone()
    }
}

/// Whether a placement of [`any_placement`] names the cluster.
fn is_named(binding: &Binding, cluster: &str) -> bool {
    let placement = binding.spec.placement.as_ref().unwrap();
    let names = |affinity: &ClusterAffinity| {
        affinity.cluster_names.is_empty() || affinity.cluster_names.iter().any(|name| name == cluster)
    };
    let groups = &placement.cluster_affinities;
    placement.cluster_affinity.as_ref().is_none_or(names)
        && (groups.is_empty() || groups.iter().any(|group| names(&group.cluster_affinity)))
}

proptest! {
    /// What leaves the result without a task may run no more, or something that works is left, or a person said so.
    #[test]
    fn the_last_copy_never_goes((binding, fleet, rules, start) in any_scene()) {
        let scheduling = Scheduling { binding: &binding, fleet: &fleet, plugins: &Plugins::default(), rules, start, now: now() };
        let Ok(decision) = schedule(&scheduling) else { return Ok(()) };
        let stays = |target: &&TargetCluster| decision.clusters.iter().any(|other| other.name == target.name);
        let is_healthy = |target: &TargetCluster| target.replicas > 0 && works(&binding, target, fleet.get(&target.name), now()).is_ok();
        let in_result = binding.spec.clusters.iter().filter(stays).any(is_healthy);
        let in_tasks = binding.spec.graceful_eviction_tasks.iter().any(|task| {
            task.purge_mode != Some(PurgeMode::Directly) && is_healthy(&of_task(task))
        });
        for gone in binding.spec.clusters.iter().filter(|target| !stays(target)) {
            let ran = gone.replicas > 0 && binding.status_on(&gone.name.as_str().into()).is_some_and(|item| {
                item.applied && item.health != Some(ResourceHealth::Unhealthy)
            });
            prop_assert!(!ran || !is_named(&binding, &gone.name) || in_result || in_tasks, "{gone:?}: {decision:?}");
        }
    }

    /// Without a status the result is stock's, and whatever is kept comes beside that.
    #[test]
    fn what_is_chosen_is_what_would_be_without_it((binding, fleet, rules, start) in any_scene()) {
        let place = |binding: &Binding| schedule(&Scheduling { binding, fleet: &fleet, plugins: &Plugins::default(), rules, start, now: now() });
        let blind = place(&without_status(&binding));
        let seeing = place(&binding);
        prop_assert_eq!(blind.is_ok(), seeing.is_ok());
        let (Ok(blind), Ok(mut seeing)) = (blind, seeing) else { return Ok(()) };
        prop_assert!(blind.kept.is_none());
        let kept = seeing.kept.take().map(|kept| kept.targets).unwrap_or_default();
        prop_assert!(kept.iter().all(|target| binding.spec.clusters.contains(target)), "as they are");
        seeing.clusters.retain(|target| !kept.contains(target));
        prop_assert_eq!(blind, seeing);
    }

    /// Copies that are kept stay as long as nothing changes, and go when another works.
    #[test]
    fn it_ends((mut binding, fleet, rules, start) in any_scene()) {
        let place_from = |binding: &Binding, start| {
            schedule(&Scheduling { binding, fleet: &fleet, plugins: &Plugins::default(), rules, start, now: now() })
        };
        let place = |binding: &Binding| place_from(binding, StartFrom::GroupInUse);
        let Ok(first) = place_from(&binding, start) else { return Ok(()) };
        let Some(kept) = &first.kept else { return Ok(()) };
        let is_kept = |name: &str| kept.targets.iter().any(|target| target.name == name);
        let status = binding.status.as_mut().unwrap();
        status.scheduler_observed_affinity_name.clone_from(&first.affinity_name);
        // What was known of those that are new is from before they came.
        status.aggregated_status.retain(|item| is_kept(&item.cluster_name));
        write(&mut binding, first.clone());
        let again = place(&binding).unwrap();
        prop_assert_eq!(&again.clusters, &first.clusters);
        prop_assert_eq!(again.kept.map(|kept| kept.targets), Some(kept.targets.clone()));
        let chosen: Vec<TargetCluster> = first.clusters.iter().filter(|target| !is_kept(&target.name)).cloned().collect();
        let ready = |target: &&TargetCluster| fleet.get(&target.name).is_some_and(Cluster::is_ready);
        let Some(new) = chosen.iter().find(ready) else { return Ok(()) };
        let works_now = serde_json::from_value(healthy(&new.name, new.replicas)).unwrap();
        binding.status.as_mut().unwrap().aggregated_status.push(works_now);
        let last = place(&binding).unwrap();
        prop_assert!(last.kept.is_none());
        prop_assert_eq!(last.clusters, chosen);
    }
}

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
