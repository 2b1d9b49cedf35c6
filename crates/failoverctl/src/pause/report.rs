//! What is said about pauses. Pure.

use api_types::failover::FailoverPause;
use eviction_queue_api::v1;
use jiff::Timestamp;
use serde::Serialize;

use super::Ending;
use super::holding::{Effect, Holding};
use super::view::PauseObject;
use crate::change::entries;
use crate::entries::fields;
use crate::failure::{ExitStatus, Failure};
use crate::output::{At, Colour, Grid, Report, Tone, View, Width, relative};

/// A pause that was made, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PauseChange {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The pause.
    pub pause: PauseObject,
    /// What it holds back as it is made; absent when the queue did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds: Option<Holding>,
    /// Whether the queue goes by it; absent in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_effect: Option<Effect>,
    /// Why the queue did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_error: Option<String>,
    /// The command that takes it back.
    pub undo: String,
}

impl PauseChange {
    /// What is said before it is made.
    #[must_use]
    pub fn announcement(&self, now: Timestamp) -> String {
        let pause = &self.pause;
        let until = match pause.until {
            Some(until) => format!("until {until} ({})", relative(until.0, now)),
            None => "until somebody resumes".to_owned(),
        };
        let holds = match (&self.holds, &self.queue_error) {
            (Some(holds), _) => format!("At present that holds back {}.", holds.in_words()),
            (None, Some(error)) => format!("What that holds back is not known: {error}."),
            (None, None) => String::new(),
        };
        format!(
            "This stops {} {until}, by FailoverPause {}: {}\n{holds}\n",
            pause.what_stops(),
            pause.name,
            pause.reason
        )
    }

    fn effect(&self) -> Option<String> {
        match (self.in_effect?, &self.queue_error) {
            (Effect::Seen { held_entries }, _) => Some(format!("yes, the queue holds {}", entries(held_entries))),
            (Effect::NotSeen, Some(error)) => Some(format!("not known: {error}")),
            (Effect::NotSeen, None) => {
                Some("not yet: the queue has not seen it; look again: failoverctl pause list".to_owned())
            }
        }
    }
}

impl Report for PauseChange {
    const KIND: &'static str = "PauseChange";

    fn text(&self, view: &View) -> String {
        let dry_run = self
            .dry_run
            .then(|| "nothing was changed; this would be made".to_owned());
        let pause = &self.pause;
        let rows = [
            ("Dry run", dry_run),
            ("Pause", Some(pause.name.clone())),
            ("Stops", Some(pause.what_stops())),
            ("Reason", Some(pause.reason.clone())),
            ("Ends", Some(ends(pause.until, view))),
            (
                "Holds back",
                self.holds.filter(|_| self.dry_run).map(|holds| holds.in_words()),
            ),
            ("In effect", self.effect()),
            ("Queue", self.queue_error.clone().filter(|_| self.dry_run)),
            ("Undo", Some(self.undo.clone()).filter(|_| !self.dry_run)),
        ];
        present(rows, view.colour)
    }

    fn names(&self) -> Vec<String> {
        vec![format!("failoverpause/{}", self.pause.name)]
    }

    fn status(&self) -> ExitStatus {
        ExitStatus::Fine
    }
}

/// Pauses that were ended, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resumption {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The pauses.
    pub pauses: Vec<PauseLine>,
    /// Why the queue did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_error: Option<String>,
    /// Those that should have been ended and were not.
    pub failed: Vec<PauseAndWhy>,
    /// The commands that take it back.
    pub undo: Vec<String>,
    /// Those of `pauses` that could not be made again.
    pub without_undo: Vec<PauseAndWhy>,
}

/// A pause, and a reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PauseAndWhy {
    /// Its name.
    pub name: String,
    /// The reason.
    pub why: String,
}

impl PauseAndWhy {
    /// This pause.
    #[must_use]
    pub fn of(pause: &FailoverPause, why: &str) -> Self {
        Self {
            name: pause.metadata.name.clone().unwrap_or_default(),
            why: why.to_owned(),
        }
    }
}

/// What was ended.
pub(super) fn resumption(ending: &[Ending], told: &Result<v1::GetStatusResponse, Failure>) -> Resumption {
    let mut resumption = Resumption {
        dry_run: false,
        pauses: Vec::new(),
        queue_error: told.as_ref().err().map(Failure::one_line),
        failed: Vec::new(),
        undo: Vec::new(),
        without_undo: Vec::new(),
    };
    for Ending { pause, way_back } in ending {
        resumption.pauses.push(PauseLine::of(pause, told));
        match way_back {
            Ok(command) => resumption.undo.push(command.clone()),
            Err(why) => resumption.without_undo.push(PauseAndWhy::of(pause, why)),
        }
    }
    resumption
}

impl Resumption {
    /// What is said before they are ended.
    #[must_use]
    pub fn announcement(&self, now: Timestamp) -> String {
        let view = View {
            now,
            colour: Colour::Off,
            width: Width::Normal,
            columns: None,
        };
        let count = self.pauses.len();
        let what = if count == 1 {
            "this FailoverPause; what it holds".to_owned()
        } else {
            format!("these {count} FailoverPauses; what they hold")
        };
        let told = self
            .queue_error
            .as_ref()
            .map(|error| format!("What they hold is not known: {error}.\n"))
            .unwrap_or_default();
        format!(
            "This ends {what} back goes on at the queue's rate:\n{}{told}",
            table(&self.pauses, &view).finish()
        )
    }
}

