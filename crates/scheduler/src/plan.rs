//! What follows for one binding: the result to write, the status to say, the events.

use std::collections::BTreeSet;

use api_types::conditions::{self, Say};
use api_types::names::annotation;
use api_types::work::{Binding, ResourceBindingStatus, TargetCluster, condition};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use scheduler_filters::last_copy::{self, KEPT, keeps_a_copy};
use scheduler_filters::schedule::{StartFrom, schedule_in_steps};
use scheduler_filters::steps::Step;
use scheduler_filters::trigger::{Trigger, as_map, trigger};
use scheduler_filters::wake::wants_every_cluster;
use scheduler_filters::{Decision, Failure, Fleet, NotOurs, Plugins, Rules, Scheduling, group, ours};
use serde_json::{Value, json};

/// Message of the condition after a success, stock's. While a copy is kept beside what was chosen, more follows.
pub const SUCCESS: &str = "Binding has been scheduled successfully.";
/// Reason of the condition after a success, stock's.
const PLACED: &str = "Success";

/// What a binding is judged by.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The binding as it was read.
    pub binding: &'a Binding,
    /// All clusters.
    pub fleet: &'a Fleet,
    /// Clusters of the result that do not exist any more, confirmed by a live read.
    pub gone: &'a BTreeSet<String>,
    /// The plugins that are on.
    pub plugins: &'a Plugins,
    /// Settings.
    pub rules: Rules,
    /// The name of this scheduler.
    pub scheduler_name: &'a str,
    /// The time of the decision.
    pub now: Timestamp,
}

/// What is to be done about one binding.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Why it was placed; absent when the present placement stands.
    pub trigger: Option<Trigger>,
    /// The result to write.
    pub spec: Option<SpecChange>,
    /// What the status is to say.
    pub saying: Saying,
    /// Events on the binding and its template.
    pub events: Vec<Said>,
    /// When to look again although nothing changed.
    pub look_again_at: Option<Timestamp>,
}

/// A new scheduling result.
#[derive(Clone, Debug, PartialEq)]
pub struct SpecChange {
    /// `spec.clusters`.
    pub clusters: Vec<TargetCluster>,
    /// The placement that was applied, as the annotation keeps it; absent leaves the annotation as it is.
    pub applied_placement: Option<String>,
    /// What the annotation about copies that are kept is to say.
    pub kept_copies: KeptCopies,
}

/// The annotation about copies that are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptCopies {
    /// It stays as it is: what it says of copies that are not in the result counts for nothing.
    AsNoted,
    /// It says this; absent for none.
    Are(Option<String>),
}

/// What the status is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saying {
    /// `True` or `False`.
    pub scheduled: &'static str,
    /// Reason of the condition.
    pub reason: String,
    /// Message of the condition.
    pub message: String,
    /// The affinity group in use; absent leaves it as it is.
    pub affinity_name: Option<String>,
    /// Whether the last placement is now.
    pub placed: Placed,
}

impl Saying {
    /// Whether a copy is kept beside what was chosen.
    #[must_use]
    pub fn keeps_a_copy(&self) -> bool {
        self.scheduled == "True" && self.reason == KEPT
    }
}

/// Whether the last placement is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// The result is new, or a person asked for it.
    Now,
    /// It stands.
    Before,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Placed; the result in stock's words.
    Succeeded(String),
    /// The same for what was evicted: for the log. People are told by the Events of the move (who left, why, and where
    /// another copy works), of which each is a write.
    Moved(String),
    /// Not placed; why.
    Failed(String),
    /// Clusters left the result because they do not exist any more.
    ClustersGone(String),
}

/// Decides.
///
/// # Errors
/// Why the binding is none of this scheduler's business.
pub fn plan(view: &View<'_>) -> Result<Plan, NotOurs> {
    plan_in_steps(view, &mut |_| {})
}

