//! The report of `explain binding` for people.

use super::places::Rank;
use super::report::{ClusterRow, ConditionView, ExplainReport, Role};
use super::tasks::TaskView;
use crate::controllers::Severity;
use crate::entries::{fields, tone};
use crate::failure::ExitStatus;
use crate::history;
use crate::output::{At, Grid, Report, Tone, View, Width};

impl Report for ExplainReport {
    const KIND: &'static str = "BindingExplanation";

    fn text(&self, view: &View) -> String {
        let mut text = summary(self, view);
        let mut section = |heading: &str, grid: Grid| {
            if !grid.is_empty() {
                text.push_str(&format!(
                    "\n{}\n{}",
                    Tone::Heading.paint(heading, view.colour),
                    grid.finish()
                ));
            }
        };
        section("Clusters", clusters(self, view));
        section("In the eviction queue", entries(self, view));
        section("On its way out", tasks(&self.tasks, view));
        section("Where it would go", searches(self, view));
        section("Outcomes that the queue remembers", outcomes(self, view));
        section("Moves on record", history::moves(&self.moves, view));
        let tone = match self.conclusion.severity {
            Some(Severity::Problem) => Tone::Bad,
            Some(Severity::Note) => Tone::Notice,
            None => Tone::Good,
        };
        text.push_str(&format!("\n{}\n", tone.paint(&self.conclusion.sentence(), view.colour)));
        text
    }

    fn names(&self) -> Vec<String> {
        vec![self.binding.clone()]
    }

    fn status(&self) -> ExitStatus {
        self.exit_status()
    }
}

fn summary(report: &ExplainReport, view: &View) -> String {
    let condition = |condition: &Option<ConditionView>| {
        condition.as_ref().map(|condition| {
            let since = condition.since.show(view);
            format!(
                "{} ({}) since {since}: {}",
                condition.status, condition.reason, condition.message
            )
        })
    };
    let replicas = if report.replicas > 0 {
        format!(", {} replicas", report.replicas)
    } else {
        String::new()
    };
    let not_done: Vec<String> = report.not_done.iter().map(|item| item.message.clone()).collect();
    let rows = [
        ("Binding", Some(report.binding.clone())),
        ("Resource", Some(format!("{}{replicas}", report.resource))),
        ("Owner says", Some(report.owner_says.clone())),
        ("Placed by", placed_by(report)),
        (
            "Affinity group",
            report.affinity_groups.as_ref().map(ToString::to_string),
        ),
        (
            "Scheduled",
            condition(&report.scheduled).or_else(|| Some("never looked at by a scheduler".to_owned())),
        ),
        ("EvictionPending", condition(&report.eviction_pending)),
        ("GracefulEviction", condition(&report.graceful_eviction)),
        (
            "Queue",
            report
                .queue_error
                .as_ref()
                .map(|error| Tone::Bad.paint(error, view.colour)),
        ),
        ("Not done", Some(not_done.join("\n"))),
    ];
    fields(
        rows.into_iter().filter_map(|(name, value)| Some((name, value?))),
        view.colour,
    )
}

/// Only where it is not what everybody takes for granted.
fn placed_by(report: &ExplainReport) -> Option<String> {
    let scheduler = &report.scheduler;
    match &scheduler.leaves_it {
        Some(why) => Some(format!("nobody: {why}")),
        None if scheduler.is_another() => Some(format!(
            "scheduler {}; what is said here of places is by the default plugins",
            scheduler.name
        )),
        None => None,
    }
}

