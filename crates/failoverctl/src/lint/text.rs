//! The report of `lint` for people: a block a finding, as compilers print them.

use failover_core::lint::Severity;

use super::report::{LintReport, Located};
use crate::explain::taints::{join, number};
use crate::failure::ExitStatus;
use crate::output::{Report, Tone, View};

impl Report for LintReport {
    const KIND: &'static str = "LintReport";

    fn text(&self, view: &View) -> String {
        let mut text: String = self.findings.iter().map(|finding| block(finding, view)).collect();
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&skipped(self));
        text.push_str(&ignored(self));
        text.push_str(&fleet(self));
        text.push_str(&totals(self, view));
        text
    }

    fn names(&self) -> Vec<String> {
        let name =
            |finding: &Located| format!("{}:{}:{}: {}", finding.file, finding.line, finding.column, finding.code);
        self.findings.iter().map(name).collect()
    }

    fn status(&self) -> ExitStatus {
        self.exit_status()
    }
}

fn block(finding: &Located, view: &View) -> String {
    let tone = match finding.severity {
        Severity::Error => Tone::Bad,
        Severity::Warning => Tone::Notice,
        Severity::Note => Tone::Plain,
    };
    let severity = tone.paint(finding.severity.as_str(), view.colour);
    let place = format!("{}:{}:{}", finding.file, finding.line, finding.column);
    let about = match (finding.object.as_str(), finding.field.as_str()) {
        ("", "") => format!("document {}", finding.document),
        ("", field) => field.to_owned(),
        (object, "") => object.to_owned(),
        (object, field) => format!("{object}, {field}"),
    };
    format!(
        "{}: {severity} {}: {about}\n  {}\n  why: {}\n  do:  {}\n",
        Tone::Heading.paint(&place, view.colour),
        finding.code,
        finding.what,
        finding.why,
        finding.fix
    )
}

fn skipped(report: &LintReport) -> String {
    if report.skipped.is_empty() {
        return String::new();
    }
    let mut kinds: Vec<String> = report.skipped.iter().map(|skipped| skipped.kind.clone()).collect();
    kinds.sort();
    kinds.dedup();
    let were = if report.skipped.len() == 1 { "was" } else { "were" };
    format!(
        "Skipped: {} of other kinds {were} not looked at: {}.\n",
        number(report.skipped.len(), "document"),
        join(&kinds)
    )
}

fn ignored(report: &LintReport) -> String {
    let hidden: Vec<String> = report
        .ignored
        .iter()
        .map(|ignored| format!("{} ({})", ignored.code, number(ignored.findings, "finding")))
        .collect();
    if hidden.is_empty() {
        String::new()
    } else {
        format!("Ignored, as asked: {}.\n", join(&hidden))
    }
}

fn fleet(report: &LintReport) -> String {
    let fleet = &report.fleet;
    let left_out: Vec<String> = fleet.rules_left_out.iter().map(ToString::to_string).collect();
    let left_out = left_out.join(", ");
    match (&fleet.why_not, fleet.clusters) {
        (Some(why), _) => {
            format!("The control plane was not asked: {why}. Without it these rules are left out: {left_out}.\n")
        }
        (None, Some(clusters)) => {
            let compared = format!("Compared with the control plane's {}", number(clusters, "cluster"));
            if left_out.is_empty() {
                format!("{compared}, policies and gates.\n")
            } else {
                format!(
                    "{compared} and policies. Controller clusterTaintPolicy does not say how it has its gates; without \
                     that these rules are left out: {left_out}.\n"
                )
            }
        }
        (None, None) => String::new(),
    }
}

fn totals(report: &LintReport, view: &View) -> String {
    let counts = report.counts;
    let looked_at = format!(
        "{} in {}",
        number(report.objects.len(), "object"),
        number(report.files, "file")
    );
    let line = format!(
        "{looked_at}: {}, {}, {}",
        number(counts.errors, "error"),
        number(counts.warnings, "warning"),
        number(counts.notes, "note")
    );
    let tone = match (counts.errors, counts.warnings) {
        (0, 0) => Tone::Good,
        (0, _) => Tone::Notice,
        _ => Tone::Bad,
    };
    tone.paint(&line, view.colour) + "\n"
}
