//! What the conditions of a Work say, in stock's words.

use api_types::conditions::{self, Say};
use api_types::work::{Work, work_condition};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// How applying a Work ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// All objects are in the member as wanted.
    All,
    /// Some are not: how many are, of how many, and the first reason.
    Failed {
        /// Objects that are as wanted.
        succeeded: usize,
        /// Objects in all.
        total: usize,
        /// Why one is not.
        problem: String,
    },
    /// The owner holds changes back.
    Suspended,
}

/// The conditions of `work` after `applied`; `None` when they say so already.
#[must_use]
pub fn after(work: &Work, applied: &Applied, now: Timestamp) -> Option<Vec<Condition>> {
    let mut all = work
        .status
        .as_ref()
        .map(|status| status.conditions.clone())
        .unwrap_or_default();
    let generation = work.metadata.generation;
    let dispatching = match applied {
        Applied::Suspended => Say {
            type_: work_condition::DISPATCHING,
            status: "False",
            reason: "SuspendDispatching",
            message: "Work dispatching is in a suspended state.",
        },
        _ => Say {
            type_: work_condition::DISPATCHING,
            status: "True",
            reason: "Dispatching",
            message: "Work is being dispatched to member clusters.",
        },
    };
    let mut changed = conditions::set(&mut all, dispatching, None, now);
    let failure;
    let say = match applied {
        Applied::Suspended => None,
        Applied::All => Some(("True", "AppliedSuccessful", "Manifest has been successfully applied")),
        Applied::Failed {
            succeeded,
            total,
            problem,
        } => {
            failure = format!("Failed to apply all manifests ({succeeded}/{total}): {problem}");
            Some(("False", "AppliedFailed", failure.as_str()))
        }
    };
    if let Some((status, reason, message)) = say {
        let say = Say {
            type_: work_condition::APPLIED,
            status,
            reason,
            message,
        };
        changed |= conditions::set(&mut all, say, generation, now);
    }
    changed.then_some(all)
}

/// Whether this version of the Work was applied before, by us or by the leader before us.
#[must_use]
pub fn is_applied(work: &Work) -> bool {
    applied(work)
        .is_some_and(|applied| applied.status == "True" && applied.observed_generation == work.metadata.generation)
}

/// Whether the member did not take it, this version or one before.
#[must_use]
pub fn was_refused(work: &Work) -> bool {
    applied(work).is_some_and(|applied| applied.status == "False")
}

fn applied(work: &Work) -> Option<&Condition> {
    let status = work.status.as_ref()?;
    conditions::get(&status.conditions, work_condition::APPLIED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_again_is_nothing_to_write_and_a_new_version_is() {
        let now = Timestamp::UNIX_EPOCH;
        let mut work = Work::new("w", api_types::work::WorkSpec::default());
        work.metadata.generation = Some(1);
        assert!(!is_applied(&work));
        let conditions = after(&work, &Applied::All, now).unwrap();
        work.status = Some(api_types::work::WorkStatus {
            conditions,
            ..Default::default()
        });
        assert!(is_applied(&work));
        assert_eq!(after(&work, &Applied::All, now), None);

        work.metadata.generation = Some(2);
        assert!(!is_applied(&work));
        let failed = Applied::Failed {
            succeeded: 0,
            total: 1,
            problem: "no".into(),
        };
        let conditions = after(&work, &failed, now).unwrap();
        let applied = conditions::get(&conditions, work_condition::APPLIED).unwrap();
        assert_eq!(
            (applied.status.as_str(), applied.message.as_str()),
            ("False", "Failed to apply all manifests (0/1): no")
        );
    }

    #[test]
    fn a_suspended_work_says_so_and_keeps_what_was_said_of_the_last_version() {
        let work = Work::new("w", api_types::work::WorkSpec::default());
        let conditions = after(&work, &Applied::Suspended, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(conditions.len(), 1);
        assert_eq!(
            (conditions[0].type_.as_str(), conditions[0].status.as_str()),
            ("Dispatching", "False")
        );
    }
}
