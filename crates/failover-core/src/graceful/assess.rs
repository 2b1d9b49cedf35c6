//! Judges the tasks of one binding.
//!
//! Guarantees: the last copy never goes but by its owner's word (`gracePeriodSeconds` with a result that is not empty,
//! `suppressDeletion: false`) or the administrator's (`--allow-last-copy-eviction`); each task is judged by its own
//! fields alone, so that the order of the list says nothing; a task that stays says why, plugin by plugin.

use std::sync::Arc;
use std::time::Duration;

use api_types::ClusterName;
use api_types::cluster::Cluster;
use api_types::policy::PurgeMode;
use api_types::work::{Binding, GracefulEvictionTask, condition, task};
use jiff::{SignedDuration, Timestamp};

use super::cause::{self, CauseState};
use super::elsewhere::{another_works, awaits_state};
use super::fate::{End, Fate};
use super::freshness::Baseline;
use super::mirrors::{self, MirrorState, is_mirror};
use super::oddities::{oddities, surplus};
use super::placed::{is_observed, placed};
use super::plugins::{Assessment, CLUSTER_IN_SCHEDULING_RESULT, EvictPlugins};

/// Looks up, for the task of a cluster, what stood in the binding when the task was first seen, and for how long it has
/// been known.
pub type SeenTask<'a> = dyn Fn(&str) -> Option<(Arc<Baseline>, Duration)> + 'a;

/// Says whether the binding's scheduler would leave a copy of this cluster where it is if it came back there, and if not
/// why.
pub type Keeps<'a> = dyn Fn(&ClusterName) -> Result<(), String> + 'a;

/// So long a copy that cannot come back waits for another look, if nothing changes that is known to matter.
const RESTORE_AGAIN: SignedDuration = SignedDuration::from_secs(60);

/// The word of restores in what a task waits for.
const RESTORE: &str = "restore";

/// Why the last copy stays.
pub(super) const LAST_COPY_KEPT: &str = "kept because nothing replaces this copy (--allow-last-copy-eviction)";

/// The word that what is attached says of those that need it.
const OWNERS: &str = task::DEPENDENCY_MIRROR;

/// Looks up the bindings that need the object of an attached one.
pub type OwnersOf<'a> = dyn Fn(&Binding) -> Vec<Arc<Binding>> + 'a;

/// What tasks are judged by.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The binding.
    pub binding: &'a Binding,
    /// The Cluster of this name, from a cache that is synced: none means that it does not exist.
    pub cluster: &'a dyn Fn(&str) -> Option<Arc<Cluster>>,
    /// For the task of this cluster: what stood in the binding when the task was first seen, and for how long it has
    /// been known.
    pub seen: &'a SeenTask<'a>,
    /// The bindings that need the object of an attached one; absent where nobody can tell, and mirrors stay.
    pub owners: Option<&'a OwnersOf<'a>>,
    /// Asked before a copy comes back, where the binding's scheduler takes away what it has no place for; absent where
    /// it leaves a copy that runs.
    pub keeps: Option<&'a Keeps<'a>>,
    /// The time of the decision.
    pub now: Timestamp,
}

/// Whether a task may take away the last copy when its grace period is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastCopy {
    /// It may not.
    #[default]
    Kept,
    /// It may: `--allow-last-copy-eviction`.
    MayGo,
}

/// What the administrator set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The plugins that are on.
    pub plugins: EvictPlugins,
    /// Whether the last copy may go.
    pub last_copy: LastCopy,
    /// Grace period of tasks that have none; absent means none (`--graceful-eviction-timeout`, deprecated).
    pub default_timeout: Option<Duration>,
    /// Where a binding controller that is not ours waits for ever for the end of an old copy (Directly): how long after
    /// the task was written that is given up for a cluster that does not answer. Absent: ours sees to that itself.
    pub unreachable_wait: Option<Duration>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            plugins: EvictPlugins::all(),
            last_copy: LastCopy::Kept,
            default_timeout: None,
            unreachable_wait: None,
        }
    }
}

/// The verdict on one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessed {
    /// The cluster that the task leaves.
    pub cluster: String,
    /// What becomes of the task.
    pub fate: Fate,
}

