//! The report of `explain policy` for people.

use super::report::PolicyExplanation;
use crate::controllers::Severity;
use crate::entries::fields;
use crate::explain::taints::{self, PolicyOnCluster, Subject, number, quiet};
use crate::failure::ExitStatus;
use crate::output::{Report, Tone, View, Width};

/// Up to so many clusters all are shown; of more, only those that are not quiet, unless `-o wide` asks.
const ALL_UP_TO: usize = 20;
/// How many names a line holds.
const NAMES: usize = 10;

impl Report for PolicyExplanation {
    const KIND: &'static str = "PolicyExplanation";

    fn text(&self, view: &View) -> String {
        let mut text = summary(self, view);
        let all = self.clusters.len() <= ALL_UP_TO || view.width == Width::Wide;
        let rows: Vec<PolicyOnCluster> = self.clusters.iter().filter(|row| all || !quiet(row)).cloned().collect();
        let heading = if rows.len() == self.clusters.len() {
            "Clusters".to_owned()
        } else {
            format!(
                "Clusters that are not quiet ({} of {}; -o wide shows all)",
                rows.len(),
                self.clusters.len()
            )
        };
        if !rows.is_empty() {
            let grid = taints::grid(&rows, Subject::Cluster, view);
            text.push_str(&format!(
                "\n{}\n{}",
                Tone::Heading.paint(&heading, view.colour),
                grid.finish()
            ));
        }
        let tone = match self.conclusion.severity {
            Some(Severity::Problem) => Tone::Bad,
            Some(Severity::Note) => Tone::Notice,
            None => Tone::Good,
        };
        text.push_str(&format!("\n{}\n", tone.paint(&self.conclusion.sentence(), view.colour)));
        text
    }

    fn names(&self) -> Vec<String> {
        vec![format!("clustertaintpolicy/{}", self.policy)]
    }

    fn status(&self) -> ExitStatus {
        self.exit_status()
    }
}

fn summary(report: &PolicyExplanation, view: &View) -> String {
    let created = report
        .created_at
        .map(|at| format!(", made {}", at.show(view)))
        .unwrap_or_default();
    let missing: Vec<String> = report
        .condition_types
        .iter()
        .filter(|condition| !condition.missing_on.is_empty())
        .map(|condition| {
            format!(
                "{} on {}: there it never matches",
                condition.type_,
                some(&condition.missing_on)
            )
        })
        .collect();
    let not_done: Vec<String> = report.not_done.iter().map(|item| item.message.clone()).collect();
    let suspended = if report.suspended {
        Tone::Notice.paint(
            "yes: it evaluates and reports, and neither adds nor removes anything",
            view.colour,
        )
    } else {
        String::new()
    };
    let status = match report.status_is_current {
        Some(true) => String::new(),
        Some(false) => "the controller has not seen the latest edit yet".to_owned(),
        None => "the controller has never said anything about it".to_owned(),
    };
    let rows = [
        ("Policy", format!("{}{created}", report.policy)),
        ("When", report.rule.clone()),
        ("It adds", report.adds.join("\n")),
        (
            "To",
            format!(
                "{}: {} of {}",
                report.target,
                report.clusters.len(),
                number(report.clusters.len() + report.clusters_not_targeted.len(), "cluster")
            ),
        ),
        ("Not to", some(&report.clusters_not_targeted)),
        ("Suspended", suspended),
        (
            "Invalid",
            report
                .invalid
                .as_ref()
                .map(|why| Tone::Bad.paint(why, view.colour))
                .unwrap_or_default(),
        ),
        ("Missing", missing.join("\n")),
        ("Status", status),
        ("Not done", not_done.join("\n")),
    ];
    fields(rows.into_iter(), view.colour)
}

/// The first names, and how many more.
fn some(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMES).map(String::as_str).collect();
    match names.len().saturating_sub(NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
