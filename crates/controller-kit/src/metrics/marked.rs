//! Objects of which something holds now, shown as their count.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// A set of keys that a gauge counts. Clones are the same set.
#[derive(Debug)]
pub struct Marked<K> {
    keys: Arc<Mutex<BTreeSet<K>>>,
}

impl<K: Ord + Clone> Marked<K> {
    /// Says whether it holds of `key`.
    pub fn mark(&self, key: &K, holds: Holds) {
        let mut keys = self.keys.lock();
        match holds {
            Holds::Yes if !keys.contains(key) => {
                keys.insert(key.clone());
            }
            Holds::Yes => {}
            Holds::No => {
                keys.remove(key);
            }
        }
    }

    /// How many keys it holds of.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a count of objects")]
    pub fn count(&self) -> f64 {
        self.keys.lock().len() as f64
    }
}

/// Whether it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// It does.
    Yes,
    /// It does not, or the object is gone.
    No,
}

impl From<bool> for Holds {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

impl<K> Clone for Marked<K> {
    fn clone(&self) -> Self {
        Self {
            keys: Arc::clone(&self.keys),
        }
    }
}

impl<K> Default for Marked<K> {
    fn default() -> Self {
        Self { keys: Arc::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_counts_once_while_it_holds() {
        let marked = Marked::default();
        marked.mark(&"a", Holds::Yes);
        marked.mark(&"a", Holds::Yes);
        marked.clone().mark(&"b", Holds::Yes);
        assert!((marked.count() - 2.0).abs() < f64::EPSILON);
        marked.mark(&"a", Holds::No);
        marked.mark(&"c", Holds::No);
        assert!((marked.count() - 1.0).abs() < f64::EPSILON);
    }
}
