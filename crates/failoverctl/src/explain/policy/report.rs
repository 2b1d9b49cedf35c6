//! The report of `explain policy`, made from what was gathered. Pure: every verdict comes from `failover-core`.

use api_types::taint_policy::{ClusterTaintPolicy, ClusterTaintPolicySpec, MatchCondition};
use failover_core::taint_policy::Reading;
use jiff::Timestamp;
use serde::Serialize;

use super::conclusion;
use super::gather::Gathered;
use crate::controllers::{self, NotDone, Severity};
use crate::explain::Conclusion;
use crate::explain::taints::{Engine, PolicyOnCluster, Settings};
use crate::failure::ExitStatus;
use crate::output::At;

/// What a ClusterTaintPolicy does.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyExplanation {
    /// Its name.
    pub policy: String,
    /// When it was made: of two that want different values the older wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<At>,
    /// Its conditions in words.
    pub rule: String,
    /// Its taints with their windows, in words.
    pub adds: Vec<String>,
    /// The Clusters that it selects, in words.
    pub target: String,
    /// Whether it only evaluates and reports.
    pub suspended: bool,
    /// Why nothing is done for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
    /// Whether the controller's word in its status is about the present spec; absent: it has said nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_is_current: Option<bool>,
    /// Each Cluster that it speaks of.
    pub clusters: Vec<PolicyOnCluster>,
    /// Names of the Clusters that it does not speak of.
    pub clusters_not_targeted: Vec<String>,
    /// Each condition type, and on how many Clusters it is missing.
    pub condition_types: Vec<ConditionOnFleet>,
    /// What is not done, and why.
    pub not_done: Vec<NotDone>,
    /// The answer.
    pub conclusion: Conclusion,
}

/// A condition type that the policy names, on the Clusters that it speaks of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionOnFleet {
    /// The type.
    #[serde(rename = "type")]
    pub type_: String,
    /// The Clusters without it: there the policy never matches.
    pub missing_on: Vec<String>,
}

/// Controllers whose work this report is about.
const CONCERNED: [&str; 3] = ["clusterStatus", "cluster", "clusterTaintPolicy"];

/// Makes the report. The policy is among those gathered; without it the report is empty.
#[must_use]
pub fn report(gathered: &Gathered, now: Timestamp) -> PolicyExplanation {
    let controllers = controllers::controllers(&gathered.leases, gathered.mode, now);
    let mut not_done = controllers::not_done(&controllers, &gathered.system_namespace, now);
    not_done.retain(|item| {
        // The taint manager's gate plays no part here; the controller's own is told where it holds a taint back.
        item.subject != "gate/Failover"
            && item
                .subject
                .strip_prefix("controller/")
                .is_none_or(|name| CONCERNED.contains(&name))
    });
    let policies: Vec<&ClusterTaintPolicy> = gathered.policies.iter().collect();
    let of_this_name = |policy: &&&ClusterTaintPolicy| policy.metadata.name.as_deref() == Some(&gathered.name);
    let nothing = ClusterTaintPolicy::new(&gathered.name, ClusterTaintPolicySpec::default());
    let policy = policies.iter().find(of_this_name).copied().unwrap_or(&nothing);

    let reading = Reading::of(policy);
    let settings = Settings::of(&controllers, now);
    let mut rows = Vec::new();
    let mut not_targeted = Vec::new();
    for cluster in &gathered.clusters {
        let engine = Engine::look(&policies, cluster, &settings);
        let found = engine
            .views(&policies)
            .into_iter()
            .find(|row| row.policy == gathered.name);
        match found {
            // Also one that is not targeted any more while a taint of the policy still stands.
            Some(row) => rows.push(row),
            None if reading.speaks_of(cluster) => {}
            None => not_targeted.push(cluster.cluster_name().to_string()),
        }
    }
    let status = policy.status.as_ref();
    let mut report = PolicyExplanation {
        policy: gathered.name.clone(),
        created_at: policy.metadata.creation_timestamp.as_ref().map(|time| At(time.0)),
        rule: reading.rule_in_words(),
        adds: adds(&policy.spec),
        target: target(&policy.spec),
        suspended: policy.spec.suspended,
        invalid: reading.invalid().map(str::to_owned),
        status_is_current: status
            .and_then(|status| status.observed_generation)
            .map(|observed| Some(observed) == policy.metadata.generation),
        condition_types: condition_types(&policy.spec, &rows),
        clusters: rows,
        clusters_not_targeted: not_targeted,
        not_done,
        conclusion: Conclusion::default(),
    };
    report.conclusion = conclusion::conclude(&report, now);
    report
}

