//! The plan for people.

use super::report::FailoverPlan;
use super::views::MoveInPlan;
use crate::history::PlaceView;
use crate::output::{At, Grid, Tone, View, Width, span_of};

pub(super) fn whole(plan: &FailoverPlan, view: &View) -> String {
    let mut text = format!("If {}:\n", if_what(plan));
    section(&mut text, "Taints", taints(plan, view));
    section(&mut text, "How fast", regimes(plan, view));
    section(&mut text, &format!("Move ({})", plan.moves.len()), moves(plan, view));
    let remaining = format!("Have to leave and do not ({})", plan.remaining.len());
    section(&mut text, &remaining, self::remaining(plan, view));
    section(
        &mut text,
        &format!("Stay ({})", plan.staying.len()),
        staying(plan, view),
    );
    text.push_str(&format!("\n{}\n", summary(plan, view)));
    if !plan.not_done.is_empty() {
        text.push_str("But now:\n");
        for item in &plan.not_done {
            text.push_str(&format!("  {}\n", item.message));
        }
    }
    if !plan.assuming.is_empty() {
        text.push_str("Taken for granted:\n");
        for what in &plan.assuming {
            text.push_str(&format!("  {what}\n"));
        }
    }
    text
}

fn section(text: &mut String, title: &str, rows: Option<(Grid, usize)>) {
    let Some((grid, hidden)) = rows else { return };
    text.push_str(&format!("\n{title}\n{}", grid.finish()));
    if hidden > 0 {
        text.push_str(&format!("… and {hidden} more: --limit 0 shows all\n"));
    }
}

/// `member1 and member2 fail`.
fn if_what(plan: &FailoverPlan) -> String {
    let verb = |names: &[String], one: &str, many: &str| {
        let verb = if names.len() == 1 { one } else { many };
        (!names.is_empty()).then(|| format!("{} {verb}", joined(names)))
    };
    let parts = [
        verb(&plan.failing, "fails", "fail"),
        verb(&plan.draining, "is drained", "are drained"),
        verb(
            &plan.policies,
            "(ClusterTaintPolicy) is in force",
            "(ClusterTaintPolicies) are in force",
        ),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", and ")
}

