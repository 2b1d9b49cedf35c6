//! The condition `FullyApplied` of a binding, as a pure function.
//!
//! Guarantee: it is True only of the newest version of each Work that there should be; a moment in which a new version is under way is
//! nothing to write.

use std::collections::BTreeSet;
use std::sync::Arc;

use api_types::ClusterName;
use api_types::conditions::{self, Say};
use api_types::work::{Binding, ResourceBindingStatus, Work, condition, work_condition};
use jiff::Timestamp;

use super::behind::is_behind;
use crate::binding::reconcile::{cluster_of, kept_by_tasks, targets};

/// What else is known of the Works of a binding.
#[derive(Clone, Debug, Default)]
pub struct Known<'a> {
    /// Why they are not as they should be, where they are not.
    pub unwritten: Option<&'a str>,
    /// The clusters that have not been given the newest version for so long that it is to be said.
    pub late: BTreeSet<ClusterName>,
}

/// True when there is a Work for each cluster that should have one, as it should be, for no other, and all are applied: this
/// version of each, but for a moment after it has changed, in which what was said before stays.
pub fn say(
    binding: &Binding,
    works: &[Arc<Work>],
    known: &Known<'_>,
    status: &mut ResourceBindingStatus,
    now: Timestamp,
) {
    let mut wanted: BTreeSet<ClusterName> = targets(binding).into_keys().collect();
    wanted.extend(kept_by_tasks(binding));
    let there: BTreeSet<ClusterName> = status
        .aggregated_status
        .iter()
        .map(|item| ClusterName::from(item.cluster_name.as_str()))
        .collect();
    let never_said = conditions::get(&status.conditions, condition::FULLY_APPLIED).is_none();
    if wanted.is_empty() && there.is_empty() && never_said {
        return;
    }
    let all = known.unwritten.is_none()
        && known.late.is_empty()
        && !wanted.is_empty()
        && wanted == there
        && status.aggregated_status.iter().all(|item| item.applied);
    if all && !never_said && works.iter().any(|work| is_behind(work)) {
        return;
    }
    let missing = match known.unwritten {
        Some(words) => format!("; {words}"),
        None => format!("{}{}", silent(works), not_yet(&known.late)),
    };
    let (status_text, reason, message) = if all {
        (
            "True",
            "FullyAppliedSuccess",
            "All works have been successfully applied".to_owned(),
        )
    } else {
        (
            "False",
            "FullyAppliedFailed",
            format!("Failed to apply all works, see status.aggregatedStatus for details{missing}"),
        )
    };
    let say = Say {
        type_: condition::FULLY_APPLIED,
        status: status_text,
        reason,
        message: &message,
    };
    conditions::set(&mut status.conditions, say, None, now);
}

/// The clusters of whose Work nothing has been said, whose items have no words either. A Work that is held back is none of
/// them: nobody is to say anything of it.
fn silent(works: &[Arc<Work>]) -> String {
    let is_spoken_of = |work: &Work| {
        let conditions = work.status.as_ref().map(|status| status.conditions.as_slice());
        conditions::get(conditions.unwrap_or_default(), work_condition::APPLIED).is_some()
    };
    let silent = works.iter().filter(|work| {
        let is_held_back = work.spec.suspend_dispatching == Some(true);
        work.metadata.deletion_timestamp.is_none() && !is_held_back && !is_spoken_of(work)
    });
    let names: BTreeSet<ClusterName> = silent.filter_map(|work| cluster_of(work)).collect();
    match names.first() {
        None => String::new(),
        Some(first) if names.len() == 1 => {
            format!("; nothing has been said of the Work for cluster {first} yet: see whether that Cluster is reached")
        }
        Some(first) => format!(
            "; nothing has been said of the Works for cluster {first} and {} more yet: see whether those Clusters are reached",
            names.len() - 1
        ),
    }
}

