//! What was said of a binding, so that it is said once.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::BindingKey;
use api_types::work::Binding;
use controller_kit::Context;
use controller_kit::metrics::{CollectorGuard, Family};
use failover_core::application::{has_rule_of_another, no_health_rule};
use parking_lot::Mutex;

use crate::scripts::HealthScripts;

/// What is known of bindings whose kind has no health rule of ours, and of writes that were refused; the rest is silence.
pub(crate) struct Said {
    kinds: Arc<Mutex<BTreeMap<BindingKey, OfKind>>>,
    refusals: Mutex<BTreeMap<BindingKey, String>>,
    _metric: CollectorGuard,
}

/// A binding of a kind without a health rule of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OfKind {
    uid: String,
    rule: Rule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// It asks in vain, as far as is known.
    None,
    /// A copy was unhealthy once: somebody else has a rule.
    AnotherS,
}

impl Said {
    pub(crate) fn new(ctx: &Context) -> Self {
        let kinds: Arc<Mutex<BTreeMap<BindingKey, OfKind>>> = Arc::default();
        let counted = kinds.clone();
        let metric = ctx.metrics.guarded_collector("applicationFailover in vain", move || {
            let family = Family::gauge(
                "application_failover_without_health_rule",
                "Bindings that ask for application failover, and whose kind has no health rule.",
            );
            let kinds = counted.lock();
            let in_vain = kinds.values().filter(|of| of.rule == Rule::None).count();
            #[expect(clippy::cast_precision_loss, reason = "a count of bindings")]
            let count = in_vain as f64;
            vec![family.with(&[], count)]
        });
        Self {
            kinds,
            refusals: Mutex::default(),
            _metric: metric,
        }
    }

    /// Why it asks in vain, if it does and that is news. Whoever was unhealthy once does not ask in vain any more, nor does
    /// one of a kind with a script.
    pub(crate) fn news_of_kind(&self, binding: &Binding, scripts: &HealthScripts) -> Option<String> {
        let (key, uid) = (binding.key(), binding.metadata.uid.clone().unwrap_or_default());
        let mut kinds = self.kinds.lock();
        let known = kinds.get(&key).filter(|of| of.uid == uid).map(|of| of.rule);
        if has_rule_of_another(binding) || known == Some(Rule::AnotherS) {
            let rule = Rule::AnotherS;
            kinds.insert(key, OfKind { uid, rule });
            return None;
        }
        let template = &binding.spec.resource;
        let why = no_health_rule(binding).filter(|_| !scripts.has(&template.api_version, &template.kind));
        if why.is_some() {
            let rule = Rule::None;
            kinds.insert(key, OfKind { uid, rule });
        } else {
            kinds.remove(&key);
        }
        why.filter(|_| known.is_none())
    }

    /// Those who ask in vain as far as is known.
    pub(crate) fn in_vain(&self) -> Vec<BindingKey> {
        let kinds = self.kinds.lock();
        let in_vain = kinds.iter().filter(|(_, of)| of.rule == Rule::None);
        in_vain.map(|(key, _)| key.clone()).collect()
    }

    /// A write was refused with these words; whether they are news.
    pub(crate) fn is_new_refusal(&self, key: &BindingKey, words: &str) -> bool {
        let before = self.refusals.lock().insert(key.clone(), words.to_owned());
        before.as_deref() != Some(words)
    }

    /// It was written.
    pub(crate) fn not_refused(&self, key: &BindingKey) {
        self.refusals.lock().remove(key);
    }

    /// The binding is gone, or is not watched any more.
    pub(crate) fn forget(&self, key: &BindingKey) {
        self.kinds.lock().remove(key);
        self.not_refused(key);
    }
}
