//! The report of `status` for people.

use super::report::StatusReport;
use super::views::{ClusterView, RegimeView, TaintView, TotalsView};
use crate::change::entries;
use crate::controllers::{NotDone, Running, Severity};
use crate::entries::{fields, outcomes};
use crate::failure::ExitStatus;
use crate::output::{At, Grid, Report, Tone, View, Width};

impl Report for StatusReport {
    const KIND: &'static str = "Status";

    fn text(&self, view: &View) -> String {
        let mut text = summary(self, view);
        let mut section = |heading: &str, grid: Grid, none: &str| {
            text.push_str(&format!("\n{}\n", Tone::Heading.paint(heading, view.colour)));
            text.push_str(&if grid.is_empty() {
                format!("{none}\n")
            } else {
                grid.finish()
            });
        };
        section("Clusters", clusters(self, view), "There is no Cluster.");
        if self.queue.is_some() {
            section(
                "Last moves",
                outcomes(&self.recent, view),
                "Since its leader started the queue has released nothing; older moves: failoverctl history",
            );
        }
        section(
            "Controllers",
            controllers(self, view),
            "No controller of ours holds a Lease.",
        );
        text
    }

    fn names(&self) -> Vec<String> {
        self.clusters
            .iter()
            .map(|cluster| format!("cluster/{}", cluster.name))
            .collect()
    }

    fn status(&self) -> ExitStatus {
        self.exit_status()
    }
}

fn summary(report: &StatusReport, view: &View) -> String {
    let mut rows = vec![(
        "Evictions",
        report
            .regime
            .as_ref()
            .map_or_else(no_regime, |regime| rate(regime, view)),
    )];
    if let Some(queue) = &report.queue {
        let totals = queue.totals;
        let oldest = queue
            .oldest_ready_since
            .map(|since| format!("; the oldest is ready since {}", since.show(view)))
            .unwrap_or_default();
        rows.push((
            "Queue",
            format!(
                "{} waiting, {} ready, {} leased, {} held{oldest}",
                totals.waiting, totals.ready, totals.leased, totals.held
            ),
        ));
        rows.push((
            "Leader",
            format!(
                "{} at {}; {} connected",
                queue.leader,
                queue.address,
                evictors(queue.consumers)
            ),
        ));
    }
    if let Some(error) = &report.queue_error {
        rows.push(("Queue", Tone::Bad.paint(error, view.colour)));
    }
    let pauses: Vec<String> = report
        .pauses
        .iter()
        .map(|pause| {
            let until = pause.until.map_or_else(
                || "until it is deleted".to_owned(),
                |at| format!("until {}", at.show(view)),
            );
            format!(
                "{} (scope {}) {until}, holds {}: {}",
                pause.name,
                pause.scope,
                entries(pause.held_entries),
                pause.reason
            )
        })
        .collect();
    rows.push((
        "Pauses",
        if pauses.is_empty() {
            "none".to_owned()
        } else {
            pauses.join("\n")
        },
    ));
    rows.push(("Not done", not_done(&report.not_done, view)));
    fields(rows.into_iter(), view.colour)
}

fn evictors(count: u32) -> String {
    match count {
        0 => "no evictor is".to_owned(),
        1 => "1 evictor is".to_owned(),
        count => format!("{count} evictors are"),
    }
}

fn no_regime() -> String {
    "not known: the eviction queue did not answer".to_owned()
}

fn rate(regime: &RegimeView, view: &View) -> String {
    let tone = match regime.name {
        "Normal" if regime.evictions_per_second > 0.0 => Tone::Good,
        "AllFaulty" | "Halted" => Tone::Bad,
        _ => Tone::Notice,
    };
    let name = tone.paint(regime.name, view.colour);
    format!("{name}, {}/s: {}", regime.evictions_per_second, regime.reason)
}

/// One line each; problems stand out.
pub(crate) fn not_done(items: &[NotDone], view: &View) -> String {
    if items.is_empty() {
        return "nothing is left undone".to_owned();
    }
    let lines: Vec<String> = items
        .iter()
        .map(|item| {
            let tone = if item.severity == Severity::Problem {
                Tone::Bad
            } else {
                Tone::Notice
            };
            tone.paint(&item.message, view.colour)
        })
        .collect();
    lines.join("\n")
}

