//! `queue list` as a report.

use serde::Serialize;

use super::tone;
use crate::entry::EntryView;
use crate::failure::ExitStatus;
use crate::output::{At, Grid, Report, Tone, View, Width};

/// Entries of the eviction queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryList {
    /// How many match in all; more than are listed when `--limit` cut the list.
    pub total: u64,
    /// What the queue does not do and why, one sentence each: why what is ready does not go.
    pub notes: Vec<String>,
    /// The entries, lane by lane in their order.
    pub entries: Vec<EntryView>,
}

impl Report for EntryList {
    const KIND: &'static str = "EntryList";

    fn text(&self, view: &View) -> String {
        let notes: String = self
            .notes
            .iter()
            .map(|note| format!("{}\n", Tone::Notice.paint(note, view.colour)))
            .collect();
        if self.entries.is_empty() {
            return format!("{notes}No entry of the eviction queue matches.");
        }
        let wide = view.width == Width::Wide;
        let mut headings = vec!["BINDING", "CLUSTER", "STATE", "CAUSE", "DUE", "POSITION", "ETA"];
        if wide {
            headings.extend([
                "RESOURCE", "REPLICAS", "PRIORITY", "PURGE", "QUEUED", "FAILURES", "PRODUCER",
            ]);
        }
        headings.push("REASON");
        let mut grid = Grid::new(headings, view);
        for entry in &self.entries {
            let time = |time: Option<At>| time.map(|time| time.show(view)).unwrap_or_default();
            let plain = |text: String| (text, Tone::Plain);
            let cause = if wide {
                &entry.cause.identity
            } else {
                entry.cause.short()
            };
            let mut cells = vec![
                plain(entry.binding.clone()),
                plain(entry.cluster.clone()),
                (entry.state.word().to_owned(), tone(entry.state)),
                plain(cause.to_owned()),
                plain(time(entry.due_at)),
                plain(entry.position.map(|position| position.to_string()).unwrap_or_default()),
                plain(time(entry.estimated_release_at)),
            ];
            if wide {
                cells.extend([
                    plain(format!("{}/{}", entry.resource.kind, entry.resource.name)),
                    plain(entry.replicas.to_string()),
                    plain(entry.priority.to_string()),
                    plain(entry.purge_mode.to_owned()),
                    plain(time(entry.queued_at)),
                    plain(entry.failures.to_string()),
                    plain(entry.producer.clone()),
                ]);
            }
            cells.push(plain(entry.why()));
            grid.row(cells);
        }
        let mut text = notes + &grid.finish();
        let shown = self.entries.len() as u64;
        if self.total > shown {
            text.push_str(&format!("… and {} more: --limit 0 shows all\n", self.total - shown));
        }
        text
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.entries.iter().map(|entry| entry.binding.clone()).collect();
        names.dedup();
        names
    }

    fn status(&self) -> ExitStatus {
        ExitStatus::Fine
    }
}
