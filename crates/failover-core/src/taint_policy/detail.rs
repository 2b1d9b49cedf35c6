//! One Cluster under its policies in full, condition by condition and taint by taint: what [`evaluate`] sums up in a
//! line. For people who ask; the engine itself does without.
//!
//! Everything here is worked out by the functions that the engine uses, from the same input and its evaluation.

use api_types::cluster::Cluster;
use api_types::taint_policy::{ClusterTaintPolicy, MatchCondition};
use jiff::{SignedDuration, Timestamp};

use super::conditions::holds;
use super::engine::{Evaluation, Input};
use super::form::{Form, PolicyTaint, Rule, precedence};
use super::lost_record::Record;
use super::ownership::{Owned, find};
use super::records::{ManagedTaints, TaintId, Window, Windows};
use super::wall::{CLOCK_STEP, previous_windows};
use super::wanted::{Standing, Want, want};
use super::windows::after;

/// One policy on one Cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// Name of the policy.
    pub policy: String,
    /// Its conditions, in their order; in stock's form those that add, then those that remove.
    pub conditions: Vec<ConditionDetail>,
    /// Its taints, in their order.
    pub taints: Vec<TaintDetail>,
    /// Whether the window that the Cluster records says the same as this look. If not, the controller has not seen yet
    /// what is seen here, and times that count from now are no promise.
    pub is_recorded: bool,
}

/// What a condition of a policy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It must hold for the taints to stand.
    Match,
    /// Stock's form: the taints stand from when it holds.
    Add,
    /// Stock's form: until it holds.
    Remove,
}

/// One condition of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionDetail {
    /// What it is for.
    pub role: Role,
    /// The condition as the policy has it.
    pub wanted: MatchCondition,
    /// The status of this type on the Cluster, and since when by its writer's clock; absent: there is none.
    pub found: Option<(String, Timestamp)>,
    /// Whether it holds.
    pub holds: bool,
}

/// One taint of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaintDetail {
    /// Which.
    pub id: TaintId,
    /// Its value; empty: none.
    pub value: String,
    /// How long the policy must match before it is added.
    pub add_after: SignedDuration,
    /// How long it must not match before it is removed.
    pub remove_after: SignedDuration,
    /// Where it stands.
    pub state: TaintState,
}

/// Where a taint of a policy stands on a Cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaintState {
    /// It is not there, and the policy does not want it.
    Absent,
    /// It is added at this time if the policy still matches then.
    AddedAt(Timestamp),
    /// Its window ended at this time: the next look of the controller adds it.
    Due(Timestamp),
    /// It stands for this policy.
    Stands,
    /// It stands and is removed at this time if the policy still does not match then.
    RemovedAt(Timestamp),
    /// It stands, and its removal window ended at this time: the next look of the controller takes it away, unless
    /// another policy wants it.
    Leaving(Timestamp),
    /// A taint of this key and effect stands that is not ours.
    Foreign,
    /// The policy would add it, but a person took it back.
    Dismissed,
    /// The policy would add it, but the feature gate Failover is off.
    HeldByGate,
    /// The policy does nothing, being suspended or invalid; without that the taint would stand from this time on.
    WouldStand(Timestamp),
    /// The policy does nothing, and the taint that stands for it stays.
    Kept,
}

/// The policies that speak of the Cluster, the one that wins conflicts first. `evaluation` is what
/// [`evaluate`](super::evaluate) made of the same input.
#[must_use]
pub fn details(input: Input<'_>, evaluation: &Evaluation) -> Vec<Detail> {
    let cluster = input.cluster;
    let input = Input {
        now: after(input.now, evaluation.memory.wall_ahead),
        ..input
    };
    let annotations = cluster.metadata.annotations.as_ref();
    let uid = cluster.metadata.uid.as_deref().unwrap_or_default();
    let mut policies: Vec<&ClusterTaintPolicy> = input.policies.to_vec();
    policies.sort_by(|a, b| precedence(a, b));
    let forms: Vec<Form<'_>> = policies.iter().map(|policy| Form::read(policy)).collect();

    let stored = Windows::read(annotations)
        .ok()
        .filter(|stored| stored.cluster == uid)
        .map(|stored| stored.windows)
        .unwrap_or_default();
    let memory = input.memory.filter(|memory| memory.cluster == uid);
    let (previous, _) = previous_windows(memory, || Some(&stored), evaluation.memory.wall_ahead);
    let managed = ManagedTaints::read(annotations);
    let mut owned = Owned::compare(&Record::of(&managed, memory, cluster).managed, cluster);
    owned.settle(&forms, cluster, &previous);

    let spoken_of = forms.iter().filter(|form| evaluation.reports.contains_key(form.name));
    spoken_of
        .map(|form| {
            let window = evaluation.memory.windows.get(form.uid);
            let lag = match evaluation.memory.restored.contains(form.uid) {
                true => CLOCK_STEP,
                false => SignedDuration::ZERO,
            };
            let judged = Input {
                now: after(input.now, -lag),
                ..input
            };
            let recorded = stored.get(form.uid);
            Detail {
                policy: form.name.to_owned(),
                conditions: conditions(form, cluster),
                taints: form
                    .taints
                    .iter()
                    .map(|taint| taint_detail(form, taint, window, &owned, judged))
                    .collect(),
                is_recorded: match (window, recorded) {
                    (None, None) => true,
                    (None, Some(recorded)) => !recorded.matching,
                    // A window that is not matching is only recorded while something depends on it.
                    (Some(window), None) => !window.matching,
                    (Some(window), Some(recorded)) => {
                        window.matching == recorded.matching && window.since == recorded.since
                    }
                },
            }
        })
        .collect()
}

