//! Works whose kinds the member does not serve: what they wait for, and when it may be there.

use std::collections::BTreeMap;
use std::time::Duration;

use controller_kit::{Change, ObjectKey};
use kube::core::DynamicObject;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::json;
use crate::kinds::{Kind, Kinds};

/// For how long after a sign that a kind comes it is expected any moment: a definition is served a little after it is
/// established.
const EXPECTED: Duration = Duration::from_secs(120);
/// How soon the member is asked again meanwhile; what it did not have is not asked for more often anyway.
const SOON: Duration = Duration::from_secs(10);
/// How soon the member is asked again when nothing has announced the kind.
const AGAIN: Duration = Duration::from_secs(60);

/// Of one member, while it is worked on.
#[derive(Default)]
pub struct Unserved {
    waiting: Mutex<BTreeMap<ObjectKey, Missing>>,
}

struct Missing {
    group: String,
    /// When the Work came, or a definition of the group changed, whatever was last.
    sign: Instant,
}

impl Unserved {
    /// The Work needs a kind of this group, which the member does not serve. Says how soon to ask again.
    pub fn wait(&self, work: &ObjectKey, group: &str) -> Duration {
        let mut waiting = self.waiting.lock();
        let missing = waiting.entry(work.clone()).or_insert_with(|| Missing {
            group: group.to_owned(),
            sign: Instant::now(),
        });
        group.clone_into(&mut missing.group);
        if missing.sign.elapsed() < EXPECTED { SOON } else { AGAIN }
    }

    /// The Work waits for no kind, or is gone.
    pub fn forget(&self, work: &ObjectKey) {
        self.waiting.lock().remove(work);
    }

    /// Something changed in the member: if it is a definition of a kind, what is known of its group is forgotten, and the
    /// Works that wait for the group are named.
    pub fn defined(&self, kind: &Kind, change: &Change<DynamicObject>, kinds: &Kinds) -> Vec<ObjectKey> {
        if (kind.group(), kind.kind()) != ("apiextensions.k8s.io", "CustomResourceDefinition") {
            return Vec::new();
        }
        let Some(group) = change
            .newest()
            .map(|definition| json::text(&definition.data, "/spec/group"))
        else {
            return Vec::new();
        };
        kinds.forget_group(group);
        let mut waiting = self.waiting.lock();
        let of_group = waiting.iter_mut().filter(|(_, missing)| missing.group == group);
        of_group
            .map(|(work, missing)| {
                missing.sign = Instant::now();
                work.clone()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_waits_is_asked_for_often_at_first_and_seldom_later() {
        let unserved = Unserved::default();
        let work = ObjectKey::namespaced("karmada-es-m1", "w");
        assert_eq!(unserved.wait(&work, "example.io"), SOON);
        tokio::time::advance(EXPECTED).await;
        assert_eq!(unserved.wait(&work, "example.io"), AGAIN);
        unserved.forget(&work);
        assert_eq!(unserved.wait(&work, "example.io"), SOON, "it begins anew");
    }
}
