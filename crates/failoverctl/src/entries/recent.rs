//! `queue recent` as a report, and the table of outcomes.

use serde::Serialize;

use crate::entry::MoveView;
use crate::failure::ExitStatus;
use crate::output::{At, Grid, Report, Tone, View, Width, span_of};

/// What became of the entries that were released, as far as the queue's leader remembers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecentList {
    /// The outcomes, newest first.
    pub outcomes: Vec<MoveView>,
    /// Whether there may be older ones that `--limit` cut off.
    pub cut: bool,
}

impl Report for RecentList {
    const KIND: &'static str = "RecentList";

    fn text(&self, view: &View) -> String {
        if self.outcomes.is_empty() {
            return "Since its leader started the queue has released nothing that matches; older moves: failoverctl history"
                .to_owned();
        }
        let mut text = table(&self.outcomes, view).finish();
        if self.cut {
            text.push_str("… and perhaps more: --limit 0 shows all\n");
        }
        text
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for outcome in &self.outcomes {
            if !names.contains(&outcome.binding) {
                names.push(outcome.binding.clone());
            }
        }
        names
    }

    fn status(&self) -> ExitStatus {
        ExitStatus::Fine
    }
}

/// Outcomes as a table.
#[must_use]
pub fn table(outcomes: &[MoveView], view: &View) -> Grid {
    let wide = view.width == Width::Wide;
    let mut headings = vec!["WHEN", "BINDING", "LEAVES", "OUTCOME", "AFTER DUE"];
    if wide {
        headings.extend(["DUE", "RELEASED", "CAUSE", "EVICTOR"]);
    }
    headings.push("WHY");
    let mut grid = Grid::new(headings, view);
    for outcome in outcomes {
        grid.row(row(outcome, view));
    }
    grid
}

fn row(outcome: &MoveView, view: &View) -> Vec<(String, Tone)> {
    let plain = |text: &str| (text.to_owned(), Tone::Plain);
    let time = |time: Option<At>| (time.map(|at| at.show(view)).unwrap_or_default(), Tone::Plain);
    let mut row = vec![
        time(outcome.ended_at),
        plain(&outcome.binding),
        plain(&outcome.cluster),
        (outcome.outcome.to_owned(), tone(outcome.outcome)),
        plain(&outcome.seconds_after_due.map(span_of).unwrap_or_default()),
    ];
    if view.width == Width::Wide {
        row.extend([
            time(outcome.due_at),
            time(outcome.released_at),
            plain(&outcome.cause),
            plain(&outcome.consumer),
        ]);
    }
    row.push(plain(if outcome.message.is_empty() {
        &outcome.reason
    } else {
        &outcome.message
    }));
    row
}

fn tone(outcome: &str) -> Tone {
    match outcome {
        "Evicted" => Tone::Good,
        "Failed" | "NoTarget" => Tone::Bad,
        _ => Tone::Notice,
    }
}