fn joined(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A grid of so many rows as are to be shown, and how many are not; nothing without any.
fn rows<T>(
    plan: &FailoverPlan,
    view: &View,
    headings: Vec<&str>,
    all: &[T],
    row: impl Fn(&T) -> Vec<(String, Tone)>,
) -> Option<(Grid, usize)> {
    let shown = if plan.limit == 0 {
        all.len()
    } else {
        plan.limit.min(all.len())
    };
    let mut grid = Grid::new(headings, view);
    for one in &all[..shown] {
        grid.row(row(one));
    }
    (!all.is_empty()).then_some((grid, all.len() - shown))
}

fn plain(text: impl Into<String>) -> (String, Tone) {
    (text.into(), Tone::Plain)
}

fn taints(plan: &FailoverPlan, view: &View) -> Option<(Grid, usize)> {
    let coming = plan.clusters.iter().flat_map(|cluster| {
        cluster.taints.iter().map(|taint| {
            let named = match taint.taint.rsplit_once(':') {
                Some((key, effect)) if !taint.value.is_empty() => format!("{key}={}:{effect}", taint.value),
                _ => taint.taint.clone(),
            };
            let by = match &taint.policies[..] {
                [] => "the drain".to_owned(),
                names => format!("policy {}", names.join(", ")),
            };
            vec![
                plain(taint.at.show(view)),
                plain(&cluster.name),
                plain(named),
                plain(by),
            ]
        })
    });
    let held = plan.clusters.iter().flat_map(|cluster| {
        cluster.held_taints.iter().map(|held| {
            let by = format!("policy {}: {}", held.policy, held.why);
            let never = ("never".to_owned(), Tone::Notice);
            vec![never, plain(&cluster.name), plain(&held.taint), plain(by)]
        })
    });
    let all: Vec<_> = coming.chain(held).collect();
    rows(plan, view, vec!["WHEN", "CLUSTER", "TAINT", "BY"], &all, Clone::clone)
}

fn regimes(plan: &FailoverPlan, view: &View) -> Option<(Grid, usize)> {
    rows(
        plan,
        view,
        vec!["FROM", "REGIME", "RATE", "WHY"],
        &plan.regimes,
        |phase| {
            let tone = if phase.evictions_per_second > 0.0 {
                Tone::Plain
            } else {
                Tone::Bad
            };
            let rate = format!("{}/s", phase.evictions_per_second);
            vec![
                plain(phase.from.show(view)),
                (phase.name.to_owned(), tone),
                (rate, tone),
                plain(&phase.reason),
            ]
        },
    )
}

fn moves(plan: &FailoverPlan, view: &View) -> Option<(Grid, usize)> {
    let wide = view.width == Width::Wide;
    let mut headings = vec!["LEAVES", "BINDING", "FROM", "TO", "BECAUSE OF"];
    if wide {
        headings.extend(["KIND", "REPLICAS", "DUE", "OLD COPY", "RUNS THEN ON", "WHY"]);
    }
    rows(plan, view, headings, &plan.moves, |one| {
        let mut cells = vec![
            plain(one.leaves_at.show(view)),
            plain(&one.binding),
            plain(&one.from),
            to(one),
            plain(one.cause.short()),
        ];
        if wide {
            cells.extend([
                plain(&one.resource.kind),
                plain(one.replicas.to_string()),
                plain(one.due_at.show(view)),
                plain(one.purge_mode),
                plain(places(&one.result)),
                plain(one.note.as_ref().unwrap_or(&one.reason)),
            ]);
        }
        cells
    })
}

fn to(one: &MoveInPlan) -> (String, Tone) {
    match (one.without_place, &one.to[..]) {
        (true, _) => (one.note.clone().unwrap_or_default(), Tone::Bad),
        (false, []) => ("(runs elsewhere already)".to_owned(), Tone::Notice),
        (false, to) => plain(places(to)),
    }
}

fn places(places: &[PlaceView]) -> String {
    let place = |place: &PlaceView| match place.replicas {
        Some(replicas) => format!("{}:{replicas}", place.name),
        None => place.name.clone(),
    };
    places.iter().map(place).collect::<Vec<_>>().join(",")
}

fn remaining(plan: &FailoverPlan, view: &View) -> Option<(Grid, usize)> {
    let headings = vec!["BINDING", "ON", "DUE", "HELD FOR", "WHY"];
    rows(plan, view, headings, &plan.remaining, |one| {
        vec![
            plain(&one.binding),
            plain(&one.from),
            plain(one.due_at.show(view)),
            (one.word.to_owned(), Tone::Notice),
            plain(&one.why),
        ]
    })
}

fn staying(plan: &FailoverPlan, view: &View) -> Option<(Grid, usize)> {
    rows(plan, view, vec!["BINDING", "ON", "WHY"], &plan.staying, |one| {
        vec![plain(&one.binding), plain(&one.cluster), plain(&one.why)]
    })
}

/// What it comes to.
pub(crate) fn summary(plan: &FailoverPlan, view: &View) -> String {
    let mut parts = Vec::new();
    match (&plan.moves[..], plan.last_move_at) {
        ([], _) | (_, None) => parts.push(nothing(plan)),
        ([one], Some(at)) => parts.push(format!(
            "{} leaves {} at {}",
            one.binding,
            one.from,
            At(at.0).show(view)
        )),
        ([first, ..], Some(last)) => parts.push(format!(
            "{} moves, the first at {}, the last at {}: {} in all",
            plan.moves.len(),
            first.leaves_at.show(view),
            last.show(view),
            span_of(plan.seconds_in_all.unwrap_or_default())
        )),
    }
    let counts = [
        (plan.without_place(), "1 finds no place", "find no place"),
        (plan.at_a_standstill(), "1 is not released", "are not released"),
        (
            plan.remaining.len() - plan.remaining.iter().filter(|one| is_told(one.word)).count(),
            "1 is held",
            "are held",
        ),
        (plan.staying.len(), "1 stays", "stay"),
    ];
    parts.extend(counts.into_iter().filter_map(|(count, one, many)| match count {
        0 => None,
        1 => Some(one.to_owned()),
        many_of => Some(format!("{many_of} {many}")),
    }));
    if plan.others.moving + plan.others.remaining > 0 {
        parts.push(format!(
            "{} of {} take turns with them",
            plan.others.moving + plan.others.remaining,
            joined(&plan.others.clusters)
        ));
    }
    format!("{}.", parts.join("; "))
}

fn is_told(word: &str) -> bool {
    word == super::report::NO_TARGET || word == super::report::STANDSTILL
}

fn nothing(plan: &FailoverPlan) -> String {
    let tainted = plan.clusters.iter().any(|cluster| !cluster.taints.is_empty());
    let already = !plan.draining.is_empty();
    if !tainted && !already && plan.remaining.is_empty() {
        return "Nothing moves: no policy adds a taint that moves workloads".to_owned();
    }
    "Nothing moves".to_owned()
}