impl PolicyExplanation {
    /// How the program ends: 1 when something is wrong that nobody chose.
    #[must_use]
    pub fn exit_status(&self) -> ExitStatus {
        if self.conclusion.severity == Some(Severity::Problem) {
            ExitStatus::Problem
        } else {
            ExitStatus::Fine
        }
    }
}

fn adds(spec: &ClusterTaintPolicySpec) -> Vec<String> {
    let value = |value: &Option<String>| {
        value
            .as_ref()
            .filter(|value| !value.is_empty())
            .map(|value| format!("={value}"))
            .unwrap_or_default()
    };
    let windowed = spec.taints_to_add.iter().map(|taint| {
        format!(
            "{}{}:{} after {} s of matching; away after {} s of not matching",
            taint.key,
            value(&taint.value),
            taint.effect,
            taint.add_on_match_seconds,
            taint.remove_on_mismatch_seconds
        )
    });
    let plain = spec.taints.iter().map(|taint| {
        let name = format!("{}{}:{}", taint.key, value(&taint.value), taint.effect);
        let mut windows = spec.windows.iter().flatten();
        match windows.find(|window| window.key == taint.key && window.effect == taint.effect) {
            None => format!("{name} at once"),
            Some(window) => format!(
                "{name} after {} s of matching; away after {} s of {}",
                window.add_on_match_seconds,
                window.remove_on_mismatch_seconds,
                match spec.remove_on_conditions.is_empty() {
                    true => "not matching",
                    false => "matching what removes it",
                }
            ),
        }
    });
    windowed.chain(plain).collect()
}

fn target(spec: &ClusterTaintPolicySpec) -> String {
    let Some(affinity) = spec.target_cluster.as_ref().or(spec.target_clusters.as_ref()) else {
        return "every cluster".to_owned();
    };
    let mut parts = Vec::new();
    if !affinity.cluster_names.is_empty() {
        parts.push(format!("named {}", affinity.cluster_names.join(", ")));
    }
    if let Some(selector) = &affinity.label_selector {
        parts.push(format!("with labels {}", labels(selector)));
    }
    if let Some(fields) = &affinity.field_selector {
        let all = fields
            .match_expressions
            .iter()
            .map(|wanted| format!("{} {} {}", wanted.key, wanted.operator, wanted.values.join(",")));
        parts.push(format!("with {}", all.collect::<Vec<_>>().join(" and ")));
    }
    if !affinity.exclude_clusters.is_empty() {
        parts.push(format!("without {}", affinity.exclude_clusters.join(", ")));
    }
    if parts.is_empty() {
        "every cluster".to_owned()
    } else {
        format!("clusters {}", parts.join(", "))
    }
}

fn labels(selector: &k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector) -> String {
    let equal = selector
        .match_labels
        .iter()
        .flatten()
        .map(|(key, value)| format!("{key}={value}"));
    let others = selector.match_expressions.iter().flatten().map(|wanted| {
        let values = wanted.values.clone().unwrap_or_default().join(",");
        format!("{} {} {values}", wanted.key, wanted.operator)
            .trim_end()
            .to_owned()
    });
    equal.chain(others).collect::<Vec<_>>().join(" and ")
}

fn condition_types(spec: &ClusterTaintPolicySpec, rows: &[PolicyOnCluster]) -> Vec<ConditionOnFleet> {
    let named = |conditions: &[MatchCondition]| -> Vec<String> {
        conditions
            .iter()
            .map(|condition| condition.condition_type.clone())
            .collect()
    };
    let mut types = named(spec.match_conditions.as_deref().unwrap_or_default());
    types.extend(named(&spec.add_on_conditions));
    types.extend(named(&spec.remove_on_conditions));
    types.sort();
    types.dedup();
    types
        .into_iter()
        .map(|type_| ConditionOnFleet {
            missing_on: rows
                .iter()
                .filter(|row| row.missing_conditions.contains(&type_))
                .map(|row| row.cluster.clone())
                .collect(),
            type_,
        })
        .collect()
}
