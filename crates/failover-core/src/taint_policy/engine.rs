//! All policies and one Cluster: what to change on it, and when to look again.

use std::collections::BTreeMap;

use api_types::cluster::{Cluster, effect};
use api_types::names::annotation;
use api_types::taint_policy::ClusterTaintPolicy;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Serialize;

use super::flaps::{self, FlapScore};
use super::form::{Form, PolicyTaint, precedence};
use super::ownership::{Owned, find, previous_windows, targets};
use super::records::{DismissedAt, ManagedTaint, ManagedTaints, RecordError, TaintId, Window, Windows};
use super::report::{Notice, Report, conditions_text, render};
use super::wanted::{Standing, Want, want};
use super::windows::{self, Memory, Source, Stands};

/// The feature gate `Failover`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailoverGate {
    /// A cluster's failure may move workloads.
    Enabled,
    /// It may not: NoExecute and PreferNoExecute taints are not added. Removal goes on.
    Disabled,
}

/// Everything that a decision depends on.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// All policies, in any order.
    pub policies: &'a [&'a ClusterTaintPolicy],
    /// The Cluster, as stored.
    pub cluster: &'a Cluster,
    /// What this process remembers of it; absent at its first look.
    pub memory: Option<&'a Memory>,
    /// The gate.
    pub gate: FailoverGate,
    /// The time by which windows run. Must not jump while the process runs.
    pub now: Timestamp,
    /// The time to write into `timeAdded`: the wall clock, which others will compare with theirs.
    pub wall: Timestamp,
}

/// A change of `spec.taints`.
#[derive(Clone, Debug, PartialEq)]
pub enum TaintChange {
    /// A new taint.
    Add {
        /// The taint, with `timeAdded`.
        taint: Taint,
        /// The policy and the conditions behind it.
        why: String,
    },
    /// A taint of ours goes.
    Remove {
        /// Which.
        id: TaintId,
        /// The policy and the conditions behind it.
        why: String,
    },
    /// A taint of ours gets the value of an older policy. Its `timeAdded` stays.
    SetValue {
        /// Which.
        id: TaintId,
        /// The value.
        value: String,
        /// The policy behind it.
        why: String,
    },
    /// A NoExecute or PreferNoExecute taint, anybody's, without `timeAdded` gets one.
    Stamp {
        /// Which.
        id: TaintId,
        /// The time.
        time_added: Time,
    },
}

/// A change of one of our annotations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotationChange {
    /// Its name.
    pub name: &'static str,
    /// The new text; absent removes it.
    pub value: Option<String>,
}

/// What follows from an [`Input`].
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// To be given to the next look, whether or not the changes could be written.
    pub memory: Memory,
    /// Changes of taints; to be written together with the annotations, or not at all.
    pub taints: Vec<TaintChange>,
    /// Changes of annotations.
    pub annotations: Vec<AnnotationChange>,
    /// When something changes by time alone.
    pub next_look: Option<Timestamp>,
    /// Reports by policy name; only of policies that target the Cluster.
    pub reports: BTreeMap<String, Report>,
    /// What to tell once the changes are written.
    pub notices: Vec<Notice>,
}

impl Evaluation {
    /// Whether there is something to write.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        !self.taints.is_empty() || !self.annotations.is_empty()
    }
}

/// One policy after its window and wants are known.
struct Judged<'a> {
    form: &'a Form<'a>,
    window: Window,
    wants: Vec<(&'a PolicyTaint, Want)>,
}