/// Judges every task, in the order of the list.
#[must_use]
pub fn assess(view: &View<'_>, settings: &Settings) -> Vec<Assessed> {
    let tasks = &view.binding.spec.graceful_eviction_tasks;
    let surplus = surplus(tasks);
    let judge = |(index, task): (usize, &GracefulEvictionTask)| Assessed {
        cluster: task.from_cluster.clone(),
        fate: if surplus.contains(&index) {
            Fate::Ends(End::Surplus)
        } else {
            with_oddities(fate(view, settings, task), task)
        },
    };
    tasks.iter().enumerate().map(judge).collect()
}

/// What of a task is not taken as it is written is told for as long as the task stays.
fn with_oddities(mut fate: Fate, task: &GracefulEvictionTask) -> Fate {
    if let Fate::Stays { why, .. } = &mut fate {
        why.extend(oddities(task));
    }
    fate
}

fn fate(view: &View<'_>, settings: &Settings, task: &GracefulEvictionTask) -> Fate {
    let Some(cluster) = (view.cluster)(&task.from_cluster) else {
        return Fate::Ends(End::NoCluster);
    };
    if is_mirror(task) {
        return of_mirror(view, task);
    }
    if task.suppress_deletion == Some(false) {
        return Fate::Ends(End::AskedFor);
    }
    let mut waiting = match ask_plugins(view, settings, task) {
        Ok(end) if may_end(task, &end) => match held_back(view, settings, task, &end) {
            None => return Fate::Ends(end),
            Some(waiting) => waiting,
        },
        Ok(_) => Waiting::default(),
        Err(waiting) => waiting,
    };
    let mut not_restored = None;
    let cause = cause::gone(view.binding, task, &cluster, view.now);
    let in_result = in_result(view.binding, task);
    match &cause {
        CauseState::Stands { why, .. } if in_result && !cause::stay_matches(view.binding, &cluster) => {
            return Fate::LeavesResult { why: why.clone() };
        }
        CauseState::Gone(why) if !in_result && nothing_replaces(view.binding) => match keeps(view, task) {
            Ok(()) => {
                return Fate::Restored {
                    why: format!("{why}, and nothing replaces the copy"),
                };
            }
            Err(refused) => not_restored = Some((RESTORE.to_owned(), refused)),
        },
        CauseState::Gone(_) | CauseState::Stands { .. } => {}
    }
    waiting = waiting.or_until(cause_ends(&cause));
    if not_restored.is_some() {
        waiting = waiting.or_until(view.now.saturating_add(RESTORE_AGAIN).ok());
    }
    if let Some(kept) = kept_by_word(task) {
        waiting.words = vec![kept];
        waiting.words.extend(not_restored);
        return waiting.stays();
    }
    waiting.words.extend(not_restored);
    match give_up_confirmation(view, settings, task, &cluster) {
        Confirmation::GivenUp(why) => return Fate::TurnsGraceful { why },
        Confirmation::WaitedForUntil(at) => waiting = waiting.or_until(Some(at)),
        Confirmation::NotOurs => {}
    }
    grace(view, settings, task, waiting)
}

/// Whether the binding's scheduler leaves the copy where it comes back to.
fn keeps(view: &View<'_>, task: &GracefulEvictionTask) -> Result<(), String> {
    let cluster = ClusterName::from(task.from_cluster.as_str());
    view.keeps.map_or(Ok(()), |keeps| keeps(&cluster)).map_err(|why| {
        format!("the scheduler would take the copy away again ({why}), so it stays where it runs, by this task")
    })
}

/// Whether the end of an old copy that goes first is still waited for.
enum Confirmation {
    /// It is not, for this reason.
    GivenUp(String),
    /// It is, until then at most.
    WaitedForUntil(Timestamp),
    /// Nobody waits, or the binding controller sees to it.
    NotOurs,
}

