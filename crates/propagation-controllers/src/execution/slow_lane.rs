//! Kinds whose requests a member does not answer in time, as when a webhook of the member hangs: their Works are tried
//! one at a time, so that the others of the member are not kept waiting.

use std::collections::BTreeSet;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::kinds::Kind;

/// How soon a Work is looked at again when another one of a slow kind is being tried.
const AGAIN: Duration = Duration::from_secs(1);

/// Of one member, while it is worked on.
pub struct SlowLane {
    kinds: Mutex<BTreeSet<Kind>>,
    one: Semaphore,
}

impl Default for SlowLane {
    fn default() -> Self {
        Self {
            kinds: Mutex::default(),
            one: Semaphore::new(1),
        }
    }
}

/// Whether a Work may be tried now.
pub enum Turn<'a> {
    /// Now; a slow one as long as this lives.
    Now(Option<SemaphorePermit<'a>>),
    /// Another one of a slow kind is being tried.
    After(Duration),
}

impl SlowLane {
    /// Whether a Work of these kinds may be tried now.
    #[must_use]
    pub fn turn(&self, kinds: &[Kind]) -> Turn<'_> {
        let slow = {
            let known = self.kinds.lock();
            kinds.iter().any(|kind| known.contains(kind))
        };
        if !slow {
            return Turn::Now(None);
        }
        match self.one.try_acquire() {
            Ok(permit) => Turn::Now(Some(permit)),
            Err(_) => Turn::After(AGAIN),
        }
    }

    /// A request about an object of this kind was not answered in time.
    pub fn timed_out(&self, kind: &Kind) {
        self.kinds.lock().insert(kind.clone());
    }

    /// One was answered.
    pub fn answered(&self, kind: &Kind) {
        self.kinds.lock().remove(kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::KindScope;

    #[test]
    fn of_a_slow_kind_one_is_tried_at_a_time() {
        let lane = SlowLane::default();
        let kind = Kind::new("", "v1", "ConfigMap", "configmaps", KindScope::Namespaced);
        let kinds = [kind.clone()];
        let at_once = |lane: &SlowLane| matches!(lane.turn(&kinds), Turn::Now(None));
        assert!(at_once(&lane));
        lane.timed_out(&kind);
        {
            let first = lane.turn(&kinds);
            assert!(matches!(first, Turn::Now(Some(_))));
            assert!(matches!(lane.turn(&kinds), Turn::After(_)));
            assert!(matches!(lane.turn(&[]), Turn::Now(None)), "others do not wait");
        }
        assert!(matches!(lane.turn(&kinds), Turn::Now(Some(_))), "the first is done");
        lane.answered(&kind);
        assert!(at_once(&lane));
    }
}
