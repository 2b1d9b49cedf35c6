//! `queue show` as a report.

use serde::Serialize;

use super::tone;
use crate::entry::{EntryView, OrderKind, OrderView, State};
use crate::failure::ExitStatus;
use crate::output::{At, Colour, Report, View};

/// Everything about the entries of one binding.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryDetails {
    /// The entries, the most urgent first.
    pub entries: Vec<EntryView>,
}

impl Report for EntryDetails {
    const KIND: &'static str = "EntryDetails";

    fn text(&self, view: &View) -> String {
        self.entries
            .iter()
            .map(|entry| details(entry, view))
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.entries.iter().map(|entry| entry.binding.clone()).collect();
        names.dedup();
        names
    }

    fn status(&self) -> ExitStatus {
        ExitStatus::Fine
    }
}

fn details(entry: &EntryView, view: &View) -> String {
    let time = |time: Option<At>| time.map(|time| time.show(view));
    let state = tone(entry.state).paint(entry.state.word(), view.colour);
    let since = entry
        .since
        .map(|since| format!(" since {}", since.show(view)))
        .unwrap_or_default();
    let rows = [
        ("Binding", Some(entry.binding.clone())),
        ("Leaves", Some(entry.cluster.clone())),
        ("State", Some(format!("{state}{since}"))),
        ("Why", Some(entry.reason.clone())),
        ("Held", entry.hold.as_ref().map(|_| entry.why())),
        ("Held until", entry.hold.as_ref().and_then(|hold| time(hold.until))),
        (
            "What would change it",
            entry.hold.as_ref().map(|hold| hold.remedy().to_owned()),
        ),
        ("Ordered", entry.order.as_ref().map(|order| ordered(order, view))),
        ("Due", time(entry.due_at)),
        (
            "Position",
            entry
                .position
                .map(|position| format!("{position} of all that are ready")),
        ),
        ("ETA", time(entry.estimated_release_at)),
        (
            "Not released yet",
            Some(entry.explanation.clone()).filter(|_| entry.state == State::Ready),
        ),
        ("Cause", Some(format!("{} {}", entry.cause.kind, entry.cause.identity))),
        ("Resource", Some(format!("{}{}", entry.resource, replicas(entry)))),
        ("Old copy", Some(old_copy(entry))),
        ("Priority", Some(entry.priority.to_string())),
        ("Not before", time(entry.not_before)),
        (
            "Failed tries",
            Some(entry.failures)
                .filter(|failures| *failures > 0)
                .map(|failures| failures.to_string()),
        ),
        ("Last try", Some(entry.last_outcome.clone())),
        ("Queued", time(entry.queued_at)),
        (
            "Published by",
            Some(format!(
                "{}, which judged generation {}",
                entry.producer, entry.binding_generation
            )),
        ),
    ];
    fields(
        rows.into_iter().filter_map(|(name, value)| Some((name, value?))),
        view.colour,
    )
}

/// An order that the binding does not say yet.
fn ordered(order: &OrderView, view: &View) -> String {
    let what = match order.kind {
        OrderKind::Drop => "to stay",
        OrderKind::Undrop => "to be let go again",
        OrderKind::Unknown => "something that this version does not know",
    };
    let at = order.at.map(|at| format!(", {}", at.show(view))).unwrap_or_default();
    let why = if order.reason.is_empty() {
        String::new()
    } else {
        format!(": {}", order.reason)
    };
    format!("{what}, by {}{at}{why}; the binding does not say so yet", order.caller)
}

fn replicas(entry: &EntryView) -> String {
    match entry.replicas {
        0 => String::new(),
        1 => format!(", 1 replica on {}", entry.cluster),
        count => format!(", {count} replicas on {}", entry.cluster),
    }
}

fn old_copy(entry: &EntryView) -> String {
    match (entry.purge_mode, entry.grace_period_seconds) {
        ("Directly", _) => "Directly: deleted before the new copy starts".to_owned(),
        ("Never", _) => "Never: kept until a person acts".to_owned(),
        (mode, Some(seconds)) => format!("{mode}: deleted when the new copy is healthy, or after {seconds} s"),
        (mode, None) => format!("{mode}: deleted when the new copy is healthy"),
    }
}

/// Names and values in two columns; those without a value are left out.
pub(crate) fn fields<'a>(rows: impl Iterator<Item = (&'a str, String)>, colour: Colour) -> String {
    let rows: Vec<(&str, String)> = rows.filter(|(_, value)| !value.is_empty()).collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    rows.into_iter()
        .map(|(name, value)| {
            let value = value.replace('\n', &format!("\n{}", " ".repeat(width + 2)));
            format!(
                "{}  {value}\n",
                crate::output::Tone::Heading.paint(&format!("{name:<width$}"), colour)
            )
        })
        .collect()
}
