//! Whether everything is as it should be once all is well: what is not, in sentences.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use api_types::names::{execution_namespace, work_name};
use api_types::placement::ReplicaSchedulingType;
use api_types::policy::PurgeMode;
use api_types::taint_policy::ClusterTaintPolicy;
use api_types::work::{Binding, BindingKind, ResourceHealth, Work};
use eviction_queue_api::v1;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde_json::Value;

use crate::objects::NAMESPACE;
use crate::perform::Stage;
use crate::plan::Kind;

/// What is not settled; empty: everything is.
pub async fn unsettled(stage: &Stage) -> Vec<String> {
    let mut found = Vec::new();
    for (number, seat) in stage.seats.iter().enumerate() {
        if !seat.is_running() {
            found.push(format!("process {number} does not run"));
        }
    }
    let bindings: Api<Binding> = Api::all_with(stage.world.client(), &BindingKind::Namespaced);
    let bindings = bindings.list(&ListParams::default()).await.unwrap().items;
    clusters(stage, &mut found).await;
    let allowed = placements(stage, &bindings, &mut found);
    works(stage, &allowed, &mut found).await;
    copies(stage, &allowed, &mut found);
    if found.is_empty() {
        queue(stage, &mut found).await;
    }
    found
}

async fn clusters(stage: &Stage, found: &mut Vec<String>) {
    for member in &stage.plan.members {
        let cluster = stage.world.cluster(&member.name).await;
        if !cluster.is_ready() {
            found.push(format!("{} is not Ready", member.name));
        }
        if cluster
            .condition("CompleteAPIEnablements")
            .is_none_or(|condition| condition.status != "True")
        {
            found.push(format!(
                "{}: {:?}",
                member.name,
                cluster.condition("CompleteAPIEnablements")
            ));
        }
        for taint in &cluster.spec.taints {
            found.push(format!("{} has the taint {}:{}", member.name, taint.key, taint.effect));
        }
    }
    let policies: Api<ClusterTaintPolicy> = Api::all(stage.world.client());
    for policy in policies.list(&ListParams::default()).await.unwrap() {
        let status = policy.status.clone().unwrap_or_default();
        if status.pending + status.matching + status.tainted > 0
            || status.observed_generation != policy.metadata.generation
        {
            found.push(format!("policy {} is at {status:?}", policy.name_any()));
        }
    }
}

/// Where a copy of a workload may be, and how many replicas it has there.
type Allowed = BTreeMap<(String, String), BTreeMap<String, Copy>>;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Copy {
    Wanted(Option<i64>),
    /// Of a task that keeps it until a person acts.
    Kept,
}

fn placements(stage: &Stage, bindings: &[Binding], found: &mut Vec<String>) -> Allowed {
    let mut allowed = Allowed::new();
    let mut left: BTreeSet<String> = bindings.iter().map(ResourceExt::name_any).collect();
    for workload in &stage.workloads {
        let (kind, name) = (workload.kind, &workload.name);
        let control_plane = stage.world.fleet.control_plane();
        let Some(template) = control_plane.get(kind.api_version(), kind.name(), Some(NAMESPACE), name) else {
            continue;
        };
        let binding_name = api_types::names::binding_name(kind.name(), name);
        left.remove(&binding_name);
        let Some(binding) = bindings.iter().find(|binding| binding.name_any() == binding_name) else {
            found.push(format!("{name} has no binding"));
            continue;
        };
        let replicas = template["spec"]["replicas"].as_i64();
        found.extend(unplaced(binding, replicas));
        let mut copies = BTreeMap::new();
        for task in &binding.spec.graceful_eviction_tasks {
            if task.effective_purge_mode() == PurgeMode::Never {
                copies.insert(task.from_cluster.clone(), Copy::Kept);
            } else {
                found.push(format!("{name} has a task for {}", task.from_cluster));
            }
        }
        for target in &binding.spec.clusters {
            let share = (kind != Kind::ConfigMap).then(|| i64::from(target.replicas));
            copies.insert(target.name.clone(), Copy::Wanted(share));
        }
        allowed.insert((kind.name().to_owned(), name.clone()), copies);
    }
    found.extend(left.iter().map(|name| format!("binding {name} has no template")));
    allowed
}

