//! Kinds whose requests a member does not answer in time, as when a webhook of the member hangs: their Works are dealt
//! with one at a time, so that the others of the member are not kept waiting. Kinds go by the names that manifests have:
//! what a member says of its kinds may hang, too.

use std::collections::BTreeSet;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::interpreter::KindName;
use crate::json;

/// How soon a Work is looked at again when another one of a slow kind is being tried.
const AGAIN: Duration = Duration::from_secs(1);

/// Of one member, while it is worked on.
pub struct SlowLane {
    kinds: Mutex<BTreeSet<KindName>>,
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
    /// Whether a Work with these objects may be tried now.
    #[must_use]
    pub fn turn<'a>(&self, objects: impl IntoIterator<Item = &'a Value>) -> Turn<'_> {
        let slow = {
            let known = self.kinds.lock();
            !known.is_empty() && objects.into_iter().any(|object| known.contains(&name_of(object)))
        };
        if !slow {
            return Turn::Now(None);
        }
        match self.one.try_acquire() {
            Ok(permit) => Turn::Now(Some(permit)),
            Err(_) => Turn::After(AGAIN),
        }
    }

    /// A request about this object was not answered in time.
    pub fn timed_out(&self, object: &Value) {
        self.kinds.lock().insert(name_of(object));
    }

    /// One was answered.
    pub fn answered(&self, object: &Value) {
        let mut known = self.kinds.lock();
        if !known.is_empty() {
            known.remove(&name_of(object));
        }
    }
}

fn name_of(object: &Value) -> KindName {
    KindName {
        api_version: json::text(object, "/apiVersion").to_owned(),
        kind: json::text(object, "/kind").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_a_slow_kind_one_is_tried_at_a_time() {
        let lane = SlowLane::default();
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap"});
        let at_once = |lane: &SlowLane| matches!(lane.turn([&object]), Turn::Now(None));
        assert!(at_once(&lane));
        lane.timed_out(&object);
        {
            let first = lane.turn([&object]);
            assert!(matches!(first, Turn::Now(Some(_))));
            assert!(matches!(lane.turn([&object]), Turn::After(_)));
            let other = json!({"apiVersion": "v1", "kind": "Secret"});
            assert!(matches!(lane.turn([&other]), Turn::Now(None)), "others do not wait");
        }
        assert!(matches!(lane.turn([&object]), Turn::Now(Some(_))), "the first is done");
        lane.answered(&object);
        assert!(at_once(&lane));
    }
}
