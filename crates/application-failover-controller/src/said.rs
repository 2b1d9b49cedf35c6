//! What was said of a binding, so that it is said once.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::BindingKey;
use api_types::work::Binding;
use controller_kit::Context;
use controller_kit::metrics::{CollectorGuard, Family};
use parking_lot::Mutex;

/// Bindings that ask in vain for failover of their application, by UID; the rest is silence.
pub(crate) struct Said {
    in_vain: Arc<Mutex<BTreeMap<BindingKey, String>>>,
    _metric: CollectorGuard,
}

impl Said {
    pub(crate) fn new(ctx: &Context) -> Self {
        let in_vain: Arc<Mutex<BTreeMap<BindingKey, String>>> = Arc::default();
        let counted = in_vain.clone();
        let metric = ctx.metrics.guarded_collector("applicationFailover in vain", move || {
            let family = Family::gauge(
                "application_failover_without_health_rule",
                "Bindings that ask for application failover, and whose kind has no health rule.",
            );
            #[expect(clippy::cast_precision_loss, reason = "a count of bindings")]
            let count = counted.lock().len() as f64;
            vec![family.with(&[], count)]
        });
        Self {
            in_vain,
            _metric: metric,
        }
    }

    /// It asks in vain; whether that is news.
    pub(crate) fn is_news(&self, binding: &Binding) -> bool {
        let uid = binding.metadata.uid.clone().unwrap_or_default();
        self.in_vain.lock().insert(binding.key(), uid.clone()) != Some(uid)
    }

    /// It does not, or is gone.
    pub(crate) fn forget(&self, key: &BindingKey) {
        self.in_vain.lock().remove(key);
    }
}
