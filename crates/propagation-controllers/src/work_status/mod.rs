//! `workStatus`: carries status and health of members' objects into their Works.
//!
//! Guarantees: what is said of a member was read after it became Ready; nothing is said of a member that is away;
//! nothing is written when nothing changes.

pub mod reconcile;
mod writer;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api_types::cluster::Cluster;
use api_types::conditions;
use api_types::work::{Manifest, Work, work_condition};
use controller_kit::{Change, Context, EventType, Next, ObjectKey, RequiredKind, Store, WorkQueue};
use kube::core::DynamicObject;
use serde_json::Value;
use tokio::time::Instant;

use self::writer::Outcome;
use crate::MemberFlags;
use crate::execution::index::WorkIndex;
use crate::interpreter::{self, Interpreter, Interpreting};
use crate::json;
use crate::kinds::Kind;
use crate::members::{Interests, Pool, Reach, Session, per_ready_member, work_of};
use crate::objects::{key_of, to_value};

/// Tries against a Work that others write at the same time, before it waits its turn again.
const TRIES: u32 = 4;

/// Runs the controller until shutdown.
///
/// # Errors
/// When the API server does not serve our kinds.
pub async fn run(ctx: Context, reach: Reach, flags: MemberFlags, pool: Arc<Pool>) -> anyhow::Result<()> {
    ctx.require_kinds(&[RequiredKind::of::<Cluster>(), RequiredKind::of::<Work>()])
        .await?;
    let informer = reach.works(&ctx);
    let Ok(store) = informer.synced().await else {
        return Ok(());
    };
    let Ok(rules) = interpreter::of(&ctx).await else {
        return Ok(());
    };
    let index = WorkIndex::new(store);
    index.dispatch(&ctx, informer.changes(), changes_objects);
    let concurrency = flags.concurrent_work_syncs;
    // The process stops: nothing is left to follow.
    let _ = per_ready_member(
        ctx.clone(),
        reach,
        "workStatus members",
        pool,
        flags.member_object_timeout,
        move |ctx, session| on_member(ctx, session, index.clone(), rules.clone(), concurrency),
    )
    .await;
    Ok(())
}

/// How long execution is given to say how applying a new version ended. It writes to the same status: two writers at
/// once are a conflict for one of them.
const EXECUTION_SPEAKS_FIRST: Duration = Duration::from_millis(500);

/// What is reported counts, too, although it is our own word: before we heard it we may have found, by what was reported
/// before, that there was nothing to say.
fn changes_objects(change: &Change<Work>) -> bool {
    let (Some(before), Some(after)) = (&change.before, &change.after) else {
        return true;
    };
    let reported = |work: &Arc<Work>| work.status.as_ref().map(|status| status.manifest_statuses.clone());
    before.metadata.generation != after.metadata.generation
        || spoken_of(before) != spoken_of(after)
        || reported(before) != reported(after)
}

/// The version of the Work that execution has spoken of last, and what it said.
fn spoken_of(work: &Work) -> Option<(Option<i64>, String)> {
    let all = work
        .status
        .as_ref()
        .map(|status| status.conditions.as_slice())
        .unwrap_or_default();
    conditions::get(all, work_condition::APPLIED).map(|applied| (applied.observed_generation, applied.status.clone()))
}

/// The version of the Work that execution has spoken of last.
fn dealt_with(work: &Work) -> Option<i64> {
    spoken_of(work).and_then(|(generation, _)| generation)
}

async fn on_member(ctx: Context, session: Arc<Session>, works: WorkIndex, rules: Interpreting, concurrency: usize) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::for_member("workStatus", session.cluster.as_str(), &ctx);
    let concerned = |_: &Kind, change: &Change<DynamicObject>| {
        let object = change.newest();
        object.and_then(|object| work_of(object)).into_iter().collect()
    };
    let interests = Arc::new(Interests::new(&ctx, &session, &queue, Arc::new(concerned)));
    let _rules = interests.follow_rules(&rules);
    let _served = works.serve(&session.cluster, &queue);
    let member = Arc::new(MemberStatus {
        ctx: ctx.clone(),
        session,
        works,
        interpreter: rules.interpreter(),
        interests,
        waiting: parking_lot::Mutex::default(),
    });
    queue
        .run(&ctx, concurrency, move |key| {
            let member = member.clone();
            async move { member.sync(&key).await }
        })
        .await;
}

