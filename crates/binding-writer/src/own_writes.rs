//! Versions that this process itself has superseded.
//!
//! A controller's cache lags behind its own writes. What it would decide from a version that it has just replaced could
//! only end in a conflict: it waits for the newer one, which is on its way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use api_types::BindingKey;
use api_types::work::Binding;

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

    /// Whether the cache shows a version that was superseded by an own write. Forgets the binding once it does not.
    #[must_use]
    pub fn is_superseded(&self, cached: &Binding) -> bool {
        let mut all = self.superseded.lock().unwrap_or_else(PoisonError::into_inner);
        let key = cached.key();
        let Some(versions) = all.get(&key) else { return false };
        let superseded = cached
            .metadata
            .resource_version
            .as_ref()
            .is_some_and(|version| versions.contains(version));
        if !superseded {
            all.remove(&key);
        }
        superseded
    }

    /// Takes in a change that is no reason for a look: what it supersedes, or ends, is forgotten without one.
    pub fn saw(&self, key: &BindingKey, after: Option<&Binding>) {
        match after {
            Some(after) => {
                let _ = self.is_superseded(after);
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
        assert!(!own.is_superseded(&version("1")));
        own.wrote(&version("1"));
        own.wrote(&version("2"));
        assert!(own.is_superseded(&version("1")) && own.is_superseded(&version("2")));
        assert!(!own.is_superseded(&version("3")));
        assert!(
            !own.is_superseded(&version("1")),
            "an object restored to an old version is looked at"
        );
    }
}
