//! The report of `explain cluster` for people.

use api_types::cluster::condition;

use super::report::ClusterExplanation;
use super::reporter::ReporterState;
use crate::controllers::Severity;
use crate::entries::{fields, tone};
use crate::explain::taints::{self, Subject, join, number};
use crate::failure::ExitStatus;
use crate::output::{At, Grid, Report, Tone, View};

/// Above this a cluster counts as restless: more than one failure and return within half an hour or so.
const RESTLESS: f64 = 2.5;

impl Report for ClusterExplanation {
    const KIND: &'static str = "ClusterExplanation";

    fn text(&self, view: &View) -> String {
        let mut text = summary(self, view);
        let mut section = |heading: &str, grid: Grid, none: &str| {
            if grid.is_empty() && none.is_empty() {
                return;
            }
            let body = if grid.is_empty() {
                format!("{none}\n")
            } else {
                grid.finish()
            };
            text.push_str(&format!("\n{}\n{body}", Tone::Heading.paint(heading, view.colour)));
        };
        section("What happened (as far as Events are kept)", history(self, view), "");
        section("Other conditions", conditions(self, view), "");
        section("Taints that stand", standing(self, view), "none");
        section(
            "Policies that speak of it",
            taints::grid(&self.policies, Subject::Policy, view),
            "none: nothing happens to this Cluster by itself",
        );
        section(&would_leave_if(self), would_leave(self, view), "");
        section("Leaving it", leaving(self, view), &nothing_leaves(self));
        section("Left it lately", left(self, view), "");
        let tone = match self.conclusion.severity {
            Some(Severity::Problem) => Tone::Bad,
            Some(Severity::Note) => Tone::Notice,
            None => Tone::Good,
        };
        text.push_str(&format!("\n{}\n", tone.paint(&self.conclusion.sentence(), view.colour)));
        text
    }

    fn names(&self) -> Vec<String> {
        vec![format!("cluster/{}", self.cluster)]
    }

    fn status(&self) -> ExitStatus {
        self.exit_status()
    }
}

fn summary(report: &ClusterExplanation, view: &View) -> String {
    let ready = report.ready().map_or_else(
        || Tone::Bad.paint("never reported", view.colour),
        |ready| {
            let tone = if ready.status == "True" { Tone::Good } else { Tone::Bad };
            let said = if ready.message.is_empty() {
                String::new()
            } else {
                format!(": {}", ready.message)
            };
            format!(
                "{} ({}) since {}{said}",
                tone.paint(&ready.status, view.colour),
                ready.reason,
                ready.since.show(view)
            )
        },
    );
    let flaps = match report.flap_score {
        score if score <= 0.0 => "0: Ready has not changed lately".to_owned(),
        score if score < RESTLESS => format!("{score}: calm (1 a change of Ready, halved every 30 minutes)"),
        score => Tone::Notice.paint(
            &format!("{score}: restless (1 a change of Ready, halved every 30 minutes)"),
            view.colour,
        ),
    };
    let reporter = match report.reporter.state {
        ReporterState::Fresh | ReporterState::Unknown => report.reporter.message.clone(),
        ReporterState::ProbeOverdue | ReporterState::Silent => Tone::Bad.paint(&report.reporter.message, view.colour),
    };
    let not_done: Vec<String> = report.not_done.iter().map(|item| item.message.clone()).collect();
    let deleted = report.deleted_at.map(|at| format!("since {}", at.show(view)));
    let rows = [
        ("Cluster", format!("{} ({})", report.cluster, report.sync_mode)),
        ("Being deleted", deleted.unwrap_or_default()),
        ("Ready", ready),
        ("Flap score", flaps),
        ("Reported by", reporter),
        ("Not for it", join(&report.policies_for_others)),
        ("Not done", not_done.join("\n")),
    ];
    fields(rows.into_iter(), view.colour)
}

fn history(report: &ClusterExplanation, view: &View) -> Grid {
    let mut grid = Grid::new(["WHEN", "WHAT", "WHY"], view);
    for happened in &report.history {
        let times = if happened.count > 1 {
            format!("{} ({} times)", happened.reason, happened.count)
        } else {
            happened.reason.clone()
        };
        grid.row([
            (happened.at.show(view), Tone::Plain),
            (times, Tone::Plain),
            (happened.message.clone(), Tone::Plain),
        ]);
    }
    grid
}

/// Those that say something: a complete list of APIs says nothing.
fn conditions(report: &ClusterExplanation, view: &View) -> Grid {
    let mut grid = Grid::new(["CONDITION", "STATUS", "REASON", "SINCE", "MESSAGE"], view);
    for found in &report.conditions {
        if found.type_ == condition::READY
            || (found.type_ == condition::COMPLETE_API_ENABLEMENTS && found.status == "True")
        {
            continue;
        }
        grid.row([
            (found.type_.clone(), Tone::Plain),
            (found.status.clone(), Tone::Plain),
            (found.reason.clone(), Tone::Plain),
            (found.since.show(view), Tone::Plain),
            (found.message.clone(), Tone::Plain),
        ]);
    }
    grid
}

