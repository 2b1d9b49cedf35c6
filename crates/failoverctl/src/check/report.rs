//! What the checks say together. Pure.

use serde::Serialize;

use super::code::Code;
use super::facts::Facts;
use super::rules::check;
use super::verdict::{State, Verdict};
use crate::controllers::Mode;
use crate::failure::ExitStatus;
use crate::output::{Grid, Report, Tone, View, Width};

/// Where each code is explained.
const PAGE: &str = "docs/checks.md";

/// The checks, one by one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// Standalone, beside a stock Karmada, or unknown: what the checks take it for.
    pub mode: Mode,
    /// The checks, in the order of their codes.
    pub checks: Vec<CheckLine>,
    /// Checks by what they say.
    pub counts: Counts,
    /// Codes that `--ignore` leaves out.
    pub ignored: Vec<Code>,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckLine {
    /// Its code.
    pub code: Code,
    /// What is checked.
    pub title: &'static str,
    /// How it is.
    pub state: State,
    /// In a line.
    pub message: String,
    /// One by one.
    pub details: Vec<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Where it is explained.
    pub page: String,
}

/// Checks by what they say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// As it should be.
    pub fine: usize,
    /// Worth knowing.
    pub notes: usize,
    /// Wrong.
    pub problems: usize,
    /// Could not be seen.
    pub not_seen: usize,
    /// Nothing to check.
    pub not_applicable: usize,
}

/// Makes the report.
#[must_use]
pub fn report(facts: &Facts, ignore: &[Code]) -> CheckReport {
    let wanted = Code::ALL.iter().copied().filter(|code| !ignore.contains(code));
    let checks: Vec<CheckLine> = wanted.map(|code| line(code, check(code, facts))).collect();
    let count = |state: State| checks.iter().filter(|check| check.state == state).count();
    let mut ignored = ignore.to_vec();
    ignored.sort();
    ignored.dedup();
    CheckReport {
        mode: facts.taken_for(),
        counts: Counts {
            fine: count(State::Fine),
            notes: count(State::Note),
            problems: count(State::Problem),
            not_seen: count(State::NotSeen),
            not_applicable: count(State::NotApplicable),
        },
        checks,
        ignored,
    }
}

fn line(code: Code, verdict: Verdict) -> CheckLine {
    CheckLine {
        code,
        title: code.title(),
        state: verdict.state,
        message: verdict.message,
        details: verdict.details,
        next: verdict.next,
        page: format!("{PAGE}#{code}"),
    }
}

fn tone(state: State) -> Tone {
    match state {
        State::Fine => Tone::Good,
        State::Note => Tone::Notice,
        State::Problem => Tone::Bad,
        State::NotSeen | State::NotApplicable => Tone::Plain,
    }
}

impl Report for CheckReport {
    const KIND: &'static str = "Check";

    fn text(&self, view: &View) -> String {
        let wide = view.width == Width::Wide;
        let mut grid = Grid::new(["CHECK", "STATE", "WHAT"], view);
        for check in &self.checks {
            grid.row([
                (check.code.to_string(), Tone::Plain),
                (check.state.word().to_owned(), tone(check.state)),
                (check.message.clone(), Tone::Plain),
            ]);
        }
        let mut text = grid.finish();
        let told = |check: &&CheckLine| wide || matches!(check.state, State::Problem | State::Note | State::NotSeen);
        for check in self.checks.iter().filter(told) {
            text.push_str(&more(check, view));
        }
        text.push_str(&format!("\n{}\n", self.totals(view)));
        text
    }

    fn names(&self) -> Vec<String> {
        let wrong = self.checks.iter().filter(|check| check.state == State::Problem);
        wrong.map(|check| format!("check/{}", check.code)).collect()
    }

    fn status(&self) -> ExitStatus {
        if self.counts.problems > 0 {
            ExitStatus::Problem
        } else {
            ExitStatus::Fine
        }
    }
}

/// What a line has no room for; nothing where there is nothing.
fn more(check: &CheckLine, view: &View) -> String {
    if check.details.is_empty() && check.next.is_none() {
        return String::new();
    }
    let mut text = format!("\n{}\n", Tone::Heading.paint(check.code.as_str(), view.colour));
    for detail in &check.details {
        text.push_str(&format!("  {detail}\n"));
    }
    if let Some(next) = &check.next {
        text.push_str(&format!("  do:   {next}\n"));
    }
    text.push_str(&format!("  more: {}\n", check.page));
    text
}

impl CheckReport {
    fn totals(&self, view: &View) -> String {
        let counts = self.counts;
        let mode = match self.mode {
            Mode::Standalone => "standalone",
            Mode::Beside => "beside a stock Karmada",
            Mode::Unknown => "not known to be standalone or beside a stock Karmada",
        };
        let problems = match counts.problems {
            1 => "1 problem".to_owned(),
            many => format!("{many} problems"),
        };
        let ignored = match &self.ignored[..] {
            [] => String::new(),
            codes => {
                let codes: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
                format!("; left out, as asked: {}", codes.join(", "))
            }
        };
        let line = format!(
            "{mode}: {problems}, {} to know, {} not seen, {} ok{ignored}",
            counts.notes, counts.not_seen, counts.fine
        );
        let tone = match (counts.problems, counts.notes + counts.not_seen) {
            (0, 0) => Tone::Good,
            (0, _) => Tone::Notice,
            _ => Tone::Bad,
        };
        tone.paint(&line, view.colour)
    }
}
