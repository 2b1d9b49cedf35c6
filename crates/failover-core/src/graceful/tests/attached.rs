//! What a workload needs, where it has a placement of its own.

use super::*;

/// A ConfigMap that default/web needs; it left m1 by itself and is applied on m2.
fn replaced() -> Binding {
    let placed = json!([{"name": "m2"}]);
    let applied = json!([{"clusterName": "m2", "applied": true}]);
    let mut binding = binding(placed, json!([task("m1", json!({}))]), applied);
    binding.spec.resource.kind = "ConfigMap".to_owned();
    binding.spec.resource.api_version = "v1".to_owned();
    binding.spec.replicas = None;
    binding.spec.replica_requirements = None;
    binding.spec.placement = Some(Default::default());
    binding
}

fn owner(tasks: Value) -> Binding {
    let mut owner = binding(json!([{"name": "m2", "replicas": 3}]), tasks, json!([]));
    owner.metadata.name = Some("web".to_owned());
    owner
}

fn fate_with(owners: Vec<Binding>) -> Fate {
    let owners: Vec<Arc<Binding>> = owners.into_iter().map(Arc::new).collect();
    let clusters = m1_down();
    let known = |name: &str| {
        clusters
            .iter()
            .find(|c| c.metadata.name.as_deref() == Some(name))
            .cloned()
    };
    let (before, binding) = (before(), replaced());
    let seen = |name: &str| {
        let task = binding.spec.task(&name.into())?;
        Some((Arc::new(Baseline::take(Some(&before), &binding, task)), Duration::ZERO))
    };
    let view = View {
        binding: &binding,
        cluster: &known,
        seen: &seen,
        owners: Some(&|_| owners.clone()),
        keeps: None,
        now: at("2026-01-01T12:10:00Z"),
    };
    assess(&view, &Settings::default()).remove(0).fate
}

/// It stays on the old cluster for as long as the old copy of the workload, though its own replacement is there.
#[test]
fn what_an_owner_on_its_way_out_needs_stays() {
    let leaving = owner(json!([task("m1", json!({}))]));
    stays_saying(&fate_with(vec![leaving]), "default/web needs the object and leaves m1");
    for owners in [
        vec![],
        vec![owner(json!([]))],
        vec![owner(json!([task("m3", json!({}))]))],
    ] {
        assert!(ends_by(&fate_with(owners.clone()), RESOURCE_HEALTH), "{owners:?}");
    }
}
