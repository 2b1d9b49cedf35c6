//! The only place that writes bindings: the health clock, and the events on what changed in it.

use api_types::ClusterName;
use api_types::names::annotation::HEALTH_CLOCK;
use api_types::work::{Binding, BindingKind};
use binding_writer::{BindingWriter, WriteError, WriteOutcome};
use controller_kit::{Context, EventType};
use failover_core::application::{ApplicationVerdict, HealthClock, NotFailing, UnreadableClock};
use failover_core::eviction::desired_entry::Wanted;
use jiff::Timestamp;
use kube::Resource;
use tracing::{info, warn};

/// Counter of writes of the annotation.
pub(crate) const WRITES: &str = "application_failover_clock_writes_total";

/// Stores the clock where it says something else than what is stored, on the version that was read.
pub(crate) async fn store(
    writer: &BindingWriter,
    read: &Binding,
    clock: &HealthClock,
) -> Result<WriteOutcome, WriteError> {
    writer.annotate(read, HEALTH_CLOCK, clock.annotation().as_deref()).await
}

/// What became of the copy on one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It is unhealthy since then.
    Fails { cluster: ClusterName, since: Timestamp },
    /// It was, and is not counted any more: since then.
    Over { cluster: ClusterName, since: Timestamp },
}

/// What the step from one clock to the next means for the copies of a binding that it still has.
pub(crate) fn turns(binding: &Binding, before: &HealthClock, after: &HealthClock) -> Vec<Turn> {
    let since = |clock: &HealthClock, cluster: &ClusterName| clock.copy(cluster)?.unhealthy_since();
    let clusters = binding
        .spec
        .clusters
        .iter()
        .map(|target| ClusterName::from(target.name.as_str()));
    clusters
        .filter_map(|cluster| match (since(before, &cluster), since(after, &cluster)) {
            (None, Some(since)) => Some(Turn::Fails { cluster, since }),
            (Some(since), None) => Some(Turn::Over { cluster, since }),
            // Another copy, or another clock: it is a new count.
            (Some(before), Some(since)) if before != since => Some(Turn::Fails { cluster, since }),
            _ => None,
        })
        .collect()
}

/// What follows from a turn.
pub(crate) struct Then {
    /// In the queue.
    pub wanted: Wanted,
    /// By the rules; nothing of a cluster that is gone.
    pub verdict: Option<ApplicationVerdict>,
}

/// Events on the binding and its template about one copy.
pub(crate) fn say(ctx: &Context, binding: &Binding, turn: &Turn, then: &Then) {
    match turn {
        Turn::Fails { cluster, since } => {
            let then = match &then.wanted {
                Wanted::Entry(entry) => match &entry.hold {
                    Some(hold) => format!("it stays: {}", hold.message),
                    None => format!("leaves from {} on, unless it is healthy before", entry.due_at),
                },
                Wanted::Nothing(_) => "it does not leave for that yet: see preConditions of the policy".to_owned(),
            };
            let note = format!("unhealthy on {cluster} since {since}; {then}");
            info!(binding = %binding.key(), %cluster, %since, "application is unhealthy; {then}");
            publish(ctx, binding, EventType::Warning, "ApplicationUnhealthy", &note);
        }
        Turn::Over { cluster, since } => {
            let (reason, why) = why_over(then.verdict.as_ref());
            let note = format!("not counted as unhealthy on {cluster} any more, after it was since {since}: {why}");
            info!(binding = %binding.key(), %cluster, %since, "application is not counted as unhealthy any more: {why}");
            publish(ctx, binding, EventType::Normal, reason, &note);
        }
    }
}

/// Why a copy is not counted any more: a reason and its words. It recovered only if somebody says so.
fn why_over(verdict: Option<&ApplicationVerdict>) -> (&'static str, String) {
    match verdict {
        Some(ApplicationVerdict::NotAffected(why @ NotFailing::Healthy)) => ("ApplicationRecovered", why.to_string()),
        Some(ApplicationVerdict::NotAffected(why)) => ("ApplicationNotCounted", why.to_string()),
        Some(ApplicationVerdict::Affected(affected)) => ("ApplicationNotCounted", affected.reason()),
        None => ("ApplicationNotCounted", "the cluster is gone".to_owned()),
    }
}

/// The annotation cannot be written: nothing leaves for it, and it is tried again.
pub(crate) fn say_refused(ctx: &Context, binding: &Binding, words: &str) {
    let note = format!(
        "since when the application is unhealthy cannot be written to the annotation {HEALTH_CLOCK}, so that nothing is \
         moved for it; tried again every minute: {words}"
    );
    warn!(binding = %binding.key(), "{note}");
    publish(ctx, binding, EventType::Warning, "HealthClockNotWritten", &note);
}

/// The annotation could not be read: that is told before it is written anew.
pub(crate) fn say_unreadable(ctx: &Context, binding: &Binding, problem: &UnreadableClock) {
    warn!(binding = %binding.key(), "{problem}");
    publish(
        ctx,
        binding,
        EventType::Warning,
        "HealthClockUnreadable",
        &problem.to_string(),
    );
}

/// The binding asks in vain.
pub(crate) fn say_in_vain(ctx: &Context, binding: &Binding, why: &str) {
    let note = format!(
        "spec.failover.application has no effect, unless somebody else's interpreter reports a health: {why}, so that it \
         never counts as unhealthy"
    );
    warn!(binding = %binding.key(), "{note}");
    publish(ctx, binding, EventType::Warning, "NoHealthRule", &note);
}

fn publish(ctx: &Context, binding: &Binding, event_type: EventType, reason: &str, note: &str) {
    let kind: BindingKind = binding.key().kind();
    for about in [binding.object_ref(&kind), (&binding.spec.resource).into()] {
        ctx.events.publish(&about, event_type, reason, note);
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
