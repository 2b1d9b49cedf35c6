//! Which entries an order is about, and which not. Pure.

use api_types::BindingKey;
use eviction_queue_api::v1;
use jiff::Timestamp;

use super::Wanted;
use super::report::Skipped;
use crate::cli::WhichEntries;
use crate::entry::{EntryView, HoldReason, OrderKind, State};
use crate::failure::{ExitStatus, Failure};
use crate::output::relative;

/// The longest reason that the queue takes, in bytes.
const REASON_BYTES: usize = 256;
/// Why Undrop has nothing to do with an entry.
const NOT_DROPPED: &str = "it was not dropped";
/// So many are named before it is done.
const NAMED: usize = 10;

/// What is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// The workloads stay.
    Drop,
    /// They may leave again.
    Undrop,
}

impl Verb {
    /// What takes it back.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Drop => Self::Undrop,
            Self::Undrop => Self::Drop,
        }
    }

    /// The word of the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Undrop => "undrop",
        }
    }
}

/// What is done to which entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The entries that it is done to.
    pub ordered: Vec<(v1::EntryKey, EntryView)>,
    /// Those that are as wanted already, or to which it cannot be done.
    pub skipped: Vec<Skipped>,
    /// How many of them the opposite order would change.
    pub reached_by_undo: usize,
}

/// Sorts the entries that were found.
pub fn plan(verb: Verb, found: impl Iterator<Item = (v1::EntryKey, EntryView)>) -> Plan {
    let mut plan = Plan::default();
    for (key, entry) in found {
        let Some(why) = why_not(verb, &entry) else {
            plan.ordered.push((key, entry));
            continue;
        };
        plan.skipped.push(Skipped::of(&entry, &why));
        plan.reached_by_undo += usize::from(why_not(verb.opposite(), &entry).is_none());
    }
    plan
}

/// Why it is not done to an entry.
fn why_not(verb: Verb, entry: &EntryView) -> Option<String> {
    let ordered = entry.order.as_ref().map(|order| order.kind);
    let stay = entry.hold.as_ref().filter(|hold| hold.reason == Some(HoldReason::Stay));
    match (verb, ordered, stay) {
        (Verb::Drop, Some(OrderKind::Drop), _) => Some("it is dropped already".to_owned()),
        (Verb::Drop, None, Some(stay)) => Some(format!("it stays already: {}", stay.message)),
        (Verb::Drop, _, _) | (Verb::Undrop, Some(OrderKind::Drop), _) => None,
        (Verb::Undrop, Some(_), _) => Some("the drop is being taken back already".to_owned()),
        (Verb::Undrop, None, Some(stay)) if stay.dropped => None,
        (Verb::Undrop, None, Some(stay)) => Some(format!(
            "a person's annotation failover.karmada.io/stay on the binding keeps it, no drop: {}",
            stay.message
        )),
        (Verb::Undrop, None, None) => Some(NOT_DROPPED.to_owned()),
    }
}

/// What it is about, as on the command line.
pub(super) fn about(which: &WhichEntries) -> String {
    match (&which.binding, &which.cluster) {
        (Some(binding), Some(cluster)) => format!("{binding} on {cluster}"),
        (Some(binding), None) => binding.to_string(),
        (None, cluster) => format!("all of cluster {}", cluster.as_deref().unwrap_or_default()),
    }
}

/// # Errors
/// The reason is missing or too long.
pub(super) fn check_reason(wanted: &Wanted<'_>) -> Result<(), Failure> {
    let refuse = |why: String| {
        Err(Failure::new(
            ExitStatus::Usage,
            format!("cannot {} {}", wanted.verb.word(), about(wanted.which)),
            why,
            "give a --reason of some words",
        ))
    };
    match (wanted.verb, wanted.reason.trim().len()) {
        (Verb::Drop, 0) => refuse("--reason is empty".to_owned()),
        (_, bytes) if bytes > REASON_BYTES => refuse(format!(
            "--reason has {bytes} bytes, and the queue takes {REASON_BYTES}"
        )),
        _ => Ok(()),
    }
}