impl Report for Resumption {
    const KIND: &'static str = "Resumption";

    fn text(&self, _: &View) -> String {
        if self.pauses.is_empty() {
            return "There is no FailoverPause: nothing to resume.".to_owned();
        }
        let mut lines: Vec<String> = Vec::new();
        if self.dry_run {
            lines.push("Dry run: nothing was changed. This would end:".to_owned());
        }
        for pause in &self.pauses {
            let held = pause
                .held_entries
                .map(|held| format!(", {} may leave again", entries(held)))
                .unwrap_or_default();
            let word = if self.dry_run { "" } else { "Resumed: " };
            let object = &pause.pause;
            lines.push(format!("{word}{} ({}){held}", object.what_stops(), object.name));
        }
        if !self.dry_run {
            let failed = self.failed.iter();
            lines.extend(failed.map(|failed| format!("FAILED: {} still stands: {}", failed.name, failed.why)));
            lines.extend(self.undo.iter().map(|undo| format!("Undo: {undo}")));
            let without = self.without_undo.iter();
            lines.extend(without.map(|pause| format!("No undo of {}: {}", pause.name, pause.why)));
        }
        lines.join("\n")
    }

    fn names(&self) -> Vec<String> {
        self.pauses
            .iter()
            .map(|pause| format!("failoverpause/{}", pause.pause.name))
            .collect()
    }

    fn status(&self) -> ExitStatus {
        if self.failed.is_empty() {
            ExitStatus::Fine
        } else {
            ExitStatus::Problem
        }
    }
}

/// A pause, and what the queue makes of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PauseLine {
    /// The object.
    #[serde(flatten)]
    pub pause: PauseObject,
    /// Whether the queue goes by it; absent when the queue did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// Entries that would leave the queue without it; absent when the queue did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_entries: Option<u64>,
}

impl PauseLine {
    fn of(pause: &FailoverPause, told: &Result<v1::GetStatusResponse, Failure>) -> Self {
        let object = PauseObject::of(pause);
        let told = told.as_ref().ok();
        let seen = told.map(|status| status.pauses.iter().find(|seen| seen.name == object.name));
        Self {
            active: seen.map(|seen| seen.is_some()),
            held_entries: seen.map(|seen| seen.map_or(0, |seen| seen.held_entries)),
            pause: object,
        }
    }
}

/// The pauses that there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PauseList {
    /// By name.
    pub pauses: Vec<PauseLine>,
    /// Why the queue did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_error: Option<String>,
}

/// The pauses, with what the queue says of them.
pub(super) fn list(pauses: &[FailoverPause], told: &Result<v1::GetStatusResponse, Failure>) -> PauseList {
    PauseList {
        pauses: pauses.iter().map(|pause| PauseLine::of(pause, told)).collect(),
        queue_error: told.as_ref().err().map(Failure::one_line),
    }
}

impl Report for PauseList {
    const KIND: &'static str = "PauseList";

    fn text(&self, view: &View) -> String {
        if self.pauses.is_empty() {
            return "There is no FailoverPause.".to_owned();
        }
        let mut text = table(&self.pauses, view).finish();
        if let Some(error) = &self.queue_error {
            let note = format!("What they hold is not known: {error}");
            text.push_str(&format!("{}\n", Tone::Bad.paint(&note, view.colour)));
        }
        text
    }

    fn names(&self) -> Vec<String> {
        self.pauses
            .iter()
            .map(|pause| format!("failoverpause/{}", pause.pause.name))
            .collect()
    }

    fn status(&self) -> ExitStatus {
        ExitStatus::Fine
    }
}

fn table(pauses: &[PauseLine], view: &View) -> Grid {
    let mut grid = Grid::new(["NAME", "STOPS", "IN EFFECT", "HOLDS", "ENDS", "REASON"], view);
    for line in pauses {
        let plain = |text: String| (text, Tone::Plain);
        let active = match (line.active, line.pause.until) {
            (_, Some(until)) if until.0 <= view.now => ("no, it is over".to_owned(), Tone::Plain),
            (Some(true), _) => ("yes".to_owned(), Tone::Notice),
            (Some(false), _) => ("not yet".to_owned(), Tone::Bad),
            (None, _) => ("?".to_owned(), Tone::Plain),
        };
        grid.row([
            plain(line.pause.name.clone()),
            plain(line.pause.what_stops()),
            active,
            plain(line.held_entries.map(entries).unwrap_or_default()),
            plain(ends(line.pause.until, view)),
            plain(line.pause.reason.clone()),
        ]);
    }
    grid
}

fn ends(until: Option<At>, view: &View) -> String {
    until.map_or_else(|| "when somebody resumes".to_owned(), |until| until.show(view))
}

fn present<const N: usize>(rows: [(&str, Option<String>); N], colour: Colour) -> String {
    let rows = rows.into_iter().filter_map(|(name, value)| Some((name, value?)));
    fields(rows, colour)
}
