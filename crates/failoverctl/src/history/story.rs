//! One move for people, phase by phase.

use super::report::{PlaceView, RecordView};
use crate::output::{At, Grid, Tone, View, span_of};

/// Who and why, then each phase with its time and how long after the one before it came, then how it ended.
pub(super) fn story(record: &RecordView, view: &View) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            text.push_str(&format!("{name:<9} {value}\n"));
        }
    };
    line("Record", record.record.clone());
    line("Workload", format!("{} (binding {})", record.resource, record.binding));
    line("From", place(&record.from, record.replicas));
    line("To", to(record));
    let policies = if record.policies.is_empty() {
        String::new()
    } else {
        format!(" (policy {})", record.policies.join(", "))
    };
    line("Because", format!("{}{policies}", record.cause.identity));
    line("", record.message.clone());
    let conditions = record.conditions.iter().map(|condition| {
        let reason = Some(condition.reason.as_str()).filter(|reason| !reason.is_empty());
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        format!("{}={}{reason}", condition.type_, condition.status)
    });
    line("", conditions.collect::<Vec<_>>().join(", "));
    line("Asked by", record.requested_by.clone());
    text.push('\n');
    let mut grid = Grid::new(["PHASE", "AT", "AFTER"], view);
    let mut before: Option<At> = None;
    for (phase, at) in phases(record) {
        let after = before
            .zip(at)
            .map(|(before, at)| at.0.duration_since(before.0).as_secs_f64());
        let after = match after {
            Some(seconds) if seconds >= 0.0 => format!("+{}", span_of(seconds)),
            // Those that wait in the queue enter it before they are due.
            Some(seconds) => format!("-{}", span_of(-seconds)),
            None => String::new(),
        };
        before = at.or(before);
        let shown = at.map(|at| at.show(view)).unwrap_or_default();
        grid.row([
            (phase.to_owned(), Tone::Plain),
            (shown, Tone::Plain),
            (after, Tone::Plain),
        ]);
    }
    text.push_str(&grid.finish());
    let ended = record.outcome.as_deref().unwrap_or("it goes on");
    let why = match (&record.outcome, record.outcome_reason.as_str()) {
        (Some(_), why) if !why.is_empty() => format!(": {why}"),
        _ => String::new(),
    };
    text.push_str(&format!("\nOutcome   {ended}{why}\n"));
    text
}

/// All phases in their order.
fn phases(record: &RecordView) -> [(&'static str, Option<At>); 8] {
    [
        ("affected", record.affected_at),
        ("due", record.due_at),
        ("queued", record.queued_at),
        ("released", record.released_at),
        ("evicted", Some(record.evicted_at)),
        ("scheduled", record.scheduled_at),
        ("healthy", record.healthy_at),
        ("cleaned", record.cleaned_at),
    ]
}

fn place(name: &str, replicas: Option<i32>) -> String {
    match replicas {
        None => name.to_owned(),
        Some(1) => format!("{name} (1 replica)"),
        Some(many) => format!("{name} ({many} replicas)"),
    }
}

fn to(record: &RecordView) -> String {
    let one = |to: &PlaceView| place(&to.name, to.replicas);
    if record.to.is_empty() {
        return "not known yet".to_owned();
    }
    record.to.iter().map(one).collect::<Vec<_>>().join(", ")
}
