//! Says what a deletion waits for, in the condition `DeletionBlocked`, and looks again in time.

use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::{Cluster, condition};
use api_types::conditions::Say;
use api_types::names::execution_namespace;
use api_types::work::{Binding, Work};
use controller_kit::{Context, Next, ObjectKey};
use failover_core::cluster_health::deletion::{OtherPlace, Patience, Tally, hold, how_it_ends};
use failover_core::eviction::Cause;
use failover_core::eviction::cause::to_the_second;
use kube::Api;
use kube::api::ListParams;
use scheduler_filters::{FewerCopies, Fleet, Outcome, Plugins, PreEvictionCheck, Question, Rules, feasibility};

use super::index::Index;
use super::operations::operations;
use super::writer::condition_operations;
use crate::conditional::{self, Half};

/// What the reasons rest on beside the bindings themselves (pauses, Leases, other clusters) is looked at again this often.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// An execution namespace that takes longer than this to go is told.
const NAMESPACE_PATIENCE: Duration = Duration::from_secs(5);
/// For how many bindings a look asks where they would go; the answer costs a dry run of the scheduler each.
const DRY_RUNS: usize = 500;

/// Says which bindings the deletion waits for.
pub(super) async fn say_bindings(
    ctx: &Context,
    index: &Index,
    key: &ObjectKey,
    cluster: Arc<Cluster>,
    bindings: &[Arc<Binding>],
    timeout: Duration,
    patience: Patience,
) -> Result<Next, kube::Error> {
    index.emptying.forget(key);
    if let Some(wait) = index.said.wait(key) {
        return Ok(sooner(wait, patience));
    }
    let operations = operations(ctx, index).await?;
    let places = Places::new(ctx, index, &cluster);
    let tally: Tally = bindings
        .iter()
        .enumerate()
        .map(|(number, binding)| {
            hold(
                binding,
                &cluster,
                &operations,
                |name| places.fleet.get(name),
                places.now,
                || {
                    if number < DRY_RUNS {
                        places.elsewhere(binding)
                    } else {
                        OtherPlace::NotLookedFor
                    }
                },
            )
        })
        .collect();
    say(
        ctx,
        index,
        key,
        cluster,
        "NamedByBindings",
        &tally.message(&how_it_ends(timeout)),
    )
    .await?;
    Ok(sooner(LOOK_AGAIN, patience))
}

/// Says what keeps the execution namespace, once it has taken a while.
pub(super) async fn say_namespace(
    ctx: &Context,
    index: &Index,
    key: &ObjectKey,
    cluster: Arc<Cluster>,
    timeout: Duration,
    patience: Patience,
) -> Result<Next, kube::Error> {
    let left = NAMESPACE_PATIENCE.saturating_sub(index.emptying.note(key));
    if let Some(wait) = Some(left)
        .filter(|left| !left.is_zero())
        .or_else(|| index.said.wait(key))
    {
        return Ok(sooner(wait, patience));
    }
    let namespace = execution_namespace(&cluster.cluster_name());
    let works = count_works(ctx, &namespace).await?;
    let (works_are, why) = match (works, cluster.is_ready()) {
        (0, _) => ("is empty".to_owned(), "and is about to go"),
        (1, true) => (
            "holds 1 Work".to_owned(),
            "until what it brought is removed from the member",
        ),
        (_, true) => (
            format!("holds {works} Works"),
            "until what they brought is removed from the member",
        ),
        (1, false) => (
            "holds 1 Work".to_owned(),
            "which execution lets go, since the member is not Ready",
        ),
        (_, false) => (
            format!("holds {works} Works"),
            "which execution lets go, since the member is not Ready",
        ),
    };
    let message = format!(
        "no binding names this cluster any more; its namespace {namespace} {works_are}, {why}; {}",
        how_it_ends(timeout)
    );
    say(ctx, index, key, cluster, "NamespaceNotEmpty", &message).await?;
    Ok(sooner(LOOK_AGAIN, patience))
}

async fn say(
    ctx: &Context,
    index: &Index,
    key: &ObjectKey,
    cluster: Arc<Cluster>,
    reason: &str,
    message: &str,
) -> Result<(), kube::Error> {
    let now = ctx.clock.now();
    let say = Say {
        type_: condition::DELETION_BLOCKED,
        status: "True",
        reason,
        message,
    };
    conditional::patch(ctx, cluster, Half::Status, |current| {
        condition_operations(current, &[say], now)
    })
    .await?;
    index.said.note(key);
    Ok(())
}

/// After `wait`, or when the patience ends, whichever comes first.
fn sooner(wait: Duration, patience: Patience) -> Next {
    match patience {
        Patience::For(Some(left)) => Next::After(left.min(wait)),
        Patience::For(None) | Patience::Over(_) => Next::After(wait),
    }
}

/// Where the bindings could go.
struct Places<'a> {
    cluster: &'a Cluster,
    fleet: Fleet,
    plugins: Plugins,
    fewer_copies: FewerCopies,
    now: jiff::Timestamp,
}

impl<'a> Places<'a> {
    fn new(ctx: &Context, index: &Index, cluster: &'a Cluster) -> Self {
        let deleted_at = cluster.metadata.deletion_timestamp.as_ref().map(|time| time.0);
        let cause = Cause::Deletion {
            at: to_the_second(deleted_at.unwrap_or(jiff::Timestamp::UNIX_EPOCH)),
        };
        Self {
            fleet: index.clusters.list().into_iter().collect(),
            plugins: Plugins::default(),
            fewer_copies: FewerCopies::accepted_by(&cause, cluster),
            cluster,
            now: ctx.clock.now(),
        }
    }

    /// Whether the binding would find another place, as the evictor's pre-check sees it with its default settings.
    fn elsewhere(&self, binding: &Binding) -> OtherPlace {
        let answer = feasibility(&Question {
            binding,
            leaving: &self.cluster.cluster_name(),
            fleet: &self.fleet,
            plugins: &self.plugins,
            rules: Rules::default(),
            check: PreEvictionCheck::Affinity,
            fewer_copies: self.fewer_copies,
            now: self.now,
        });
        match answer.outcome {
            Outcome::NoTarget { why } => OtherPlace::None(why),
            Outcome::Fits { .. } => OtherPlace::Found,
        }
    }
}

/// How many Works there are, without reading them all.
async fn count_works(ctx: &Context, namespace: &str) -> Result<u64, kube::Error> {
    let works = Api::<Work>::namespaced(ctx.client.clone(), namespace);
    let list = works.list_metadata(&ListParams::default().limit(1)).await?;
    let shown = u64::try_from(list.items.len()).unwrap_or_default();
    let more = list
        .metadata
        .remaining_item_count
        .and_then(|more| u64::try_from(more).ok());
    Ok(shown + more.unwrap_or_default())
}