fn clusters(report: &ExplainReport, view: &View) -> Grid {
    let mut headings = vec!["CLUSTER", "ROLE", "REPLICAS", "READY", "COPY", "TODAY"];
    if view.width == Width::Wide {
        headings.extend(["SCORE", "CAUSE", "DUE", "TAINTS THAT EVICT"]);
    }
    let mut grid = Grid::new(headings, view);
    for row in &report.clusters {
        let plain = |text: String| (text, Tone::Plain);
        let ready = match row.ready.as_deref() {
            _ if !row.exists => ("no such Cluster".to_owned(), Tone::Bad),
            Some("True") => ("True".to_owned(), Tone::Good),
            Some(other) => (other.to_owned(), Tone::Bad),
            None => ("never reported".to_owned(), Tone::Bad),
        };
        let role = match row.role {
            Role::Chosen => "chosen",
            Role::ChosenAndLeft => "chosen and left",
            Role::Left => "left",
            Role::Candidate => "candidate",
        };
        let mut cells = vec![
            plain(row.name.clone()),
            plain(role.to_owned()),
            plain(
                row.replicas
                    .filter(|replicas| *replicas > 0)
                    .map(|replicas| replicas.to_string())
                    .unwrap_or_default(),
            ),
            ready,
            plain(row.health.clone().unwrap_or_default()),
            today(report, row, view),
        ];
        if view.width == Width::Wide {
            let verdict = row.verdict.as_ref();
            let taints: Vec<String> = row
                .taints
                .iter()
                .map(|taint| format!("{}:{}", taint.key, taint.effect))
                .collect();
            cells.extend([
                plain(row.rank.as_ref().map(score).unwrap_or_default()),
                plain(verdict.and_then(|verdict| verdict.cause.clone()).unwrap_or_default()),
                plain(
                    verdict
                        .and_then(|verdict| verdict.due_at)
                        .map(|at| at.show(view))
                        .unwrap_or_default(),
                ),
                plain(taints.join(", ")),
            ]);
        }
        grid.row(cells);
    }
    grid
}

/// What the cluster's state means today, or, of a candidate, whether it would take the workload.
fn today(report: &ExplainReport, row: &ClusterRow, view: &View) -> (String, Tone) {
    if row.role == Role::Candidate {
        return match &row.place {
            Some(place) => match (&place.refused_by, &place.reason) {
                (Some(plugin), Some(reason)) => {
                    let until = place
                        .until
                        .map(|at| format!(", until {}", at.show(view)))
                        .unwrap_or_default();
                    (format!("refused by {plugin}: {reason}{until}"), Tone::Notice)
                }
                _ => could_take(row),
            },
            None => ("not judged".to_owned(), Tone::Plain),
        };
    }
    if let Some(task) = report.tasks.iter().find(|task| task.from_cluster == row.name) {
        return (format!("on its way out; the cause {}", task.cause), Tone::Notice);
    }
    let Some(verdict) = &row.verdict else {
        return ("there is nothing to judge".to_owned(), Tone::Bad);
    };
    match (verdict.affected, &verdict.stay, verdict.due_at) {
        (true, Some(stay), _) => (
            format!("stays by its annotation, {stay}: {}", verdict.reason),
            Tone::Notice,
        ),
        (true, None, Some(due)) => (
            format!("has to leave {}: {}", relative_due(due, view), verdict.reason),
            Tone::Bad,
        ),
        (true, None, None) => (format!("has to leave: {}", verdict.reason), Tone::Bad),
        (false, ..) => (format!("stays: {}", verdict.reason), Tone::Plain),
    }
}

/// A candidate that no plugin refuses.
fn could_take(row: &ClusterRow) -> (String, Tone) {
    match row.rank.as_ref().and_then(|rank| rank.room) {
        None => ("could take it".to_owned(), Tone::Good),
        Some(0) => ("would take it, but has no room".to_owned(), Tone::Notice),
        Some(1) => ("could take 1 replica".to_owned(), Tone::Good),
        Some(room) => (format!("could take {room} replicas"), Tone::Good),
    }
}

/// The sum, and what it is made of: `100 (ClusterLocality 100)`.
fn score(rank: &Rank) -> String {
    let given = rank.scores.iter();
    let parts: Vec<String> = given.map(|given| format!("{} {}", given.plugin, given.score)).collect();
    if parts.is_empty() {
        rank.score.to_string()
    } else {
        format!("{} ({})", rank.score, parts.join(", "))
    }
}