fn unplaced(binding: &Binding, replicas: Option<i64>) -> Vec<String> {
    let mut found = Vec::new();
    let name = binding.name_any();
    if binding.spec.clusters.is_empty() {
        found.push(format!("{name} is nowhere: {:?}", binding.condition("Scheduled")));
    }
    let shares: Vec<i64> = binding
        .spec
        .clusters
        .iter()
        .map(|target| i64::from(target.replicas))
        .collect();
    let divided = binding
        .spec
        .placement
        .as_ref()
        .is_some_and(|p| p.scheduling_type() == ReplicaSchedulingType::Divided);
    if let Some(replicas) = replicas {
        let right = if divided {
            shares.iter().sum::<i64>() == replicas
        } else {
            shares.iter().all(|share| *share == replicas)
        };
        if !right {
            found.push(format!(
                "{name} has {replicas} replicas, divided {divided}, and is placed {:?}",
                binding.spec.clusters
            ));
        }
    }
    for (type_, wanted) in [("Scheduled", "True"), ("FullyApplied", "True")] {
        if binding
            .condition(type_)
            .is_none_or(|condition| condition.status != wanted)
        {
            found.push(format!("{name}: {:?}", binding.condition(type_)));
        }
    }
    if binding
        .condition("EvictionPending")
        .is_some_and(|condition| condition.status == "True")
    {
        found.push(format!("{name}: {:?}", binding.condition("EvictionPending")));
    }
    let has_task = !binding.spec.graceful_eviction_tasks.is_empty();
    if !has_task
        && binding
            .condition("GracefulEviction")
            .is_some_and(|condition| condition.status == "True")
    {
        found.push(format!("{name}: {:?}", binding.condition("GracefulEviction")));
    }
    for target in &binding.spec.clusters {
        let item = binding.status_on(&target.name.as_str().into());
        let is_workload = replicas.is_some();
        if item.is_none_or(|item| !item.applied || is_workload && item.health != Some(ResourceHealth::Healthy)) {
            found.push(format!("{name}: status of {} is {item:?}", target.name));
        }
    }
    found
}

async fn works(stage: &Stage, allowed: &Allowed, found: &mut Vec<String>) {
    for member in &stage.plan.members {
        let namespace = execution_namespace(&member.name.as_str().into());
        let works: Api<Work> = Api::namespaced(stage.world.client(), &namespace);
        let mut expected: BTreeSet<String> = allowed
            .iter()
            .filter(|(_, copies)| copies.contains_key(&member.name))
            .map(|((kind, name), _)| work_name(kind, Some(NAMESPACE), name))
            .collect();
        for work in works.list(&ListParams::default()).await.unwrap() {
            let shown = serde_json::to_value(&work).unwrap();
            let is_namespace = shown["spec"]["workload"]["manifests"][0]["kind"] == "Namespace";
            if work.metadata.deletion_timestamp.is_some() {
                found.push(format!("Work {namespace}/{} waits for its end", work.name_any()));
            } else if !expected.remove(&work.name_any()) && !is_namespace {
                found.push(format!("Work {namespace}/{} is nobody's", work.name_any()));
            }
        }
        found.extend(
            expected
                .iter()
                .map(|name| format!("Work {namespace}/{name} is missing")),
        );
    }
}

/// What runs on the members.
fn copies(stage: &Stage, allowed: &Allowed, found: &mut Vec<String>) {
    for member in stage.world.fleet.members() {
        let mut missing: BTreeSet<&(String, String)> = allowed
            .iter()
            .filter(|(_, copies)| copies.contains_key(member.name()))
            .map(|(key, _)| key)
            .collect();
        for kind in Kind::ALL {
            for object in member.sandbox().list(kind.api_version(), kind.name()) {
                if object["metadata"]["namespace"] != NAMESPACE {
                    continue;
                }
                let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                let key = (kind.name().to_owned(), name);
                missing.remove(&key);
                match allowed.get(&key).and_then(|copies| copies.get(member.name())) {
                    None => found.push(format!("{} {} is left behind on {}", key.0, key.1, member.name())),
                    Some(Copy::Kept) => {}
                    Some(Copy::Wanted(share)) => {
                        found.extend(unlike(stage, member.name(), kind, &key.1, *share, &object));
                    }
                }
            }
        }
        found.extend(
            missing
                .iter()
                .map(|(kind, name)| format!("{kind} {name} is missing on {}", member.name())),
        );
    }
}

fn unlike(stage: &Stage, member: &str, kind: Kind, name: &str, share: Option<i64>, copy: &Value) -> Option<String> {
    let Some(share) = share else {
        let template = stage
            .world
            .fleet
            .control_plane()
            .get(kind.api_version(), kind.name(), Some(NAMESPACE), name)?;
        return (template["data"] != copy["data"]).then(|| format!("{name} on {member} has {}", copy["data"]));
    };
    let number = |value: &Value| value.as_i64().unwrap_or(0);
    let seen = (
        number(&copy["spec"]["replicas"]),
        number(&copy["status"]["readyReplicas"]),
    );
    (seen != (share, share))
        .then(|| format!("{name} on {member}: {seen:?} replicas wanted and ready, {share} assigned"))
}

async fn queue(stage: &Stage, found: &mut Vec<String>) {
    let status = stage
        .world
        .queue()
        .inspect(Duration::from_secs(30), |mut queue| async move {
            queue.get_status(v1::GetStatusRequest {}).await
        })
        .await;
    let status = match status {
        Ok(status) => status,
        Err(error) => return found.push(format!("the queue does not answer: {error}")),
    };
    let totals = status.totals.unwrap_or_default();
    if totals != v1::Totals::default() {
        found.push(format!("the queue has {totals:?}"));
    }
    if status.regime() != v1::Regime::Normal || status.faulty_clusters != 0 || status.consumers != 1 {
        found.push(format!(
            "the queue is {:?}: {}, {} consumers, {:?}",
            status.regime(),
            status.reason,
            status.consumers,
            status.notes
        ));
    }
}
