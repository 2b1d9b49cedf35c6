//! What the engine says, as values for people and programs.

use api_types::cluster::Cluster;
use api_types::taint_policy::{ClusterTaintPolicy, ConditionStatus, MatchCondition};
use failover_core::taint_policy::{
    Detail, Evaluation, FailoverGate, Input, ManagedTaints, Reading, Report, Role, TaintDetail, TaintState, Windows,
    details, evaluate,
};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::controllers::{self, ControllerView};
use crate::output::At;

/// A policy on a Cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyOnCluster {
    /// Name of the Cluster.
    pub cluster: String,
    /// Name of the ClusterTaintPolicy.
    pub policy: String,
    /// Whether its conditions match now; in stock's form, whether it is latched.
    pub matches: bool,
    /// Since when it matches, or does not any more; absent: it does not, and nothing depends on since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<At>,
    /// The first time at which something changes if nothing else does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fires_at: Option<At>,
    /// Its conditions, one by one.
    pub conditions: Vec<ConditionCheck>,
    /// Condition types that the Cluster does not have: without them the policy never matches.
    pub missing_conditions: Vec<String>,
    /// Its taints, one by one.
    pub taints: Vec<TaintOfPolicy>,
    /// What keeps its window from ending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restless: Option<String>,
    /// Who wants another value for the same taint, and who wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict: Option<String>,
    /// Whether the Cluster records what is said here: false means that the controller has not seen it yet, so that
    /// times which count from now are no promise.
    pub recorded: bool,
}

/// A condition of a policy, on a Cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionCheck {
    /// Match; in stock's form Add or Remove.
    pub role: &'static str,
    /// Condition type on the Cluster.
    #[serde(rename = "type")]
    pub type_: String,
    /// What the policy asks for: `In False,Unknown`.
    pub wanted: String,
    /// What the Cluster says; absent: it has no such condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Since when, by the clock of who wrote the condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_since: Option<At>,
    /// Whether it holds.
    pub holds: bool,
}

/// Where a taint of a policy stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum TaintWord {
    /// It is not there, and the policy does not want it.
    Absent,
    /// Its window runs: it is added at `at`.
    PendingAdd,
    /// Its window ended at `at`, and it is not there yet.
    Due,
    /// It stands.
    Stands,
    /// Its removal window runs: it goes at `at`.
    PendingRemove,
    /// Its removal window ended at `at`, and it is still there.
    Leaving,
    /// One of the same key and effect stands that is not ours.
    Foreign,
    /// A person took it back.
    Dismissed,
    /// Feature gate Failover is off.
    GateOff,
    /// The policy does nothing; without that the taint would stand from `at` on.
    Suspended,
    /// The policy does nothing; the taint stays.
    Kept,
}

/// A taint of a policy, on a Cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaintOfPolicy {
    /// `key:effect`.
    pub taint: String,
    /// Its value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Where it stands.
    pub state: TaintWord,
    /// The time that goes with the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<At>,
    /// What keeps it from being added or removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by: Option<String>,
    /// Seconds that the policy must match before it is added.
    pub add_on_match_seconds: i64,
    /// Seconds that it must not match before it is removed.
    pub remove_on_mismatch_seconds: i64,
}

/// What the verdicts depend on beside the objects.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The gate as the controller has it.
    pub gate: FailoverGate,
    /// Why nothing is added or removed at all.
    pub not_running: Option<String>,
    pub now: Timestamp,
}

impl Settings {
    /// As the controller's Lease tells; what it does not tell is taken as on.
    pub fn of(controllers: &[ControllerView], now: Timestamp) -> Self {
        let gate = match controllers::failover_gate_of(controllers, "clusterTaintPolicy") {
            Some(failover_core::eviction::FailoverGate::Off) => FailoverGate::Disabled,
            Some(failover_core::eviction::FailoverGate::On) | None => FailoverGate::Enabled,
        };
        let not_running = (!controllers::is_running(controllers, "clusterTaintPolicy"))
            .then(|| "controller clusterTaintPolicy is not running".to_owned());
        Self { gate, not_running, now }
    }
}

/// A Cluster's evaluation, with what it was made from.
pub(crate) struct Engine<'a> {
    pub cluster: &'a Cluster,
    pub evaluation: Evaluation,
    pub details: Vec<Detail>,
    pub settings: &'a Settings,
}

impl<'a> Engine<'a> {
    pub fn look(policies: &[&ClusterTaintPolicy], cluster: &'a Cluster, settings: &'a Settings) -> Self {
        let input = Input {
            policies,
            cluster,
            memory: None,
            gate: settings.gate,
            now: settings.now,
            wall: settings.now,
        };
        let evaluation = evaluate(input);
        let details = details(input, &evaluation);
        Self {
            cluster,
            evaluation,
            details,
            settings,
        }
    }

    /// Each policy that speaks of the Cluster.
    pub fn views(&self, policies: &[&ClusterTaintPolicy]) -> Vec<PolicyOnCluster> {
        self.details
            .iter()
            .filter_map(|detail| {
                let report = self.evaluation.reports.get(&detail.policy)?;
                let policy = policies
                    .iter()
                    .find(|policy| policy.metadata.name.as_deref() == Some(&detail.policy))?;
                Some(self.view(detail, report, policy))
            })
            .collect()
    }