fn standing(report: &ClusterExplanation, view: &View) -> Grid {
    let mut grid = Grid::new(["TAINT", "ADDED", "BY", "MEANS", "GOES"], view);
    for standing in &report.taints {
        let taint = &standing.taint;
        let value = taint
            .value
            .as_ref()
            .filter(|value| !value.is_empty())
            .map(|value| format!("={value}"))
            .unwrap_or_default();
        let goes = match standing.goes_at {
            Some(At(at)) => format!("{}: {}", At(at).show(view), standing.fate),
            None => standing.fate.clone(),
        };
        let by = match &standing.policies[..] {
            [] => "somebody else".to_owned(),
            [only] => format!("policy {only}"),
            many => format!("policies {}", join(many)),
        };
        grid.row([
            (format!("{}{value}:{}", taint.key, taint.effect), Tone::Plain),
            (
                taint
                    .time_added
                    .map_or_else(|| "no time".to_owned(), |at| at.show(view)),
                Tone::Plain,
            ),
            (by, Tone::Plain),
            (standing.does.to_owned(), Tone::Plain),
            (goes, Tone::Plain),
        ]);
    }
    grid
}

/// `Would leave it (if …)`, with all that is assumed in the lines below.
fn would_leave_if(report: &ClusterExplanation) -> String {
    let mut assuming: Vec<String> = Vec::new();
    for assumed in report.would_leave.iter().flat_map(|would| &would.assuming) {
        if !assuming.iter().any(|known| known == assumed) {
            assuming.push((*assumed).to_owned());
        }
    }
    if assuming.is_empty() {
        "Would leave it".to_owned()
    } else {
        format!("Would leave it (if {})", join(&assuming))
    }
}

fn would_leave(report: &ClusterExplanation, view: &View) -> Grid {
    let mut grid = Grid::new(
        [
            "WHEN THIS TAINT COMES",
            "AT",
            "WORKLOADS",
            "LEAVE",
            "FIRST DUE",
            "WHICH",
            "STAY",
        ],
        view,
    );
    for would in &report.would_leave {
        let more = would.leaving.saturating_sub(would.bindings.len());
        let named = if more > 0 {
            format!("{} and {more} more", would.bindings.join(", "))
        } else {
            would.bindings.join(", ")
        };
        let stay: Vec<String> = would
            .staying
            .iter()
            .map(|(why, count)| format!("{count} {why}"))
            .collect();
        let tone = if would.leaving > 0 { Tone::Notice } else { Tone::Plain };
        grid.row([
            (would.taint.clone(), Tone::Plain),
            (would.at.show(view), Tone::Plain),
            (would.workloads.to_string(), Tone::Plain),
            (would.leaving.to_string(), tone),
            (
                would.first_due_at.map(|at| at.show(view)).unwrap_or_default(),
                Tone::Plain,
            ),
            (named, Tone::Plain),
            (stay.join(", "), Tone::Plain),
        ]);
    }
    grid
}

fn leaving(report: &ClusterExplanation, view: &View) -> Grid {
    let mut grid = Grid::new(["BINDING", "STATE", "DUE", "ETA", "WHY"], view);
    for entry in &report.leaving.entries {
        let time = |time: Option<At>| (time.map(|at| at.show(view)).unwrap_or_default(), Tone::Plain);
        grid.row([
            (entry.binding.clone(), Tone::Plain),
            (entry.state.word().to_owned(), tone(entry.state)),
            time(entry.due_at),
            time(entry.estimated_release_at),
            (entry.why(), Tone::Plain),
        ]);
    }
    let shown = report.leaving.entries.len() as u64;
    if let Some(more) = report
        .leaving
        .total
        .and_then(|total| total.checked_sub(shown))
        .filter(|more| *more > 0)
    {
        let more = usize::try_from(more).unwrap_or(usize::MAX);
        let hint = format!("failoverctl queue list --cluster {}", report.cluster);
        grid.row(
            [
                format!("and {} more", number(more, "binding")),
                String::new(),
                String::new(),
                String::new(),
                hint,
            ]
            .map(|text| (text, Tone::Plain)),
        );
    }
    grid
}

fn left(report: &ClusterExplanation, view: &View) -> Grid {
    let mut grid = Grid::new(["WHEN", "BINDING", "OUTCOME", "WHY"], view);
    for moved in &report.leaving.recent {
        let why = if moved.message.is_empty() {
            &moved.cause
        } else {
            &moved.message
        };
        let tone = if moved.outcome == "Evicted" {
            Tone::Good
        } else {
            Tone::Notice
        };
        grid.row([
            (moved.ended_at.map(|at| at.show(view)).unwrap_or_default(), Tone::Plain),
            (moved.binding.clone(), Tone::Plain),
            (moved.outcome.to_owned(), tone),
            (why.clone(), Tone::Plain),
        ]);
    }
    grid
}

fn nothing_leaves(report: &ClusterExplanation) -> String {
    let leaving = &report.leaving;
    match (&leaving.switched_off, &leaving.queue_error) {
        (Some(off), _) => format!("nothing: {off}"),
        (None, Some(error)) => format!("not known: {error}"),
        (None, None) => "nothing is in the eviction queue".to_owned(),
    }
}
