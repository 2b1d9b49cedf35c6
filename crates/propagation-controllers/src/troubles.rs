//! What the controllers of this process find out about bindings while they do something else, for `bindingStatus` to say: it writes
//! the conditions that people read.
//!
//! Guarantees: what lasts is told once, and its end too; a try that failed and may do the next time is not told.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::BindingKey;
use parking_lot::Mutex;

use crate::interpreter::InterpretError;

/// So much is said: those who read a condition read its beginning.
const MAX_BYTES: usize = 1_024;

/// What of a binding is found out, in the order in which it is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// What its template needs, found by `dependencies`.
    Dependencies,
    /// The replicas of its template, found by `detector`.
    Replicas,
    /// Whether its Works are as they should be, found by `binding`.
    Works,
}

/// How sure it is that trouble lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
    /// A try failed: the next one, a moment later, may do it, and then nothing was worth a write.
    Perhaps,
    /// No try will do before something changes.
    Surely,
}

/// The trouble with bindings that this process knows of. Its controllers share it.
#[derive(Clone, Default)]
pub struct Troubles {
    inner: Arc<Inner>,
}

type Listener = Box<dyn Fn(&BindingKey) + Send + Sync>;

#[derive(Default)]
struct Inner {
    known: Mutex<BTreeMap<BindingKey, BTreeMap<About, Trouble>>>,
    listener: Mutex<Option<Listener>>,
}

struct Trouble {
    words: String,
    lasts: bool,
}

impl Troubles {
    /// Calls `listener` with each binding of which there is other news. It must not block.
    pub fn listen(&self, listener: impl Fn(&BindingKey) + Send + Sync + 'static) {
        *self.inner.listener.lock() = Some(Box::new(listener));
    }

    /// Something is not as it should be. What failed twice in a row lasts.
    pub fn failed(&self, key: &BindingKey, about: About, words: &str, lasts: Lasts) {
        let is_news = {
            let mut known = self.inner.known.lock();
            let of_binding = known.entry(key.clone()).or_default();
            let before = of_binding.get(&about);
            let trouble = Trouble {
                words: in_short(words),
                lasts: before.is_some() || lasts == Lasts::Surely,
            };
            let said = before.filter(|before| before.lasts).map(|before| &before.words);
            let is_news = trouble.lasts && said != Some(&trouble.words);
            of_binding.insert(about, trouble);
            is_news
        };
        if is_news {
            self.tell(key);
        }
    }

    /// It is as it should be, or there is nothing any more of which it could be said.
    pub fn fine(&self, key: &BindingKey, about: About) {
        let before = {
            let mut known = self.inner.known.lock();
            let Some(of_binding) = known.get_mut(key) else { return };
            let before = of_binding.remove(&about);
            if of_binding.is_empty() {
                known.remove(key);
            }
            before
        };
        if before.is_some_and(|before| before.lasts) {
            self.tell(key);
        }
    }

    /// How a question about the binding's template ended: a script or rule that fails does so until something changes.
    pub fn asked<T>(&self, key: &BindingKey, about: About, answer: &Result<T, InterpretError>) {
        match answer {
            Ok(_) => self.fine(key, about),
            Err(error) => self.failed(key, about, &error.to_string(), Lasts::Surely),
        }
    }

    /// The binding is gone.
    pub fn forget(&self, key: &BindingKey) {
        self.inner.known.lock().remove(key);
    }

    /// What is wrong, where that lasts.
    #[must_use]
    pub fn words(&self, key: &BindingKey, about: About) -> Option<String> {
        let known = self.inner.known.lock();
        let trouble = known.get(key)?.get(&about)?;
        trouble.lasts.then(|| trouble.words.clone())
    }

    fn tell(&self, key: &BindingKey) {
        if let Some(listener) = &*self.inner.listener.lock() {
            listener(key);
        }
    }
}

/// The beginning of words.
pub fn in_short(words: &str) -> String {
    if words.len() <= MAX_BYTES {
        return words.to_owned();
    }
    let end = (0..=MAX_BYTES).rev().find(|at| words.is_char_boundary(*at));
    format!("{}…", &words[..end.unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    /// With a count of what was told.
    fn heard() -> (Troubles, impl Fn() -> usize) {
        let (troubles, told) = (Troubles::default(), Arc::new(AtomicUsize::new(0)));
        let count = told.clone();
        troubles.listen(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        (troubles, move || told.load(Ordering::Relaxed))
    }

    #[test]
    fn what_lasts_is_told_once_and_its_end_too() {
        let (troubles, heard) = heard();
        let key = BindingKey::namespaced("shop", "web-deployment");
        let words = || troubles.words(&key, About::Works);
        let failed = |words: &str| troubles.failed(&key, About::Works, words, Lasts::Perhaps);

        failed("HTTP 500");
        troubles.fine(&key, About::Works);
        assert_eq!((words(), heard()), (None, 0), "the next try did it");
        failed("HTTP 500");
        failed("HTTP 413");
        failed("HTTP 413");
        assert_eq!((words().as_deref(), heard()), (Some("HTTP 413"), 1));
        troubles.fine(&key, About::Works);
        assert_eq!((words(), heard()), (None, 2));
        troubles.failed(&key, About::Works, &"ä".repeat(1_000), Lasts::Surely);
        assert_eq!(words().map(|words| words.chars().count()), Some(513));
    }

    #[test]
    fn each_question_has_an_answer_of_its_own() {
        let (troubles, heard) = heard();
        let key = BindingKey::namespaced("shop", "gear-widget");
        let error = InterpretError::new("count the replicas of", &json!({"kind": "Widget"}), "line 1: broken");
        let broken: Result<(), _> = Err(error);
        troubles.asked(&key, About::Replicas, &Ok(()));
        assert_eq!(heard(), 0);
        troubles.asked(&key, About::Replicas, &broken);
        troubles.asked(&key, About::Replicas, &broken);
        troubles.asked(&key, About::Dependencies, &broken);
        let known = |about| troubles.words(&key, about).is_some();
        assert_eq!(
            (heard(), known(About::Replicas), known(About::Dependencies)),
            (2, true, true)
        );
        troubles.asked(&key, About::Replicas, &Ok(()));
        assert_eq!(
            (heard(), known(About::Replicas), known(About::Dependencies)),
            (3, false, true)
        );
        troubles.asked(&key, About::Dependencies, &Ok(()));
        assert_eq!(heard(), 4);
        assert!(troubles.inner.known.lock().is_empty());
        troubles.asked(&key, About::Dependencies, &broken);
        troubles.forget(&key);
        assert_eq!(
            (heard(), known(About::Dependencies)),
            (5, false),
            "who is gone has no news"
        );
    }
}
