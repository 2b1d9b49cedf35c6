//! The bindings that a deletion waits for, counted by what holds them, in words.

use std::collections::BTreeMap;

use super::controllers;
use super::hold::{Hold, HoldKind};

/// How many bindings name the cluster, by what holds them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// By kind and what, the count and an example's detail.
    counts: BTreeMap<(HoldKind, String), (usize, String)>,
}

impl FromIterator<Hold> for Tally {
    fn from_iter<T: IntoIterator<Item = Hold>>(holds: T) -> Self {
        let mut tally = Self::default();
        for hold in holds {
            let (count, example) = tally.counts.entry((hold.kind, hold.what)).or_default();
            *count += 1;
            // The first by name, so that the same state says the same.
            if example.is_empty() || (!hold.detail.is_empty() && hold.detail < *example) {
                *example = hold.detail;
            }
        }
        tally
    }
}

impl Tally {
    /// How many in all.
    #[must_use]
    pub fn total(&self) -> usize {
        self.counts.values().map(|(count, _)| count).sum()
    }

    /// How many of one kind.
    #[must_use]
    pub fn of(&self, kind: HoldKind) -> usize {
        let of_kind = self.counts.iter().filter(|((known, _), _)| *known == kind);
        of_kind.map(|(_, (count, _))| count).sum()
    }

    /// Message of the condition `DeletionBlocked`.
    #[must_use]
    pub fn message(&self, ends: &str) -> String {
        let total = self.total();
        let (names, leave) = if total == 1 {
            ("binding names", "it leaves")
        } else {
            ("bindings name", "they leave")
        };
        let parts: Vec<String> = self
            .counts
            .iter()
            .map(|((kind, what), (count, example))| part(*kind, what, *count, example))
            .collect();
        format!(
            "{total} {names} this cluster in spec.clusters or in a graceful eviction task: {}. It is deleted when {leave}; \
             {ends}",
            parts.join(", ")
        )
    }
}

fn part(kind: HoldKind, what: &str, count: usize, example: &str) -> String {
    match kind {
        HoldKind::NotRunning if what == controllers::TAINT_MANAGER => {
            format!("{count} because {what} is not running (without it the scheduler acts in the end)")
        }
        HoldKind::NotRunning => format!("{count} because {what} is not running"),
        HoldKind::Paused => format!("{count} paused ({what})"),
        HoldKind::Halted => format!("{count} halted ({what})"),
        HoldKind::NoTarget => format!("{count} without a target ({})", shorten(example)),
        HoldKind::KeptByHand => format!("{count} kept by hand ({what})"),
        HoldKind::Moving => format!("{count} moving, until the new copy is healthy"),
        HoldKind::BindingDeleted => format!("{count} being deleted"),
        HoldKind::Waiting => format!("{count} waiting for a turn"),
        HoldKind::NotLookedAt => format!("{count} more not looked at"),
    }
}

fn shorten(text: &str) -> String {
    const LONGEST: usize = 240;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
