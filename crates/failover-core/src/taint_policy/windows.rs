//! Since when a policy has been matching a Cluster, or has stopped to.
//!
//! *Matching since* is when the engine first observed that all conditions hold together. While a process runs, it is
//! kept as long as they keep holding, also when a condition goes from one listed value to another. A condition whose
//! value is the same but whose `lastTransitionTime` is not was somewhere else in between: then the window starts anew.
//! A restarted process keeps a stored window only if no condition of the policy has changed its `lastTransitionTime`.
//!
//! A policy with conditions of its own for the removal matches, while neither these nor the others hold, as long as
//! something of it stands; that is a window of its own, in which nothing comes.
//!
//! The times here are of the wall clock as [`wall`](super::wall) takes it over.

use std::collections::{BTreeMap, BTreeSet};

use api_types::cluster::Cluster;
use jiff::{SignedDuration, Timestamp};

use super::answers::InDoubt;
use super::conditions::{all_hold, snapshot};
use super::form::{Form, Rule};
use super::records::{ManagedTaints, SeenCondition, Window};
use super::restless;
pub(super) use super::times::{after, round_up_to_millis};

/// What a process remembers of one Cluster between two looks; lost with the process, and then made up for by what is
/// stored on the Cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// UID of the Cluster that this speaks of.
    pub(super) cluster: String,
    /// The taints that are ours: as the last look saw them stand, or as a write after it was answered.
    pub(super) managed: ManagedTaints,
    /// The writes that nobody answered.
    pub(super) in_doubt: Option<InDoubt>,
    /// By how much the wall clock was ahead of the time by which windows run, as taken over.
    pub(super) wall_ahead: SignedDuration,
    /// Windows by policy UID, as observed, whether or not they could be written; by the wall clock.
    pub(super) windows: BTreeMap<String, Window>,
    /// UIDs of the policies whose windows an earlier process stored.
    pub(super) restored: BTreeSet<String>,
    /// How often each policy began or ceased to match, by policy UID.
    pub(super) transitions: BTreeMap<String, u64>,
    /// Whether Ready was True at the last look, once that was ever said.
    pub(super) ready: Option<bool>,
}

impl Memory {
    /// How often the policy began or ceased to match while this process looked.
    #[must_use]
    pub fn transitions(&self, policy_uid: &str) -> u64 {
        self.transitions.get(policy_uid).copied().unwrap_or_default()
    }
}

/// Where the previous window comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// This process observed it.
    Observed,
    /// It was stored on the Cluster by an earlier process.
    Stored,
}

/// The window to go on from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Previous<'a> {
    pub window: Option<&'a Window>,
    pub source: Source,
    /// How far behind it is to be judged, if it goes on.
    pub lag: SignedDuration,
}

/// Whether a policy has taints on the Cluster now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stands {
    Something,
    Nothing,
}

/// The window after a look at the Cluster, and how far behind it is to be judged.
pub(super) fn step(
    form: &Form<'_>,
    cluster: &Cluster,
    Previous {
        window: previous,
        source,
        lag,
    }: Previous<'_>,
    stands: Stands,
    now: Timestamp,
) -> (Window, SignedDuration) {
    let was_matching = previous.map(|w| w.matching);
    let (matching, conditions) = match form.rule {
        Rule::Matching(wanted) => (all_hold(wanted, cluster), Some(snapshot(wanted, cluster))),
        Rule::Until { add, remove } => {
            let held = form.rule.holds_back(cluster) && stands == Stands::Something;
            let matching = !all_hold(remove, cluster) && (held || all_hold(add, cluster));
            let mut conditions = snapshot(add, cluster);
            conditions.extend(snapshot(remove, cluster));
            (matching, Some(conditions))
        }
        Rule::Latched { add, remove } => {
            let latched = if !remove.is_empty() && all_hold(remove, cluster) {
                false
            } else {
                (!add.is_empty() && all_hold(add, cluster)) || was_matching.unwrap_or(stands == Stands::Something)
            };
            // A latch needs no proof that the conditions held in between.
            (latched, None)
        }
    };
    let now_in_millis = round_up_to_millis(now);
    if !matching && previous.is_none() && stands == Stands::Nothing {
        // Nothing depends on since when it does not match: most policies, on most clusters.
        return (Window::quiet(now_in_millis), SignedDuration::ZERO);
    }
    let (rule, held_back) = (form.rule_text(), form.rule.holds_back(cluster));
    let conditions = conditions.unwrap_or_default();
    let is_as_before = |w: &&Window| w.matching == matching && w.held_back == held_back;
    let goes_on = previous
        .filter(is_as_before)
        .filter(|w| form.is_latched() || w.rule == rule);
    let kept = goes_on.filter(|w| form.is_latched() || unbroken(&w.conditions, &conditions, source));
    let started_anew = match (kept, goes_on) {
        (Some(kept), _) => kept.started_anew.clone(),
        (None, Some(before)) => restless::count(before, &conditions),
        (None, None) => BTreeMap::new(),
    };
    // A clock that was set back while nobody ran must not make a window longer than it is.
    let since = kept.map_or(now_in_millis, |w| w.since.min(now_in_millis));
    let first_started = match (kept, goes_on) {
        (Some(kept), _) => kept.first_started,
        (None, Some(before)) if !started_anew.is_empty() => Some(before.first_started.unwrap_or(before.since)),
        (None, _) => None,
    };
    let lag = if kept.is_some() { lag } else { SignedDuration::ZERO };
    let mut dismissed = previous.map(|w| w.dismissed.clone()).unwrap_or_default();
    dismissed.retain(|id, at| at.generation == form.generation && form.taint(id).is_some());
    if !matching {
        let now = after(now, -lag);
        dismissed.retain(|id, _| form.taint(id).is_some_and(|t| now < after(since, t.remove_after)));
    }
    let window = Window {
        policy: form.name.to_owned(),
        matching,
        held_back,
        since,
        rule,
        conditions,
        started_anew,
        first_started,
        dismissed,
    };
    (window, lag)
}

/// Whether the conditions can have stayed as they were between two looks.
fn unbroken(before: &BTreeMap<String, SeenCondition>, now: &BTreeMap<String, SeenCondition>, source: Source) -> bool {
    before.len() == now.len()
        && now.iter().all(|(type_, now)| {
            before.get(type_).is_some_and(|before| {
                let same_time = before.is_as_old_as(now);
                match source {
                    Source::Stored => same_time,
                    Source::Observed => same_time || before.status != now.status,
                }
            })
        })
}
