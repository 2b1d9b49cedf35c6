//! The only place that writes bindings: one edit of the spec for all tasks judged, the condition, the events.

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::conditions::Say;
use api_types::policy::PurgeMode;
use api_types::work::{Binding, BindingKind, condition};
use binding_writer::{BindingEdit, BindingWriter, WriteError, WriteOutcome};
use controller_kit::{Context, EventType, second_owners};
use failover_core::graceful::oddities::oddities;
use failover_core::graceful::{Assessed, End, Fate, mirrors, report};
use jiff::Timestamp;
use kube::{Api, Resource};

/// The edit that does what was decided; none when all stay as they are.
pub(crate) fn edit<'a>(binding: &'a Binding, assessed: &[Assessed], now: Timestamp) -> Option<BindingEdit<'a>> {
    if is_as_wanted(binding, assessed) {
        return None;
    }
    let mut edit = BindingEdit::of(binding);
    // Two tasks may be for one cluster: which of them is left is known by name only when the other one is out.
    for (task, assessed) in binding.spec.graceful_eviction_tasks.iter().zip(assessed) {
        if assessed.fate == Fate::Ends(End::Surplus) {
            edit.remove_exactly(task);
        }
    }
    for Assessed { cluster, fate } in assessed {
        let cluster = ClusterName::from(cluster.as_str());
        match fate {
            Fate::Stays { .. } | Fate::Ends(End::Surplus) => {}
            Fate::TurnsGraceful { .. } => {
                edit.set_purge_mode(&cluster, &PurgeMode::Gracefully);
            }
            Fate::Ends(_) => {
                edit.remove_tasks([&cluster]);
            }
            Fate::Restored { .. } => {
                edit.restore(&cluster);
            }
            Fate::LeavesResult { .. } => {
                edit.remove_target(&cluster);
            }
        }
    }
    edit.stamp_tasks(now);
    Some(edit)
}

fn is_as_wanted(binding: &Binding, assessed: &[Assessed]) -> bool {
    let mut tasks = binding.spec.graceful_eviction_tasks.iter();
    let mut fates = assessed.iter().map(|assessed| &assessed.fate);
    tasks.all(|task| task.creation_timestamp.is_some()) && fates.all(|fate| matches!(fate, Fate::Stays { .. }))
}

/// Whether the API server has no Cluster of this name. A cache may lag; letting a task go for that wants the server's
/// own word.
pub(crate) async fn is_gone(ctx: &Context, cluster: &str) -> Result<bool, kube::Error> {
    let clusters: Api<Cluster> = Api::all(ctx.client.clone());
    Ok(clusters.get_opt(cluster).await?.is_none())
}

/// Says in the condition `GracefulEviction` what the tasks wait for, and who else writes tasks, or that there are none any
/// more.
pub(crate) async fn say(
    writer: &BindingWriter,
    binding: &Binding,
    assessed: &[Assessed],
    strangers: &[String],
    now: Timestamp,
) -> Result<WriteOutcome, WriteError> {
    let waiting = report::waiting(assessed).map(|waiting| report::with(waiting, strangers));
    let say = |status, reason, message| Say {
        type_: condition::GRACEFUL_EVICTION,
        status,
        reason,
        message,
    };
    match &waiting {
        Some(message) => {
            writer
                .set_condition(binding, say("True", report::WAITING, message), now)
                .await
        }
        None if binding
            .condition(condition::GRACEFUL_EVICTION)
            .is_some_and(|c| c.status != "False") =>
        {
            writer
                .set_condition(binding, say("False", report::NO_TASK, report::NO_TASK_MESSAGE), now)
                .await
        }
        None => Ok(WriteOutcome::NotNeeded),
    }
}

