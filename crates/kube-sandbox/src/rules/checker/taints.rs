//! Rule 2, of taints: none before its window. Rule 7, of taints: what we did not add is left alone.

use api_types::cluster::Cluster;
use api_types::names::annotation;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::Checker;
use crate::rules::reference;

impl Checker {
    /// Rule 2 (no taint before its window) and rule 7 (a taint that we did not add is left alone).
    pub(super) fn check_taints(&mut self, before: &Cluster, after: &Cluster, now: Timestamp) {
        let name = after.name_any();
        let owned = |cluster: &Cluster, key: &str| {
            cluster
                .annotations()
                .get(annotation::MANAGED_TAINTS)
                .is_some_and(|owned| owned.contains(key))
        };
        for taint in &after.spec.taints {
            let is_new = !before
                .spec
                .taints
                .iter()
                .any(|old| old.key == taint.key && old.effect == taint.effect);
            if !is_new || !owned(after, &taint.key) {
                continue;
            }
            let policies = self
                .policies
                .values()
                .chain(self.old_policies.within(now, self.settings.lag));
            let earliest = policies
                .filter_map(|policy| {
                    let window = reference::window_seconds(policy, &taint.key, &taint.effect)?;
                    let spell = self.matching.get(&(policy.name_any(), name.clone()))?;
                    spell.since.checked_add(SignedDuration::from_secs(window)).ok()
                })
                .min();
            let shown = format!("{name}: taint {}:{} was added", taint.key, taint.effect);
            match earliest {
                None => self.broken(2, now, format!("{shown} although no policy's conditions match")),
                Some(earliest) if now < earliest - self.settings.slack => {
                    self.broken(2, now, format!("{shown} before its window ended at {earliest}"));
                }
                Some(_) => {}
            }
        }
        for taint in before.spec.taints.iter().filter(|taint| !owned(before, &taint.key)) {
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