fn conditions(form: &Form<'_>, cluster: &Cluster) -> Vec<ConditionDetail> {
    let detail = |role: Role| {
        move |wanted: &MatchCondition| ConditionDetail {
            role,
            wanted: wanted.clone(),
            found: cluster
                .condition(&wanted.condition_type)
                .map(|found| (found.status.clone(), found.last_transition_time.0)),
            holds: holds(wanted, cluster),
        }
    };
    match form.rule {
        Rule::Matching(wanted) => wanted.iter().map(detail(Role::Match)).collect(),
        Rule::Latched { add, remove } | Rule::Until { add, remove } => {
            let added = add.iter().map(detail(Role::Add));
            added.chain(remove.iter().map(detail(Role::Remove))).collect()
        }
    }
}

fn taint_detail(
    form: &Form<'_>,
    taint: &PolicyTaint,
    window: Option<&Window>,
    owned: &Owned,
    input: Input<'_>,
) -> TaintDetail {
    let stands = owned.stands(&taint.id, form.uid);
    let state = window.map_or(TaintState::Absent, |window| {
        let standing = if stands { Standing::Yes } else { Standing::No };
        match want(form, taint, window, standing, input.gate, input.now) {
            Want::Nothing => TaintState::Absent,
            Want::AddAt(at) => TaintState::AddedAt(at),
            Want::Have if stands => TaintState::Stands,
            // Ours, but recorded for others only so far: the next look adds this policy to them.
            Want::Have if owned.entry(&taint.id).is_some() => TaintState::Stands,
            Want::Have if find(input.cluster, &taint.id).is_some() => TaintState::Foreign,
            Want::Have => TaintState::Due(after(window.since, taint.add_after)),
            Want::RemoveAt(at) => TaintState::RemovedAt(at),
            Want::Remove => TaintState::Leaving(after(window.since, taint.remove_after)),
            Want::Dismissed => TaintState::Dismissed,
            Want::HeldByGate(_) => TaintState::HeldByGate,
            Want::FrozenWith => TaintState::Kept,
            Want::FrozenWithout(at) => TaintState::WouldStand(at),
        }
    });
    TaintDetail {
        id: taint.id.clone(),
        value: taint.value.clone(),
        add_after: taint.add_after,
        remove_after: taint.remove_after,
        state,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{World, at, policy};
    use super::*;
    use crate::taint_policy::FailoverGate;
    use serde_json::{Value, json};

    fn spec(more: &Value) -> Value {
        let mut spec = json!({
            "matchConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}],
            "taintsToAdd": [
                {"key": "k", "effect": "NoSchedule", "addOnMatchSeconds": 1, "removeOnMismatchSeconds": 10},
                {"key": "k", "effect": "NoExecute", "addOnMatchSeconds": 300, "removeOnMismatchSeconds": 20},
            ],
        });
        for (name, value) in more.as_object().unwrap() {
            spec[name] = value.clone();
        }
        spec
    }

    fn failing(more: &Value) -> World {
        let mut world = World::new(&[policy("p", 0, spec(more))]);
        world.condition("Ready", "False");
        world.look();
        world
    }

    /// As a person sees it who looks at what is stored.
    fn seen(world: &mut World) -> Vec<Detail> {
        world.restart();
        let policies: Vec<&ClusterTaintPolicy> = world.policies.iter().collect();
        let input = Input {
            policies: &policies,
            cluster: &world.cluster,
            memory: None,
            gate: world.gate,
            now: world.now,
            wall: world.now,
        };
        details(input, &super::super::evaluate(input))
    }

    fn states(world: &mut World) -> Vec<TaintState> {
        seen(world)[0].taints.iter().map(|taint| taint.state).collect()
    }

    #[test]
    fn each_taint_has_its_own_window() {
        let mut world = failing(&json!({}));
        assert_eq!(
            states(&mut world),
            [TaintState::AddedAt(at(1)), TaintState::AddedAt(at(300))]
        );
        world.until(1);
        assert_eq!(states(&mut world), [TaintState::Stands, TaintState::AddedAt(at(300))]);
        world.until(300);
        world.now = at(400);
        world.condition("Ready", "True");
        world.look();
        assert_eq!(
            states(&mut world),
            [TaintState::RemovedAt(at(410)), TaintState::RemovedAt(at(420))]
        );
        world.now = at(415);
        assert_eq!(
            states(&mut world),
            [TaintState::Leaving(at(410)), TaintState::RemovedAt(at(420))]
        );
        world.now = at(400);
        world.until(500);
        assert_eq!(states(&mut world), [TaintState::Absent, TaintState::Absent]);
    }

    #[test]
    fn what_is_overdue_and_what_nobody_recorded_says_so() {
        let mut world = failing(&json!({}));
        world.now = at(310);
        assert_eq!(states(&mut world), [TaintState::Due(at(1)), TaintState::Due(at(300))]);
        assert!(seen(&mut world)[0].is_recorded);
        let mut unseen = World::new(&[policy("p", 0, spec(&json!({})))]);
        unseen.condition("Ready", "False");
        assert!(!seen(&mut unseen)[0].is_recorded);
        unseen.condition("Ready", "True");
        assert!(
            seen(&mut unseen)[0].is_recorded,
            "nothing runs, and nothing has to be recorded"
        );
    }

    #[test]
    fn what_holds_a_taint_back_is_told_apart() {
        let mut off = failing(&json!({}));
        off.gate = FailoverGate::Disabled;
        off.until(300);
        assert_eq!(states(&mut off), [TaintState::Stands, TaintState::HeldByGate]);

        let mut taken = failing(&json!({}));
        taken.until(1);
        taken.cluster.spec.taints.clear();
        taken.look();
        assert_eq!(
            states(&mut taken),
            [TaintState::Dismissed, TaintState::AddedAt(at(300))]
        );

        let mut suspended = failing(&json!({"suspended": true}));
        suspended.until(5);
        assert_eq!(
            states(&mut suspended),
            [TaintState::WouldStand(at(1)), TaintState::WouldStand(at(300))]
        );

        let mut foreign = World::new(&[policy("p", 0, spec(&json!({})))]);
        foreign.cluster.spec.taints = serde_json::from_value(json!([{"key": "k", "effect": "NoSchedule"}])).unwrap();
        foreign.condition("Ready", "False");
        foreign.look();
        foreign.until(5);
        assert_eq!(
            states(&mut foreign),
            [TaintState::Foreign, TaintState::AddedAt(at(300))]
        );
    }

    /// By the same record as the engine goes by, where a process remembers one.
    #[test]
    fn a_process_that_remembers_whose_a_taint_is_says_so() {
        let mut world = failing(&json!({}));
        world.until(1);
        world.cluster.metadata.annotations = None;
        let policies: Vec<&ClusterTaintPolicy> = world.policies.iter().collect();
        let input = Input {
            policies: &policies,
            cluster: &world.cluster,
            memory: world.memory.as_ref(),
            gate: world.gate,
            now: world.now,
            wall: world.now,
        };
        let detail = details(input, &super::super::evaluate(input)).remove(0);
        assert_eq!(detail.taints[0].state, TaintState::Stands);
    }

    #[test]
    fn conditions_say_what_was_found() {
        let stock = json!({
            "addOnConditions": [{"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}],
            "removeOnConditions": [{"conditionType": "Disk", "operator": "NotIn", "statusValues": ["True"]}],
            "taints": [{"key": "k", "effect": "NoExecute"}],
        });
        let mut world = World::new(&[policy("p", 0, stock)]);
        world.condition("Ready", "False");
        world.look();
        let detail = seen(&mut world).remove(0);
        let told: Vec<_> = detail
            .conditions
            .iter()
            .map(|c| (c.role, c.found.as_ref().map(|(status, _)| status.as_str()), c.holds))
            .collect();
        assert_eq!(told, [(Role::Add, Some("False"), true), (Role::Remove, None, false)]);
        assert_eq!(detail.taints[0].state, TaintState::Stands);
    }
}