/// Events on the binding and its template for what was written.
pub(crate) fn publish(ctx: &Context, binding: &Binding, assessed: &[Assessed]) {
    let kind: BindingKind = binding.key().kind();
    let about = [binding.object_ref(&kind), (&binding.spec.resource).into()];
    for (task, Assessed { cluster, fate }) in binding.spec.graceful_eviction_tasks.iter().zip(assessed) {
        let why = fate.in_words();
        let (event_type, reason, note) = match fate {
            Fate::Stays { .. } => continue,
            Fate::Ends(End::StaysThere { .. }) => (
                EventType::Normal,
                "KeepWorkloadOnClusterSucceed",
                format!("The copy on cluster {cluster} stays. {why}"),
            ),
            Fate::Ends(End::Surplus) => (
                EventType::Warning,
                "DuplicateTask",
                format!(
                    "Cluster {cluster} has more than one task; that of {} goes: {why}",
                    task.producer
                ),
            ),
            Fate::TurnsGraceful { why } => (
                EventType::Warning,
                "OldCopyNotConfirmedGone",
                format!("{why}; the task goes on Gracefully"),
            ),
            Fate::Ends(_) => (
                EventType::Normal,
                "EvictWorkloadFromClusterSucceed",
                format!("Evict from cluster {cluster} succeed. {why}"),
            ),
            Fate::Restored { .. } => (
                EventType::Normal,
                "RestoreWorkloadToClusterSucceed",
                format!("Back to cluster {cluster}, {why}"),
            ),
            Fate::LeavesResult { .. } => (
                EventType::Warning,
                "ClusterStoodInBothLists",
                format!("Cluster {cluster} was {why}"),
            ),
        };
        tracing::info!(binding = %binding.key(), cluster, outcome = outcome(fate), reason, "{note}");
        // A mirror is no move of its own: events speak of the workload that needs the object.
        for object in about.iter().filter(|_| !mirrors::is_mirror(task)) {
            ctx.events.publish(object, event_type, reason, note.clone());
        }
        ctx.metrics
            .counter("failover_graceful_eviction_tasks_total", &[("outcome", outcome(fate))])
            .increment(1);
    }
}

/// A Warning for what of the tasks is not taken as it is written, which the condition just written says for the first time.
pub(crate) fn tell_oddities(ctx: &Context, binding: &Binding) {
    let said_before = binding.condition(condition::GRACEFUL_EVICTION);
    let kind: BindingKind = binding.key().kind();
    for task in &binding.spec.graceful_eviction_tasks {
        for (field, how) in oddities(task) {
            let odd = format!("{field}: {how}");
            if said_before.is_none_or(|condition| !condition.message.contains(&odd)) {
                let note = format!(
                    "The task for cluster {} is not as it should be. {odd}",
                    task.from_cluster
                );
                let about = binding.object_ref(&kind);
                ctx.events
                    .publish(&about, EventType::Warning, "TaskNotUnderstood", note);
            }
        }
    }
}

/// A Warning for each second owner of which the condition just written says for the first time.
pub(crate) fn tell_second_owners(ctx: &Context, binding: &Binding, strangers: &[String]) {
    let said_before = binding.condition(condition::GRACEFUL_EVICTION);
    let about = binding.object_ref(&binding.key().kind());
    for words in strangers {
        if said_before.is_none_or(|condition| !condition.message.contains(words)) {
            ctx.events
                .publish(&about, EventType::Warning, second_owners::EVENT, words.clone());
        }
    }
}

/// A Warning that the API server does not take what was decided.
pub(crate) fn tell_refused(ctx: &Context, binding: &Binding, error: &WriteError) {
    let kind: BindingKind = binding.key().kind();
    let about = binding.object_ref(&kind);
    ctx.events
        .publish(&about, EventType::Warning, "GracefulEvictionFailed", error.to_string());
}

fn outcome(fate: &Fate) -> &'static str {
    match fate {
        Fate::Stays { .. } => "stays",
        Fate::Ends(End::Replaced { .. }) => "replaced",
        Fate::Ends(End::StaysThere { .. }) => "kept",
        Fate::Ends(End::GraceOver { .. }) => "grace_period_over",
        Fate::Ends(End::AskedFor) => "asked_for",
        Fate::Ends(End::NoCluster) => "cluster_gone",
        Fate::Ends(End::OwnersLeft) => "mirror_done",
        Fate::Ends(End::Surplus) => "surplus",
        Fate::TurnsGraceful { .. } => "turned_graceful",
        Fate::Restored { .. } => "restored",
        Fate::LeavesResult { .. } => "left_result",
    }
}
