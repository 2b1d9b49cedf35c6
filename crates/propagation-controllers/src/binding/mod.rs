//! `binding`: turns each binding into Works.
//!
//! Guarantees: a Work is deleted only on a complete picture; a copy that has to go first has gone, or its cluster has
//! been away for long enough and a Warning says so; nothing is written when nothing changes.

pub mod index;
pub mod reconcile;
pub mod render;
pub mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::condition::DELETION_BLOCKED;
use api_types::work::{Binding, Work};
use api_types::{BindingKey, ClusterName};
use binding_writer::binding_key;
use controller_kit::{Change, Context, EventType, Next, ObjectKey, WorkQueue};
use failover_core::graceful::placed::placed;
use futures::future::join_all;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Resource;
use parking_lot::Mutex;
use tokio::time::Instant;

use self::index::{Index, Sources, binding_of};
use self::reconcile::{Plan, Situation, plan};
use self::writer::Outcome;
use crate::Flags;
use crate::counts::result;
use crate::created::Created;
use crate::interpreter::{Interpreter, Interpreters};
use crate::objects::TemplateKey;
use crate::templates::{Templates, Unread, changes_beyond_status, follow_rules};
use crate::troubles::{About, Lasts, Troubles};

/// Works of one binding that are written at the same time: one after the other, those for a hundred clusters take as long
/// as a hundred answers.
const AT_ONCE: usize = 16;

/// How long it takes to turn a binding into Works.
const SYNCED: &str = "binding_sync_work_duration_seconds";

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
    let queue: WorkQueue<BindingKey> = WorkQueue::new("binding", &ctx);
    for bindings in &sources.bindings {
        queue.follow(&ctx, bindings.changes(), |change| {
            changes_works(change).then(|| binding_key(&change.key))
        });
    }
    queue.follow(&ctx, sources.works.changes(), |change| {
        // Status of a Work is no concern here.
        let spec = |work: &Option<Arc<Work>>| {
            work.as_ref().map(|w| {
                (
                    w.metadata.generation,
                    w.metadata.labels.clone(),
                    w.metadata.annotations.clone(),
                    w.metadata.finalizers.clone(),
                    w.metadata.deletion_timestamp.clone(),
                )
            })
        };
        let same = change.before.is_some() && spec(&change.before) == spec(&change.after);
        change.newest().filter(|_| !same).and_then(|work| binding_of(work))
    });
    templates.follow(&ctx, &queue, |kind, change| {
        changes_beyond_status(change).then(|| TemplateKey::new(kind.clone(), change.key.clone()).binding())
    });
    let (of_kind, of_rules, waiting) = (index.clone(), index.clone(), queue.clone());
    templates.listen(move |news| {
        for key in of_kind.bindings_of(&news.name) {
            waiting.add(key);
        }
    });
    follow_rules(&ctx, &rules, &queue, move |name| of_rules.bindings_of(name));
    let on_cluster = index.clone();
    queue.follow(&ctx, sources.clusters.changes(), move |change| {
        on_cluster.bindings_concerned_by(change)
    });
    let controller = Arc::new(BindingController {
        ctx: ctx.clone(),
        index,
        interpreter: rules.interpreter(),
        unreachable_wait: flags.directly_unreachable_wait,
        away: Mutex::default(),
        created: Created::default(),
        troubles,
    });
    ctx.metrics
        .describe(SYNCED, "Time to turn a binding into Works, by result.");
    let metrics = ctx.metrics.clone();
    queue
        .run(&ctx, flags.concurrent_binding_syncs, move |key| {
            let (controller, metrics) = (controller.clone(), metrics.clone());
            async move {
                let begun = Instant::now();
                let synced = controller.sync(&key).await;
                let labels = [("result", result(&synced))];
                metrics.histogram(SYNCED, &labels).record(begun.elapsed());
                synced
            }
        })
        .await;
    Ok(())
}