fn give_up_confirmation(
    view: &View<'_>,
    settings: &Settings,
    task: &GracefulEvictionTask,
    cluster: &Cluster,
) -> Confirmation {
    let waits = task.effective_purge_mode() == PurgeMode::Directly && !cluster.is_ready();
    let (Some(wait), Some(written)) = (settings.unreachable_wait, &task.creation_timestamp) else {
        return Confirmation::NotOurs;
    };
    if !waits || placed(view.binding).is_err() {
        return Confirmation::NotOurs;
    }
    let until = written.0.saturating_add(wait).unwrap_or(Timestamp::MAX);
    if view.now < until {
        return Confirmation::WaitedForUntil(until);
    }
    Confirmation::GivenUp(format!(
        "cluster {} does not answer, so it is not known whether the old copy is gone, and the new one was not created",
        task.from_cluster
    ))
}

/// Of a mirror no plugin is asked: it goes with the tasks of those that need the object.
fn of_mirror(view: &View<'_>, task: &GracefulEvictionTask) -> Fate {
    let waits = |(who, why): (String, String), look_again_at| {
        let words = vec![(who, why)];
        Waiting { words, look_again_at }.stays()
    };
    if let Some(kept) = kept_by_word(task) {
        return waits(kept, None);
    }
    let Some(owners) = view.owners else {
        let why = "a workload that needs the object may be on its way out there";
        return waits((OWNERS.to_owned(), why.to_owned()), None);
    };
    let owners = owners(view.binding);
    match mirrors::state(view.binding, task, owners.iter().map(AsRef::as_ref), view.now) {
        MirrorState::Needed { why, until } => waits((OWNERS.to_owned(), why), until),
        MirrorState::PlacedThere => Fate::Ends(End::StaysThere {
            why: format!("the object is placed on {} by itself", task.from_cluster),
        }),
        MirrorState::OwnersLeft => Fate::Ends(End::OwnersLeft),
    }
}

/// Why a task stays although a plugin lets it go: no other copy works, whatever the plugin looked at, or somebody else
/// needs the object there.
fn held_back(view: &View<'_>, settings: &Settings, task: &GracefulEvictionTask, end: &End) -> Option<Waiting> {
    let waits = |who: &str, why: String| Waiting {
        words: vec![(who.to_owned(), why)],
        look_again_at: None,
    };
    if let (End::Replaced { plugin, why }, LastCopy::Kept) = (end, settings.last_copy)
        && let Err(missing) = another_works(view, task)
    {
        let again = missing
            .look_again_in
            .and_then(|wait| view.now.saturating_add(wait).ok());
        let words = format!("{why}; {}: {LAST_COPY_KEPT}", missing.why);
        return Some(waits(plugin, words).or_until(again));
    }
    needed_by_owner(view, task, end).map(|why| waits(OWNERS, why))
}

/// What is attached and has a placement of its own leaves by a task of its own. It may be replaced long before the old
/// copy of a workload that needs it there.
fn needed_by_owner(view: &View<'_>, task: &GracefulEvictionTask, end: &End) -> Option<String> {
    let (End::Replaced { .. }, Some(owners)) = (end, view.owners) else {
        return None;
    };
    let cluster = ClusterName::from(task.from_cluster.as_str());
    owners(view.binding)
        .iter()
        .find_map(|owner| mirrors::leaves(owner, &cluster))
}

/// A cause that ends by itself is worth another look then: the state before may come back.
fn cause_ends(cause: &CauseState) -> Option<Timestamp> {
    match cause {
        CauseState::Stands { until, .. } => *until,
        CauseState::Gone(_) => None,
    }
}

/// What a task waits for.
#[derive(Default)]
struct Waiting {
    words: Vec<(String, String)>,
    look_again_at: Option<Timestamp>,
}

impl Waiting {
    fn or_until(mut self, at: Option<Timestamp>) -> Self {
        self.look_again_at = self.look_again_at.into_iter().chain(at).min();
        self
    }

    fn stays(self) -> Fate {
        Fate::Stays {
            why: self.words,
            look_again_at: self.look_again_at,
        }
    }
}

/// The word by which a copy stays until a person acts.
fn kept_by_word(task: &GracefulEvictionTask) -> Option<(String, String)> {
    let word = |field: &str, why: &str| Some((field.to_owned(), why.to_owned()));
    if task.suppress_deletion == Some(true) {
        word("suppressDeletion", "true: the copy stays until a person changes that")
    } else if task.effective_purge_mode() == PurgeMode::Never {
        word("purgeMode", "Never: the copy stays until a person removes the task")
    } else {
        None
    }
}

