//! A stage of the test run: what it is called, how it went, how long it took.

use std::time::Duration;

use crate::totals::Totals;

/// How a stage went.
pub enum Outcome {
    /// It holds.
    Passed,
    /// It does not.
    Failed(String),
    /// It ran tests and counted them; the names of those that failed.
    Counted(Totals, Vec<String>),
    /// This machine lacks something: one line that says what is left out and how to get it.
    LeftOut(String),
}

impl From<anyhow::Result<()>> for Outcome {
    fn from(result: anyhow::Result<()>) -> Self {
        match result {
            Ok(()) => Self::Passed,
            Err(error) => Self::Failed(format!("{error:#}")),
        }
    }
}

/// Whether a stage may be left out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// On a contributor's machine: it is named.
    MayLeaveOut,
    /// In CI: it is a failure.
    MustRun,
}

/// The stages that have run.
pub struct Report {
    strictness: Strictness,
    rows: Vec<Row>,
}

struct Row {
    name: &'static str,
    took: Duration,
    result: &'static str,
    note: Option<String>,
    totals: Totals,
}

impl Report {
    /// No stage yet.
    pub fn new(strictness: Strictness) -> Self {
        Self {
            strictness,
            rows: Vec::new(),
        }
    }

    /// Runs a stage between a line that names it and one that says how it went. Whether it passed.
    pub fn stage(&mut self, name: &'static str, stage: impl FnOnce() -> Outcome) -> bool {
        println!("== {name}");
        let watch = Stopwatch::start();
        let outcome = stage();
        let row = row(name, watch.elapsed(), outcome, self.strictness);
        println!("== {name}: {} ({:.1} s)", row.result, row.took.as_secs_f64());
        if let Some(note) = &row.note {
            println!("   {note}");
        }
        let passed = row.totals.failed == 0 && row.result != LEFT_OUT;
        self.rows.push(row);
        passed
    }

    /// Prints a line for each stage and the closing line. Whether nothing failed.
    pub fn close(&self) -> bool {
        println!("\n{:<28} {:<8} {:>8}", "stage", "result", "time");
        for row in &self.rows {
            println!("{:<28} {:<8} {:>6.1} s", row.name, row.result, row.took.as_secs_f64());
        }
        for row in &self.rows {
            if let Some(note) = &row.note {
                println!("{} {}: {note}", row.name, row.result);
            }
        }
        let totals = self.rows.iter().fold(Totals::default(), |sum, row| sum + row.totals);
        println!("{} passed, {} failed", totals.passed, totals.failed);
        totals.failed == 0
    }
}

const LEFT_OUT: &str = "left out";

fn row(name: &'static str, took: Duration, outcome: Outcome, strictness: Strictness) -> Row {
    const ONE_PASSED: Totals = Totals { passed: 1, failed: 0 };
    const ONE_FAILED: Totals = Totals { passed: 0, failed: 1 };
    let (result, note, totals) = match outcome {
        Outcome::Passed => ("passed", None, ONE_PASSED),
        Outcome::Failed(note) => ("failed", Some(note), ONE_FAILED),
        Outcome::Counted(totals, _) if totals.failed == 0 => ("passed", None, totals),
        Outcome::Counted(totals, names) => {
            let counts = format!("{} passed, {} failed", totals.passed, totals.failed);
            let note = if names.is_empty() {
                counts
            } else {
                format!("{counts}: {}", names.join(", "))
            };
            ("failed", Some(note), totals)
        }
        Outcome::LeftOut(note) if strictness == Strictness::MayLeaveOut => (LEFT_OUT, Some(note), Totals::default()),
        Outcome::LeftOut(note) => (
            "failed",
            Some(format!("nothing may be left out in CI: {note}")),
            ONE_FAILED,
        ),
    };
    Row {
        name,
        took,
        result,
        note,
        totals,
    }
}

/// Measures how long a person waits.
pub struct Stopwatch(std::time::Instant);

impl Stopwatch {
    /// Starts to measure.
    #[expect(clippy::disallowed_methods, reason = "how long a build takes is real time")]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// The time since the start.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(outcome: Outcome, strictness: Strictness) -> (u64, u64) {
        let row = row("a stage", Duration::ZERO, outcome, strictness);
        (row.totals.passed, row.totals.failed)
    }

    #[test]
    fn what_is_left_out_fails_only_in_ci() {
        assert_eq!(
            totals(Outcome::LeftOut("no Go".into()), Strictness::MayLeaveOut),
            (0, 0)
        );
        assert_eq!(totals(Outcome::LeftOut("no Go".into()), Strictness::MustRun), (0, 1));
    }

    #[test]
    fn tests_that_failed_are_named_at_the_end() {
        let failed = Outcome::Counted(Totals { passed: 7, failed: 2 }, vec!["a::b".into(), "c".into()]);
        let row = row("tests", Duration::ZERO, failed, Strictness::MustRun);
        assert_eq!(row.note.as_deref(), Some("7 passed, 2 failed: a::b, c"));
    }

    #[test]
    fn a_report_sums_stages_and_tests() {
        let mut report = Report::new(Strictness::MayLeaveOut);
        assert!(report.stage("good", || Outcome::Passed));
        assert!(report.stage("tests", || Outcome::Counted(Totals { passed: 7, failed: 0 }, vec![])));
        assert!(!report.stage("absent", || Outcome::LeftOut("no Go".into())));
        assert!(report.close());
        assert!(!report.stage("bad", || Err(anyhow::anyhow!("broken")).into()));
        assert!(!report.close());
    }
}
