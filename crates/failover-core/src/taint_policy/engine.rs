//! All policies and one Cluster: what to change on it, and when to look again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use api_types::taint_policy::ClusterTaintPolicy;
use jiff::{SignedDuration, Timestamp};

use super::flaps;
use super::forecast::{dismissal_ends, forecast};
use super::form::{Form, PolicyTaint, precedence};
pub use super::input::{FailoverGate, Input};
use super::lost_record::Record;
use super::notices::notices_of;
pub use super::outcome::{AnnotationChange, Evaluation, TaintChange};
use super::ownership::{Owned, targets};
use super::persist::{Stored, Wanted};
use super::records::{DismissedAt, ManagedTaints, Window};
use super::report::{Report, render};
use super::resolve::{Judged, Resolved, by_taint, resolve};
use super::stamps::{More, stamps};
use super::times::after;
use super::wall::{self, CLOCK_STEP};
use super::wanted::{Standing, Want, want};
use super::windows::{self, Memory, Previous, Source, Stands};

/// When to go on with what was too much for one write: its own echo may be lost.
const GO_ON_AFTER: Duration = Duration::from_secs(1);

/// Judges one Cluster.
#[must_use]
pub fn evaluate(input: Input<'_>) -> Evaluation {
    let uid = input.cluster.metadata.uid.as_deref().unwrap_or_default();
    let memory = input.memory.filter(|memory| memory.cluster == uid);
    let ahead = wall::ahead(input);
    let taken_over = wall::taken_over(ahead, memory);
    let evaluation = judge(input, memory, taken_over);
    if taken_over != ahead && evaluation.stores_windows() {
        judge(input, memory, ahead)
    } else {
        evaluation
    }
}

/// Judges it by a wall clock that is so much ahead of the process's time.
fn judge(input: Input<'_>, memory: Option<&Memory>, wall_ahead: SignedDuration) -> Evaluation {
    let cluster = input.cluster;
    let uid = cluster.metadata.uid.as_deref().unwrap_or_default();
    let now = after(input.now, wall_ahead);
    let input = Input { now, ..input };
    let stored = Stored::read(cluster);
    let mut notices = Vec::new();

    let mut policies: Vec<&ClusterTaintPolicy> = input.policies.to_vec();
    policies.sort_by(|a, b| precedence(a, b));
    let forms: Vec<Form<'_>> = policies.iter().map(|policy| Form::read(policy)).collect();

    let of_this_cluster = || stored.windows().as_ref().ok().filter(|stored| stored.cluster == uid);
    let stored_windows_before = || of_this_cluster().map(|stored| &stored.windows);
    let (previous, source) = wall::previous_windows(memory, stored_windows_before, wall_ahead);
    let record = Record::of(&stored.managed, memory, cluster);
    let mut owned = Owned::compare(&record.managed, cluster);
    owned.settle(&forms, cluster, &previous);

    let mut transitions = kept_counts(memory, &forms);
    let mut judged = Vec::new();
    for form in &forms {
        let keeps_a_taint = form.is_frozen() && owned.stands_for(form.uid) == Stands::Something;
        if !(targets(form, cluster) || keeps_a_taint) {
            continue;
        }
        let before = previous.get(form.uid);
        let lag = match source {
            Source::Stored => CLOCK_STEP,
            Source::Observed if memory.is_some_and(|memory| memory.restored.contains(form.uid)) => CLOCK_STEP,
            Source::Observed => SignedDuration::ZERO,
        };
        let previous = Previous {
            window: before,
            source,
            lag,
        };
        let (window, lag) = judge_window(form, input, previous, &owned);
        if source == Source::Observed && before.is_some_and(|w| w.matching) != window.matching {
            *transitions.entry(form.uid.to_owned()).or_default() += 1;
        }
        let policy = judge_taints(form, window, lag, &owned, input);
        let stored_window = || of_this_cluster()?.windows.get(form.uid);
        notices.extend(notices_of(form, cluster, &policy.window, stored_window));
        judged.push(policy);
    }

    let by_taint = by_taint(&judged);
    let resolved = resolve(&by_taint, &owned, input);
    let forecast = forecast(&by_taint, &resolved, |id| owned.entry(id).is_some(), cluster);
    let stamped = stamps(cluster, &owned, &resolved.changes, input.wall);
    let flap = flaps::step(
        cluster,
        &stored.flaps.clone().unwrap_or_default(),
        memory.and_then(|memory| memory.ready),
        now,
    );
    let next_look = next_look(&judged, stamped.more, now).map(|at| after(at, -wall_ahead));
    let reports = reports(&judged, &resolved, input);
    let to_store = stored_windows(&judged);
    let Resolved { changes, managed, .. } = resolved;
    let wanted = Wanted {
        managed: ManagedTaints {
            cluster: uid.to_owned(),
            taints: managed,
        },
        windows: to_store,
        flaps: flap.crossed,
        forecast,
    };
    let annotations = stored.changes(cluster, &wanted);
    let complaints = stored.complaints(memory, &record.lost);
    let Wanted { managed, .. } = wanted;
    Evaluation {
        memory: Memory {
            cluster: uid.to_owned(),
            managed: seen_to_stand(&record.managed, &owned, uid),
            in_doubt: memory
                .and_then(|memory| memory.in_doubt.as_ref())
                .filter(|in_doubt| in_doubt.outlasts(cluster))
                .cloned(),
            wall_ahead,
            restored: restored(&judged),
            windows: remembered_windows(judged, &owned),
            transitions,
            ready: flap.ready,
        },
        once_written: managed,
        taints: changes.into_iter().chain(stamped.changes).collect(),
        annotations,
        next_look,
        reports,
        notices: complaints.into_iter().chain(notices).collect(),
    }
}

