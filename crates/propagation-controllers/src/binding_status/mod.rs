//! `bindingStatus`: gathers the status of a binding's Works on the binding, and the status of all copies on the
//! template.
//!
//! Guarantees: what is written was worked out from the newest Works at the very try that wrote it; status of a cluster
//! that is not Ready is never called Healthy; nothing is written when nothing changes.

mod behind;
mod fully_applied;
mod reconcile;
mod template;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use api_types::work::{AggregatedStatusItem, Binding, Work};
use api_types::{BindingKey, ClusterName};
use binding_writer::binding_key;
use controller_kit::{Change, Changes, Context, EventType, Next, WorkQueue};
use failover_core::cluster_health::freshness::freshness;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use self::behind::Behind;
use self::fully_applied::Known;
use self::writer::Outcome;
use crate::Flags;
use crate::binding::index::{Index, Sources, binding_of};
use crate::interpreted::{self, AGGREGATE_STATUS, Trouble};
use crate::interpreter::{InterpretError, Interpreter, Interpreters};
use crate::objects::{TemplateKey, reference};
use crate::templates::{Template, Templates, follow_rules};
use crate::troubles::{About, Troubles};

/// Tries against an object that others write at the same time, before it waits its turn again.
const TRIES: u32 = 4;
/// How long changes are gathered before they are written: a Work that is made, applied and reported on within that
/// time is one write on its binding, not three.
const GATHER: Duration = Duration::from_millis(100);
/// How long the first report from a new place is waited for before it is said that there is none: mostly it is there
/// before, and one write says both.
const REPORTED_WITHIN: Duration = Duration::from_secs(1);

/// Runs the controller until shutdown.
///
/// # Errors
/// When the API server does not serve our kinds.
pub async fn run(
    ctx: Context,
    flags: Flags,
    templates: Templates,
    rules: Interpreters,
    troubles: Troubles,
) -> anyhow::Result<()> {
    let Some((sources, index)) = Sources::read(&ctx, &templates).await? else {
        return Ok(());
    };
    let Ok(rules) = rules.of(&ctx).await else {
        return Ok(());
    };
    let queue: WorkQueue<BindingKey> = WorkQueue::new("bindingStatus", &ctx);
    for bindings in &sources.bindings {
        gather(&queue, &ctx, bindings.changes(), |change| {
            changes_expectation(change).then(|| (binding_key(&change.key), REPORTED_WITHIN))
        });
    }
    let behind = Arc::new(Behind::default());
    let noted = behind.clone();
    gather(&queue, &ctx, sources.works.changes(), move |change| {
        let parts = |work: &Option<Arc<Work>>| {
            work.as_ref()
                .map(|work| (work.status.clone(), work.metadata.deletion_timestamp.clone()))
        };
        let same = change.before.is_some() && parts(&change.before) == parts(&change.after);
        // How long it may be so is worked out by the look.
        let begins = noted.begins(change);
        let work = change.newest().filter(|_| begins || !same)?;
        let wait = if is_reported(work) && !begins {
            GATHER
        } else {
            REPORTED_WITHIN
        };
        Some((binding_of(work)?, wait))
    });
    let on_cluster = index.clone();
    queue.follow(&ctx, sources.clusters.changes(), move |change| {
        on_cluster.bindings_concerned_by(change)
    });
    let (to_gather, gathering, of_template) = (queue.clone(), ctx.clone(), index.clone());
    templates.listen(move |news| {
        if let Some((kind, objects)) = &news.followed {
            let (kind, index) = (kind.clone(), of_template.clone());
            gather(&to_gather, &gathering, objects.changes(), move |change| {
                let key = TemplateKey::new(kind.clone(), change.key.clone()).binding();
                // Who finds out about templates may be another process.
                let is_asked = || index.binding(&key).is_some_and(|binding| template::is_said(&binding));
                (changes_status(change) || is_asked()).then(|| (key.clone(), GATHER))
            });
        }
    });
    let (of_kind, of_rules, waiting) = (index.clone(), index.clone(), queue.clone());
    templates.listen(move |news| {
        for key in of_kind.bindings_of(&news.name) {
            waiting.add_after(key, GATHER);
        }
    });
    follow_rules(&ctx, &rules, &queue, move |name| of_rules.bindings_of(name));
    let found = queue.clone();
    troubles.listen(move |key| found.add_after(key.clone(), GATHER));
    let controller = Arc::new(BindingStatus {
        ctx: ctx.clone(),
        index,
        interpreter: rules.interpreter(),
        stale_after: flags.stale_health_grace_period,
        troubles,
        behind,
    });
    queue
        .run(&ctx, flags.concurrent_binding_syncs, move |key| {
            let controller = controller.clone();
            async move { controller.sync(&key).await }
        })
        .await;
    Ok(())
}

/// Which clusters should have a Work, and what we said ourselves: before we heard it we may have found, by what was said
/// before, that there was nothing to say.
fn changes_expectation(change: &Change<Binding>) -> bool {
    let (Some(before), Some(after)) = (&change.before, &change.after) else {
        return true;
    };
    before.spec != after.spec
        || before.metadata.deletion_timestamp != after.metadata.deletion_timestamp
        || writer::ours(before) != writer::ours(after)
}

/// Whether anything was said of what a Work asks for, or it asks for nothing any more.
fn is_reported(work: &Work) -> bool {
    work.status.is_some() || work.metadata.deletion_timestamp.is_some()
}