/// Where the cluster stands in the result too, only that plugin is asked which is about it: the health of the copy
/// itself must not end the task while its cause stands.
fn ask_plugins(view: &View<'_>, settings: &Settings, task: &GracefulEvictionTask) -> Result<End, Waiting> {
    let mut waiting = Waiting::default();
    let asked = |name: &str| name == CLUSTER_IN_SCHEDULING_RESULT || !in_result(view.binding, task);
    for plugin in settings.plugins.iter().filter(|plugin| asked(plugin.name())) {
        match plugin.assess(view, task) {
            Assessment::Passes { why } if plugin.name() == CLUSTER_IN_SCHEDULING_RESULT => {
                return Ok(End::StaysThere { why });
            }
            Assessment::Passes { why } => {
                return Ok(End::Replaced {
                    plugin: plugin.name(),
                    why,
                });
            }
            Assessment::Waits { why, look_again_in } => {
                waiting.words.push((plugin.name().to_owned(), why));
                let at = look_again_in.and_then(|wait| view.now.saturating_add(wait).ok());
                waiting = waiting.or_until(at);
            }
        }
    }
    Err(waiting)
}

/// What keeps the copy ends no task but by the copy's return.
fn may_end(task: &GracefulEvictionTask, end: &End) -> bool {
    kept_by_word(task).is_none() || matches!(end, End::StaysThere { .. })
}

fn in_result(binding: &Binding, task: &GracefulEvictionTask) -> bool {
    binding
        .spec
        .clusters
        .iter()
        .any(|target| target.name == task.from_cluster)
}

/// The result is empty, or the scheduler says of the stored generation that it found no place. What it said of an
/// earlier one is no answer: the result that stands there may be the replacement that it has just found.
fn nothing_replaces(binding: &Binding) -> bool {
    let refused = || {
        binding
            .condition(condition::SCHEDULED)
            .is_none_or(|c| c.status != "True")
    };
    binding.spec.clusters.is_empty() || (is_observed(binding) && refused())
}

fn grace(view: &View<'_>, settings: &Settings, task: &GracefulEvictionTask, mut waiting: Waiting) -> Fate {
    let of_owner = task
        .grace_period_seconds
        .filter(|seconds| *seconds >= 0)
        .map(|seconds| SignedDuration::from_secs(i64::from(seconds)));
    let of_administrator = settings
        .default_timeout
        .and_then(|timeout| SignedDuration::try_from(timeout).ok());
    let written_at = task.creation_timestamp.as_ref().map(|time| time.0);
    let (Some(grace), Some(written_at)) = (of_owner.or(of_administrator), written_at) else {
        return waiting.stays();
    };
    let over_at = written_at.saturating_add(grace).unwrap_or(Timestamp::MAX);
    let seconds = grace.as_secs();
    if view.now < over_at {
        waiting
            .words
            .push(("gracePeriod".to_owned(), format!("{seconds} s, over at {over_at}")));
        return waiting.or_until(Some(over_at)).stays();
    }
    if let Some(name) = awaits_state(view, task) {
        let why =
            format!("{seconds} s, over since {over_at}; kept until {name} has its copy, which gets what is preserved");
        waiting.words.push(("gracePeriod".to_owned(), why));
        return waiting.stays();
    }
    // An owner's grace period is the owner's word, once there is a result. The administrator's timeout is no word about
    // the last copy: it wants one that runs elsewhere.
    let another_copy = match of_owner {
        Some(_) => !view.binding.spec.clusters.is_empty(),
        None => another_works(view, task).is_ok(),
    };
    if another_copy || settings.last_copy == LastCopy::MayGo {
        return Fate::Ends(End::GraceOver { seconds });
    }
    waiting.words.push((
        "gracePeriod".to_owned(),
        format!("{seconds} s, over since {over_at}; {LAST_COPY_KEPT}"),
    ));
    waiting.stays()
}
