//! Beside a stock Karmada others write the whole list of conditions back as they know it, and ours is gone. It is said again,
//! and at most once a minute: no fight.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use api_types::BindingKey;
use api_types::work::{Binding, condition};
use tokio::time::Instant;

/// How long after it was said a condition that somebody dropped is left unsaid.
const AGAIN_AFTER: Duration = Duration::from_secs(60);

/// When the condition of each binding was said last.
#[derive(Default)]
pub(crate) struct Reassert {
    said: Mutex<BTreeMap<BindingKey, Instant>>,
}

impl Reassert {
    /// Whether the condition was said, and somebody dropped it.
    pub(crate) fn is_dropped(&self, binding: &Binding) -> bool {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        binding.condition(condition::GRACEFUL_EVICTION).is_none() && said.contains_key(&binding.key())
    }

    /// For how long from now the condition, which somebody dropped, is not to be said again.
    pub(crate) fn held_back(&self, binding: &Binding) -> Option<Duration> {
        if binding.condition(condition::GRACEFUL_EVICTION).is_some() {
            return None;
        }
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let at = said.get(&binding.key())?;
        Some(AGAIN_AFTER.saturating_sub(at.elapsed())).filter(|left| !left.is_zero())
    }

    /// It was said now.
    pub(crate) fn said(&self, binding: &Binding) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if binding.spec.graceful_eviction_tasks.is_empty() {
            said.remove(&binding.key());
        } else {
            said.insert(binding.key(), Instant::now());
        }
    }

    /// The binding is gone, or has no task any more.
    pub(crate) fn forget(&self, key: &BindingKey) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn binding(conditions: &serde_json::Value) -> Binding {
        serde_json::from_value(json!({
            "metadata": {"namespace": "n", "name": "b"},
            "spec": {
                "resource": {"apiVersion": "v1", "kind": "ConfigMap", "name": "b"},
                "gracefulEvictionTasks": [{"fromCluster": "m1", "reason": "TaintUntolerated", "producer": "TaintManager"}],
            },
            "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_dropped_is_said_again_once_a_minute() {
        let reassert = Reassert::default();
        let dropped = binding(&json!([]));
        assert_eq!(reassert.held_back(&dropped), None, "it was never said");
        reassert.said(&dropped);
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(reassert.held_back(&dropped), Some(Duration::from_secs(40)));
        let there = json!([{"type": "GracefulEviction", "status": "True", "reason": "Waiting", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
        assert_eq!(
            reassert.held_back(&binding(&there)),
            None,
            "a change of what is there is no reassertion"
        );
        tokio::time::sleep(Duration::from_secs(40)).await;
        assert_eq!(reassert.held_back(&dropped), None);
        reassert.said(&dropped);
        reassert.forget(&dropped.key());
        assert_eq!(reassert.held_back(&dropped), None);
    }
}
