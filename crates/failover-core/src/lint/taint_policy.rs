//! One ClusterTaintPolicy.

use api_types::cluster::{Cluster, condition, effect};
use api_types::names::taint as key;
use api_types::taint_policy::{ClusterTaintPolicy, MatchCondition};
use jiff::SignedDuration;

use super::Around;
use super::code::Code;
use super::conditions::{excluded, hold_whatever, implies};
use super::finding::Finding;
use super::known::{Known, StockKarmada};
use super::similar::nearest;
use super::target::{self, some};
use crate::taint_policy::{FailoverGate, PlannedTaint, Reading};

/// Conditions that our controllers, stock Karmada or its cluster-problem-detector write.
const KNOWN_CONDITIONS: [&str; 6] = [
    condition::READY,
    condition::COMPLETE_API_ENABLEMENTS,
    condition::DELETION_BLOCKED,
    condition::REPORTER_DOWN,
    condition::MONITOR_ISOLATED,
    "ServiceDomainNameResolutionReady",
];

pub(super) fn findings(policy: &ClusterTaintPolicy, known: &Known<'_>, around: &Around<'_>) -> Vec<Finding> {
    let reading = Reading::of(policy);
    if let Some(why) = reading.invalid() {
        return vec![invalid(policy, why)];
    }
    let look = Look {
        policy,
        known,
        taints: reading.taints(),
        reading,
    };
    let mut found = look.suspended();
    found.extend(look.target());
    found.extend(look.rule());
    found.extend(look.condition_types());
    found.extend(look.windows());
    found.extend(look.reserved());
    found.extend(look.gate());
    found.extend(look.opt_in(around));
    found
}

fn invalid(policy: &ClusterTaintPolicy, why: &str) -> Finding {
    let spec = &policy.spec;
    let windowed = !spec.taints_to_add.is_empty() || spec.match_conditions.is_some();
    let latched =
        !spec.taints.is_empty() || !spec.add_on_conditions.is_empty() || !spec.remove_on_conditions.is_empty();
    let both_targets = spec.target_cluster.is_some() && spec.target_clusters.is_some();
    let consequence = "the API server refuses it, and where it does not, nothing is done for it";
    if both_targets || (windowed && latched) {
        let fix = if both_targets {
            "keep one of targetCluster and targetClusters"
        } else {
            "keep matchConditions and taintsToAdd, which have windows, or addOnConditions, removeOnConditions and taints, \
             which are stock Karmada's"
        };
        return Finding::new(Code::TwoForms, "spec", why, consequence, fix);
    }
    Finding::new(
        Code::Invalid,
        "spec",
        why,
        consequence,
        "correct what the message names",
    )
}

struct Look<'a> {
    policy: &'a ClusterTaintPolicy,
    known: &'a Known<'a>,
    reading: Reading<'a>,
    taints: Vec<PlannedTaint>,
}