/// Whether a change of a binding can mean other Works, or another word on what keeps it: of its status only that word
/// counts, and whether it is placed, while a copy has to go first.
fn changes_works(change: &Change<Binding>) -> bool {
    let (Some(before), Some(after)) = (&change.before, &change.after) else {
        return true;
    };
    before.spec != after.spec
        || before.metadata.deletion_timestamp != after.metadata.deletion_timestamp
        || before.metadata.labels != after.metadata.labels
        || (!after.spec.graceful_eviction_tasks.is_empty() && placed(before).is_ok() != placed(after).is_ok())
        || blocked(before) != blocked(after)
}

/// Our own word. Before we heard it we may have found, by what was said before, that there was nothing to say.
fn blocked(binding: &Binding) -> Option<&Condition> {
    binding.condition(DELETION_BLOCKED)
}

struct BindingController {
    ctx: Context,
    index: Index,
    interpreter: Arc<dyn Interpreter>,
    unreachable_wait: Duration,
    /// Since when a binding waits for a copy on a cluster that is away.
    away: Mutex<BTreeMap<BindingKey, BTreeMap<ClusterName, Away>>>,
    created: Created<ObjectKey>,
    troubles: Troubles,
}

/// How long a store takes to catch up with a write that came before ours.
const AGAIN_WHEN_OUTDATED: Duration = Duration::from_millis(200);

/// How long a list or a watch that is behind is given to show what the API server has.
const UNTIL_CAUGHT_UP: Duration = Duration::from_secs(1);

/// How many writes were not done because they were made from what is no longer so.
#[derive(Clone, Copy, Default)]
struct Written {
    outdated: usize,
    /// How soon to look whether what was created before has come to be known.
    on_its_way: Option<Duration>,
}

#[derive(Clone, Copy)]
struct Away {
    since: Instant,
    told: bool,
}

impl BindingController {
    async fn sync(&self, key: &BindingKey) -> Result<Next, anyhow::Error> {
        let Some(binding) = self.index.binding(key) else {
            self.away.lock().remove(key);
            self.troubles.fine(key, About::Works);
            return self.remove_works_of_nothing(key).await;
        };
        let mut unread = None;
        let template = self.index.template_of(&binding).unwrap_or_else(|why| {
            unread = self.tell_unread(&binding, &why);
            // What has to go goes all the same; nothing is made, and what is there stays as it is.
            None
        });
        let works = self.index.works_of(key);
        self.created.shown(works.iter().map(|work| ObjectKey::of(&**work)));
        let away_for = self
            .away
            .lock()
            .get(key)
            .into_iter()
            .flatten()
            .map(|(c, away)| (c.clone(), away.since.elapsed()))
            .collect();
        let situation = Situation {
            binding: &binding,
            template: template.as_ref(),
            works: &works,
            presence: &|cluster| self.index.presence(cluster),
            away_for: &away_for,
            unreachable_wait: self.unreachable_wait,
        };
        let plan = plan(&situation, self.interpreter.as_ref());
        // What is made by an old view is as wrong as what is deleted: a copy where the binding has left since.
        if !plan.delete.is_empty() && self.is_of_before(key, &binding).await? {
            return Ok(Next::After(UNTIL_CAUGHT_UP));
        }
        self.remember_away(key, &binding, &plan);
        let written = self.carry_out(key, &binding, &plan).await;
        let refused = self.tell(&binding, &plan, &written);
        match (unread, refused) {
            (Some(words), _) => self.troubles.failed(key, About::Works, &words, Lasts::Surely),
            (None, Some(words)) => self.troubles.failed(key, About::Works, &words, Lasts::Perhaps),
            (None, None) => self.troubles.fine(key, About::Works),
        }
        match written {
            Err(error) => Err(error),
            // The version that got in between may differ in status only, which would not bring us back.
            Ok(Written { outdated: 1.., .. }) => Ok(Next::After(AGAIN_WHEN_OUTDATED)),
            Ok(written) => match plan.failures.first() {
                Some((cluster, error)) => Err(anyhow::anyhow!("no Work for cluster {cluster}: {error}")),
                None => {
                    let soon = plan.look_again.into_iter().chain(written.on_its_way).min();
                    Ok(soon.map_or(Next::Done, Next::After))
                }
            },
        }
    }

