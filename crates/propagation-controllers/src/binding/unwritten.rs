//! Bindings whose Works cannot be made or changed, and why: known to the controller `binding`, said by `bindingStatus`,
//! which writes the condition that people read.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::BindingKey;
use parking_lot::Mutex;

/// So much is said: those who read a condition read its beginning.
const MAX_BYTES: usize = 1_024;

/// Why Works of bindings are not as they should be. The controllers of one process share it.
#[derive(Clone, Default)]
pub struct Unwritten {
    inner: Arc<Inner>,
}

type Listener = Box<dyn Fn(&BindingKey) + Send + Sync>;

#[derive(Default)]
struct Inner {
    known: Mutex<BTreeMap<BindingKey, Trouble>>,
    listener: Mutex<Option<Listener>>,
}

struct Trouble {
    words: String,
    lasts: bool,
}

/// How sure it is that trouble lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
    /// A try failed: the next one, a moment later, may do it, and then nothing was worth a write.
    Perhaps,
    /// No try will do before something changes.
    Surely,
}

impl Unwritten {
    /// Calls `listener` with each binding of which there is other news. It must not block.
    pub fn listen(&self, listener: impl Fn(&BindingKey) + Send + Sync + 'static) {
        *self.inner.listener.lock() = Some(Box::new(listener));
    }

    /// The Works of a binding are not as they should be. What failed twice in a row lasts.
    pub fn note(&self, key: &BindingKey, words: &str, lasts: Lasts) {
        let is_news = {
            let mut known = self.inner.known.lock();
            let before = known.get(key);
            let trouble = Trouble {
                words: in_short(words),
                lasts: before.is_some() || lasts == Lasts::Surely,
            };
            let said = before.filter(|before| before.lasts).map(|before| &before.words);
            let is_news = trouble.lasts && said != Some(&trouble.words);
            known.insert(key.clone(), trouble);
            is_news
        };
        if is_news {
            self.tell(key);
        }
    }

    /// They are, or the binding is gone.
    pub fn clear(&self, key: &BindingKey) {
        let before = self.inner.known.lock().remove(key);
        if before.is_some_and(|before| before.lasts) {
            self.tell(key);
        }
    }

    /// Why the Works of a binding are not as they should be, where that lasts.
    #[must_use]
    pub fn words(&self, key: &BindingKey) -> Option<String> {
        let known = self.inner.known.lock();
        known
            .get(key)
            .filter(|trouble| trouble.lasts)
            .map(|trouble| trouble.words.clone())
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

    use super::*;

    #[test]
    fn what_lasts_is_told_once_and_its_end_too() {
        let unwritten = Unwritten::default();
        let told = Arc::new(AtomicUsize::new(0));
        let count = told.clone();
        unwritten.listen(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let key = BindingKey::namespaced("shop", "web-deployment");
        let heard = || told.load(Ordering::Relaxed);

        unwritten.note(&key, "HTTP 500", Lasts::Perhaps);
        unwritten.clear(&key);
        assert_eq!((unwritten.words(&key), heard()), (None, 0), "the next try did it");
        unwritten.note(&key, "HTTP 500", Lasts::Perhaps);
        unwritten.note(&key, "HTTP 413", Lasts::Perhaps);
        unwritten.note(&key, "HTTP 413", Lasts::Perhaps);
        assert_eq!((unwritten.words(&key).as_deref(), heard()), (Some("HTTP 413"), 1));
        unwritten.clear(&key);
        assert_eq!((unwritten.words(&key), heard()), (None, 2));
        unwritten.note(&key, &"ä".repeat(1_000), Lasts::Surely);
        assert_eq!(unwritten.words(&key).map(|words| words.chars().count()), Some(513));
    }
}
