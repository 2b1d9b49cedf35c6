//! The wants of all policies put together, taint by taint. Wanted by any is wanted; of different values the older
//! policy's wins, and all of them are told.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::form::{Form, PolicyTaint};
use super::input::Input;
use super::outcome::TaintChange;
use super::ownership::{Owned, find, places};
use super::records::{ManagedTaint, TaintId, Window};
use super::report::conditions_text;
use super::times::whole_second;
use super::wanted::Want;

/// One policy after its window and wants are known.
pub(super) struct Judged<'a> {
    pub form: &'a Form<'a>,
    pub window: Window,
    /// How far behind the window is judged.
    pub lag: SignedDuration,
    pub wants: Vec<(&'a PolicyTaint, Want)>,
}

/// What one policy has to say about a taint.
pub(super) type Say<'a> = (&'a Judged<'a>, &'a PolicyTaint, Want);

#[derive(Default)]
pub(super) struct Resolved {
    pub changes: Vec<TaintChange>,
    pub managed: BTreeMap<TaintId, ManagedTaint>,
    /// Wanted taints that stand and are not ours.
    pub foreign: Vec<TaintId>,
    /// By policy UID: who wants something else.
    pub conflicts: BTreeMap<String, String>,
}

/// What all policies want, by taint; those with precedence first.
pub(super) fn by_taint<'a>(judged: &'a [Judged<'a>]) -> BTreeMap<&'a TaintId, Vec<Say<'a>>> {
    let mut by_taint: BTreeMap<&TaintId, Vec<Say<'_>>> = BTreeMap::new();
    for policy in judged {
        for (taint, want) in policy.wants.iter().filter(|(_, want)| *want != Want::Nothing) {
            by_taint.entry(&taint.id).or_default().push((policy, taint, *want));
        }
    }
    by_taint
}

pub(super) fn resolve(by_taint: &BTreeMap<&TaintId, Vec<Say<'_>>>, owned: &Owned, input: Input<'_>) -> Resolved {
    let mut out = Resolved::default();
    for (id, all) in by_taint {
        let wanting: Vec<_> = all.iter().filter(|(_, _, want)| want.is_wanted()).collect();
        match wanting[..] {
            [] => {
                if let Some(entry) = owned.standing.get(*id) {
                    let leaving = all.iter().filter(|(_, _, want)| *want == Want::Remove);
                    let why: Vec<String> = leaving.map(|(policy, ..)| because(policy, input)).collect();
                    remove(&mut out, id, entry, &why.join("; "), input);
                }
            }
            _ => have(&mut out, id, &wanting, owned, input),
        }
    }
    for (id, (entry, why)) in &owned.orphans {
        if !out.managed.contains_key(id) {
            remove(&mut out, id, entry, why, input);
        }
    }
    out
}

fn remove(out: &mut Resolved, id: &TaintId, entry: &ManagedTaint, why: &str, input: Input<'_>) {
    out.changes
        .extend(places(input.cluster, id, entry).map(|index| TaintChange::Remove {
            id: id.clone(),
            index,
            why: why.to_owned(),
        }));
}

/// The taint is to stand for these policies, of which the first decides.
fn have(out: &mut Resolved, id: &TaintId, wanting: &[&Say<'_>], owned: &Owned, input: Input<'_>) {
    let (first, taint, _) = wanting[0];
    note_conflict(out, id, wanting);
    let time_added = match owned.entry(id) {
        Some(entry) => {
            if entry.value != taint.value {
                let why = format!("policy {} is the oldest that wants it", first.form.name);
                let changed = places(input.cluster, id, entry).map(|index| TaintChange::SetValue {
                    id: id.clone(),
                    index,
                    value: taint.value.clone(),
                    why: why.clone(),
                });
                out.changes.extend(changed);
            }
            entry.time_added.clone()
        }
        None if find(input.cluster, id).is_some() => {
            out.foreign.push(id.clone());
            return;
        }
        None => {
            // Whole seconds, as it is stored: a fraction would look like a change after the next read.
            let added = Time(whole_second(input.wall));
            let why: Vec<String> = wanting.iter().map(|(policy, ..)| because(policy, input)).collect();
            out.changes.push(TaintChange::Add {
                taint: Taint {
                    key: id.key.clone(),
                    value: Some(taint.value.clone()).filter(|value| !value.is_empty()),
                    effect: id.effect.clone(),
                    time_added: Some(added.clone()),
                },
                why: why.join("; "),
            });
            Some(added)
        }
    };
    let policies = wanting
        .iter()
        .map(|(policy, ..)| (policy.form.name.to_owned(), policy.form.uid.to_owned()));
    let entry = ManagedTaint {
        policies: policies.collect(),
        value: taint.value.clone(),
        time_added,
    };
    out.managed.insert(id.clone(), entry);
}

fn note_conflict(out: &mut Resolved, id: &TaintId, wanting: &[&Say<'_>]) {
    let (first, taint, _) = wanting[0];
    if wanting.iter().all(|(_, other, _)| other.value == taint.value) {
        return;
    }
    let values: Vec<String> = wanting
        .iter()
        .map(|(policy, taint, _)| format!("{} wants {:?}", policy.form.name, taint.value))
        .collect();
    let text = format!(
        "{id}: {}; {} is the oldest and wins",
        values.join(", "),
        first.form.name
    );
    for (policy, ..) in wanting {
        let told = out.conflicts.entry(policy.form.uid.to_owned()).or_default();
        if !told.is_empty() {
            told.push_str("; ");
        }
        told.push_str(&text);
    }
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