/// Nothing that was asked for is in the queue at `address`; `others` are the clusters that have entries which may be meant.
pub(super) fn no_entry(what: &str, address: &str, which: &WhichEntries, others: Vec<String>) -> Failure {
    let cluster = which.cluster.as_deref().unwrap_or_default();
    let (why, next) = match &which.binding {
        Some(binding) if others.is_empty() => (
            "no entry for it".to_owned(),
            format!("nothing makes it leave; see why: failoverctl explain binding {binding}"),
        ),
        Some(binding) => (
            format!("no entry for it on {cluster}"),
            format!(
                "it has to leave {}: give that as --cluster; see: failoverctl queue show {binding}",
                others.join(" and ")
            ),
        ),
        None if others.is_empty() => (
            format!("no entry of cluster {cluster}, and none of any other"),
            "nothing to do; what would make a workload leave: failoverctl status".to_owned(),
        ),
        None => (
            format!("no entry of cluster {cluster}"),
            crate::control_plane::others(cluster, "clusters", others),
        ),
    };
    let why = format!("the eviction queue at {address} has {why}");
    Failure::new(ExitStatus::Problem, format!("cannot {what}"), why, next)
}

/// There are entries of the binding, and no drop to take back.
pub(super) fn nothing_to_take_back(what: &str, binding: &BindingKey, plan: &Plan) -> Failure {
    let why: Vec<String> = plan
        .skipped
        .iter()
        .map(|skipped| format!("on {}, {}", skipped.cluster, skipped.why))
        .collect();
    let next = if plan.skipped.iter().all(|skipped| skipped.why == NOT_DROPPED) {
        format!("nothing to do; what keeps it, if anything: failoverctl queue show {binding}")
    } else {
        let edit = match &binding.namespace {
            Some(namespace) => format!("resourcebinding {} -n {namespace}", binding.name),
            None => format!("clusterresourcebinding {}", binding.name),
        };
        format!("what a person wrote into the annotation is a person's to take out: kubectl edit {edit}")
    };
    Failure::new(ExitStatus::Problem, format!("cannot {what}"), why.join("; "), next)
}

impl Plan {
    /// Of a whole cluster: what has nothing to do with the order goes unsaid.
    #[must_use]
    pub fn of_many(mut self) -> Self {
        self.skipped.retain(|skipped| skipped.why != NOT_DROPPED);
        self
    }

    /// What is said before it is done.
    #[must_use]
    pub fn announcement(&self, verb: Verb, reason: &str, now: Timestamp) -> String {
        let because = if reason.is_empty() {
            String::new()
        } else {
            format!(", because: {reason}")
        };
        let mut text = match (&self.ordered[..], verb) {
            ([(_, one)], Verb::Drop) => format!("This keeps {} on {}{because}\n", one.binding, one.cluster),
            ([(_, one)], Verb::Undrop) => format!("This lets {} leave {} again{because}\n", one.binding, one.cluster),
            (many, Verb::Drop) => format!("This keeps {} workloads where they are{because}\n", many.len()),
            (many, Verb::Undrop) => format!("This lets {} workloads leave again{because}\n", many.len()),
        };
        match &self.ordered[..] {
            [(_, one)] => text.push_str(&format!("It is {}\n", standing(one, now))),
            many => {
                for (_, entry) in many.iter().take(NAMED) {
                    let (binding, cluster) = (&entry.binding, &entry.cluster);
                    text.push_str(&format!("  {binding} on {cluster}: {}\n", standing(entry, now)));
                }
                if many.len() > NAMED {
                    text.push_str(&format!("  … and {} more\n", many.len() - NAMED));
                }
            }
        }
        let leased = self.ordered.iter().filter(|(_, entry)| entry.state == State::Leased);
        let leased = leased.count() as u64;
        if leased > 0 && verb == Verb::Drop {
            let those = crate::change::entries(leased);
            text.push_str(&format!(
                "The evictor has {those} in hand: what it has written already counts.\n"
            ));
        }
        match self.skipped.len() {
            0 => {}
            1 => text.push_str("Another one is left as it is.\n"),
            count => text.push_str(&format!("{count} others are left as they are.\n")),
        }
        text.push_str(match verb {
            Verb::Drop => {
                "The queue holds what is kept from now on; the taint manager writes failover.karmada.io/stay on the binding.\n"
            }
            Verb::Undrop => {
                "The taint manager takes failover.karmada.io/stay off the binding; from then on it goes when its turn comes.\n"
            }
        });
        text
    }
}

/// How an entry stands, in a line.
fn standing(entry: &EntryView, now: Timestamp) -> String {
    let due = entry
        .due_at
        .map(|at| format!(", due {}", relative(at.0, now)))
        .unwrap_or_default();
    format!("{}{due}: {}", entry.state.word(), entry.why())
}