/// The same, and calls `ended` after each step of the choice of clusters.
///
/// # Errors
/// As [`plan`].
pub fn plan_in_steps(view: &View<'_>, ended: &mut dyn FnMut(Step)) -> Result<Plan, NotOurs> {
    let placement = ours(view.binding, view.scheduler_name)?;
    let mut binding = view.binding.clone();
    binding.spec.clusters.retain(|target| !view.gone.contains(&target.name));
    let group = group::of_result(&binding, placement, view.fleet);
    if group.is_some() {
        let status = binding.status.get_or_insert_default();
        status.scheduler_observed_affinity_name.clone_from(&group);
    }
    let trigger = trigger(&binding, placement, view.fleet, view.rules.deletion);
    let mut plan = match trigger {
        None => standing(&binding),
        Some(trigger) => {
            let start = if trigger == Trigger::Asked {
                StartFrom::FirstGroup
            } else {
                StartFrom::GroupInUse
            };
            let scheduling = Scheduling {
                binding: &binding,
                fleet: view.fleet,
                plugins: view.plugins,
                rules: view.rules,
                start,
                now: view.now,
            };
            match schedule_in_steps(&scheduling, ended) {
                Ok(decision) => placed(&binding, decision, trigger),
                Err(failure) => not_placed(&binding, &failure),
            }
        }
    };
    plan.trigger = trigger;
    plan.saying.affinity_name = plan.saying.affinity_name.or(group);
    if !view.gone.is_empty() {
        let kept = SpecChange {
            clusters: binding.spec.clusters,
            applied_placement: None,
            kept_copies: KeptCopies::AsNoted,
        };
        plan.spec = plan.spec.or(Some(kept));
        let names: Vec<&str> = view.gone.iter().map(String::as_str).collect();
        plan.events.insert(0, Said::ClustersGone(names.join(", ")));
    }
    Ok(plan)
}

fn standing(binding: &Binding) -> Plan {
    // A copy that was kept and that somebody else took away is not spoken of any more.
    let says = binding
        .condition(condition::SCHEDULED)
        .filter(|_| !keeps_a_copy(binding));
    Plan {
        trigger: None,
        spec: None,
        saying: Saying {
            scheduled: "True",
            reason: says.map_or(PLACED, |c| c.reason.as_str()).to_owned(),
            message: says.map_or(SUCCESS, |c| c.message.as_str()).to_owned(),
            affinity_name: None,
            placed: Placed::Before,
        },
        events: Vec::new(),
        look_again_at: None,
    }
}

/// Whether a copy has begun to leave since the last placement. Times are whole seconds: of a second that has both the answer
/// is no, and the placement is told.
fn answers_an_eviction(binding: &Binding) -> bool {
    let status = binding.status.as_ref();
    let Some(last) = status.and_then(|status| status.last_scheduled_time.as_ref()) else {
        return false;
    };
    let mut tasks = binding.spec.graceful_eviction_tasks.iter();
    tasks.any(|task| task.creation_timestamp.as_ref().is_some_and(|began| began.0 > last.0))
}

fn placed(binding: &Binding, decision: Decision, trigger: Trigger) -> Plan {
    // What wants every cluster comes back to one that a block keeps it from, when that ends.
    let everywhere = binding
        .spec
        .placement
        .as_ref()
        .is_some_and(|p| wants_every_cluster(binding, p));
    let look_again_at = decision.refusals.ends_at().filter(|_| everywhere);
    let counts_at = decision.kept.as_ref().and_then(last_copy::Kept::look_again_at);
    let look_again_at = look_again_at.into_iter().chain(counts_at).min();
    let clusters = with_components(decision.clusters, &binding.spec.clusters);
    let moved = as_map(&clusters) != as_map(&binding.spec.clusters);
    let applied = binding
        .spec
        .placement
        .as_ref()
        .and_then(|placement| serde_json::to_string(placement).ok());
    let stored = binding
        .metadata
        .annotations
        .as_ref()
        .and_then(|all| all.get(annotation::APPLIED_PLACEMENT));
    let result = in_words(&clusters);
    let note = last_copy::note(decision.kept.as_ref());
    let is_noted = last_copy::stored_note(binding) == note.as_deref();
    let kept = decision.kept.map(|kept| format!(" {kept}"));
    let is_told = kept.is_none() || keeps_a_copy(binding);
    let kept = kept.unwrap_or_default();
    let remark = decision.remark.map(|remark| format!(" {remark}")).unwrap_or_default();
    let spec = (moved
        || !is_noted
        || (trigger == Trigger::PlacementChanged || trigger == Trigger::Asked) && stored != applied.as_ref())
    .then(|| SpecChange {
        clusters: if moved { clusters } else { binding.spec.clusters.clone() },
        applied_placement: applied,
        kept_copies: KeptCopies::Are(note),
    });
    let was_placed = binding
        .condition(condition::SCHEDULED)
        .is_some_and(|c| c.status == "True");
    let news = moved || !was_placed;
    Plan {
        trigger: None,
        spec,
        saying: Saying {
            scheduled: "True",
            reason: if kept.is_empty() { PLACED } else { KEPT }.to_owned(),
            message: format!("{SUCCESS}{kept}{remark}"),
            affinity_name: decision.affinity_name,
            placed: if news || trigger == Trigger::Asked {
                Placed::Now
            } else {
                Placed::Before
            },
        },
        events: if news || !is_told {
            let said = format!("{SUCCESS} Result: {{{result}}}{kept}{remark}");
            if was_placed && kept.is_empty() && answers_an_eviction(binding) {
                vec![Said::Moved(said)]
            } else {
                vec![Said::Succeeded(said)]
            }
        } else {
            Vec::new()
        },
        look_again_at,
    }
}

