//! What lies ahead for the taints of a Cluster, in a line each, for people who look at it with `kubectl describe`.
//!
//! Guarantees: it follows from the same wants as the taints themselves; it holds no running time, so that it stays as
//! it is while nothing changes; a cluster of which no policy wants anything has none.

use std::collections::BTreeMap;

use api_types::cluster::Cluster;
use jiff::Timestamp;

use super::form::{Form, PolicyTaint};
use super::ownership::find;
use super::records::TaintId;
use super::report::conditions_text;
use super::resolve::{Judged, Resolved, Say};
use super::restless::{lasting, shown_since};
use super::times::{after, whole_second, whole_second_up};
use super::wanted::Want;

/// Lines beyond these are counted: annotations have bounds.
const MOST_LINES: usize = 40;

/// The text; empty when there is nothing to tell. What happens at a time comes first, in the order of the times.
pub(super) fn forecast(
    by_taint: &BTreeMap<&TaintId, Vec<Say<'_>>>,
    resolved: &Resolved,
    owned_before: impl Fn(&TaintId) -> bool,
    cluster: &Cluster,
) -> String {
    let mut dated: Vec<(Timestamp, String)> = Vec::new();
    let mut standing = Lines::default();
    for (id, all) in by_taint {
        if resolved.managed.contains_key(*id) {
            match leaves(all) {
                Some((_, last)) if is_restless(last) => standing.push(|| restless_line("removes", id, last, cluster)),
                Some((at, last)) => dated.push((at, dated_line(at, "removes", id, last, cluster))),
                None => standing.push(|| stays(id, all)),
            }
            continue;
        }
        if find(cluster, id).is_some() && !owned_before(id) {
            if all.iter().any(|(_, _, want)| want.is_wanted()) {
                standing.push(|| format!("{id} stands already and is not ours: it stays, whatever the policies say"));
            }
            continue;
        }
        let adds = all.iter().filter_map(|(policy, _, want)| match want {
            Want::AddAt(at) => Some((*at, *policy)),
            _ => None,
        });
        // One that can end comes before those that cannot.
        match adds.min_by_key(|(at, policy)| (is_restless(policy), *at)) {
            Some((_, policy)) if is_restless(policy) => {
                standing.push(|| restless_line("adds", id, policy, cluster));
            }
            Some((at, policy)) => dated.push((at, dated_line(at, "adds", id, policy, cluster))),
            None => {}
        }
        for line in all.iter().filter_map(|say| kept_away(id, say, cluster)) {
            standing.push(|| line);
        }
    }
    dated.sort();
    let count = dated.len() + standing.count;
    let mut lines: Vec<String> = dated.into_iter().map(|(_, line)| line).chain(standing.first).collect();
    lines.truncate(MOST_LINES);
    if count > lines.len() {
        lines.push(format!("and {} more", count - lines.len()));
    }
    lines.join("\n")
}

/// The first lines, and how many there are.
#[derive(Default)]
struct Lines {
    first: Vec<String>,
    count: usize,
}

impl Lines {
    fn push(&mut self, line: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < MOST_LINES {
            self.first.push(line());
        }
    }
}

/// When a taint of ours goes, and whose removal window is the last; `None` while a policy wants it to stay, or will
/// want it before.
fn leaves<'a>(all: &[Say<'a>]) -> Option<(Timestamp, &'a Judged<'a>)> {
    let removals: Option<Vec<_>> = all
        .iter()
        .filter(|(_, _, want)| want.is_wanted())
        .map(|(policy, _, want)| match want {
            Want::RemoveAt(at) => Some((*at, *policy)),
            _ => None,
        })
        .collect();
    let last = removals?.into_iter().max_by_key(|(at, _)| *at)?;
    let taken_over = all
        .iter()
        .any(|(_, _, want)| matches!(want, Want::AddAt(at) if *at <= last.0));
    (!taken_over).then_some(last)
}

