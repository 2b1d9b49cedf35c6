//! The report of `lint`.

use failover_core::lint::{Code, Finding, Severity};
use serde::Serialize;

use super::tree::Place;
use crate::failure::ExitStatus;

/// What was found in files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LintReport {
    /// What is wrong, or worth knowing, file by file and line by line.
    pub findings: Vec<Located>,
    /// Findings by severity.
    pub counts: Counts,
    /// Files that were read.
    pub files: usize,
    /// Objects that were looked at, as `Kind NAMESPACE/NAME`.
    pub objects: Vec<String>,
    /// Documents of other kinds, which were not.
    pub skipped: Vec<Skipped>,
    /// Whether the control plane was asked.
    pub fleet: FleetView,
    /// Codes that `--ignore` silences, and how many findings that hid.
    pub ignored: Vec<Ignored>,
}

/// A finding with its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Located {
    /// Its code.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// The document's number in the file, from 1.
    pub document: usize,
    /// The object, as `Kind NAMESPACE/NAME`; empty when it is none.
    pub object: String,
    /// The field; empty: the object as a whole.
    pub field: String,
    /// What is wrong.
    pub what: String,
    /// Why.
    pub why: String,
    /// What to do.
    pub fix: String,
}

impl Located {
    pub(super) fn new(finding: Finding, file: &str, document: usize, object: &str, place: Place) -> Self {
        Self {
            code: finding.code,
            severity: finding.severity(),
            file: file.to_owned(),
            line: place.line,
            column: place.column,
            document,
            object: object.to_owned(),
            field: finding.field,
            what: finding.what,
            why: finding.why,
            fix: finding.fix,
        }
    }
}

/// Findings by severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Notes.
    pub notes: usize,
}

/// A document that was not looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The file.
    pub file: String,
    /// The document's number in the file, from 1.
    pub document: usize,
    /// What it is, as `apiVersion Kind`.
    pub kind: String,
}

/// Whether the control plane was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetView {
    /// Whether it was.
    pub asked: bool,
    /// How many clusters it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<usize>,
    /// Why it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// Codes whose rules were left out: those that need the control plane when it was not asked, `gate-off` when the
    /// controller of the policies does not say how it has the gate.
    pub rules_left_out: Vec<Code>,
}

/// A code that is silenced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ignored {
    /// The code.
    pub code: Code,
    /// How many findings that hid.
    pub findings: usize,
}

impl LintReport {
    /// Puts the findings in order and counts them, without those that are to be ignored.
    pub(super) fn finish(mut self, ignore: &[Code]) -> Self {
        let mut codes = ignore.to_vec();
        codes.sort();
        codes.dedup();
        self.ignored = codes
            .into_iter()
            .map(|code| Ignored {
                code,
                findings: self.findings.iter().filter(|finding| finding.code == code).count(),
            })
            .collect();
        self.findings.retain(|finding| !ignore.contains(&finding.code));
        self.findings
            .sort_by(|a, b| (&a.file, a.line, a.column, a.code).cmp(&(&b.file, b.line, b.column, b.code)));
        let count = |severity| {
            self.findings
                .iter()
                .filter(|finding| finding.severity == severity)
                .count()
        };
        self.counts = Counts {
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            notes: count(Severity::Note),
        };
        self
    }

    /// How the program ends: 1 when there is an error or a warning.
    #[must_use]
    pub fn exit_status(&self) -> ExitStatus {
        if self.counts.errors + self.counts.warnings > 0 {
            ExitStatus::Problem
        } else {
            ExitStatus::Fine
        }
    }
}
