//! Beside a stock Karmada others write the whole list of conditions back as they know it, and ours is gone. It is said again,
//! and at most once a minute: no fight.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use api_types::BindingKey;
use tokio::time::Instant;

/// How long after it was said a condition that somebody dropped is left unsaid.
const AGAIN_AFTER: Duration = Duration::from_secs(60);

/// When one condition of each binding was said last.
#[derive(Debug, Default)]
pub struct Reassert {
    said: Mutex<BTreeMap<BindingKey, Instant>>,
}

impl Reassert {
    /// Whether the condition of a binding that lacks it was said: somebody dropped it.
    #[must_use]
    pub fn was_said(&self, key: &BindingKey) -> bool {
        self.said
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains_key(key)
    }

    /// For how long from now the condition of a binding that lacks it is not to be said again.
    #[must_use]
    pub fn held_back(&self, key: &BindingKey) -> Option<Duration> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let at = said.get(key)?;
        Some(AGAIN_AFTER.saturating_sub(at.elapsed())).filter(|left| !left.is_zero())
    }

    /// It was said now.
    pub fn said(&self, key: &BindingKey) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.insert(key.clone(), Instant::now());
    }

    /// The binding is gone, or the condition is not wanted any more.
    pub fn forget(&self, key: &BindingKey) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_was_dropped_is_said_again_once_a_minute() {
        let reassert = Reassert::default();
        let key = BindingKey::namespaced("n", "b");
        assert_eq!(reassert.held_back(&key), None, "it was never said");
        assert!(!reassert.was_said(&key));
        reassert.said(&key);
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(reassert.held_back(&key), Some(Duration::from_secs(40)));
        tokio::time::sleep(Duration::from_secs(40)).await;
        assert_eq!(reassert.held_back(&key), None);
        assert!(reassert.was_said(&key));
        reassert.said(&key);
        reassert.forget(&key);
        assert_eq!(reassert.held_back(&key), None);
    }
}