fn clusters(report: &StatusReport, view: &View) -> Grid {
    let mut headings = vec!["NAME", "READY", "SINCE", "FAULTY", "IN THE QUEUE", "NEXT DUE"];
    headings.push(if view.width == Width::Wide {
        "ALL TAINTS"
    } else {
        "TAINTS THAT EVICT"
    });
    if view.width == Width::Wide {
        headings.push("READY BECAUSE");
    }
    let mut grid = Grid::new(headings, view);
    for cluster in &report.clusters {
        grid.row(cluster_row(cluster, view));
    }
    grid
}

fn cluster_row(cluster: &ClusterView, view: &View) -> Vec<(String, Tone)> {
    let ready = match cluster.ready.as_deref() {
        Some("True") => ("True".to_owned(), Tone::Good),
        Some(other) => (other.to_owned(), Tone::Bad),
        None => ("never reported".to_owned(), Tone::Bad),
    };
    let ready = if cluster.being_deleted {
        (format!("{}, being deleted", ready.0), Tone::Bad)
    } else {
        ready
    };
    let faulty = match (cluster.faulty, &cluster.faulty_taint) {
        (Some(true), Some(taint)) => (format!("by {taint}"), Tone::Bad),
        (Some(true), None) => ("yes".to_owned(), Tone::Bad),
        (Some(false), _) => ("no".to_owned(), Tone::Plain),
        (None, _) => ("?".to_owned(), Tone::Plain),
    };
    let plain = |text: String| (text, Tone::Plain);
    let time = |time: Option<At>| plain(time.map(|time| time.show(view)).unwrap_or_default());
    let taints: Vec<String> = cluster
        .taints
        .iter()
        .filter(|taint| view.width == Width::Wide || taint.evicts())
        .map(|taint| taint_text(taint, view))
        .collect();
    let mut row = vec![
        plain(cluster.name.clone()),
        ready,
        time(cluster.ready_since),
        faulty,
        plain(
            cluster
                .lane
                .as_ref()
                .map(|lane| counts(lane.totals))
                .unwrap_or_default(),
        ),
        time(cluster.lane.as_ref().and_then(|lane| lane.next_due_at)),
        plain(taints.join(", ")),
    ];
    if view.width == Width::Wide {
        row.push(plain(cluster.ready_reason.clone().unwrap_or_default()));
    }
    row
}

/// The states that have entries.
fn counts(totals: TotalsView) -> String {
    let all = [
        (totals.waiting, "waiting"),
        (totals.ready, "ready"),
        (totals.leased, "leased"),
        (totals.held, "held"),
    ];
    let some: Vec<String> = all
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, state)| format!("{count} {state}"))
        .collect();
    if some.is_empty() {
        "nothing".to_owned()
    } else {
        some.join(", ")
    }
}

fn taint_text(taint: &TaintView, view: &View) -> String {
    let since = taint
        .time_added
        .map_or_else(|| "not stamped".to_owned(), |at| format!("since {}", at.show(view)));
    format!("{}:{} {since}", taint.key, taint.effect)
}

fn controllers(report: &StatusReport, view: &View) -> Grid {
    let mut headings = vec!["NAME", "STATE", "HOLDER", "VERSION", "GATES"];
    if view.width == Width::Wide {
        headings.extend(["RENEWED", "ADDRESS"]);
    }
    let mut grid = Grid::new(headings, view);
    for controller in &report.controllers {
        let tone = if controller.state == Running::Running {
            Tone::Good
        } else {
            Tone::Bad
        };
        let plain = |text: &Option<String>| (text.clone().unwrap_or_default(), Tone::Plain);
        let mut row = vec![
            (controller.name.clone(), Tone::Plain),
            (format!("{:?}", controller.state), tone),
            plain(&controller.holder),
            plain(&controller.version),
            plain(&controller.feature_gates),
        ];
        if view.width == Width::Wide {
            row.push((
                controller.renewed_at.map(|at| at.show(view)).unwrap_or_default(),
                Tone::Plain,
            ));
            row.push(plain(&controller.address));
        }
        grid.row(row);
    }
    grid
}