    fn view(&self, detail: &Detail, report: &Report, policy: &ClusterTaintPolicy) -> PolicyOnCluster {
        PolicyOnCluster {
            cluster: self.cluster.cluster_name().to_string(),
            policy: detail.policy.clone(),
            matches: report.matching,
            since: report.since.map(At),
            fires_at: report.fires_at.map(At),
            conditions: detail
                .conditions
                .iter()
                .map(|condition| ConditionCheck {
                    role: match condition.role {
                        Role::Match => "Match",
                        Role::Add => "Add",
                        Role::Remove => "Remove",
                    },
                    type_: condition.wanted.condition_type.clone(),
                    wanted: wanted(&condition.wanted),
                    status: condition.found.as_ref().map(|(status, _)| status.clone()),
                    status_since: condition.found.as_ref().map(|(_, since)| At(*since)),
                    holds: condition.holds,
                })
                .collect(),
            missing_conditions: report.missing.clone(),
            taints: detail.taints.iter().map(|taint| self.taint(taint, policy)).collect(),
            restless: report.restless.clone(),
            conflict: report.conflict.clone(),
            recorded: detail.is_recorded,
        }
    }

    fn taint(&self, detail: &TaintDetail, policy: &ClusterTaintPolicy) -> TaintOfPolicy {
        let (state, at) = match detail.state {
            TaintState::Absent => (TaintWord::Absent, None),
            TaintState::AddedAt(at) => (TaintWord::PendingAdd, Some(at)),
            TaintState::Due(at) => (TaintWord::Due, Some(at)),
            TaintState::Stands => (TaintWord::Stands, self.added_at(detail)),
            TaintState::RemovedAt(at) => (TaintWord::PendingRemove, Some(at)),
            TaintState::Leaving(at) => (TaintWord::Leaving, Some(at)),
            TaintState::Foreign => (TaintWord::Foreign, self.added_at(detail)),
            TaintState::Dismissed => (TaintWord::Dismissed, self.dismissed_at(detail, policy)),
            TaintState::HeldByGate => (TaintWord::GateOff, None),
            TaintState::WouldStand(at) => (TaintWord::Suspended, Some(at)),
            TaintState::Kept => (TaintWord::Kept, self.added_at(detail)),
        };
        TaintOfPolicy {
            taint: detail.id.to_string(),
            value: detail.value.clone(),
            state,
            at: at.map(At),
            held_by: self.held_by(state, policy),
            add_on_match_seconds: seconds(detail.add_after),
            remove_on_mismatch_seconds: seconds(detail.remove_after),
        }
    }

    fn added_at(&self, detail: &TaintDetail) -> Option<Timestamp> {
        let is_it =
            |taint: &&k8s_openapi::api::core::v1::Taint| taint.key == detail.id.key && taint.effect == detail.id.effect;
        Some(self.cluster.spec.taints.iter().find(is_it)?.time_added.as_ref()?.0)
    }

    fn dismissed_at(&self, detail: &TaintDetail, policy: &ClusterTaintPolicy) -> Option<Timestamp> {
        let windows = Windows::read(self.cluster.metadata.annotations.as_ref()).ok()?;
        let window = windows.windows.get(policy.metadata.uid.as_deref()?)?;
        Some(window.dismissed.get(&detail.id)?.at)
    }

    fn held_by(&self, state: TaintWord, policy: &ClusterTaintPolicy) -> Option<String> {
        let does_nothing = || {
            Reading::of(policy).invalid().map_or_else(
                || "the policy is suspended".to_owned(),
                |why| format!("the policy is invalid: {why}"),
            )
        };
        match state {
            TaintWord::Absent | TaintWord::Stands => None,
            TaintWord::PendingAdd | TaintWord::Due | TaintWord::PendingRemove | TaintWord::Leaving => {
                self.settings.not_running.clone()
            }
            TaintWord::Foreign => Some("a taint of this key and effect that is not ours is there already".to_owned()),
            TaintWord::Dismissed => {
                Some("taken back by hand, until the policy has stopped matching or is edited".to_owned())
            }
            TaintWord::GateOff => Some("feature gate Failover is off for controller clusterTaintPolicy".to_owned()),
            TaintWord::Suspended | TaintWord::Kept => Some(does_nothing()),
        }
    }

    /// The taints that are recorded as ours; nothing readable is nothing.
    pub fn managed(&self) -> ManagedTaints {
        ManagedTaints::read(self.cluster.metadata.annotations.as_ref()).unwrap_or_default()
    }
}

/// Each policy that speaks of the Cluster, as the controllers' Leases show its settings.
#[must_use]
pub fn on_cluster(
    policies: &[&ClusterTaintPolicy],
    cluster: &Cluster,
    controllers: &[ControllerView],
    now: Timestamp,
) -> Vec<PolicyOnCluster> {
    let settings = Settings::of(controllers, now);
    Engine::look(policies, cluster, &settings).views(policies)
}

fn seconds(duration: SignedDuration) -> i64 {
    duration.as_secs()
}

fn wanted(condition: &MatchCondition) -> String {
    let values: Vec<&str> = condition.status_values.iter().map(ConditionStatus::as_str).collect();
    format!("{} {}", condition.operator, values.join(","))
}
