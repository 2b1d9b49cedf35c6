//! Rule 2, of taints: none before its window. Rule 7, of taints: what we did not add is left alone.

use api_types::cluster::Cluster;
use api_types::names::taint::COMPANION;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Taint;
use kube::ResourceExt;

use super::Checker;
use crate::rules::reference;
use crate::rules::settings::JudgedBy;

impl Checker {
    /// Rule 2 (no taint before its window) and rule 7 (a taint that we did not add is left alone).
    pub(super) fn check_taints(&mut self, before: &Cluster, after: &Cluster, now: Timestamp) {
        let name = after.name_any();
        let id = |taint: &Taint| format!("{}:{}", taint.key, taint.effect);
        let (ours_before, ours_after) = (reference::recorded_taints(before), reference::recorded_taints(after));
        for taint in &after.spec.taints {
            let is_new = !before
                .spec
                .taints
                .iter()
                .any(|old| old.key == taint.key && old.effect == taint.effect);
            if !is_new || !ours_after.contains(&id(taint)) {
                continue;
            }
            let policies = self
                .policies
                .values()
                .chain(self.old_policies.within(now, self.settings.lag));
            let earliest = policies
                .filter_map(|policy| {
                    let window = reference::window_seconds(policy, &taint.key, &taint.effect)?;
                    let spell = self.spell(&policy.name_any(), &name, now)?;
                    spell.since.checked_add(SignedDuration::from_secs(window)).ok()
                })
                .min();
            let shown = format!("{name}: taint {}:{} was added", taint.key, taint.effect);
            let added = self.time_of(taint.time_added.as_ref(), now);
            let slack = match self.settings.judged_by {
                JudgedBy::Sight => self.settings.slack,
                // Both ends are cut to the second, and a window has whole ones.
                JudgedBy::Stamps => SignedDuration::ZERO,
            };
            match earliest {
                None => self.broken(2, now, format!("{shown} although no policy's conditions match")),
                Some(earliest) if added < earliest - slack => {
                    self.broken(2, now, format!("{shown} before its window ended at {earliest}"));
                }
                Some(_) => {}
            }
        }
        for taint in before
            .spec
            .taints
            .iter()
            .filter(|taint| !ours_before.contains(&id(taint)))
            // Its key is ours alone: no record is kept of it.
            .filter(|taint| taint.key != COMPANION)
            .filter(|taint| !self.settings.people_s_taint_keys.contains(&taint.key.as_str()))
            .collect::<Vec<_>>()
        {
            let same = after
                .spec
                .taints
                .iter()
                .find(|new| new.key == taint.key && new.effect == taint.effect);
            let stamped = taint.time_added.is_none();
            if !same.is_some_and(|new| new.value == taint.value && (stamped || new.time_added == taint.time_added)) {
                self.broken(
                    7,
                    now,
                    format!(
                        "{name}: taint {}:{} is not ours and was changed or removed",
                        taint.key, taint.effect
                    ),
                );
            }
        }
    }
}
