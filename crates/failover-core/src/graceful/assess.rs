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
use super::copies;
use super::freshness::Baseline;
use super::mirrors::{self, MirrorState, is_mirror};
use super::placed::is_observed;
use super::plugins::{Assessment, CLUSTER_IN_SCHEDULING_RESULT, EvictPlugins};

/// Looks up, for the task of a cluster, what stood in the binding when the task was first seen, and for how long it has
/// been known.
pub type SeenTask<'a> = dyn Fn(&str) -> Option<(Arc<Baseline>, Duration)> + 'a;

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
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            plugins: EvictPlugins::all(),
            last_copy: LastCopy::Kept,
            default_timeout: None,
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

/// What becomes of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays.
    Stays {
        /// Why: the plugin or the field that says so, and its words.
        why: Vec<(String, String)>,
        /// When it is to be judged again although nothing changed.
        look_again_at: Option<Timestamp>,
    },
    /// It goes.
    Ends(End),
    /// The state before the failure comes back: the cluster goes back into the result, the task goes.
    Restored {
        /// Why, in words.
        why: String,
    },
    /// The cluster stands in the result too, and the cause stands: it leaves the result again, the task stays.
    LeavesResult {
        /// The cause, in words.
        why: String,
    },
}

/// Why a task goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// A plugin passed: the copy is replaced.
    Replaced {
        /// The plugin.
        plugin: &'static str,
        /// Its words.
        why: String,
    },
    /// The cluster is in the result again: the copy stays.
    StaysThere {
        /// Why, in words.
        why: String,
    },
    /// The grace period is over.
    GraceOver {
        /// Its length in seconds.
        seconds: i64,
    },
    /// `suppressDeletion: false`: a person said so.
    AskedFor,
    /// The Cluster does not exist any more.
    NoCluster,
    /// A mirror: no workload that needs the object leaves the cluster any more.
    OwnersLeft,
}

/// Judges every task, in the order of the list.
#[must_use]
pub fn assess(view: &View<'_>, settings: &Settings) -> Vec<Assessed> {
    view.binding
        .spec
        .graceful_eviction_tasks
        .iter()
        .map(|task| Assessed {
            cluster: task.from_cluster.clone(),
            fate: fate(view, settings, task),
        })
        .collect()
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
    let words = match ask_plugins(view, settings, task) {
        Ok(end) if may_end(task, &end) => match needed_by_owner(view, task, &end) {
            None => return Fate::Ends(end),
            Some(why) => Waiting {
                words: vec![(OWNERS.to_owned(), why)],
                look_again_at: None,
            },
        },
        Ok(_) => Waiting::default(),
        Err(waiting) => waiting,
    };
    let cause = cause::gone(view.binding, task, &cluster, view.now);
    let in_result = in_result(view.binding, task);
    match &cause {
        CauseState::Stands { why, .. } if in_result && !cause::stay_matches(view.binding, &cluster) => {
            return Fate::LeavesResult { why: why.clone() };
        }
        CauseState::Gone(why) if !in_result && nothing_replaces(view.binding) => {
            return Fate::Restored {
                why: format!("{why}, and nothing replaces the copy"),
            };
        }
        CauseState::Gone(_) | CauseState::Stands { .. } => {}
    }
    if task.suppress_deletion == Some(true) {
        return stays("suppressDeletion", "true: the copy stays until a person changes that");
    }
    if task.effective_purge_mode() == PurgeMode::Never {
        return stays("purgeMode", "Never: the copy stays until a person removes the task");
    }
    grace(view, settings, task, words.or_until(cause_ends(&cause)))
}