/// The taints of ours that this version of the Cluster has, as they are recorded.
fn seen_to_stand(recorded: &ManagedTaints, owned: &Owned, uid: &str) -> ManagedTaints {
    let standing = recorded.taints.iter().filter(|(id, _)| owned.entry(id).is_some());
    ManagedTaints {
        cluster: uid.to_owned(),
        taints: standing.map(|(id, entry)| (id.clone(), entry.clone())).collect(),
    }
}

/// The counts of transitions, of policies that exist.
fn kept_counts(memory: Option<&Memory>, forms: &[Form<'_>]) -> BTreeMap<String, u64> {
    let Some(memory) = memory else {
        return BTreeMap::new();
    };
    let counted = forms
        .iter()
        .filter_map(|form| Some((form.uid.to_owned(), *memory.transitions.get(form.uid)?)));
    counted.collect()
}

/// The policy's window after this look, with what a person took back meanwhile.
fn judge_window(form: &Form<'_>, input: Input<'_>, previous: Previous<'_>, owned: &Owned) -> (Window, SignedDuration) {
    let now = input.now;
    let (mut window, lag) = windows::step(form, input.cluster, previous, owned.stands_for(form.uid), now);
    if window.matching {
        for id in owned.taken_from(form.uid).filter(|id| form.taint(id).is_some()) {
            let dismissed = DismissedAt {
                at: windows::round_up_to_millis(now),
                generation: form.generation,
            };
            window.dismissed.entry(id.clone()).or_insert(dismissed);
        }
    }
    (window, lag)
}

fn judge_taints<'a>(
    form: &'a Form<'a>,
    mut window: Window,
    lag: SignedDuration,
    owned: &Owned,
    input: Input<'_>,
) -> Judged<'a> {
    let now = after(input.now, -lag);
    let one = |taint: &'a PolicyTaint| {
        let standing = if owned.stands(&taint.id, form.uid) {
            Standing::Yes
        } else {
            Standing::No
        };
        (taint, want(form, taint, &window, standing, input.gate, now))
    };
    let wants: Vec<(&PolicyTaint, Want)> = form.taints.iter().map(one).collect();
    if !wants.iter().any(|(_, want)| want.waits()) {
        window.started_anew.clear();
        window.first_started = None;
    }
    Judged {
        form,
        window,
        lag,
        wants,
    }
}

/// When something changes by time alone.
fn next_look(judged: &[Judged<'_>], more: More, now: Timestamp) -> Option<Timestamp> {
    let of_policy = |policy: &Judged<'_>| {
        let judged_at = after(now, -policy.lag);
        let of_wants = policy.wants.iter().filter_map(|(_, want)| want.changes_at(judged_at));
        let first = of_wants.chain(dismissal_ends(policy)).min();
        first.map(|at| after(at, policy.lag))
    };
    let go_on = (more == More::Yes).then(|| now.checked_add(GO_ON_AFTER).unwrap_or(Timestamp::MAX));
    judged.iter().filter_map(of_policy).chain(go_on).min()
}

fn reports(judged: &[Judged<'_>], resolved: &Resolved, input: Input<'_>) -> BTreeMap<String, Report> {
    let one = |policy: &Judged<'_>| {
        let Judged {
            form, window, wants, ..
        } = policy;
        let foreign: Vec<String> = wants
            .iter()
            .filter(|(taint, want)| want.is_wanted() && resolved.foreign.contains(&taint.id))
            .map(|(taint, _)| taint.id.to_string())
            .collect();
        let conflict = resolved.conflicts.get(form.uid).cloned();
        let report = render(form, input, window, wants, foreign, conflict);
        (form.name.to_owned(), report)
    };
    judged.iter().map(one).collect()
}

/// Whether somebody will ask since when.
fn matters(window: &Window) -> bool {
    window.matching || !window.dismissed.is_empty()
}

/// The windows that the Cluster is to record, by policy UID.
fn stored_windows<'a>(judged: &'a [Judged<'_>]) -> BTreeMap<&'a str, &'a Window> {
    let kept = judged
        .iter()
        .filter(|policy| matters(&policy.window) || policy.wants.iter().any(|(_, want)| want.is_wanted()));
    kept.map(|policy| (policy.form.uid, &policy.window)).collect()
}

/// The policies whose windows an earlier process stored.
fn restored(judged: &[Judged<'_>]) -> BTreeSet<String> {
    let restored = judged.iter().filter(|policy| !policy.lag.is_zero());
    restored.map(|policy| policy.form.uid.to_owned()).collect()
}

/// The windows to remember: until the last taint is seen to be gone, for the removal may have to be tried again.
fn remembered_windows(judged: Vec<Judged<'_>>, owned: &Owned) -> BTreeMap<String, Window> {
    let kept = judged
        .into_iter()
        .filter(|policy| matters(&policy.window) || owned.stands_for(policy.form.uid) == Stands::Something);
    kept.map(|policy| (policy.form.uid.to_owned(), policy.window)).collect()
}