/// Judges one Cluster.
#[must_use]
pub fn evaluate(input: Input<'_>) -> Evaluation {
    let Input { cluster, now, .. } = input;
    let uid = cluster.metadata.uid.as_deref().unwrap_or_default();
    let annotations = cluster.metadata.annotations.as_ref();
    let mut notices = Vec::new();
    let mut unreadable = |result: Result<(), RecordError>, consequence: &str| {
        if let Err(error) = result {
            let text = format!("{error}; {consequence}");
            notices.push(Notice {
                reason: "TaintRecordUnreadable",
                is_warning: true,
                text,
            });
        }
    };
    let stored_managed = ManagedTaints::read(annotations);
    let stored_windows = Windows::read(annotations);
    let stored_flaps = FlapScore::read(annotations);
    unreadable(
        stored_managed.as_ref().map(|_| ()).map_err(Clone::clone),
        "taints that stand now are taken for somebody else's and stay until removed by hand",
    );
    unreadable(
        stored_windows.as_ref().map(|_| ()).map_err(Clone::clone),
        "windows that this process has not seen start anew",
    );
    unreadable(
        stored_flaps.as_ref().map(|_| ()).map_err(Clone::clone),
        "the flap score starts anew",
    );

    let mut policies: Vec<&ClusterTaintPolicy> = input.policies.to_vec();
    policies.sort_by(|a, b| precedence(a, b));
    let forms: Vec<Form<'_>> = policies.iter().map(|policy| Form::read(policy)).collect();

    let memory = input.memory.filter(|memory| memory.cluster == uid);
    let for_this_cluster = stored_windows
        .as_ref()
        .ok()
        .filter(|stored| stored.cluster == uid)
        .map(|s| s.windows.clone())
        .unwrap_or_default();
    let (previous, source) = previous_windows(memory.map(|m| &m.windows), for_this_cluster);

    let managed = stored_managed.as_ref().cloned().unwrap_or_default();
    let mut owned = Owned::compare(&managed, cluster);
    owned.settle(&forms, cluster, &previous);

    let mut judged = Vec::new();
    let mut transitions = memory.map(|m| m.transitions.clone()).unwrap_or_default();
    transitions.retain(|policy, _| forms.iter().any(|form| form.uid == policy));
    for form in &forms {
        let keeps_a_taint = form.is_frozen() && owned.stands_for(form.uid) == Stands::Something;
        if !(targets(form, cluster) || keeps_a_taint) {
            continue;
        }
        let before = previous.get(form.uid);
        let window = judge_window(form, input, before, source, &owned, &mut notices);
        if source == Source::Observed && before.is_some_and(|w| w.matching) != window.matching {
            *transitions.entry(form.uid.to_owned()).or_default() += 1;
        }
        let wants = form
            .taints
            .iter()
            .map(|taint| {
                let standing = if owned.stands(&taint.id, form.uid) {
                    Standing::Yes
                } else {
                    Standing::No
                };
                (taint, want(form, taint, &window, standing, input.gate, now))
            })
            .collect();
        judged.push(Judged { form, window, wants });
    }

    let resolved = resolve(&judged, &owned, input);
    let mut taints = resolved.changes;
    taints.extend(stamps(cluster, &owned, &taints, input.wall));

    let mut next_look = None;
    let mut reports = BTreeMap::new();
    let mut kept = BTreeMap::new();
    let mut remembered = BTreeMap::new();
    for Judged { form, window, wants } in judged {
        let dismissals_end = window.dismissed.keys().filter_map(|id| {
            let taint = form.taint(id).filter(|_| !window.matching)?;
            Some(windows::after(window.since, taint.remove_after))
        });
        let times = wants
            .iter()
            .filter_map(|(_, want)| want.changes_at(now))
            .chain(dismissals_end);
        next_look = next_look.into_iter().chain(times).min();
        let foreign: Vec<String> = wants
            .iter()
            .filter(|(taint, want)| want.is_wanted() && resolved.foreign.contains(&taint.id))
            .map(|(taint, _)| taint.id.to_string())
            .collect();
        let conflict = resolved.conflicts.get(form.uid).cloned();
        reports.insert(
            form.name.to_owned(),
            render(form, cluster, &window, &wants, &foreign, conflict),
        );
        let matters = window.matching || !window.dismissed.is_empty();
        if matters || wants.iter().any(|(_, want)| want.is_wanted()) {
            kept.insert(form.uid.to_owned(), window.clone());
        }
        // Until its last taint is seen to be gone: the removal may have to be tried again.
        if matters || owned.stands_for(form.uid) == Stands::Something {
            remembered.insert(form.uid.to_owned(), window);
        }
    }

    let flap = flaps::step(
        cluster,
        &stored_flaps.clone().unwrap_or_default(),
        memory.and_then(|m| m.ready),
        now,
    );
    let mut annotations = Vec::new();
    let managed_now = ManagedTaints {
        cluster: uid.to_owned(),
        taints: resolved.managed,
    };
    let managed_is_empty = managed_now.taints.is_empty();
    annotations.extend(change(
        annotation::MANAGED_TAINTS,
        cluster,
        &stored_managed,
        &managed_now,
        managed_is_empty,
    ));
    let windows_now = Windows {
        cluster: uid.to_owned(),
        windows: kept,
    };
    annotations.extend(change(
        annotation::TAINT_WINDOWS,
        cluster,
        &stored_windows,
        &windows_now,
        windows_now.windows.is_empty(),
    ));
    match (flap.crossed, &stored_flaps) {
        (Some(score), stored) => annotations.extend(change(annotation::FLAP_SCORE, cluster, stored, &score, false)),
        (None, Err(_)) => annotations.push(AnnotationChange {
            name: annotation::FLAP_SCORE,
            value: None,
        }),
        (None, Ok(_)) => {}
    }

    let memory = Memory {
        cluster: uid.to_owned(),
        windows: remembered,
        transitions,
        ready: flap.ready,
    };
    Evaluation {
        memory,
        taints,
        annotations,
        next_look,
        reports,
        notices,
    }
}