impl<'a> Look<'a> {
    /// Whether the taints are in `taintsToAdd` or in stock's `taints`.
    fn taints_field(&self) -> &'static str {
        if self.policy.spec.taints_to_add.is_empty() {
            "spec.taints"
        } else {
            "spec.taintsToAdd"
        }
    }

    fn moves_workloads(&self) -> bool {
        self.taints.iter().any(|taint| taint.moves_workloads)
    }

    fn targeted(&self) -> Option<Vec<&'a Cluster>> {
        let clusters = self.known.clusters?;
        Some(
            clusters
                .iter()
                .filter(|cluster| self.reading.speaks_of(cluster))
                .collect(),
        )
    }

    fn suspended(&self) -> Vec<Finding> {
        if !self.policy.spec.suspended {
            return Vec::new();
        }
        vec![Finding::new(
            Code::Suspended,
            "spec.suspended",
            "the policy is suspended",
            "it evaluates and reports in its status, and neither adds nor removes a taint",
            "to let it act, take spec.suspended away",
        )]
    }

    fn target(&self) -> Vec<Finding> {
        let spec = &self.policy.spec;
        let named = [
            (&spec.target_cluster, "spec.targetCluster"),
            (&spec.target_clusters, "spec.targetClusters"),
        ];
        let given = named
            .into_iter()
            .filter_map(|(target, field)| Some((target.as_ref()?, field)));
        given
            .flat_map(|(target, field)| target::findings(target, field, "the policy does nothing", self.known))
            .collect()
    }

    fn rule(&self) -> Vec<Finding> {
        match self.reading.conditions() {
            (wanted, None) => self.matching(wanted),
            (add, Some(remove)) => self.latch(add, remove),
        }
    }

    fn matching(&self, wanted: &[MatchCondition]) -> Vec<Finding> {
        let field = "spec.matchConditions";
        if let Some(type_) = excluded(wanted) {
            return vec![never(field, type_)];
        }
        if !self.moves_workloads() || !hold_whatever(wanted) {
            return Vec::new();
        }
        let what = if wanted.is_empty() {
            "there is no condition, so the policy always matches".to_owned()
        } else {
            format!("{} holds whatever a cluster says", self.reading.rule_in_words())
        };
        vec![Finding::new(
            Code::AlwaysMatches,
            if wanted.is_empty() { "spec" } else { field },
            what,
            "every targeted cluster is tainted after the window, healthy or not, and workloads leave it",
            "name the conditions that mean failure; to empty a cluster, drain it instead",
        )]
    }

    fn latch(&self, add: &[MatchCondition], remove: &[MatchCondition]) -> Vec<Finding> {
        let mut found = Vec::new();
        if let Some(type_) = excluded(add) {
            found.push(never("spec.addOnConditions", type_));
        } else if add.is_empty() {
            found.push(Finding::new(
                Code::NeverAdded,
                "spec",
                "addOnConditions is empty",
                "in stock's form an empty list never holds: the taints are never added",
                "name the conditions that add the taints",
            ));
        } else if implies(add, remove) {
            found.push(Finding::new(
                Code::NeverAdded,
                "spec.removeOnConditions",
                "whenever addOnConditions hold, removeOnConditions hold too",
                "where both hold, removal wins: the taints are never added",
                "let removeOnConditions name what means recovery",
            ));
        }
        if remove.is_empty() || excluded(remove).is_some() {
            found.push(Finding::new(
                Code::NeverRemoved,
                if remove.is_empty() {
                    "spec"
                } else {
                    "spec.removeOnConditions"
                },
                "removeOnConditions never hold",
                "once added, the taints stay until the policy is deleted or a person takes them away",
                "name the conditions that mean recovery, such as Ready In True",
            ));
        }
        found
    }

    /// Each condition with its field.
    fn conditions(&self) -> Vec<(String, &'a MatchCondition)> {
        let spec = &self.policy.spec;
        let lists = [
            (
                "spec.matchConditions",
                spec.match_conditions.as_deref().unwrap_or_default(),
            ),
            ("spec.addOnConditions", &spec.add_on_conditions[..]),
            ("spec.removeOnConditions", &spec.remove_on_conditions[..]),
        ];
        let indexed = lists.into_iter().flat_map(|(list, conditions)| {
            let items = conditions.iter().enumerate();
            items.map(move |(index, condition)| (format!("{list}[{index}].conditionType"), condition))
        });
        indexed.collect()
    }

    fn condition_types(&self) -> Vec<Finding> {
        let targeted = self.targeted().filter(|targeted| !targeted.is_empty());
        let mut seen: Vec<&str> = Vec::new();
        let mut found = Vec::new();
        for (field, condition) in self.conditions() {
            let type_ = condition.condition_type.as_str();
            if seen.contains(&type_) {
                continue;
            }
            seen.push(type_);
            found.extend(match &targeted {
                Some(targeted) => missing_on(type_, field, targeted),
                None => misspelt(type_, field),
            });
        }
        found
    }

    fn windows(&self) -> Vec<Finding> {
        let period = self.known.probe_period;
        let spec = self.policy.spec.taints_to_add.iter().enumerate();
        let mut found = Vec::new();
        for (index, written) in spec {
            let moves =
                written.effect.as_str() == effect::NO_EXECUTE || written.effect.as_str() == effect::PREFER_NO_EXECUTE;
            let windows = [
                (
                    "addOnMatchSeconds",
                    written.add_on_match_seconds,
                    "the window ends before the cluster is looked at again: it holds nothing back, and workloads leave at the first failure that is seen",
                ),
                (
                    "removeOnMismatchSeconds",
                    written.remove_on_mismatch_seconds,
                    "the window ends before the cluster is looked at again: a cluster that flaps counts as recovered at once",
                ),
            ];
            for (name, seconds, why) in windows {
                if moves && SignedDuration::from_secs(seconds.into()) < period {
                    found.push(Finding::new(
                        Code::WindowBelowProbePeriod,
                        format!("spec.taintsToAdd[{index}].{name}"),
                        format!(
                            "{seconds} s is less than the {} s between two looks at a cluster",
                            period.as_secs()
                        ),
                        why,
                        "give it several times the probe period (--cluster-status-update-frequency), such as 300",
                    ));
                }
            }
        }
        found
    }

    fn reserved(&self) -> Vec<Finding> {
        let field = self.taints_field();
        let taints = self.taints.iter().enumerate();
        taints
            .filter_map(|(index, taint)| {
                let whose = match taint.id.key.as_str() {
                    key::UNSCHEDULABLE => "by it a person cordons a cluster, and uncordoning removes it",
                    key::DRAIN => "by it a person drains a cluster, and undraining removes it",
                    key::NOT_READY | key::UNREACHABLE
                        if taint.id.effect == effect::NO_SCHEDULE
                            && self.known.stock_karmada == StockKarmada::There =>
                    {
                        "stock Karmada's cluster controller adds and removes it by itself"
                    }
                    _ => return None,
                };
                Some(Finding::new(
                    Code::ReservedTaint,
                    format!("{field}[{index}].key"),
                    format!("taint {} has two owners", taint.id),
                    whose,
                    "use a key of your own",
                ))
            })
            .collect()
    }

    fn gate(&self) -> Vec<Finding> {
        if self.known.gate != Some(FailoverGate::Disabled) {
            return Vec::new();
        }
        let field = self.taints_field();
        let taints = self
            .taints
            .iter()
            .enumerate()
            .filter(|(_, taint)| taint.moves_workloads);
        taints
            .map(|(index, taint)| {
                Finding::new(
                    Code::GateOff,
                    format!("{field}[{index}].effect"),
                    format!("taint {} is not added: feature gate Failover is off", taint.id),
                    "with the gate off no cluster's failure moves a workload; NoSchedule and PreferNoSchedule are added",
                    "start the taint-policy-controller and the taint manager with --feature-gates=Failover=true",
                )
            })
            .collect()
    }

    fn opt_in(&self, around: &Around<'_>) -> Vec<Finding> {
        if around.somebody_opted_in != Some(false) {
            return Vec::new();
        }
        let field = self.taints_field();
        let softly = |(_, taint): &(usize, &PlannedTaint)| taint.id.effect == effect::PREFER_NO_EXECUTE;
        let taints = self.taints.iter().enumerate().filter(softly);
        taints
            .map(|(index, taint)| {
                Finding::new(
                    Code::NobodyOptedIn,
                    format!("{field}[{index}].effect"),
                    format!("taint {} moves nothing", taint.id),
                    "PreferNoExecute moves only workloads whose policy has failover.cluster, and no known one has",
                    "add failover.cluster to the policies of the workloads that are to move, or use NoExecute",
                )
            })
            .collect()
    }
}