/// Of a mirror no plugin is asked: it goes with the tasks of those that need the object.
fn of_mirror(view: &View<'_>, task: &GracefulEvictionTask) -> Fate {
    if task.suppress_deletion == Some(true) {
        return stays("suppressDeletion", "true: the copy stays until a person changes that");
    }
    let Some(owners) = view.owners else {
        return stays(OWNERS, "a workload that needs the object may be on its way out there");
    };
    let owners = owners(view.binding);
    match mirrors::state(view.binding, task, owners.iter().map(AsRef::as_ref), view.now) {
        MirrorState::Needed { why, until } => Fate::Stays {
            why: vec![(OWNERS.to_owned(), why)],
            look_again_at: until,
        },
        MirrorState::PlacedThere => Fate::Ends(End::StaysThere {
            why: format!("the object is placed on {} by itself", task.from_cluster),
        }),
        MirrorState::OwnersLeft => Fate::Ends(End::OwnersLeft),
    }
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
    let kept = task.suppress_deletion == Some(true) || task.effective_purge_mode() == PurgeMode::Never;
    !kept || matches!(end, End::StaysThere { .. })
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
        .map(|seconds| SignedDuration::from_secs(i64::from(seconds.max(0))));
    let of_administrator = settings
        .default_timeout
        .and_then(|timeout| SignedDuration::try_from(timeout).ok());
    let written_at = task.creation_timestamp.as_ref().map(|time| time.0);
    let (Some(grace), Some(written_at)) = (of_owner.or(of_administrator), written_at) else {
        return Fate::Stays {
            why: waiting.words,
            look_again_at: waiting.look_again_at,
        };
    };
    let over_at = written_at.saturating_add(grace).unwrap_or(Timestamp::MAX);
    let seconds = grace.as_secs();
    if view.now < over_at {
        waiting
            .words
            .push(("gracePeriod".to_owned(), format!("{seconds} s, over at {over_at}")));
        let waiting = waiting.or_until(Some(over_at));
        return Fate::Stays {
            why: waiting.words,
            look_again_at: waiting.look_again_at,
        };
    }
    // An owner's grace period is the owner's word, once there is a result. The administrator's timeout is no word about
    // the last copy: it wants one that runs elsewhere.
    let another_copy = match of_owner {
        Some(_) => !view.binding.spec.clusters.is_empty(),
        None => view
            .binding
            .spec
            .clusters
            .iter()
            .any(|target| copies::works(view.binding, target, (view.cluster)(&target.name).as_deref()).is_ok()),
    };
    if another_copy || settings.last_copy == LastCopy::MayGo {
        return Fate::Ends(End::GraceOver { seconds });
    }
    waiting.words.push((
        "gracePeriod".to_owned(),
        format!(
            "{seconds} s, over since {over_at}; kept because nothing replaces this copy (--allow-last-copy-eviction)"
        ),
    ));
    Fate::Stays {
        why: waiting.words,
        look_again_at: waiting.look_again_at,
    }
}

fn stays(who: &str, why: &str) -> Fate {
    Fate::Stays {
        why: vec![(who.to_owned(), why.to_owned())],
        look_again_at: None,
    }
}

impl Fate {
    /// The fate in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::Stays { why, .. } => {
                let parts: Vec<String> = why.iter().map(|(who, words)| format!("{who}: {words}")).collect();
                if parts.is_empty() {
                    "no plugin is on".to_owned()
                } else {
                    parts.join("; ")
                }
            }
            Self::Ends(end) => end.in_words(),
            Self::Restored { why } => format!("restored: {why}"),
            Self::LeavesResult { why } => format!("taken out of the scheduling result again: {why}"),
        }
    }
}

impl End {
    /// The end in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::Replaced { plugin, why } => format!("{plugin}: {why}"),
            Self::StaysThere { why } => format!("{CLUSTER_IN_SCHEDULING_RESULT}: {why}"),
            Self::GraceOver { seconds } => format!("the grace period of {seconds} s is over"),
            Self::AskedFor => "suppressDeletion is false".to_owned(),
            Self::NoCluster => "the Cluster does not exist any more".to_owned(),
            Self::OwnersLeft => "no workload that needs the object leaves the cluster any more".to_owned(),
        }
    }
}
