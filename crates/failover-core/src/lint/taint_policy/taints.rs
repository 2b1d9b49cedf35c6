//! The taints that a policy adds: their windows, their owners, and whether they do anything.

use api_types::cluster::effect;
use api_types::names::taint as key;
use jiff::SignedDuration;

use super::Look;
use crate::lint::Around;
use crate::lint::code::Code;
use crate::lint::finding::Finding;
use crate::lint::known::StockKarmada;
use crate::taint_policy::{FailoverGate, PlannedTaint};

impl Look<'_> {
    /// Whether the taints are in `taintsToAdd` or in stock's `taints`.
    fn taints_field(&self) -> &'static str {
        if self.policy.spec.taints_to_add.is_empty() {
            "spec.taints"
        } else {
            "spec.taintsToAdd"
        }
    }

    pub(super) fn windows(&self) -> Vec<Finding> {
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

    pub(super) fn reserved(&self) -> Vec<Finding> {
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

    pub(super) fn gate(&self) -> Vec<Finding> {
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

    pub(super) fn opt_in(&self, around: &Around<'_>) -> Vec<Finding> {
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