/// `2026-01-01T00:05:10Z adds k:NoExecute (policy p: Ready=False since 2026-01-01T00:00:10Z)`
fn dated_line(at: Timestamp, does: &str, id: &TaintId, policy: &Judged<'_>, cluster: &Cluster) -> String {
    format!("{} {}", whole_second_up(at), what_happens(does, id, policy, cluster))
}

/// `adds k:NoExecute (policy p: Ready=False since 2026-01-01T00:00:10Z)`
fn what_happens(does: &str, id: &TaintId, policy: &Judged<'_>, cluster: &Cluster) -> String {
    format!(
        "{does} {id} (policy {}: {} since {})",
        policy.form.name,
        conditions_text(policy.form, cluster),
        whole_second(shown_since(&policy.window)),
    )
}

fn is_restless(policy: &Judged<'_>) -> bool {
    lasting(&policy.window).is_some()
}

/// The same of a window that starts anew again and again: without a time, for there is none.
fn restless_line(does: &str, id: &TaintId, policy: &Judged<'_>, cluster: &Cluster) -> String {
    let why = lasting(&policy.window).unwrap_or_default();
    format!("{}; but {why}", what_happens(does, id, policy, cluster))
}

fn stays(id: &TaintId, all: &[Say<'_>]) -> String {
    let reasons = all.iter().filter_map(|(policy, taint, want)| match want {
        Want::Have if policy.form.is_latched() => Some(format!(
            "policy {} until its removeOnConditions match",
            policy.form.name
        )),
        Want::Have | Want::RemoveAt(_) if policy.form.has_its_own_removal() => Some(format!(
            "policy {} until its removeOnConditions have matched for {} s",
            policy.form.name,
            taint.remove_after.as_secs()
        )),
        Want::Have | Want::RemoveAt(_) => Some(format!(
            "policy {} until it has not matched for {} s",
            policy.form.name,
            taint.remove_after.as_secs()
        )),
        Want::FrozenWith => Some(format!("policy {} {}", policy.form.name, frozen(policy.form))),
        _ => None,
    });
    format!("{id} stays: {}", reasons.collect::<Vec<_>>().join(", "))
}

/// Why a taint that the conditions speak for is not coming; `None` when nothing keeps it away.
fn kept_away(id: &TaintId, (policy, taint, want): &Say<'_>, cluster: &Cluster) -> Option<String> {
    let name = policy.form.name;
    match want {
        Want::Dismissed => {
            let at = policy.window.dismissed.get(id)?.at;
            let until = if policy.form.is_latched() {
                "is ended by its removeOnConditions".to_owned()
            } else {
                format!("has not matched for {} s", taint.remove_after.as_secs())
            };
            let at = whole_second(at);
            Some(format!("{id} taken back by hand {at}: back once policy {name} {until}"))
        }
        Want::HeldByGate(at) => Some(format!(
            "{id} is not added at {}: feature gate Failover is off (policy {name}: {})",
            whole_second_up(*at),
            conditions_text(policy.form, cluster)
        )),
        Want::FrozenWithout(at) => Some(format!(
            "{id} is not added at {}: policy {name} {} ({})",
            whole_second_up(*at),
            frozen(policy.form),
            conditions_text(policy.form, cluster)
        )),
        _ => None,
    }
}

/// Why a policy neither adds nor removes.
pub(super) fn frozen(form: &Form<'_>) -> &'static str {
    if form.invalid.is_some() {
        "is invalid and does nothing"
    } else {
        "is suspended and does nothing"
    }
}

/// When what a person took back may come again.
pub(super) fn dismissal_over(form: &Form<'_>, taint: &PolicyTaint) -> String {
    if form.is_latched() {
        "is ended by its removeOnConditions, or edited".to_owned()
    } else {
        format!("has not matched for {} s, or is edited", taint.remove_after.as_secs())
    }
}

/// When what was taken back by hand is forgotten.
pub(super) fn dismissal_ends(policy: &Judged<'_>) -> impl Iterator<Item = Timestamp> {
    let window = &policy.window;
    let over = window.dismissed.keys().filter(|_| !window.matching);
    over.filter_map(|id| Some(after(window.since, policy.form.taint(id)?.remove_after)))
}