struct MemberStatus {
    ctx: Context,
    session: Arc<Session>,
    works: WorkIndex,
    interpreter: Arc<dyn Interpreter>,
    interests: Arc<Interests>,
    /// Until when execution is given time for a version of a Work.
    waiting: parking_lot::Mutex<BTreeMap<ObjectKey, (Option<i64>, Instant)>>,
}

impl MemberStatus {
    async fn sync(&self, key: &ObjectKey) -> Result<Next, anyhow::Error> {
        let Some(work) = self.works.get(key) else {
            self.forget(key);
            return Ok(Next::Done);
        };
        if work.metadata.deletion_timestamp.is_some() {
            self.forget(key);
            return Ok(Next::Done);
        }
        if let Some(left) = self.left_for_execution(key, &work) {
            return Ok(Next::After(left));
        }
        let stores = self.stores(key, &work).await?;
        let observed = |manifest: &Value| {
            let (kind, store) = stores.iter().find(|(kind, _)| is_of(manifest, kind))?;
            Some(to_value(kind, store.get(&key_of(manifest))?.as_ref()))
        };
        let reconcile::Reported { items, not_judged } =
            match reconcile::statuses(key, &work, observed, self.interpreter.as_ref()) {
                Ok(reported) => reported,
                Err(error) => {
                    self.ctx.events.publish_for(
                        work.as_ref(),
                        EventType::Warning,
                        "ReflectStatusFailed",
                        error.to_string(),
                    );
                    return Err(error.into());
                }
            };
        for error in &not_judged {
            let events = &self.ctx.events;
            events.publish_for(
                work.as_ref(),
                EventType::Warning,
                "InterpretHealthFailed",
                error.to_string(),
            );
        }
        let mut outcome = writer::say(&self.ctx, &work, &items).await?;
        for _ in 0..TRIES {
            if outcome == Outcome::Done {
                // What could not be judged is tried again: nothing else may come to ask.
                return not_judged
                    .into_iter()
                    .next()
                    .map_or(Ok(Next::Done), |error| Err(error.into()));
            }
            // Not the cache: an event may be lost on its way, and then it lags until the next complete list.
            match writer::read(&self.ctx, &work).await? {
                None => return Ok(Next::Done),
                Some(live) if live.metadata.generation == work.metadata.generation => {
                    outcome = writer::say(&self.ctx, &live, &items).await?;
                }
                Some(_) => anyhow::bail!("Work {key} has changed; its newest version has not been heard of yet"),
            }
        }
        anyhow::bail!("others write Work {key} all the time")
    }

    fn left_for_execution(&self, key: &ObjectKey, work: &Work) -> Option<Duration> {
        let mut waiting = self.waiting.lock();
        let generation = work.metadata.generation;
        if dealt_with(work) == generation || work.spec.suspend_dispatching == Some(true) {
            waiting.remove(key);
            return None;
        }
        let now = Instant::now();
        match waiting.get(key) {
            Some((same, until)) if *same == generation => {
                until.checked_duration_since(now).filter(|left| !left.is_zero())
            }
            _ => {
                waiting.insert(key.clone(), (generation, now + EXECUTION_SPEAKS_FIRST));
                Some(EXECUTION_SPEAKS_FIRST)
            }
        }
    }

    /// What is there of the Work's kinds, which are followed from now on. What the member does not serve is left out:
    /// there is nothing of it, and execution says so.
    async fn stores(&self, key: &ObjectKey, work: &Work) -> Result<Vec<(Kind, Store<DynamicObject>)>, anyhow::Error> {
        let (mut stores, mut kinds) = (Vec::new(), Vec::new());
        for Manifest(manifest) in &work.spec.workload.manifests {
            let (api_version, kind) = (json::text(manifest, "/apiVersion"), json::text(manifest, "/kind"));
            if api_version.is_empty() || kind.is_empty() {
                continue;
            }
            let Some(kind) = self.session.kinds.look_up(api_version, kind).await? else {
                continue;
            };
            let followed = self.interests.need(key, &kind);
            let limit = self.session.request_timeout;
            let store = followed.read(limit).await.map_err(|_| {
                anyhow::anyhow!(
                    "cluster {}: {kind} could not be listed within {limit:?}",
                    self.session.cluster
                )
            })?;
            stores.push((kind.clone(), store));
            kinds.push(kind);
        }
        self.interests.only(key, &kinds);
        Ok(stores)
    }

    fn forget(&self, key: &ObjectKey) {
        self.waiting.lock().remove(key);
        self.interests.forget(key);
    }
}

fn is_of(manifest: &Value, kind: &Kind) -> bool {
    json::text(manifest, "/kind") == kind.kind() && json::text(manifest, "/apiVersion") == kind.api_version()
}
