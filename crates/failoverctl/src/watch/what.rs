//! What happened to an entry, told from how it was before and how it is now. Pure.

use eviction_queue_api::convert::from_removed_reason;
use eviction_queue_api::v1;
use failover_core::eviction::queue::Removed;
use serde::Serialize;

use crate::entry::{EntryView, State};
use crate::output::{At, Tone};

/// What happened to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Event {
    /// It is there as the watch begins.
    Present,
    /// It came.
    Queued,
    /// It is due later (again).
    Waiting,
    /// It is due, or may go again.
    Ready,
    /// The evictor works on it.
    Released,
    /// The evictor is done with it, and it was not evicted.
    Returned,
    /// It is held, or held for another reason.
    Held,
    /// Its due time, its priority or the words of its verdict changed.
    Changed,
    /// It was evicted.
    Evicted,
    /// It left without an eviction.
    Left,
}

impl Event {
    /// The word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Queued => "queued",
            Self::Waiting => "waiting",
            Self::Ready => "ready",
            Self::Released => "released",
            Self::Returned => "returned",
            Self::Held => "held",
            Self::Changed => "changed",
            Self::Evicted => "evicted",
            Self::Left => "left",
        }
    }

    /// How it looks.
    #[must_use]
    pub fn tone(self) -> Tone {
        match self {
            Self::Evicted | Self::Released => Tone::Good,
            Self::Held | Self::Returned => Tone::Notice,
            Self::Present | Self::Queued | Self::Waiting | Self::Ready | Self::Changed | Self::Left => Tone::Plain,
        }
    }
}

/// A change of the queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueChange {
    /// What happened.
    pub event: Event,
    /// `NAMESPACE/NAME`, or `NAME` of cluster scope.
    pub binding: String,
    /// The cluster that is left.
    pub cluster: String,
    /// Why.
    pub why: String,
    /// Of what left: Evicted, ClusterRecovered, ApplicationRecovered, ClusterNotReady, Tolerated, BindingGone, Leaving,
    /// Replaced, SwitchedOff, Withdrawn, ProducerGone, or Unseen (while the queue was not reached).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<&'static str>,
    /// Position of the change in the queue's term; 0: it is no change of the queue's own.
    pub revision: u64,
    /// The entry as it is now, or as it was last.
    pub entry: EntryView,
}

impl QueueChange {
    /// `event` happened to `entry`.
    #[must_use]
    pub fn of(event: Event, why: String, entry: EntryView, revision: u64) -> Self {
        Self {
            event,
            binding: entry.binding.clone(),
            cluster: entry.cluster.clone(),
            why,
            removed: None,
            revision,
            entry,
        }
    }

    /// The entry left, as the queue says.
    #[must_use]
    pub fn left(removed: &v1::EntryRemoved, entry: EntryView, revision: u64) -> Self {
        let reason = removed.reason();
        let (event, why) = match reason {
            v1::RemovedReason::Evicted => (Event::Evicted, entry.reason.clone()),
            _ => (Event::Left, removed.message.clone()),
        };
        Self {
            removed: Some(removed_word(reason)),
            ..Self::of(event, why, entry, revision)
        }
    }

    /// The entry left while nobody saw it.
    #[must_use]
    pub fn unseen(entry: EntryView) -> Self {
        let why = format!(
            "it left while the queue was not reached; what became of it: failoverctl history {}",
            entry.binding
        );
        Self {
            removed: Some("Unseen"),
            ..Self::of(Event::Left, why, entry, 0)
        }
    }
}

fn removed_word(reason: v1::RemovedReason) -> &'static str {
    from_removed_reason(reason).map_or("Unknown", Removed::as_str)
}

/// What happened between `before` (nothing: it was not there) and `now`; nothing when no person would see a difference.
#[must_use]
pub fn happened(before: Option<&EntryView>, now: &EntryView) -> Option<(Event, String)> {
    let Some(before) = before else {
        return Some((Event::Queued, standing(now)));
    };
    if before.state != now.state {
        return Some(moved(before, now));
    }
    if now.state == State::Held && before.hold != now.hold {
        return Some((Event::Held, now.why()));
    }
    if before.due_at != now.due_at {
        let time = |at: Option<At>| at.map_or_else(|| "no time".to_owned(), |at| at.to_string());
        let why = format!(
            "due {} instead of {}: {}",
            time(now.due_at),
            time(before.due_at),
            now.reason
        );
        return Some((Event::Changed, why));
    }
    if before.priority != now.priority {
        let why = format!("priority {} instead of {}", now.priority, before.priority);
        return Some((Event::Changed, why));
    }
    (before.reason != now.reason).then(|| (Event::Changed, now.reason.clone()))
}

fn moved(before: &EntryView, now: &EntryView) -> (Event, String) {
    match (before.state, now.state) {
        (_, State::Held) => (Event::Held, now.why()),
        (_, State::Leased) => (
            Event::Released,
            format!("its turn came, the evictor works on it: {}", now.reason),
        ),
        (State::Leased, State::Ready) => (Event::Returned, returned(now)),
        (State::Held, State::Ready) => (Event::Ready, format!("it is not held any more: {}", now.reason)),
        (_, State::Waiting | State::Ready | State::Unknown) => {
            let event = if now.state == State::Waiting {
                Event::Waiting
            } else {
                Event::Ready
            };
            (event, standing(now))
        }
    }
}

fn returned(now: &EntryView) -> String {
    let said = if now.last_outcome.is_empty() {
        "the evictor gave it back"
    } else {
        &now.last_outcome
    };
    match now.not_before {
        Some(not_before) => format!("{said}; tried again at {not_before} at the earliest"),
        None => said.to_owned(),
    }
}

/// How an entry stands that was not seen before.
#[must_use]
pub fn standing(entry: &EntryView) -> String {
    let due = entry.due_at.map(|at| at.to_string()).unwrap_or_default();
    match entry.state {
        State::Waiting => format!("due {due}: {}", entry.reason),
        State::Ready => format!("due since {due}: {}", entry.reason),
        State::Leased => format!("the evictor works on it: {}", entry.reason),
        State::Held => format!("held, {}", entry.why()),
        State::Unknown => entry.reason.clone(),
    }
}
