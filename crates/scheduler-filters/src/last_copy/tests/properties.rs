//! Whatever a fleet and a binding look like.

use super::*;

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
