//! What is said about a handback. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::explain::taints::number;
use crate::failure::ExitStatus;
use crate::output::{Grid, Report, Tone, View, Width};

/// Objects that a table shows.
const SHOWN: usize = 20;

/// What was taken off a control plane, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HandbackResult {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// Why it cannot be done now; only in a dry run, else it is an error.
    pub blocked: Vec<String>,
    /// Objects and what is taken off each.
    pub objects: Vec<Object>,
    /// What should have been taken off and was not.
    pub failed: Vec<ObjectAndWhy>,
    /// What is ours and stays, and how it goes.
    pub left: Vec<String>,
    /// How it is taken back.
    pub undo: Vec<String>,
}

/// What is taken off one object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Object {
    /// `Kind NAMESPACE/NAME`.
    pub object: String,
    /// What, one by one; of a Lease that goes as a whole, `itself`.
    pub removed: Vec<String>,
}

/// What stayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ObjectAndWhy {
    /// `Kind NAMESPACE/NAME`.
    pub object: String,
    /// Why.
    pub why: String,
}

impl HandbackResult {
    /// In a line, what is taken off, by kinds.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
        for object in &self.objects {
            *kinds
                .entry(object.object.split(' ').next().unwrap_or_default())
                .or_default() += 1;
        }
        let counted: Vec<String> = kinds.iter().map(|(kind, count)| number(*count, kind)).collect();
        if counted.is_empty() {
            "nothing".to_owned()
        } else {
            counted.join(", ")
        }
    }

    /// What is said before it is done.
    #[must_use]
    pub fn announcement(&self) -> String {
        let mut text = format!("This takes what is ours off {}.\n", self.in_words());
        for object in self.objects.iter().take(SHOWN) {
            text.push_str(&format!("  {}: {}\n", object.object, object.removed.join(", ")));
        }
        if self.objects.len() > SHOWN {
            text.push_str(&format!(
                "  and {} more: failoverctl handback --dry-run -o wide\n",
                self.objects.len() - SHOWN
            ));
        }
        text
    }
}

impl Report for HandbackResult {
    const KIND: &'static str = "HandbackResult";

    fn text(&self, view: &View) -> String {
        let mut text = match (self.dry_run, self.objects.is_empty()) {
            (_, true) if self.failed.is_empty() => "There is nothing of ours to take off.\n".to_owned(),
            (_, true) => "There is nothing more that can be taken off.\n".to_owned(),
            (true, false) => format!("Nothing was changed; this would be taken off {}.\n", self.in_words()),
            (false, false) => format!("Taken off {}.\n", self.in_words()),
        };
        for blocked in &self.blocked {
            text.push_str(&format!("{}: {blocked}\n", Tone::Bad.paint("Not now", view.colour)));
        }
        if !self.objects.is_empty() {
            let shown = match view.width {
                Width::Wide => self.objects.len(),
                Width::Normal => SHOWN,
            };
            let mut grid = Grid::new(["OBJECT", "TAKEN OFF"], view);
            for object in self.objects.iter().take(shown) {
                grid.row([
                    (object.object.clone(), Tone::Plain),
                    (object.removed.join(", "), Tone::Plain),
                ]);
            }
            text.push('\n');
            text.push_str(&grid.finish());
            if self.objects.len() > shown {
                text.push_str(&format!("and {} more: -o wide shows all\n", self.objects.len() - shown));
            }
        }
        for failed in &self.failed {
            text.push_str(&format!(
                "{}: {}: {}\n",
                Tone::Bad.paint("Failed", view.colour),
                failed.object,
                failed.why
            ));
        }
        for left in &self.left {
            text.push_str(&format!("Stays: {left}\n"));
        }
        for undo in &self.undo {
            text.push_str(&format!("Undo:  {undo}\n"));
        }
        text
    }

    fn names(&self) -> Vec<String> {
        self.objects.iter().map(|object| object.object.clone()).collect()
    }

    fn status(&self) -> ExitStatus {
        if self.failed.is_empty() && self.blocked.is_empty() {
            ExitStatus::Fine
        } else {
            ExitStatus::Problem
        }
    }
}
