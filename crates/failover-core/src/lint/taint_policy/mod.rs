//! One ClusterTaintPolicy: whom it speaks of, and, each in its file, when it matches and what it adds.

mod condition_types;
mod rule;
mod taints;

use api_types::second_home;
use api_types::taint_policy::ClusterTaintPolicy;

use super::Around;
use super::annotations::unreadable;
use super::code::Code;
use super::finding::Finding;
use super::known::{Known, StockKarmada};
use super::target;
use crate::taint_policy::{PlannedTaint, Reading};

pub(in crate::lint) fn findings(policy: &ClusterTaintPolicy, known: &Known<'_>, around: &Around<'_>) -> Vec<Finding> {
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
    found.extend(unreadable(second_home::taint_policy::complaint(policy)));
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
    fn suspended(&self) -> Vec<Finding> {
        // Stock Karmada's API server has dropped it: another rule says so.
        if !self.policy.spec.suspended || self.known.stock_karmada == StockKarmada::There {
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
}
