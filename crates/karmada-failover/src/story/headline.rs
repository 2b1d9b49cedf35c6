//! Lines in words for people: one by one, or together when many things that are alike happen at once.

use std::collections::BTreeSet;

use super::line::{Line, Step};
use super::teller::WAITS;

/// Lines that are told together: of one step, of taints also with the same words. In the order of the first of each.
pub(super) fn groups(lines: Vec<Line>) -> Vec<Vec<Line>> {
    let mut groups: Vec<Vec<Line>> = Vec::new();
    for line in lines {
        match groups
            .iter_mut()
            .find(|group| group.first().is_some_and(|first| are_alike(first, &line)))
        {
            Some(group) => group.push(line),
            None => groups.push(vec![line]),
        }
    }
    groups
}

fn are_alike(one: &Line, other: &Line) -> bool {
    let by_words = matches!(
        one.step,
        Step::TaintAdded | Step::TaintRemoved | Step::RegimeChanged | Step::EvictionHeld | Step::EvictionAbandoned
    );
    one.step == other.step && (!by_words || words(&one.why) == words(&other.why))
}

/// A sentence without its numbers and times.
fn words(why: &str) -> String {
    why.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// What happened, for lines that are alike.
pub(super) fn headline(alike: &[Line]) -> String {
    match alike {
        [] => String::new(),
        [line] => of_one(line),
        lines => of_many(lines),
    }
}

fn of_one(line: &Line) -> String {
    let cluster = line.cluster.as_deref().unwrap_or("a cluster");
    let binding = line.binding.as_deref().unwrap_or("a workload");
    match line.step {
        Step::FleetReady => "the fleet is ready".to_owned(),
        Step::WorkloadRunning => format!("{binding} runs as its policy asks"),
        Step::ClusterFailed => format!("{cluster} fails"),
        Step::ClusterNotReady => {
            format!("{cluster} counts as not Ready: it failed for the whole threshold, a blip would not")
        }
        Step::ApplicationFailed => format!("{binding} fails on {cluster}, and {cluster} itself is well"),
        Step::TaintAdded => format!(
            "{cluster} is tainted{}",
            by_policy(line, "matched for its whole window")
        ),
        Step::RegimeChanged => regime(line),
        Step::EvictionQueued => format!("{binding} has to leave {cluster}: it stands in the eviction queue"),
        Step::EvictionHeld => format!("{binding} stays on {cluster} for now: the queue holds it"),
        Step::EvictionReleased => format!("{binding} may leave {cluster} now: the rate and the brakes allow it"),
        Step::EvictionAbandoned => format!("{binding} stays on {cluster}: its eviction is given up"),
        Step::ClusterEvicted => {
            format!("{binding} leaves {cluster}: no longer a target, but its old copy is not deleted")
        }
        Step::Rescheduled => format!("{binding} has a new placement"),
        Step::ReplacementHealthy => format!("{binding} is complete again on {cluster}"),
        Step::OldCopyKept if line.why.contains(WAITS) => {
            format!("the old copy on {cluster} may go, and will when {cluster} can be asked to")
        }
        Step::OldCopyKept => format!("the old copy on {cluster} may go"),
        Step::ClusterReturned => format!("{cluster} is Ready again"),
        Step::TaintRemoved => {
            format!(
                "{cluster} loses a taint{}",
                by_policy(line, "did not match for its whole removal window")
            )
        }
        Step::OldCopyRemoved => {
            format!("the old copy of {binding} on {cluster} is gone; nothing moves back by itself")
        }
    }
}

fn of_many(lines: &[Line]) -> String {
    let clusters = names(lines.iter().filter_map(|line| line.cluster.as_deref()));
    let bindings = names(lines.iter().filter_map(|line| line.binding.as_deref()));
    let Some(first) = lines.first() else {
        return String::new();
    };
    match first.step {
        Step::FleetReady => "the fleet is ready".to_owned(),
        Step::WorkloadRunning => format!("{bindings} run as their policies ask"),
        Step::ClusterFailed => format!("{clusters} fail"),
        Step::ClusterNotReady => format!("{clusters} count as not Ready: they failed for the whole threshold"),
        Step::ApplicationFailed => format!("{bindings} fail on {clusters}, and these are well themselves"),
        Step::TaintAdded => format!(
            "{clusters} are tainted{}",
            by_policy(first, "matched for its whole window")
        ),
        Step::RegimeChanged => regime(first),
        Step::EvictionQueued => format!("{bindings} have to leave {clusters}: they stand in the eviction queue"),
        Step::EvictionHeld => format!("{bindings} stay on {clusters} for now: the queue holds them"),
        Step::EvictionReleased => format!("{bindings} may leave {clusters} now: the rate and the brakes allow it"),
        Step::EvictionAbandoned => format!("{bindings} stay on {clusters}: their evictions are given up"),
        Step::ClusterEvicted => format!("{bindings} leave {clusters}: their old copies are not deleted"),
        Step::Rescheduled => format!("{bindings} have new placements"),
        Step::ReplacementHealthy => format!("{bindings} are complete again on {clusters}"),
        Step::OldCopyKept if first.why.contains(WAITS) => {
            format!("the old copies of {bindings} on {clusters} may go, and will when these can be asked to")
        }
        Step::OldCopyKept => format!("the old copies of {bindings} on {clusters} may go"),
        Step::ClusterReturned => format!("{clusters} are Ready again"),
        Step::TaintRemoved => {
            format!(
                "{clusters} lose a taint{}",
                by_policy(first, "did not match for its whole removal window")
            )
        }
        Step::OldCopyRemoved => {
            format!("the old copies of {bindings} on {clusters} are gone; nothing moves back by itself")
        }
    }
}

/// What the eviction queue does from now on.
fn regime(line: &Line) -> String {
    let rate = line.evictions_per_second.unwrap_or(0.0);
    match line.regime.as_deref().unwrap_or_default() {
        "AllFaulty" => {
            "every cluster has failed: the queue stops all evictions, this is more likely our own fault".to_owned()
        }
        "Halted" => "too much of a small fleet has failed: the queue stops all evictions".to_owned(),
        "Reduced" => format!("too much of a large fleet has failed: the queue slows down to {rate} evictions a second"),
        "Normal" => format!("enough of the fleet is well: the queue goes at its usual {rate} evictions a second"),
        other => format!("the queue is {other}: {rate} evictions a second"),
    }
}

fn by_policy(line: &Line, how: &str) -> String {
    if line.why.contains("ClusterTaintPolic") {
        format!(": a ClusterTaintPolicy {how}")
    } else {
        String::new()
    }
}

/// Each name once: `member1, member2 and member3`; of many only the first and the last, and the number.
fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: BTreeSet<&str> = names
        .map(|name| name.strip_prefix("default/").unwrap_or(name))
        .collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    // member10 comes after member9.
    names.sort_by_key(|name| (name.len(), *name));
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first, second, .., last] if names.len() > 5 => format!("{first}, {second} … {last} ({})", names.len()),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(step: Step, cluster: &str, why: &str) -> Line {
        Line::of(step, 1.0, why.to_owned()).on(cluster)
    }

    #[test]
    fn what_is_alike_is_told_together_in_the_order_of_the_first() {
        let told = groups(vec![
            line(Step::ClusterFailed, "member1", "refused"),
            line(Step::TaintAdded, "member1", "taint a, by ClusterTaintPolicy a"),
            line(Step::ClusterFailed, "member2", "no answer"),
            line(Step::TaintAdded, "member2", "taint b, by ClusterTaintPolicy b"),
            line(Step::EvictionHeld, "member2", "since 10:01 recovering"),
            line(Step::EvictionHeld, "member1", "since 10:02 recovering"),
        ]);
        let headlines: Vec<String> = told.iter().map(|alike| headline(alike)).collect();
        assert_eq!(
            headlines,
            [
                "member1 and member2 fail",
                "member1 is tainted: a ClusterTaintPolicy matched for its whole window",
                "member2 is tainted: a ClusterTaintPolicy matched for its whole window",
                " stay on member1 and member2 for now: the queue holds them",
            ]
        );
    }

    #[test]
    fn long_lists_are_cut() {
        let twelve: Vec<String> = (1..=12).map(|number| format!("member{number}")).collect();
        assert_eq!(
            names(twelve.iter().map(String::as_str)),
            "member1, member2 … member12 (12)"
        );
        assert_eq!(names(["default/b", "default/a", "default/b"].into_iter()), "a and b");
    }
}
