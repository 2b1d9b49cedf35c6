//! The copies on their way out, and what each waits for. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::Cluster;
use api_types::work::{Binding, GracefulEvictionTask, condition};
use failover_core::graceful::cause::{CauseState, gone};
use failover_core::graceful::{Assessed, Baseline, Fate, Settings, View, assess};
use jiff::Timestamp;
use serde::Serialize;

use crate::output::At;

/// A copy on its way out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    /// The cluster that is left.
    pub from_cluster: String,
    /// Why, in a word.
    pub reason: String,
    /// Why, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Who wrote the task.
    pub producer: String,
    /// Directly, Gracefully or Never.
    pub purge_mode: String,
    /// Replicas that ran there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// After so many seconds the copy goes although the new one is not healthy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<i32>,
    /// When it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<At>,
    /// Where the workload ran before.
    pub clusters_before_failover: Vec<String>,
    /// Whether what drove it out still stands, and why.
    pub cause: String,
    /// Stays, Ends, Restored, LeavesResult or TurnsGraceful: what becomes of the task as things are.
    pub fate: &'static str,
    /// What it waits for, or why it ends: in the words of the condition GracefulEviction where it has some.
    pub why: String,
}

/// The tasks of a binding, in their order.
pub(super) fn tasks(binding: &Binding, clusters: &[Arc<Cluster>], now: Timestamp) -> Vec<TaskView> {
    let by_name: BTreeMap<String, Arc<Cluster>> = clusters
        .iter()
        .map(|cluster| (cluster.cluster_name().to_string(), Arc::clone(cluster)))
        .collect();
    // What stood there when the controller first saw a task is not stored: a task counts as known since it was written.
    let seen = |name: &str| {
        let task = binding.spec.task(&name.into())?;
        let written = task.creation_timestamp.as_ref().map_or(now, |time| time.0);
        let known_for = Duration::try_from(now.duration_since(written)).unwrap_or_default();
        Some((Arc::new(Baseline::take(None, binding, task)), known_for))
    };
    let view = View {
        binding,
        cluster: &|name| by_name.get(name).cloned(),
        seen: &seen,
        owners: None,
        keeps: None,
        now,
    };
    let assessed = assess(&view, &Settings::default());
    binding
        .spec
        .graceful_eviction_tasks
        .iter()
        .zip(assessed)
        .map(|(task, assessed)| {
            view_of(
                binding,
                task,
                &assessed,
                by_name.get(&task.from_cluster).map(AsRef::as_ref),
                now,
            )
        })
        .collect()
}

fn view_of(
    binding: &Binding,
    task: &GracefulEvictionTask,
    assessed: &Assessed,
    cluster: Option<&Cluster>,
    now: Timestamp,
) -> TaskView {
    let cause = match cluster.map(|cluster| gone(binding, task, cluster, now)) {
        None => "is not known: the Cluster does not exist any more".to_owned(),
        Some(CauseState::Gone(why)) => format!("is gone: {why}"),
        Some(CauseState::Stands { why, .. }) => format!("stands: {why}"),
    };
    let fate = match assessed.fate {
        Fate::Stays { .. } => "Stays",
        Fate::Ends(_) => "Ends",
        Fate::Restored { .. } => "Restored",
        Fate::LeavesResult { .. } => "LeavesResult",
        Fate::TurnsGraceful { .. } => "TurnsGraceful",
    };
    let said = Some(())
        .filter(|()| fate == "Stays")
        .and_then(|()| said_by_controller(binding, &task.from_cluster));
    TaskView {
        from_cluster: task.from_cluster.clone(),
        reason: task.reason.clone(),
        message: task.message.clone(),
        producer: task.producer.clone(),
        purge_mode: task.effective_purge_mode().to_string(),
        replicas: task.replicas,
        grace_period_seconds: task.grace_period_seconds,
        created_at: task.creation_timestamp.as_ref().map(|time| At(time.0)),
        clusters_before_failover: task.clusters_before_failover.clone(),
        cause,
        fate,
        why: said.unwrap_or_else(|| assessed.fate.in_words()),
    }
}

/// The part of the condition that is about this cluster: `CLUSTER: why`, the clusters joined by ` | `.
fn said_by_controller(binding: &Binding, cluster: &str) -> Option<String> {
    let said = binding.condition(condition::GRACEFUL_EVICTION)?;
    let prefix = format!("{cluster}: ");
    said.message
        .split(" | ")
        .find_map(|part| part.strip_prefix(&prefix))
        .map(str::to_owned)
}