/// The result stays as it is: nothing that runs is taken away because nothing else was found.
fn not_placed(binding: &Binding, failure: &Failure) -> Plan {
    let message = failure.to_string();
    // How much room there is changes by the minute: that it is too little for this spec is told once.
    let known = binding.condition(condition::SCHEDULED).is_some_and(|c| {
        let of_this_spec = failure.wants_room() && c.observed_generation == binding.metadata.generation;
        c.status == "False" && c.reason == failure.reason() && (c.message == message || of_this_spec)
    });
    Plan {
        trigger: None,
        spec: None,
        saying: Saying {
            scheduled: "False",
            reason: failure.reason().to_owned(),
            message: message.clone(),
            affinity_name: None,
            placed: Placed::Before,
        },
        events: if known { Vec::new() } else { vec![Said::Failed(message)] },
        look_again_at: failure.recheck_at(),
    }
}

/// The parts that stock's scheduler gave to a cluster are kept.
fn with_components(mut clusters: Vec<TargetCluster>, present: &[TargetCluster]) -> Vec<TargetCluster> {
    for target in &mut clusters {
        if let Some(same) = present.iter().find(|p| p.name == target.name) {
            target.components.clone_from(&same.components);
        }
    }
    clusters
}

fn in_words(clusters: &[TargetCluster]) -> String {
    clusters
        .iter()
        .map(|target| format!("{}:{}", target.name, target.replicas))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The patch of `spec.clusters` and the annotations, on exactly the version that was read.
#[must_use]
pub fn spec_patch(read: &Binding, change: &SpecChange) -> Value {
    let mut patch = json!({
        "metadata": { "resourceVersion": read.metadata.resource_version },
        "spec": { "clusters": change.clusters },
    });
    if let Some(placement) = &change.applied_placement {
        patch["metadata"]["annotations"][annotation::APPLIED_PLACEMENT] = json!(placement);
    }
    if let KeptCopies::Are(note) = &change.kept_copies
        && note.as_deref() != last_copy::stored_note(read)
    {
        patch["metadata"]["annotations"][annotation::KEPT_COPIES] = json!(note);
    }
    patch
}

/// The patch of the status of a binding as it is stored now, or nothing when it says so already. The generation looked
/// at is the stored one: graceful eviction trusts a placement only of that. How much room there is where it is too little
/// changes by the minute, and is told anew only with something else.
#[must_use]
pub fn status_patch(stored: &Binding, saying: &Saying, now: Timestamp) -> Option<Value> {
    let before = stored.status.clone().unwrap_or_default();
    let mut after = before.clone();
    let say = Say {
        type_: condition::SCHEDULED,
        status: saying.scheduled,
        reason: &saying.reason,
        message: &saying.message,
    };
    conditions::set(&mut after.conditions, say, stored.metadata.generation, now);
    after.scheduler_observed_generation = stored.metadata.generation;
    if saying.affinity_name.is_some() {
        after.scheduler_observed_affinity_name.clone_from(&saying.affinity_name);
    }
    if saying.placed == Placed::Now {
        after.last_scheduled_time = Some(Time(now));
    }
    if after == before || differs_in_room_alone(&before, &after) {
        return None;
    }
    Some(json!({
        "metadata": { "resourceVersion": stored.metadata.resource_version },
        "status": {
            "conditions": after.conditions,
            "schedulerObservedGeneration": after.scheduler_observed_generation,
            "schedulerObservingAffinityName": after.scheduler_observed_affinity_name,
            "lastScheduledTime": after.last_scheduled_time,
        },
    }))
}

/// Whether all says the same but how much room there is.
fn differs_in_room_alone(before: &ResourceBindingStatus, after: &ResourceBindingStatus) -> bool {
    let is_it = |says: &&Condition| says.type_ == condition::SCHEDULED && says.status == "False";
    let Some(told) = before.conditions.iter().find(is_it) else {
        return false;
    };
    let mut same = after.clone();
    for says in &mut same.conditions {
        if is_it(&&*says) && without_room(&says.message) == without_room(&told.message) {
            says.message.clone_from(&told.message);
        }
    }
    same == *before
}

/// A message without the numbers that say how many replicas there is room for.
fn without_room(message: &str) -> String {
    const ROOM: &str = "Clusters available replicas ";
    let mut parts = message.split(ROOM);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| {
        all + ROOM + part.trim_start_matches(|c: char| c.is_ascii_digit())
    })
}