fn relative_due(due: At, view: &View) -> String {
    if due.0 <= view.now {
        "now".to_owned()
    } else {
        crate::output::relative(due.0, view.now)
    }
}

fn entries(report: &ExplainReport, view: &View) -> Grid {
    let mut grid = Grid::new(["LEAVES", "STATE", "SINCE", "DUE", "POSITION", "ETA", "WHY"], view);
    for entry in &report.entries {
        let time = |time: Option<At>| (time.map(|at| at.show(view)).unwrap_or_default(), Tone::Plain);
        grid.row([
            (entry.cluster.clone(), Tone::Plain),
            (entry.state.word().to_owned(), tone(entry.state)),
            time(entry.since),
            time(entry.due_at),
            (
                entry.position.map(|position| position.to_string()).unwrap_or_default(),
                Tone::Plain,
            ),
            time(entry.estimated_release_at),
            (entry.why(), Tone::Plain),
        ]);
    }
    grid
}

fn tasks(tasks: &[TaskView], view: &View) -> Grid {
    let mut grid = Grid::new(["LEAVES", "SINCE", "OLD COPY", "BECAUSE", "WAITS FOR"], view);
    for task in tasks {
        let plain = |text: String| (text, Tone::Plain);
        let grace = task
            .grace_period_seconds
            .map(|seconds| format!(", at most {seconds} s"))
            .unwrap_or_default();
        let waits = match task.fate {
            "Stays" => (task.why.clone(), Tone::Plain),
            "Ends" => (format!("nothing: {}", task.why), Tone::Good),
            "Restored" => (
                format!("nothing, the state before comes back: {}", task.why),
                Tone::Good,
            ),
            _ => (
                format!("nothing, the cluster leaves the result again: {}", task.why),
                Tone::Notice,
            ),
        };
        grid.row([
            plain(task.from_cluster.clone()),
            plain(task.created_at.map(|at| at.show(view)).unwrap_or_default()),
            plain(format!("{}{grace}", task.purge_mode)),
            plain(
                task.message
                    .clone()
                    .filter(|message| !message.is_empty())
                    .unwrap_or_else(|| task.reason.clone()),
            ),
            waits,
        ]);
    }
    grid
}

/// Only where something has to leave, or has no place: what runs well needs no search.
fn searches(report: &ExplainReport, view: &View) -> Grid {
    let mut grid = Grid::new(["WITHOUT", "RESULT", "WHY"], view);
    for search in report
        .searches
        .iter()
        .filter(|search| search.leaving.is_some() || !search.fits)
    {
        let (result, tone) = match (search.fits, search.result.is_empty()) {
            (true, false) => (search.result.join(", "), Tone::Good),
            (true, true) => ("not checked".to_owned(), Tone::Plain),
            (false, _) => ("nowhere".to_owned(), Tone::Bad),
        };
        let recheck = search
            .recheck_at
            .map(|at| format!("; asked again {}", at.show(view)))
            .unwrap_or_default();
        grid.row([
            (
                search.leaving.clone().unwrap_or_else(|| "(as it is)".to_owned()),
                Tone::Plain,
            ),
            (result, tone),
            (format!("{}{recheck}", search.why.trim_end_matches('.')), Tone::Plain),
        ]);
    }
    grid
}

fn outcomes(report: &ExplainReport, view: &View) -> Grid {
    let mut grid = Grid::new(["WHEN", "LEFT", "OUTCOME", "WHY"], view);
    for moved in &report.recent {
        let why = if moved.message.is_empty() {
            &moved.cause
        } else {
            &moved.message
        };
        grid.row([
            (moved.ended_at.map(|at| at.show(view)).unwrap_or_default(), Tone::Plain),
            (moved.cluster.clone(), Tone::Plain),
            (
                moved.outcome.to_owned(),
                if moved.outcome == "Evicted" {
                    Tone::Good
                } else {
                    Tone::Notice
                },
            ),
            (why.clone(), Tone::Plain),
        ]);
    }
    grid
}