/// The status of templates is our word, too; that of a new one is said when its binding is.
fn changes_status(change: &Change<Template>) -> bool {
    match (&change.before, &change.after) {
        (Some(before), Some(after)) => before.differs_in_status(after),
        _ => false,
    }
}

/// Adds the keys of changes so much later, the first of several in time.
fn gather<O, F, I>(queue: &WorkQueue<BindingKey>, ctx: &Context, mut changes: Changes<O>, keys_of: F)
where
    O: Send + Sync + 'static,
    F: Fn(&Change<O>) -> I + Send + 'static,
    I: IntoIterator<Item = (BindingKey, Duration)> + Send,
{
    let (queue, shutdown) = (queue.clone(), ctx.shutdown.clone());
    ctx.tasks.spawn("bindingStatus gathering", async move {
        loop {
            let change = tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                change = changes.recv() => change,
            };
            let Some(change) = change else { return };
            for (key, wait) in keys_of(&change) {
                queue.add_after(key, wait);
            }
        }
    });
}

/// The earlier one of the two.
fn earlier(next: Next, soon: Option<Duration>, now: Timestamp) -> Next {
    let Some(soon) = soon else { return next };
    match next {
        Next::At(at) if at.duration_since(now) <= SignedDuration::try_from(soon).unwrap_or(SignedDuration::MAX) => next,
        _ => Next::After(soon),
    }
}

struct BindingStatus {
    ctx: Context,
    index: Index,
    interpreter: Arc<dyn Interpreter>,
    /// So long after its cluster was Ready what a copy reported still counts.
    stale_after: Duration,
    /// What the others found.
    troubles: Troubles,
    /// Since when Works are ahead of what was applied.
    behind: Arc<Behind>,
}

impl BindingStatus {
    async fn sync(&self, key: &BindingKey) -> Result<Next, anyhow::Error> {
        let Some(mut binding) = self.index.binding(key) else {
            self.troubles.forget(key);
            return Ok(Next::Done);
        };
        let mut tries = 0;
        let (template, aggregated, next) = loop {
            if binding.is_being_deleted() {
                return Ok(Next::Done);
            }
            let works = self.index.works_of(key);
            let now = self.ctx.clock.now();
            let freshness =
                |cluster: &ClusterName| freshness(self.index.cluster(cluster).as_deref(), self.stale_after, now);
            let unwritten = self.troubles.words(key, About::Works);
            let (late, soon) = self.behind.late(works.iter().map(|work| &**work));
            let known = Known {
                unwritten: unwritten.as_deref(),
                late,
            };
            let mut status = reconcile::status(&binding, &works, &freshness, &known, now);
            let template = self.template_of(&binding);
            let aggregated = template
                .as_ref()
                .map(|(_, template)| self.interpreter.aggregate(template, &status.aggregated_status));
            let value = template.as_ref().map(|(_, template)| template);
            let known = |about| self.troubles.words(key, about);
            if let Some(mut troubles) = template::troubles(&binding, value, known, self.interpreter.as_ref()) {
                if let Some(Err(error)) = &aggregated {
                    troubles.push(Trouble::new(AGGREGATE_STATUS, error));
                }
                troubles.extend(interpreted::of_works(&works));
                interpreted::say(&mut status.conditions, &troubles, now);
            }
            if writer::say(&self.ctx, key, &binding, &status).await? == Outcome::Done {
                let again = reconcile::look_again(&works, &freshness);
                break (
                    template,
                    (status.aggregated_status, aggregated),
                    earlier(again, soon, now),
                );
            }
            tries += 1;
            anyhow::ensure!(tries < TRIES, "others write binding {key} all the time");
            // Not the cache: an event may be lost on its way, and then it lags until the next complete list.
            match writer::read(&self.ctx, key).await? {
                Some(live) => binding = Arc::new(live),
                None => return Ok(Next::Done),
            }
        };
        if let (Some((key, template)), (items, Some(aggregated))) = (template, aggregated) {
            self.sync_template(&key, template, aggregated, &items).await?;
        }
        Ok(next)
    }

    /// One that is not read yet is looked at when it is.
    fn template_of(&self, binding: &Binding) -> Option<(TemplateKey, Value)> {
        let key = self.index.templates.key_of(binding).ok()?;
        let template = self.index.template(&key).ok()??;
        Some((key, template))
    }

    /// Writes what the statuses of the copies make of the template's.
    async fn sync_template(
        &self,
        key: &TemplateKey,
        mut template: Value,
        mut aggregated: Result<Option<Value>, InterpretError>,
        items: &[AggregatedStatusItem],
    ) -> Result<(), anyhow::Error> {
        for _ in 0..TRIES {
            let fields = aggregated.inspect_err(|error| {
                let note = error.to_string();
                self.ctx
                    .events
                    .publish(&reference(&template), EventType::Warning, AGGREGATE_STATUS, note);
            })?;
            let Some(fields) = fields else { return Ok(()) };
            if writer::say_on_template(&self.ctx, key, &template, &fields).await? == Outcome::Done {
                return Ok(());
            }
            match writer::read_template(&self.ctx, key).await? {
                Some(live) => template = live,
                None => return Ok(()),
            }
            aggregated = self.interpreter.aggregate(&template, items);
        }
        anyhow::bail!("others write the template {} all the time", key.object)
    }
}
