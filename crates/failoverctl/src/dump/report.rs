//! What a dump holds.

use serde::{Deserialize, Serialize};

use crate::failure::ExitStatus;
use crate::output::{Grid, Report, Tone, View};

/// Why a kind is not there that the API server does not know.
pub(super) const NOT_SERVED: &str = "the API server does not serve them";

/// What could not be read, or was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRead {
    /// Objects of a kind, as in `leases in namespace karmada-cluster`, or `the eviction queue`.
    pub what: String,
    /// Why.
    pub why: String,
}

/// Objects of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KindCount {
    /// The kind; of the queue, its parts.
    pub kind: String,
    /// How many.
    pub count: usize,
}

/// A dump that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DumpResult {
    /// Where it is; `-`: standard output.
    pub file: String,
    /// What it holds.
    pub holds: Vec<KindCount>,
    /// Its size.
    pub bytes: u64,
    /// What it does not hold.
    pub not_read: Vec<NotRead>,
}

impl Report for DumpResult {
    const KIND: &'static str = "DumpResult";

    fn text(&self, view: &View) -> String {
        let mut grid = Grid::new(["KIND", "COUNT"], view);
        for one in &self.holds {
            grid.row([(one.kind.clone(), Tone::Plain), (one.count.to_string(), Tone::Plain)]);
        }
        let mut text = format!("Wrote {} ({} bytes):\n{}", self.file, self.bytes, grid.finish());
        if !self.not_read.is_empty() {
            let mut grid = Grid::new(["NOT IN IT", "WHY"], view);
            for one in &self.not_read {
                grid.row([(one.what.clone(), Tone::Notice), (one.why.clone(), Tone::Plain)]);
            }
            text.push_str(&format!("\n{}", grid.finish()));
        }
        text.push_str("It holds no Secret objects. To look at it: failoverctl status --from ");
        text.push_str(&format!("{}\n", crate::change::quoted(&self.file)));
        text
    }

    fn names(&self) -> Vec<String> {
        vec![self.file.clone()]
    }

    fn status(&self) -> ExitStatus {
        if self.not_read.is_empty() {
            ExitStatus::Fine
        } else {
            ExitStatus::Problem
        }
    }
}