    /// Its Works cannot be made or changed; returns the words. While the first list is under way that is nothing to tell.
    fn tell_unread(&self, binding: &Binding, why: &Unread) -> Option<String> {
        let is_passing = matches!(why, Unread::Reading { .. });
        if is_passing || reconcile::targets(binding).is_empty() || binding.is_being_deleted() {
            return None;
        }
        let note = format!("Works are neither made nor changed: {why}");
        self.ctx
            .events
            .publish(&reference(binding), EventType::Warning, "SyncWorkFailed", note.as_str());
        Some(note)
    }

    /// Whether the API server itself has another version of what is wanted, asked before a Work is deleted: by an old list, and by
    /// the watch events that bring it up to date one by one, a copy that runs looks as if nobody wanted it yet. One read a move.
    async fn is_of_before(&self, key: &BindingKey, binding: &Binding) -> Result<bool, kube::Error> {
        let live = binding_writer::api(&self.ctx.client, key).get_opt(&key.name).await?;
        Ok(live.is_some_and(|live| {
            (live.metadata.uid, live.metadata.generation) != (binding.metadata.uid.clone(), binding.metadata.generation)
        }))
    }

    /// Works whose binding was removed by force would stay for ever. Asked once more of the API server itself before
    /// anything is deleted: here an old list would lose a running copy.
    async fn remove_works_of_nothing(&self, key: &BindingKey) -> Result<Next, anyhow::Error> {
        let works = self.index.works_of(key);
        let orphans: Vec<_> = works
            .iter()
            .filter(|work| work.metadata.deletion_timestamp.is_none())
            .collect();
        if orphans.is_empty() {
            return Ok(Next::Done);
        }
        if binding_writer::api(&self.ctx.client, key)
            .get_opt(&key.name)
            .await?
            .is_some()
        {
            return Ok(Next::After(UNTIL_CAUGHT_UP));
        }
        let mut next = Next::Done;
        for work in orphans {
            if writer::delete(&self.ctx, work).await? == Outcome::Outdated {
                next = Next::After(AGAIN_WHEN_OUTDATED);
            }
        }
        Ok(next)
    }

    fn remember_away(&self, key: &BindingKey, binding: &Binding, plan: &Plan) {
        let mut all = self.away.lock();
        let before = all.remove(key).unwrap_or_default();
        let mut current = BTreeMap::new();
        for cluster in &plan.away {
            let mut away = before.get(cluster).copied().unwrap_or(Away {
                since: Instant::now(),
                told: false,
            });
            if plan.unconfirmed.contains(cluster) && !away.told {
                away.told = true;
                let note = format!(
                    "cluster {cluster} does not answer, so it is not known whether the old copy is gone; the new one is created all the same"
                );
                self.ctx
                    .events
                    .publish(&reference(binding), EventType::Warning, "OldCopyNotConfirmedGone", note);
            }
            current.insert(cluster.clone(), away);
        }
        if !current.is_empty() {
            all.insert(key.clone(), current);
        }
    }

