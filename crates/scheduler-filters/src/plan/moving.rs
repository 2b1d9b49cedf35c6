//! One eviction, and the placement after it.

use api_types::ClusterName;
use api_types::conditions::{self, Say};
use api_types::work::{Binding, GracefulEvictionTask, TargetCluster, condition, task};
use failover_core::eviction::cause::to_the_second;
use failover_core::eviction::queue::Published;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::input::Settings;
use super::outcome::NewPlace;
use crate::feasibility::{Feasibility, FewerCopies, Question, feasibility};
use crate::fleet::Fleet;
use crate::schedule::{Scheduling, StartFrom, schedule};

/// The evictor's check of an entry that was released.
pub(super) fn check(
    binding: &Binding,
    entry: &Published,
    fleet: &Fleet,
    settings: &Settings,
    now: Timestamp,
) -> Feasibility {
    let leaving = &entry.key.cluster;
    let fewer_copies = fleet.get(leaving.as_str()).map_or(FewerCopies::Refused, |cluster| {
        FewerCopies::accepted_by(&entry.key.cause, cluster)
    });
    feasibility(&Question {
        binding,
        leaving,
        fleet,
        plugins: settings.schedulers.of(binding).plugins,
        // As the evictor asks.
        rules: crate::request::Rules::default(),
        check: settings.check,
        fewer_copies,
        now,
    })
}

/// The binding as the evictor leaves it.
pub(super) fn evicted(binding: &Binding, entry: &Published, now: Timestamp) -> Binding {
    let leaving = &entry.key.cluster;
    let mut after = binding.clone();
    after.spec.graceful_eviction_tasks.push(GracefulEvictionTask {
        from_cluster: leaving.to_string(),
        purge_mode: Some(entry.purge_mode.into()),
        replicas: Some(entry.replicas).filter(|replicas| *replicas > 0),
        reason: task::TAINT_UNTOLERATED.to_owned(),
        message: Some(entry.reason.to_string()),
        producer: task::TAINT_MANAGER.to_owned(),
        grace_period_seconds: entry.grace_period_seconds,
        creation_timestamp: Some(Time(to_the_second(now))),
        clusters_before_failover: binding.spec.clusters.iter().map(|target| target.name.clone()).collect(),
        ..GracefulEvictionTask::default()
    });
    after.spec.clusters.retain(|target| target.name != leaving.as_str());
    touched(&mut after);
    after
}

/// Places a binding that the evictor left so, and says where it went.
pub(super) fn placed(binding: &mut Binding, fleet: &Fleet, settings: &Settings, now: Timestamp) -> NewPlace {
    if let Some(why) = placed_by_nobody(binding) {
        return NewPlace::Nobody { why: why.to_owned() };
    }
    let answer = schedule(&Scheduling {
        binding,
        fleet,
        plugins: settings.schedulers.of(binding).plugins,
        rules: settings.rules,
        start: StartFrom::GroupInUse,
        now,
    });
    let (status, reason, message) = match &answer {
        Ok(_) => ("True", "Success", String::new()),
        Err(failure) => ("False", failure.reason(), failure.to_string()),
    };
    let place = match answer {
        Ok(decision) => {
            let gains = gains(&binding.spec.clusters, &decision.clusters);
            binding.spec.clusters.clone_from(&decision.clusters);
            let status = binding.status.get_or_insert_default();
            if decision.affinity_name.is_some() {
                status.scheduler_observed_affinity_name = decision.affinity_name;
            }
            NewPlace::Found {
                result: decision.clusters,
                gains,
                kept: decision.kept.map(|kept| kept.to_string()),
            }
        }
        Err(_) => NewPlace::NotFound { why: message.clone() },
    };
    touched(binding);
    let generation = binding.metadata.generation;
    let status_now = binding.status.get_or_insert_default();
    status_now.scheduler_observed_generation = generation;
    let say = Say {
        type_: condition::SCHEDULED,
        status,
        reason,
        message: &message,
    };
    conditions::set(&mut status_now.conditions, say, generation, now);
    place
}

/// Why no scheduler looks at a binding at all.
fn placed_by_nobody(binding: &Binding) -> Option<&'static str> {
    let suspended = binding
        .spec
        .suspension
        .as_ref()
        .and_then(|suspension| suspension.scheduling);
    if suspended == Some(true) {
        return Some("spec.suspension.scheduling of the binding is set: nothing is placed until it is resumed");
    }
    binding
        .spec
        .placement
        .is_none()
        .then_some("it has no placement of its own: it goes where those go that need it")
}

/// What a result has beyond what was there.
pub(super) fn gains(before: &[TargetCluster], result: &[TargetCluster]) -> Vec<TargetCluster> {
    let gained = result.iter().filter_map(|target| {
        let present = before.iter().find(|present| present.name == target.name);
        let more = target
            .replicas
            .saturating_sub(present.map_or(0, |present| present.replicas));
        (present.is_none() || more > 0).then(|| TargetCluster {
            replicas: more.max(0),
            ..target.clone()
        })
    });
    gained.collect()
}

/// A write makes a new generation and a new version.
fn touched(binding: &mut Binding) {
    let meta = &mut binding.metadata;
    meta.generation = Some(meta.generation.unwrap_or(0) + 1);
    let version = meta
        .resource_version
        .as_ref()
        .and_then(|version| version.parse::<u64>().ok());
    if let Some(version) = version {
        meta.resource_version = Some((version + 1).to_string());
    }
}

/// The replicas of a binding on a cluster.
pub(super) fn replicas_on(binding: &Binding, cluster: &ClusterName) -> i32 {
    let target = binding.spec.target(cluster).map(|target| target.replicas);
    let task = || binding.spec.task(cluster).and_then(|task| task.replicas);
    target.or_else(task).unwrap_or(0)
}
