//! Versions that this process itself has superseded.
//!
//! A controller's cache lags behind its own writes. What it would decide from a version that it has just replaced could
//! only end in a conflict: it waits for the newer one, which is on its way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use api_types::BindingKey;
use api_types::work::Binding;

/// How what the cache shows of a binding stands to the own writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// It shows a version that an own write has superseded: a newer one is on its way.
    Behind,
    /// It shows what the own writes made of it, or something later.
    CaughtUp,
}

/// Remembers, per binding, the versions that were read for writes that succeeded. Clones share what they remember.
#[derive(Clone, Debug, Default)]
pub struct OwnWrites {
    superseded: Arc<Mutex<BTreeMap<BindingKey, BTreeSet<String>>>>,
}

impl OwnWrites {
    /// A write on this version succeeded.
    pub fn wrote(&self, read: &Binding) {
        if let Some(version) = read.metadata.resource_version.clone() {
            let mut all = self.superseded.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry(read.key()).or_default().insert(version);
        }
    }

    /// Takes in what the cache shows of a binding, and says whether that is worth a decision. Once the cache has caught
    /// up with the own writes they are forgotten.
    pub fn take_in(&self, cached: &Binding) -> Cache {
        let mut all = self.superseded.lock().unwrap_or_else(PoisonError::into_inner);
        if all.is_empty() {
            return Cache::CaughtUp;
        }
        let key = cached.key();
        let Some(versions) = all.get(&key) else {
            return Cache::CaughtUp;
        };
        let superseded = cached
            .metadata
            .resource_version
            .as_ref()
            .is_some_and(|version| versions.contains(version));
        if superseded {
            Cache::Behind
        } else {
            all.remove(&key);
            Cache::CaughtUp
        }
    }

    /// Takes in a change that is no reason for a look: what it supersedes, or ends, is forgotten without one.
    pub fn saw(&self, key: &BindingKey, after: Option<&Binding>) {
        match after {
            Some(after) => {
                self.take_in(after);
            }
            None => self.forget(key),
        }
    }

    /// How many bindings are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.superseded.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets a binding that is gone.
    pub fn forget(&self, key: &BindingKey) {
        self.superseded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(version: &str) -> Binding {
        let mut binding = Binding::new(&BindingKey::namespaced("n", "b"), Default::default());
        binding.metadata.resource_version = Some(version.to_owned());
        binding
    }

    #[test]
    fn what_is_no_reason_for_a_look_is_forgotten_all_the_same() {
        let own = OwnWrites::default();
        let key = BindingKey::namespaced("n", "b");
        own.wrote(&version("1"));
        own.saw(&key, Some(&version("1")));
        assert_eq!(own.len(), 1);
        own.saw(&key, Some(&version("2")));
        assert!(own.is_empty(), "the own write came back");
        own.wrote(&version("2"));
        own.saw(&key, None);
        assert!(own.is_empty(), "the binding is gone");
    }

    #[test]
    fn waits_until_the_cache_has_caught_up() {
        let own = OwnWrites::default();
        assert_eq!(own.take_in(&version("1")), Cache::CaughtUp);
        own.wrote(&version("1"));
        own.wrote(&version("2"));
        assert_eq!(own.take_in(&version("1")), Cache::Behind);
        assert_eq!(own.take_in(&version("2")), Cache::Behind);
        assert_eq!(own.take_in(&version("3")), Cache::CaughtUp);
        assert_eq!(
            own.take_in(&version("1")),
            Cache::CaughtUp,
            "an object restored to an old version is looked at"
        );
    }
}
