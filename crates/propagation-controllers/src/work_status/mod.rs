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
use controller_kit::{Change, Context, EventType, Next, ObjectKey, RequiredKind, WorkQueue};
use kube::core::DynamicObject;
use serde_json::Value;
use tokio::time::Instant;

use self::reconcile::Seen;
use self::writer::{Outcome, Said};
use crate::MemberFlags;
use crate::execution::index::WorkIndex;
use crate::execution::member::{Member, MemberFailure};
use crate::execution::memory::ObjectName;
use crate::execution::slow_lane::{SlowLane, Turn};
use crate::interpreted::condition::INTERPRETED;
use crate::interpreter::{Interpreter, Interpreters, Interpreting};
use crate::kinds::Kind;
use crate::members::{Interests, Pool, Reach, Session, per_ready_member, work_of};
use crate::objects::key_of;

/// Tries against a Work that others write at the same time, before it waits its turn again.
const TRIES: u32 = 4;

/// Runs the controller until shutdown.
///
/// # Errors
/// When the API server does not serve our kinds.
pub async fn run(
    ctx: Context,
    reach: Reach,
    flags: MemberFlags,
    pool: Arc<Pool>,
    rules: Interpreters,
) -> anyhow::Result<()> {
    ctx.require_kinds(&[RequiredKind::of::<Cluster>(), RequiredKind::of::<Work>()])
        .await?;
    let informer = reach.works(&ctx);
    let Ok(store) = informer.synced().await else {
        return Ok(());
    };
    let Ok(rules) = rules.of(&ctx).await else {
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

/// How soon a Work is looked at again of which a kind cannot be listed.
const AGAIN_WHILE_UNLISTED: Duration = Duration::from_secs(30);

/// How long execution is given to say how applying a new version ended. It writes to the same status: two writers at
/// once are a conflict for one of them.
const EXECUTION_SPEAKS_FIRST: Duration = Duration::from_millis(500);

/// What is reported counts, too, although it is our own word: before we heard it we may have found, by what was reported
/// before, that there was nothing to say.
fn changes_objects(change: &Change<Work>) -> bool {
    let (Some(before), Some(after)) = (&change.before, &change.after) else {
        return true;
    };
    let reported = |work: &Arc<Work>| {
        let status = work.status.as_ref()?;
        let interpreted = conditions::get(&status.conditions, INTERPRETED);
        Some((status.manifest_statuses.clone(), interpreted.cloned()))
    };
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
        member: Member::new(&ctx, &session),
        slow: SlowLane::default(),
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

/// What a look at a member showed of a Work.
#[derive(Default)]
struct Looked {
    seen: BTreeMap<ObjectName, Seen>,
    /// Why objects could not be read: the first one's words.
    unread: Option<String>,
    /// Whether a kind of it is read object by object, so that changes are not heard of.
    unlisted: bool,
}

struct MemberStatus {
    ctx: Context,
    session: Arc<Session>,
    member: Member,
    slow: SlowLane,
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
        let manifests = &work.spec.workload.manifests;
        let _turn = match self.slow.turn(manifests.iter().map(|Manifest(manifest)| manifest)) {
            Turn::Now(turn) => turn,
            Turn::After(later) => return Ok(Next::After(later)),
        };
        let looked = self.look(key, &work).await?;
        let observed = |manifest: &Value| looked.seen.get(&ObjectName::of(manifest)).cloned();
        let reported = reconcile::statuses(key, &work, observed, self.interpreter.as_ref());
        let troubles = reported.troubles();
        for trouble in &troubles {
            self.tell(&work, &trouble.reason, &trouble.words);
        }
        if let Some(words) = &looked.unread {
            self.tell(&work, "ReflectStatusFailed", words);
        }
        let said = Said {
            items: &reported.items,
            troubles: &troubles,
        };
        self.write(key, &work, said).await?;
        // What could not be read is tried again: nothing else may come to ask.
        let mut errors = reported.not_judged.into_iter().chain(reported.not_reflected);
        match (errors.next(), looked.unread) {
            (Some(error), _) => Err(error.into()),
            (None, Some(words)) => Err(anyhow::Error::msg(words)),
            (None, None) if looked.unlisted => Ok(Next::After(AGAIN_WHILE_UNLISTED)),
            (None, None) => Ok(Next::Done),
        }
    }

    fn tell(&self, work: &Work, reason: &str, words: &impl ToString) {
        let events = &self.ctx.events;
        events.publish_for(work, EventType::Warning, reason, words.to_string());
    }

    /// Says on the Work what there is to say of this version of it.
    async fn write(&self, key: &ObjectKey, work: &Work, said: Said<'_>) -> Result<(), anyhow::Error> {
        let mut outcome = writer::say(&self.ctx, work, said).await?;
        for _ in 0..TRIES {
            if outcome == Outcome::Done {
                return Ok(());
            }
            // Not the cache: an event may be lost on its way, and then it lags until the next complete list.
            match writer::read(&self.ctx, work).await? {
                None => return Ok(()),
                Some(live) if live.metadata.generation == work.metadata.generation => {
                    outcome = writer::say(&self.ctx, &live, said).await?;
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

    /// What is there of the Work's objects, whose kinds are followed from now on. What the member does not serve is left
    /// out: there is nothing of it, and execution says so. A kind that cannot be listed is read object by object.
    async fn look(&self, key: &ObjectKey, work: &Work) -> Result<Looked, anyhow::Error> {
        let (mut looked, mut kinds) = (Looked::default(), Vec::new());
        for Manifest(manifest) in &work.spec.workload.manifests {
            let kind = match self.member.kind_of(manifest).await {
                Ok(kind) => kind,
                Err(MemberFailure::NotServed { .. } | MemberFailure::Incomplete(_)) => continue,
                Err(failure) => {
                    if failure.is_silence() {
                        self.slow.timed_out(manifest);
                    }
                    return Err(failure.into());
                }
            };
            let followed = self.interests.need(key, &kind);
            kinds.push(kind.clone());
            let found = self.member.known(&followed, manifest).await;
            match &found {
                Err(failure) if failure.is_silence() => self.slow.timed_out(manifest),
                _ => self.slow.answered(manifest),
            }
            looked.unlisted |= followed.store_if_read().is_none();
            let seen = match found {
                Ok(Some(object)) => Seen::Object(object),
                Ok(None) | Err(MemberFailure::NotServed { .. }) => continue,
                Err(failure @ MemberFailure::Stopped) => return Err(failure.into()),
                Err(failure) => {
                    let (cluster, object) = (&self.session.cluster, key_of(manifest));
                    looked.unread.get_or_insert_with(|| {
                        format!(
                            "cluster {cluster}: {} {object} cannot be read there, and nothing is known of it until it can: \
                             {failure}",
                            kind.kind()
                        )
                    });
                    Seen::Unread
                }
            };
            looked.seen.insert(ObjectName::of(manifest), seen);
        }
        self.interests.only(key, &kinds);
        Ok(looked)
    }

    fn forget(&self, key: &ObjectKey) {
        self.waiting.lock().remove(key);
        self.interests.forget(key);
    }
}