    async fn carry_out(&self, key: &BindingKey, binding: &Binding, plan: &Plan) -> Result<Written, anyhow::Error> {
        let mut written = Written::default();
        let mut failed: Option<anyhow::Error> = None;
        let mut note = |result: Result<Outcome, anyhow::Error>| match result {
            Ok(Outcome::Done) => {}
            Ok(Outcome::Outdated) => written.outdated += 1,
            // One cluster's trouble does not keep the others' Works.
            Err(error) => failed = Some(error),
        };
        for some in plan.delete.chunks(AT_ONCE) {
            let deleted = join_all(some.iter().map(|work| async move {
                let deleted = writer::delete(&self.ctx, work).await;
                log_moved("Work deleted", key, work, &deleted);
                deleted.map_err(anyhow::Error::from)
            }));
            deleted.await.into_iter().for_each(&mut note);
        }
        let (mut on_its_way, mut missing) = (None, Vec::new());
        for work in &plan.create {
            match self.created.on_its_way(&ObjectKey::of(work)) {
                Some(left) => on_its_way = on_its_way.max(Some(left)),
                None => missing.push(work),
            }
        }
        for some in missing.chunks(AT_ONCE) {
            let created = join_all(some.iter().map(|work| async move {
                let created = writer::create(&self.ctx, work).await;
                log_moved("Work created", key, work, &created);
                if matches!(created, Ok(Outcome::Done)) {
                    self.created.note(ObjectKey::of(*work));
                }
                created.map_err(|error| refused(work, &error))
            }));
            created.await.into_iter().for_each(&mut note);
        }
        for some in plan.update.chunks(AT_ONCE) {
            let updated = join_all(some.iter().map(|(present, wanted)| async move {
                let updated = writer::update(&self.ctx, present, wanted).await;
                updated.map_err(|error| refused(wanted, &error))
            }));
            updated.await.into_iter().for_each(&mut note);
        }
        written.on_its_way = on_its_way;
        if let Some(error) = failed {
            return Err(error);
        }
        let ours = binding
            .metadata
            .finalizers
            .iter()
            .flatten()
            .any(|name| name == key.kind().finalizer());
        let about_itself = if plan.release && ours {
            writer::release(&self.ctx, key, binding).await?
        } else if !plan.blocking.is_empty() {
            let message = format!(
                "waits for the copies on clusters that are not ready: {}",
                names(&plan.blocking)
            );
            writer::say_blocked(&self.ctx, key, binding, &message).await?
        } else {
            Outcome::Done
        };
        if about_itself == Outcome::Outdated {
            written.outdated += 1;
        }
        Ok(written)
    }

    /// Returns what it told.
    fn tell(&self, binding: &Binding, plan: &Plan, written: &Result<Written, anyhow::Error>) -> Option<String> {
        let note = match (written, plan.failures.first()) {
            (Err(error), _) => format!("{error:#}"),
            (Ok(_), Some((cluster, error))) => format!("cluster {cluster}: {error}"),
            // How it went on is told by the condition FullyApplied, and on the template when a member has the object.
            (Ok(_), None) => return None,
        };
        self.ctx
            .events
            .publish(&reference(binding), EventType::Warning, "SyncWorkFailed", note.as_str());
        Some(note)
    }
}

/// One line for each copy that begins or ends.
fn log_moved(what: &str, key: &BindingKey, work: &Work, result: &Result<Outcome, kube::Error>) {
    if matches!(result, Ok(Outcome::Done)) {
        let namespace = work.metadata.namespace.as_deref().unwrap_or_default();
        let cluster = api_types::names::cluster_of_execution_namespace(namespace);
        let cluster = cluster.as_ref().map(ClusterName::as_str);
        tracing::info!(binding = %key, cluster, work = work.metadata.name, "{what}");
    }
}

/// How large a Work may be that the store of an API server takes for certain.
const LARGE: usize = 1_000_000;

/// The error of a Work that was not written, with what would help.
fn refused(work: &Work, error: &kube::Error) -> anyhow::Error {
    let namespace = work.metadata.namespace.as_deref().unwrap_or_default();
    let cluster = api_types::names::cluster_of_execution_namespace(namespace);
    let cluster = cluster.map_or_else(|| namespace.to_owned(), |cluster| cluster.to_string());
    let bytes = serde_json::to_vec(work).map_or(0, |json| json.len());
    let help = if bytes > LARGE {
        "; API servers take about 1.5 MiB at most, so make the template smaller"
    } else {
        ""
    };
    let error = controller_kit::api_errors::one_line(error);
    anyhow::anyhow!("the Work for cluster {cluster} ({bytes} bytes) was not written: {error}{help}")
}

fn names(clusters: &BTreeSet<ClusterName>) -> String {
    clusters.iter().map(ClusterName::as_str).collect::<Vec<_>>().join(", ")
}

/// A binding as the object of an event.
pub fn reference(binding: &Binding) -> k8s_openapi::api::core::v1::ObjectReference {
    binding.object_ref(&binding.key().kind())
}