/// The policy's window after this look, with what a person took back meanwhile.
fn judge_window(
    form: &Form<'_>,
    input: Input<'_>,
    before: Option<&Window>,
    source: Source,
    owned: &Owned,
    notices: &mut Vec<Notice>,
) -> Window {
    let now = input.now;
    let mut window = windows::step(form, input.cluster, before, source, owned.stands_for(form.uid), now);
    if window.matching {
        for id in owned.taken_from(form.uid).filter(|id| form.taint(id).is_some()) {
            let dismissed = DismissedAt {
                at: windows::round_up_to_millis(now),
                generation: form.generation,
            };
            window.dismissed.entry(id.clone()).or_insert(dismissed);
            notices.push(Notice {
                reason: "TaintDismissed",
                is_warning: false,
                text: format!(
                    "taint {id} of policy {} was taken back by hand while {}: it is not added again until the policy \
                     has stopped matching or is edited",
                    form.name,
                    conditions_text(form, input.cluster)
                ),
            });
        }
    }
    window
}

#[derive(Default)]
struct Resolved {
    changes: Vec<TaintChange>,
    managed: BTreeMap<TaintId, ManagedTaint>,
    /// Wanted taints that stand and are not ours.
    foreign: Vec<TaintId>,
    /// By policy UID: who wants something else.
    conflicts: BTreeMap<String, String>,
}