/// The clusters that have another version than this one.
fn not_yet(late: &BTreeSet<ClusterName>) -> String {
    match late.first() {
        None => String::new(),
        Some(first) if late.len() == 1 => format!("; cluster {first}: this version is not applied yet"),
        Some(first) => format!(
            "; cluster {first} and {} more: this version is not applied yet",
            late.len() - 1
        ),
    }
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "literals are given by value")]
mod tests {
    use failover_core::cluster_health::freshness::Freshness;

    use super::super::reconcile::status;
    use super::super::reconcile::tests::{at, binding, work};
    use super::*;

    #[test]
    fn why_a_work_is_not_as_it_should_be_stands_in_the_condition() {
        let works = [work("m1", "True", Some(("Healthy", 1)))];
        let fine = |words: Option<&str>| {
            let said = status(
                &binding(&["m1"], &Default::default()),
                &works,
                &|_| Freshness::Fresh,
                &Known {
                    unwritten: words,
                    ..Known::default()
                },
                at(9),
            );
            conditions::get(&said.conditions, condition::FULLY_APPLIED).map(|c| (c.status.clone(), c.message.clone()))
        };
        let (refused, message) = fine(Some("cluster m1: HTTP 413")).unwrap();
        assert_eq!(refused, "False", "what is applied is not what should be");
        assert!(message.ends_with("; cluster m1: HTTP 413"), "{message}");
        assert_eq!(fine(None).unwrap().0, "True");

        let mut silent = Work::clone(&works[0]);
        silent.status = None;
        let message = |work: Work| {
            let said = status(
                &binding(&["m1"], &Default::default()),
                &[Arc::new(work)],
                &|_| Freshness::Fresh,
                &Known::default(),
                at(9),
            );
            let said = conditions::get(&said.conditions, condition::FULLY_APPLIED);
            said.unwrap().message.clone()
        };
        let words = message(silent.clone());
        assert!(
            words.contains("nothing has been said of the Work for cluster m1 yet"),
            "{words}"
        );
        silent.spec.suspend_dispatching = Some(true);
        let words = message(silent);
        assert!(!words.contains("nothing has been said"), "held back: {words}");
    }

    #[test]
    fn a_version_that_a_member_has_not_is_said_when_it_is_late() {
        let of = |generation: i64| {
            let mut work = Work::clone(&work("m1", "True", Some(("Healthy", 1))));
            work.metadata.generation = Some(generation);
            work.status.as_mut().unwrap().conditions[0].observed_generation = Some(1);
            [Arc::new(work)]
        };
        let say = |before: &ResourceBindingStatus, works: &[Arc<Work>], late: &[&str], second| {
            let known = Known {
                late: late.iter().copied().map(ClusterName::from).collect(),
                ..Known::default()
            };
            status(
                &binding(&["m1"], before),
                works,
                &|_| Freshness::Fresh,
                &known,
                at(second),
            )
        };
        let words = |status: &ResourceBindingStatus| {
            let said = conditions::get(&status.conditions, condition::FULLY_APPLIED).unwrap();
            (said.status.clone(), said.message.clone())
        };
        let applied = say(&Default::default(), &of(1), &[], 9);
        assert_eq!(words(&applied).0, "True");
        let changed = say(&applied, &of(2), &[], 10);
        assert_eq!(changed, applied, "for a moment it is nothing to write");
        let late = say(&changed, &of(2), &["m1"], 15);
        let (said, message) = words(&late);
        assert!(
            said == "False" && message.ends_with("; cluster m1: this version is not applied yet"),
            "{message}"
        );
        assert_eq!(
            late.aggregated_status, applied.aggregated_status,
            "the copy is as it was said to be"
        );
        let restarted = say(&late, &of(3), &[], 16);
        assert_eq!(restarted, late, "what was said before stays, too");
        assert_eq!(words(&say(&late, &of(1), &[], 20)).0, "True");
        assert!(not_yet(&["m1", "m2", "m3"].map(ClusterName::from).into()).contains("cluster m1 and 2 more: "));
    }
}