fn never(field: &str, type_: &str) -> Finding {
    Finding::new(
        Code::NeverMatches,
        field,
        format!("no status of {type_} satisfies what is asked of it"),
        "all conditions must hold together, so the policy never matches",
        "correct operator or statusValues; for either of two statuses, list both in one condition",
    )
}

fn missing_on(type_: &str, field: String, targeted: &[&Cluster]) -> Option<Finding> {
    let without: Vec<String> = targeted
        .iter()
        .filter(|cluster| cluster.condition(type_).is_none())
        .map(|cluster| cluster.cluster_name().to_string())
        .collect();
    if without.is_empty() {
        return None;
    }
    let why = "a cluster without the condition never matches, also not by NotIn";
    if without.len() < targeted.len() {
        return Some(Finding::new(
            Code::ConditionMissingSomewhere,
            field,
            format!(
                "{} of {} targeted clusters lack condition {type_}: {}",
                without.len(),
                targeted.len(),
                some(&without)
            ),
            why,
            "see why its reporter says nothing there",
        ));
    }
    let mut known: Vec<&str> = targeted
        .iter()
        .filter_map(|cluster| cluster.status.as_ref())
        .flat_map(|status| &status.conditions)
        .map(|condition| condition.type_.as_str())
        .collect();
    known.sort_unstable();
    known.dedup();
    let fix = match nearest(type_, known.iter().copied()) {
        Some(meant) => format!("did you mean {meant}?"),
        None if known.is_empty() => {
            "these clusters have no condition at all: see whether their reporter runs".to_owned()
        }
        None => format!(
            "the clusters have {}; if another reporter writes {type_}, see whether it runs",
            known.join(", ")
        ),
    };
    Some(Finding::new(
        Code::NoSuchCondition,
        field,
        format!("none of the {} targeted clusters has condition {type_}", targeted.len()),
        why,
        fix,
    ))
}

fn misspelt(type_: &str, field: String) -> Option<Finding> {
    if KNOWN_CONDITIONS.contains(&type_) {
        return None;
    }
    let meant = nearest(type_, KNOWN_CONDITIONS)?;
    Some(Finding::new(
        Code::MisspeltCondition,
        field,
        format!("condition {type_} is nearly {meant}"),
        "a cluster without the condition never matches, so a slip of the pen does nothing, silently",
        format!("did you mean {meant}?"),
    ))
}
