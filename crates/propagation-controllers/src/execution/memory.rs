//! What execution remembers of a member's Works between two looks. It goes with the Work, so that a member that is
//! worked on for weeks costs no more than what is there.

use std::collections::BTreeMap;

use api_types::work::Work;
use controller_kit::ObjectKey;
use parking_lot::Mutex;
use serde_json::Value;

use super::conditions::Applied;
use super::object::Fingerprint;
use crate::json;
use crate::kinds::group_of;
use crate::objects::key_of;

/// Names an object in the member, in whatever version of its kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// API group, empty for the core group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Namespace and name.
    pub key: ObjectKey,
}

impl ObjectName {
    /// Of a manifest.
    #[must_use]
    pub fn of(manifest: &Value) -> Self {
        Self {
            group: group_of(json::text(manifest, "/apiVersion")).to_owned(),
            kind: json::text(manifest, "/kind").to_owned(),
            key: key_of(manifest),
        }
    }
}

/// All of one member.
#[derive(Default)]
pub struct Memory {
    works: Mutex<BTreeMap<ObjectKey, OfWork>>,
}

#[derive(Default)]
struct OfWork {
    /// What each object looked like after our last write.
    written: BTreeMap<ObjectName, Fingerprint>,
    /// What was said last, and onto which version of the Work: until the store shows a later one, it is said.
    said: Option<(Option<String>, Applied)>,
    /// UID of the Work that was let go, until it is seen to be gone.
    released: Option<String>,
}

impl Memory {
    /// An object of the Work looked like this after our write.
    pub fn wrote(&self, work: &ObjectKey, object: ObjectName, content: Fingerprint) {
        self.of(work, |memory| memory.written.insert(object, content));
    }

    /// Whether the object looks other than after our last write; not before there was one.
    pub fn has_drifted(&self, work: &ObjectKey, object: &ObjectName, content: Fingerprint) -> bool {
        let works = self.works.lock();
        let written = works.get(work).and_then(|memory| memory.written.get(object));
        written.is_some_and(|written| *written != content)
    }

    /// An object of the Work is removed, or not ours any more.
    pub fn left(&self, work: &ObjectKey, object: &ObjectName) {
        if let Some(memory) = self.works.lock().get_mut(work) {
            memory.written.remove(object);
        }
    }

    /// This was said on this version of the Work.
    pub fn said(&self, key: &ObjectKey, work: &Work, applied: Applied) {
        let version = work.metadata.resource_version.clone();
        self.of(key, |memory| memory.said = Some((version, applied)));
    }

    /// What was said on this very version of the Work, which the store still shows.
    pub fn already_said(&self, key: &ObjectKey, work: &Work) -> Option<Applied> {
        let works = self.works.lock();
        let (version, applied) = works.get(key)?.said.as_ref()?;
        (*version == work.metadata.resource_version).then(|| applied.clone())
    }

    /// The Work was let go.
    pub fn released(&self, key: &ObjectKey, work: &Work) {
        let released = OfWork {
            released: work.metadata.uid.clone(),
            ..OfWork::default()
        };
        self.works.lock().insert(key.clone(), released);
    }

    /// Whether this very Work was let go.
    pub fn is_released(&self, key: &ObjectKey, work: &Work) -> bool {
        let works = self.works.lock();
        let released = works.get(key).and_then(|memory| memory.released.as_ref());
        released.is_some() && released == work.metadata.uid.as_ref()
    }

    /// The Work is gone.
    pub fn forget(&self, key: &ObjectKey) {
        self.works.lock().remove(key);
    }

    fn of<T>(&self, work: &ObjectKey, change: impl FnOnce(&mut OfWork) -> T) {
        change(self.works.lock().entry(work.clone()).or_default());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::object::fingerprint;
    use super::*;

    fn work(uid: &str, version: &str) -> Work {
        let metadata = json!({"namespace": "karmada-es-m1", "name": "w", "uid": uid, "resourceVersion": version});
        serde_json::from_value(json!({"metadata": metadata, "spec": {}})).unwrap()
    }

    #[test]
    fn everything_goes_with_the_work() {
        let memory = Memory::default();
        let key = ObjectKey::namespaced("karmada-es-m1", "w");
        let object = ObjectName::of(&json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"namespace": "shop", "name": "web"}}));
        let print = |replicas: i32| fingerprint(&json!({"spec": {"replicas": replicas}}));
        assert!(!memory.has_drifted(&key, &object, print(1)), "nothing was written");
        memory.wrote(&key, object.clone(), print(1));
        assert!(!memory.has_drifted(&key, &object, print(1)));
        assert!(memory.has_drifted(&key, &object, print(2)));
        memory.left(&key, &object);
        assert!(!memory.has_drifted(&key, &object, print(2)));

        memory.said(&key, &work("a", "7"), Applied::All);
        assert_eq!(memory.already_said(&key, &work("a", "7")), Some(Applied::All));
        assert_eq!(memory.already_said(&key, &work("a", "8")), None);

        memory.released(&key, &work("a", "8"));
        assert!(memory.is_released(&key, &work("a", "9")));
        assert!(!memory.is_released(&key, &work("b", "9")), "another one of this name");
        memory.forget(&key);
        assert!(memory.works.lock().is_empty());
    }
}
