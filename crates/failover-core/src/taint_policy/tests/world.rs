//! A Cluster that is edited as an API server would, the policies, and a process that looks at them.

use std::collections::BTreeSet;

use api_types::cluster::{Cluster, ClusterStatus};
use api_types::names::annotation;
use api_types::taint_policy::{ClusterTaintPolicy, PolicyClusterState};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::json;

use super::super::*;
use super::at;

/// A Cluster, the policies, and a process that looks at them.
pub(in crate::taint_policy) struct World {
    pub cluster: Cluster,
    pub policies: Vec<ClusterTaintPolicy>,
    pub memory: Option<Memory>,
    pub gate: FailoverGate,
    pub now: Timestamp,
    /// By how much the wall clock is ahead of `now`.
    pub wall_ahead: SignedDuration,
    pub writes: usize,
    pub last: Option<Evaluation>,
    /// Which taints somebody else added.
    pub theirs: BTreeSet<TaintId>,
}

impl World {
    pub fn new(policies: &[ClusterTaintPolicy]) -> Self {
        let cluster = serde_json::from_value(json!({
            "metadata": {"name": "m1", "uid": "cluster-1", "labels": {"tier": "prod"}},
            "spec": {"syncMode": "Push"}
        }))
        .unwrap();
        Self {
            cluster,
            policies: policies.to_vec(),
            memory: None,
            gate: FailoverGate::Enabled,
            now: at(0),
            wall_ahead: SignedDuration::ZERO,
            writes: 0,
            last: None,
            theirs: BTreeSet::new(),
        }
    }

    /// The wall clock.
    pub fn wall(&self) -> Timestamp {
        self.now + self.wall_ahead
    }

    /// Sets a condition now.
    pub fn condition(&mut self, type_: &str, status: &str) {
        let conditions = &mut self
            .cluster
            .status
            .get_or_insert_with(ClusterStatus::default)
            .conditions;
        match conditions.iter_mut().find(|c| c.type_ == type_) {
            Some(c) if c.status == status => {}
            found => {
                let fresh = Condition {
                    type_: type_.to_owned(),
                    status: status.to_owned(),
                    reason: "R".to_owned(),
                    message: String::new(),
                    observed_generation: None,
                    last_transition_time: Time(Timestamp::from_second(self.now.as_second()).unwrap()),
                };
                match found {
                    Some(c) => *c = fresh,
                    None => conditions.push(fresh),
                }
            }
        }
    }

    pub fn restart(&mut self) {
        self.memory = None;
    }

    /// A new process starts by the wall clock as it is: its time begins where that is.
    pub fn restart_by_the_wall_clock(&mut self) {
        self.memory = None;
        self.last = None;
        self.now = self.wall();
        self.wall_ahead = SignedDuration::ZERO;
    }

    pub fn evaluate(&self) -> Evaluation {
        self.evaluate_at(self.memory.as_ref(), self.now, self.wall())
    }

    fn evaluate_at(&self, memory: Option<&Memory>, now: Timestamp, wall: Timestamp) -> Evaluation {
        let policies: Vec<&ClusterTaintPolicy> = self.policies.iter().collect();
        evaluate(Input {
            policies: &policies,
            cluster: &self.cluster,
            memory,
            gate: self.gate,
            now,
            wall,
        })
    }

    /// Looks, and what it finds is refused.
    pub fn look_only(&mut self) -> &Evaluation {
        let evaluation = self.evaluate();
        self.memory = Some(evaluation.memory.clone());
        self.last.insert(evaluation)
    }

    /// Looks and writes.
    pub fn look(&mut self) -> &Evaluation {
        let evaluation = self.evaluate();
        let mut memory = evaluation.memory.clone();
        if evaluation.has_changes() {
            self.writes += 1;
            apply(&mut self.cluster, &evaluation);
            memory.written(&evaluation);
        }
        self.memory = Some(memory);
        self.last.insert(evaluation)
    }

    /// Looks and writes, and the answer is lost.
    pub fn look_unanswered(&mut self) -> &Evaluation {
        let evaluation = self.look_unheard().clone();
        apply(&mut self.cluster, &evaluation);
        self.last.insert(evaluation)
    }

    /// Looks, and the write is lost on its way: nothing is stored, and nobody answers.
    pub fn look_unheard(&mut self) -> &Evaluation {
        let evaluation = self.evaluate();
        let mut memory = evaluation.memory.clone();
        memory.unanswered(&self.cluster, &evaluation);
        self.memory = Some(memory);
        self.last.insert(evaluation)
    }

    /// Lets the time pass to `second`, looking whenever the engine asked for it, then looks.
    pub fn until(&mut self, second: i64) -> &Evaluation {
        self.until_time(at(second))
    }

    /// Lets so many seconds pass, as [`World::until`] does.
    pub fn pass(&mut self, seconds: i64) -> &Evaluation {
        self.until_time(self.now + SignedDuration::from_secs(seconds))
    }

