//! What became of every copy on the clusters that the proposal is about, when nothing happens any more.

use std::collections::BTreeSet;

use failover_core::eviction::queue::{HoldReason, Published, State, TemplateRef};
use failover_core::eviction::{Verdict, verdict};

use super::{Pair, Simulation};
use crate::plan::moving::replicas_on;
use crate::plan::outcome::{Move, NotGoing, Plan, Remaining, Staying};

impl Simulation<'_> {
    pub(super) fn finish(mut self, present: &BTreeSet<Pair>) -> Plan {
        let mut plan = std::mem::take(&mut self.plan);
        let about = std::mem::take(&mut plan.clusters);
        let now = self.now();
        let policies: Vec<_> = self.policies.iter().collect();
        for name in &about {
            if let (Some(cluster), Some(watched)) = (self.fleet.get(name.as_str()), self.watched.get(name)) {
                plan.held_taints
                    .extend(watched.held(cluster, &policies, self.settings.policy_gate, now));
            }
        }
        plan.taints
            .sort_by(|a, b| (a.at, &a.cluster, a.id.to_string()).cmp(&(b.at, &b.cluster, b.id.to_string())));
        let (moves, others): (Vec<Move>, Vec<Move>) = self.moves.drain(..).partition(|one| about.contains(&one.from));
        plan.others.moves = others.len();
        plan.others.clusters.extend(others.into_iter().map(|one| one.from));
        plan.last_move_at = moves.last().map(|last| last.leaves_at);
        plan.moves = moves;
        let standstill = self.queue.verdict().standstill();
        for entry in self.queue.entries() {
            let published = &entry.published;
            if !about.contains(&published.key.cluster) {
                plan.others.remaining += 1;
                plan.others.clusters.insert(published.key.cluster.clone());
                continue;
            }
            plan.remaining
                .push(remaining(published, &entry.state, standstill.as_deref()));
        }
        plan.remaining
            .sort_by(|a, b| (a.due_at, &a.from, &a.binding).cmp(&(b.due_at, &b.from, &b.binding)));
        let is_there = |pair: &&Pair| about.contains(&pair.0) && !self.moved.contains(*pair);
        let there: Vec<&Pair> = present.iter().filter(is_there).collect();
        plan.staying = there.into_iter().filter_map(|pair| self.staying(pair)).collect();
        plan.clusters = about;
        plan
    }

    /// Why a pair has no entry; nothing when it has one.
    fn staying(&self, pair: &Pair) -> Option<Staying> {
        let (name, key) = pair;
        if self.published.contains_key(pair) {
            return None;
        }
        let (binding, cluster) = (self.bindings.get(key)?, self.fleet.get(name.as_str())?);
        let Verdict::NotAffected(why) = verdict(binding, cluster, &self.settings.switches) else {
            return None;
        };
        let resource = &binding.spec.resource;
        Some(Staying {
            binding: key.clone(),
            template: TemplateRef {
                api_version: resource.api_version.as_str().into(),
                kind: resource.kind.as_str().into(),
                namespace: resource.namespace.as_deref().map(Into::into),
                name: resource.name.as_str().into(),
            },
            cluster: name.clone(),
            replicas: replicas_on(binding, name),
            why,
        })
    }
}

fn remaining(published: &Published, state: &State, standstill: Option<&str>) -> Remaining {
    let why = match state {
        State::Held {
            reason: HoldReason::NoTarget,
            message,
            ..
        } => NotGoing::NoTarget {
            why: message.to_string(),
        },
        State::Held { reason, message, .. } => NotGoing::Held {
            reason: *reason,
            why: message.to_string(),
        },
        State::Waiting => NotGoing::Later,
        State::Ready | State::Leased(_) => NotGoing::Standstill {
            why: standstill.unwrap_or("its turn does not come within a year").to_owned(),
        },
    };
    Remaining {
        binding: published.key.binding.clone(),
        template: published.template.clone(),
        from: published.key.cluster.clone(),
        replicas: published.replicas,
        cause: (*published.key.cause).clone(),
        reason: published.reason.to_string(),
        due_at: published.due_at,
        why,
    }
}
