//! Objects that were created and that the store does not show yet.
//!
//! A store lags behind the controller's own writes. Until it shows an object that was just created, or for so long as that
//! may take, the object is not created again: the API server would only refuse it.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a store may lag behind. What it does not show then went before it was ever shown.
const LAG: Duration = Duration::from_secs(2);

/// Objects on their way into the store, by what names them.
#[derive(Debug)]
pub struct Created<K> {
    until: Mutex<BTreeMap<K, Instant>>,
}

impl<K> Default for Created<K> {
    fn default() -> Self {
        Self {
            until: Mutex::default(),
        }
    }
}

impl<K: Ord> Created<K> {
    /// An object was created.
    pub fn note(&self, key: K) {
        let now = Instant::now();
        let mut until = self.until.lock();
        // What came to nothing is kept no longer than that.
        until.retain(|_, end| *end > now);
        until.insert(key, now + LAG);
    }

    /// The store shows these.
    pub fn shown(&self, keys: impl IntoIterator<Item = K>) {
        let mut until = self.until.lock();
        if !until.is_empty() {
            keys.into_iter().for_each(|key| {
                until.remove(&key);
            });
        }
    }

    /// How long an object of this name may still be on its way; absent: it is not.
    pub fn on_its_way(&self, key: &K) -> Option<Duration> {
        let until = self.until.lock().get(key).copied()?;
        Some(until.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_object_is_on_its_way_until_it_is_shown_or_too_late() {
        let created = Created::default();
        created.note("a");
        created.note("b");
        assert_eq!(created.on_its_way(&"a"), Some(LAG));
        assert_eq!(created.on_its_way(&"c"), None);
        created.shown(["a"]);
        assert_eq!(created.on_its_way(&"a"), None, "it arrived");
        tokio::time::advance(LAG).await;
        assert_eq!(created.on_its_way(&"b"), None, "it went before it was shown");
        created.note("d");
        assert_eq!(created.until.lock().len(), 1, "nothing is kept of what went");
    }
}
