//! What became of an order, as a report.

use serde::Serialize;

use super::plan::{Plan, Verb};
use super::{Sent, Wanted};
use crate::change::{command, entries};
use crate::cli::Target;
use crate::entry::EntryView;
use crate::failure::ExitStatus;
use crate::output::{Grid, Report, Tone, View};

/// So many entries are shown to people.
const SHOWN: usize = 50;

/// An entry to which it was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// `NAMESPACE/NAME`, or `NAME` of cluster scope.
    pub binding: String,
    /// The cluster.
    pub cluster: String,
    /// Why not.
    pub why: String,
}

impl Skipped {
    /// This entry.
    #[must_use]
    pub fn of(entry: &EntryView, why: &str) -> Self {
        Self {
            binding: entry.binding.clone(),
            cluster: entry.cluster.clone(),
            why: why.to_owned(),
        }
    }
}

/// What became of an order.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderResult {
    /// `drop` or `undrop`.
    pub verb: &'static str,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The entries as they are now; of a dry run, as they would be.
    pub entries: Vec<EntryView>,
    /// Those that were left as they are: they are as wanted already, or a person's annotation keeps them. Of a whole
    /// cluster, `undrop` passes over those that were not dropped.
    pub skipped: Vec<Skipped>,
    /// Those to which it should have been done and was not.
    pub failed: Vec<Skipped>,
    /// The commands that take it back.
    pub undo: Vec<String>,
    /// What it was about.
    #[serde(skip)]
    about: String,
}

/// The result of an order of which nothing is done yet.
pub(super) fn begin(wanted: &Wanted<'_>, plan: &Plan, target: &Target) -> OrderResult {
    OrderResult {
        verb: wanted.verb.word(),
        dry_run: wanted.change.dry_run,
        entries: Vec::new(),
        skipped: plan.skipped.clone(),
        failed: Vec::new(),
        about: match (&wanted.which.binding, &wanted.which.cluster) {
            (Some(binding), _) => binding.to_string(),
            (None, cluster) => format!("cluster {}", cluster.as_deref().unwrap_or_default()),
        },
        undo: undo(wanted, plan, target),
    }
}

/// The commands that take it back, and nothing else.
fn undo(wanted: &Wanted<'_>, plan: &Plan, target: &Target) -> Vec<String> {
    if plan.ordered.is_empty() {
        return Vec::new();
    }
    let back = wanted.verb.opposite();
    let line = |binding: Option<&str>, cluster: Option<&str>| {
        let mut args = vec!["queue".to_owned(), back.word().to_owned()];
        args.extend(binding.map(str::to_owned));
        if let Some(cluster) = cluster {
            args.extend(["--cluster".to_owned(), cluster.to_owned()]);
        }
        if binding.is_none() {
            args.push("--all".to_owned());
        }
        if back == Verb::Drop {
            args.extend(["--reason".to_owned(), "dropped again".to_owned()]);
        }
        command(target, &args)
    };
    if plan.reached_by_undo > 0 {
        let each = plan.ordered.iter();
        return each
            .map(|(_, entry)| line(Some(&entry.binding), Some(&entry.cluster)))
            .collect();
    }
    let binding = wanted.which.binding.as_ref().map(ToString::to_string);
    vec![line(binding.as_deref(), wanted.which.cluster.as_deref())]
}

impl OrderResult {
    pub(super) fn take(&mut self, sent: Sent) {
        self.entries = sent.done;
        self.failed = sent.failed;
    }

    fn headline(&self) -> String {
        let count = self.entries.len();
        let what = match &self.entries[..] {
            [one] => one.binding.clone(),
            _ => format!("{count} workloads"),
        };
        let (stay, leave) = if count == 1 {
            ("stays", "may leave")
        } else {
            ("stay", "may leave")
        };
        match (self.verb, self.dry_run) {
            (_, _) if count == 0 && !self.failed.is_empty() => format!(
                "None of {} of {} is known to be changed:",
                entries(self.failed.len() as u64),
                self.about
            ),
            (verb, _) if count == 0 => format!(
                "Nothing was changed: the queue has nothing to {verb} of {}.",
                self.about
            ),
            ("drop", true) => format!("Dry run: nothing was changed. {what} would be kept so:"),
            ("drop", false) => format!("Dropped: {what} {stay}."),
            (_, true) => format!("Dry run: nothing was changed. {what} could leave again:"),
            (_, false) => format!("Undropped: {what} {leave} again."),
        }
    }
}

impl Report for OrderResult {
    const KIND: &'static str = "OrderResult";

    fn text(&self, view: &View) -> String {
        let mut text = format!("{}\n", self.headline());
        let mut grid = Grid::new(["BINDING", "CLUSTER", "STATE", "WHY"], view);
        let plain = |text: &str| (text.to_owned(), Tone::Plain);
        for entry in self.entries.iter().take(SHOWN) {
            let state = (entry.state.word().to_owned(), crate::entries::tone(entry.state));
            grid.row([plain(&entry.binding), plain(&entry.cluster), state, plain(&entry.why())]);
        }
        let others = [
            (&self.skipped, "as before", Tone::Plain),
            (&self.failed, "FAILED", Tone::Bad),
        ];
        for (skipped, word, tone) in others {
            for skipped in skipped.iter().take(SHOWN) {
                let state = (word.to_owned(), tone);
                grid.row([
                    plain(&skipped.binding),
                    plain(&skipped.cluster),
                    state,
                    plain(&skipped.why),
                ]);
            }
        }
        if !grid.is_empty() {
            text.push_str(&grid.finish());
        }
        let all = [self.entries.len(), self.skipped.len(), self.failed.len()];
        let hidden: usize = all.iter().map(|count| count.saturating_sub(SHOWN)).sum();
        if hidden > 0 {
            text.push_str(&format!("… and {hidden} more: -o json shows all\n"));
        }
        if !self.dry_run && !self.entries.is_empty() {
            for undo in self.undo.iter().take(SHOWN) {
                text.push_str(&format!("Undo: {undo}\n"));
            }
            if self.undo.len() > SHOWN {
                let more = self.undo.len() - SHOWN;
                text.push_str(&format!("… and {more} more to undo: -o json shows all\n"));
            }
        }
        text
    }

    fn names(&self) -> Vec<String> {
        self.entries.iter().map(|entry| entry.binding.clone()).collect()
    }

    fn status(&self) -> ExitStatus {
        if self.failed.is_empty() {
            ExitStatus::Fine
        } else {
            ExitStatus::Problem
        }
    }
}
