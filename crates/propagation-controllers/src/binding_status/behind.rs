//! For how long Works have been ahead of what was applied.
//!
//! A change that goes through at once is worth no word: it would be two more writes for each binding that changes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use api_types::ClusterName;
use api_types::conditions;
use api_types::work::{Work, work_condition};
use controller_kit::{Change, ObjectKey};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::binding::reconcile::cluster_of;

/// How long a member is given to take a new version before it is said that it has not.
const SAID_AFTER: Duration = Duration::from_secs(5);

/// Whether what was said of applying a Work is of a version before this one. One that is held back is to stay behind, and
/// one of which nothing was said is no version behind.
#[must_use]
pub fn is_behind(work: &Work) -> bool {
    let all = work.status.as_ref().map(|status| status.conditions.as_slice());
    let applied = conditions::get(all.unwrap_or_default(), work_condition::APPLIED);
    let applied = applied.and_then(|applied| applied.observed_generation);
    work.metadata.deletion_timestamp.is_none()
        && work.spec.suspend_dispatching != Some(true)
        && matches!((applied, work.metadata.generation), (Some(applied), Some(newest)) if applied < newest)
}

/// Since when each Work that is behind is so; elapsed time, which no clock that is set moves.
#[derive(Default)]
pub struct Behind {
    since: Mutex<BTreeMap<ObjectKey, Instant>>,
}

impl Behind {
    /// Takes note of a change. Returns whether the Work is behind since now.
    pub fn begins(&self, change: &Change<Work>) -> bool {
        let mut since = self.since.lock();
        if !change.after.as_ref().is_some_and(|work| is_behind(work)) {
            since.remove(&change.key);
            return false;
        }
        let mut begins = false;
        since.entry(change.key.clone()).or_insert_with(|| {
            begins = true;
            Instant::now()
        });
        begins
    }

    /// The clusters of those Works that are behind for so long that it is to be said, and when the next one is.
    pub fn late<'a>(&self, works: impl Iterator<Item = &'a Work>) -> (BTreeSet<ClusterName>, Option<Duration>) {
        let (since, now) = (self.since.lock(), Instant::now());
        let (mut late, mut next) = (BTreeSet::new(), None::<Duration>);
        for work in works.filter(|work| is_behind(work)) {
            // What is not noted yet is about to be.
            let begun = since.get(&ObjectKey::of(work)).copied().unwrap_or(now);
            let left = (begun + SAID_AFTER).saturating_duration_since(now);
            if left.is_zero() {
                late.extend(cluster_of(work));
            } else {
                next = Some(next.map_or(left, |next| next.min(left)));
            }
        }
        (late, next)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn work(generation: i64, applied: Option<i64>, more: &serde_json::Value) -> Arc<Work> {
        let mut work = json!({"metadata": {"namespace": "karmada-es-m1", "name": "w", "generation": generation}, "spec": more,
            "status": {"conditions": [{"type": "Applied", "status": "True", "reason": "R", "message": "", "observedGeneration": applied,
                "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        if applied.is_none() {
            work["status"]["conditions"] = json!([]);
        }
        Arc::new(serde_json::from_value(work).unwrap())
    }

    fn to(after: &Arc<Work>) -> Change<Work> {
        Change {
            key: ObjectKey::of(after.as_ref()),
            before: None,
            after: Some(after.clone()),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_late_after_a_while() {
        let behind = Behind::default();
        let (at_first, newer) = (work(2, Some(1), &json!({})), work(3, Some(1), &json!({})));
        assert!(behind.begins(&to(&at_first)));
        assert_eq!(
            behind.late([&*at_first].into_iter()),
            (BTreeSet::new(), Some(SAID_AFTER))
        );
        tokio::time::advance(SAID_AFTER).await;
        assert!(!behind.begins(&to(&newer)), "since the first version that it has not");
        let m1 = BTreeSet::from([ClusterName::from("m1")]);
        assert_eq!(behind.late([&*newer].into_iter()), (m1, None));
        let applied = work(3, Some(3), &json!({}));
        assert!(!behind.begins(&to(&applied)));
        assert!(behind.begins(&to(&newer)), "and anew after it was not");
        let mut gone = to(&newer);
        gone.after = None;
        behind.begins(&gone);
        assert!(behind.since.lock().is_empty());
    }

    #[test]
    fn what_is_held_back_or_new_is_not_behind() {
        assert!(is_behind(&work(2, Some(1), &json!({}))));
        assert!(!is_behind(&work(2, Some(1), &json!({"suspendDispatching": true}))));
        assert!(!is_behind(&work(2, None, &json!({}))));
    }
}