/// Puts the wants of all policies together, taint by taint. Wanted by any is wanted; of different values the older
/// policy's wins, and all of them are told.
fn resolve(judged: &[Judged<'_>], owned: &Owned, input: Input<'_>) -> Resolved {
    let mut out = Resolved::default();
    let mut by_taint: BTreeMap<&TaintId, Vec<(&Judged<'_>, &PolicyTaint, Want)>> = BTreeMap::new();
    for policy in judged {
        for (taint, want) in &policy.wants {
            by_taint.entry(&taint.id).or_default().push((policy, taint, *want));
        }
    }
    for (id, all) in by_taint {
        let wanting: Vec<_> = all.iter().filter(|(_, _, want)| want.is_wanted()).collect();
        let ours = owned.entry(id);
        let Some((first, taint, _)) = wanting.first() else {
            if owned.standing.contains_key(id) {
                let why = all
                    .iter()
                    .filter(|(_, _, want)| *want == Want::Remove)
                    .map(|(policy, ..)| because(policy, input));
                out.changes.push(TaintChange::Remove {
                    id: id.clone(),
                    why: why.collect::<Vec<_>>().join("; "),
                });
            }
            continue;
        };
        if wanting.iter().any(|(_, other, _)| other.value != taint.value) {
            let values: Vec<String> = wanting
                .iter()
                .map(|(policy, t, _)| format!("{} wants {:?}", policy.form.name, t.value))
                .collect();
            let text = format!(
                "{id}: {}; {} is the oldest and wins",
                values.join(", "),
                first.form.name
            );
            for (policy, ..) in &wanting {
                out.conflicts.insert(policy.form.uid.to_owned(), text.clone());
            }
        }
        let policies = wanting
            .iter()
            .map(|(p, ..)| (p.form.name.to_owned(), p.form.uid.to_owned()))
            .collect();
        let time_added = match ours {
            Some(entry) => {
                if entry.value != taint.value {
                    let why = format!("policy {} is the oldest that wants it", first.form.name);
                    out.changes.push(TaintChange::SetValue {
                        id: id.clone(),
                        value: taint.value.clone(),
                        why,
                    });
                }
                entry.time_added.clone()
            }
            None if find(input.cluster, id).is_some() => {
                out.foreign.push(id.clone());
                continue;
            }
            None => {
                let added = Time(input.wall);
                out.changes.push(TaintChange::Add {
                    taint: Taint {
                        key: id.key.clone(),
                        value: Some(taint.value.clone()).filter(|value| !value.is_empty()),
                        effect: id.effect.clone(),
                        time_added: Some(added.clone()),
                    },
                    why: wanting
                        .iter()
                        .map(|(policy, ..)| because(policy, input))
                        .collect::<Vec<_>>()
                        .join("; "),
                });
                Some(added)
            }
        };
        out.managed.insert(
            id.clone(),
            ManagedTaint {
                policies,
                value: taint.value.clone(),
                time_added,
            },
        );
    }
    for (id, (_, why)) in &owned.orphans {
        if !out.managed.contains_key(id) {
            out.changes.push(TaintChange::Remove {
                id: id.clone(),
                why: why.clone(),
            });
        }
    }
    out
}

/// `policy not-ready: Ready=False for 300 s`
fn because(policy: &Judged<'_>, input: Input<'_>) -> String {
    let seconds = input.now.duration_since(policy.window.since).as_secs();
    format!(
        "policy {}: {} for {seconds} s",
        policy.form.name,
        conditions_text(policy.form, input.cluster)
    )
}

/// Taints that make workloads leave are due by `timeAdded`: one that has none gets it. Ours gets back what we wrote.
fn stamps(cluster: &Cluster, owned: &Owned, changes: &[TaintChange], wall: Timestamp) -> Vec<TaintChange> {
    let goes = |id: &TaintId| {
        changes
            .iter()
            .any(|c| matches!(c, TaintChange::Remove { id: gone, .. } if gone == id))
    };
    cluster
        .spec
        .taints
        .iter()
        .filter(|t| t.time_added.is_none() && (t.effect == effect::NO_EXECUTE || t.effect == effect::PREFER_NO_EXECUTE))
        .map(TaintId::of)
        .filter(|id| !goes(id))
        .map(|id| {
            let written = owned.entry(&id).and_then(|entry| entry.time_added.clone());
            TaintChange::Stamp {
                id,
                time_added: written.unwrap_or(Time(wall)),
            }
        })
        .collect()
}

/// The change of an annotation, if its meaning changes. What nobody can read is replaced.
fn change<T: Serialize + PartialEq>(
    name: &'static str,
    cluster: &Cluster,
    stored: &Result<T, RecordError>,
    wanted: &T,
    wanted_is_empty: bool,
) -> Option<AnnotationChange> {
    let exists = cluster
        .metadata
        .annotations
        .as_ref()
        .is_some_and(|all| all.contains_key(name));
    if wanted_is_empty {
        return exists.then_some(AnnotationChange { name, value: None });
    }
    if exists && stored.as_ref().is_ok_and(|stored| stored == wanted) {
        return None;
    }
    // Maps with text keys and plain values always serialise.
    serde_json::to_string(wanted).ok().map(|text| AnnotationChange {
        name,
        value: Some(text),
    })
}