    fn until_time(&mut self, end: Timestamp) -> &Evaluation {
        while let Some(next) = self.due_by(end) {
            assert!(next > self.now, "asked to look again at {next}, and it is {}", self.now);
            self.now = next;
            self.look();
        }
        self.now = end;
        self.look();
        self.let_the_restored_end(|world| {
            world.look();
        });
        self.last.as_ref().unwrap()
    }

    /// A window that an earlier process stored ends up to a step of the clock late: here that counts as on time.
    pub fn let_the_restored_end(&mut self, mut look: impl FnMut(&mut Self)) {
        let now = self.now;
        while let Some(next) = self.due_by(now + CLOCK_STEP) {
            self.now = next.max(now);
            look(self);
        }
        self.now = now;
    }

    /// When it is to be looked again, if by then.
    pub fn due_by(&self, end: Timestamp) -> Option<Timestamp> {
        self.last.as_ref()?.next_look.filter(|next| *next <= end)
    }

    /// What the process finds a step of the clock later.
    pub fn evaluate_later(&self) -> Evaluation {
        self.evaluate_at(self.memory.as_ref(), self.now + CLOCK_STEP, self.wall() + CLOCK_STEP)
    }

    /// What a process finds that starts then.
    pub fn evaluate_afresh(&self) -> Evaluation {
        let now = self.wall() + CLOCK_STEP;
        self.evaluate_at(None, now, now)
    }

    pub fn taints(&self) -> Vec<String> {
        self.cluster
            .spec
            .taints
            .iter()
            .map(|t| TaintId::of(t).to_string())
            .collect()
    }

    pub fn has(&self, id: &str) -> bool {
        self.taints().iter().any(|t| t == id)
    }

    pub fn annotation(&self, name: &str) -> Option<&String> {
        self.cluster.metadata.annotations.as_ref()?.get(name)
    }

    pub fn set_annotation(&mut self, name: &str, text: &str) {
        self.cluster
            .metadata
            .annotations
            .get_or_insert_default()
            .insert(name.to_owned(), text.to_owned());
    }

    /// A taint, as somebody else would add it.
    pub fn add_theirs(&mut self, key: &str, effect: &str, time_added: Option<Timestamp>) {
        self.add_by_hand(Taint {
            key: key.to_owned(),
            value: Some("theirs".to_owned()),
            effect: effect.to_owned(),
            time_added: time_added.map(Time),
        });
    }

    pub fn add_by_hand(&mut self, taint: Taint) {
        self.theirs.insert(TaintId::of(&taint));
        self.cluster.spec.taints.push(taint);
    }

    /// What lies ahead, line by line.
    pub fn forecast(&self) -> Vec<&str> {
        let text = self.annotation(annotation::TAINT_FORECAST);
        text.map(|text| text.lines().collect()).unwrap_or_default()
    }

    pub fn report(&self, policy: &str) -> &Report {
        &self.last.as_ref().unwrap().reports[policy]
    }

    /// The condition of this policy's status with this Cluster alone.
    pub fn policy_condition(&self, policy: &str, type_: &str) -> Condition {
        let about = self
            .policies
            .iter()
            .find(|p| p.metadata.name.as_deref() == Some(policy))
            .unwrap();
        let status = status::of_policy(about, &[("m1", self.report(policy))], self.gate, self.now);
        api_types::conditions::get(&status.conditions, type_).unwrap().clone()
    }

    pub fn state(&self, policy: &str) -> Option<PolicyClusterState> {
        self.last.as_ref()?.reports.get(policy)?.state.clone()
    }
}

/// What the API server makes of the changes: times lose their fractions.
fn apply(cluster: &mut Cluster, evaluation: &Evaluation) {
    let taints = &mut cluster.spec.taints;
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let is = |taint: &Taint, id: &TaintId| assert_eq!(TaintId::of(taint), *id, "another taint stands at that place");
    for change in &evaluation.taints {
        match change {
            TaintChange::Add { taint, .. } => {
                assert!(
                    !taints.iter().any(|t| TaintId::of(t) == TaintId::of(taint)),
                    "{taint:?} stands already"
                );
                added.push(taint.clone());
            }
            TaintChange::Remove { id, index, .. } => {
                is(&taints[*index], id);
                removed.push(*index);
            }
            TaintChange::SetValue { id, index, value, .. } => {
                is(&taints[*index], id);
                taints[*index].value = Some(value.clone());
            }
            TaintChange::Stamp { id, index, time_added } => {
                is(&taints[*index], id);
                taints[*index].time_added = Some(time_added.clone());
            }
        }
    }
    removed.sort_unstable();
    for index in removed.into_iter().rev() {
        taints.remove(index);
    }
    taints.append(&mut added);
    let annotations = cluster.metadata.annotations.get_or_insert_default();
    for change in &evaluation.annotations {
        match &change.value {
            Some(text) => annotations.insert(change.name.to_owned(), text.clone()),
            None => annotations.remove(change.name),
        };
    }
    *cluster = serde_json::from_value(serde_json::to_value(&*cluster).unwrap()).unwrap();
}
