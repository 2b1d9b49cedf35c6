//! The table of policies on clusters: one line a taint.

use super::view::{PolicyOnCluster, TaintOfPolicy, TaintWord};
use crate::output::{At, Grid, Tone, View, Width};

/// What the table's first column names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The Clusters of one policy.
    Cluster,
    /// The policies of one Cluster.
    Policy,
}

/// Whether there is nothing to tell of it but that its conditions do not match.
pub(crate) fn quiet(row: &PolicyOnCluster) -> bool {
    !row.matches && row.taints.iter().all(|taint| taint.state == TaintWord::Absent)
}

/// One line a taint; what a policy and a cluster share stands in its first line.
pub(crate) fn grid(rows: &[PolicyOnCluster], subject: Subject, view: &View) -> Grid {
    let first = match subject {
        Subject::Cluster => "CLUSTER",
        Subject::Policy => "POLICY",
    };
    let mut headings = vec![first, "CONDITIONS", "MATCHES", "SINCE", "TAINT", "NOW", "HELD BY"];
    if view.width == Width::Wide {
        headings.extend(["ADDED AFTER", "REMOVED AFTER"]);
    }
    let mut grid = Grid::new(headings, view);
    for row in rows {
        let name = match subject {
            Subject::Cluster => &row.cluster,
            Subject::Policy => &row.policy,
        };
        let mut shared = vec![
            (name.clone(), Tone::Plain),
            (conditions(row), Tone::Plain),
            if row.matches {
                ("yes".to_owned(), Tone::Notice)
            } else {
                ("no".to_owned(), Tone::Plain)
            },
            (row.since.map(|since| since.show(view)).unwrap_or_default(), Tone::Plain),
        ];
        for taint in &row.taints {
            let mut cells = shared.clone();
            cells.push((taint_text(taint), Tone::Plain));
            cells.push(now(taint, view));
            cells.push((held_by(row, taint), Tone::Notice));
            if view.width == Width::Wide {
                cells.push((format!("{} s", taint.add_on_match_seconds), Tone::Plain));
                cells.push((format!("{} s", taint.remove_on_mismatch_seconds), Tone::Plain));
            }
            grid.row(cells);
            shared = vec![(" ".to_owned(), Tone::Plain); 4];
        }
    }
    grid
}

/// `Ready=False`; what is wanted only where it is not met: `Ready=True (wanted: In False,Unknown)`.
fn conditions(row: &PolicyOnCluster) -> String {
    let one = |check: &super::ConditionCheck| {
        let found = match &check.status {
            Some(status) => format!("{}={status}", check.type_),
            None => format!("{} is missing", check.type_),
        };
        match (check.role, check.holds) {
            ("Match", true) => found,
            ("Match", false) => format!("{found} (wanted: {})", check.wanted),
            (role, holds) => {
                let met = if holds { "met" } else { "not met" };
                format!("{found} ({} when {}: {met})", role.to_lowercase(), check.wanted)
            }
        }
    };
    let all: Vec<String> = row.conditions.iter().map(one).collect();
    if all.is_empty() {
        "none: always matches".to_owned()
    } else {
        all.join(", ")
    }
}

pub(super) fn taint_text(taint: &TaintOfPolicy) -> String {
    if taint.value.is_empty() {
        taint.taint.clone()
    } else {
        match taint.taint.rsplit_once(':') {
            Some((key, effect)) => format!("{key}={}:{effect}", taint.value),
            None => taint.taint.clone(),
        }
    }
}

fn now(taint: &TaintOfPolicy, view: &View) -> (String, Tone) {
    let at = |lead: &str| match taint.at {
        Some(At(time)) => format!("{lead} {}", At(time).show(view)),
        None => lead.to_owned(),
    };
    match taint.state {
        TaintWord::Absent => ("not there".to_owned(), Tone::Plain),
        TaintWord::PendingAdd => (at("is added"), Tone::Notice),
        TaintWord::Due => (at("due since"), Tone::Bad),
        TaintWord::Stands => (at("stands since"), Tone::Bad),
        TaintWord::PendingRemove => (at("goes"), Tone::Good),
        TaintWord::Leaving => (at("goes; due since"), Tone::Notice),
        TaintWord::Foreign => (at("stands, not ours, since"), Tone::Notice),
        TaintWord::Dismissed => (at("taken back"), Tone::Notice),
        TaintWord::GateOff => ("would stand".to_owned(), Tone::Notice),
        TaintWord::Suspended => {
            let word = match taint.at {
                Some(At(time)) if time <= view.now => "would stand since",
                _ => "would be added",
            };
            (at(word), Tone::Notice)
        }
        TaintWord::Kept => (at("stands since"), Tone::Notice),
    }
}

fn held_by(row: &PolicyOnCluster, taint: &TaintOfPolicy) -> String {
    let mut held: Vec<String> = taint.held_by.iter().cloned().collect();
    if !row.recorded && held.is_empty() && matches!(taint.state, TaintWord::PendingAdd | TaintWord::PendingRemove) {
        held.push("the controller has not recorded this window yet".to_owned());
    }
    if matches!(taint.state, TaintWord::PendingAdd | TaintWord::PendingRemove) {
        held.extend(row.restless.clone());
    }
    if row.conflict.is_some() && taint.state != TaintWord::Absent {
        held.push("another policy wants another value".to_owned());
    }
    held.join("; ")
}
