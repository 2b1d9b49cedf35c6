//! Whether the conditions can hold, and whether they can cease to.

use api_types::taint_policy::MatchCondition;

use super::Look;
use crate::lint::code::Code;
use crate::lint::conditions::{excluded, hold_whatever, implies};
use crate::lint::finding::Finding;

impl Look<'_> {
    pub(super) fn rule(&self) -> Vec<Finding> {
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

    fn moves_workloads(&self) -> bool {
        self.taints.iter().any(|taint| taint.moves_workloads)
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
