//! What many kept objects have in common, kept once.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// Values that many have in common, by name. Those that nobody has any more are forgotten when others come: what is one of
/// its kind does not belong here.
#[derive(Debug)]
pub struct Commons<T: ?Sized> {
    known: BTreeMap<Box<str>, Weak<T>>,
    /// When to look for those that nobody has any more.
    tidy_at: usize,
}

impl<T: ?Sized> Default for Commons<T> {
    fn default() -> Self {
        Self {
            known: BTreeMap::new(),
            tidy_at: 64,
        }
    }
}

impl<T: ?Sized> Commons<T> {
    /// The value of this name, made when nobody has it.
    pub fn get(&mut self, name: &str, make: impl FnOnce() -> Arc<T>) -> Arc<T> {
        match self.known(name) {
            Some(known) => known,
            None => self.keep(name, make()),
        }
    }

    /// The value of this name, made when nobody has it and it can be made.
    ///
    /// # Errors
    /// What `make` says.
    pub fn try_get<E>(&mut self, name: &str, make: impl FnOnce() -> Result<Arc<T>, E>) -> Result<Arc<T>, E> {
        match self.known(name) {
            Some(known) => Ok(known),
            None => Ok(self.keep(name, make()?)),
        }
    }

    fn known(&self, name: &str) -> Option<Arc<T>> {
        self.known.get(name).and_then(Weak::upgrade)
    }

    fn keep(&mut self, name: &str, made: Arc<T>) -> Arc<T> {
        if self.known.len() >= self.tidy_at {
            self.known.retain(|_, value| value.strong_count() > 0);
            self.tidy_at = self.known.len() * 2 + 64;
        }
        self.known.insert(name.into(), Arc::downgrade(&made));
        made
    }
}

impl Commons<str> {
    /// This text.
    pub fn text(&mut self, text: &str) -> Arc<str> {
        self.get(text, || text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_has_is_kept_once_and_what_nobody_has_is_forgotten() {
        let mut texts = Commons::<str>::default();
        let first = texts.text("a");
        assert!(Arc::ptr_eq(&first, &texts.text("a")));
        for number in 0..1_000 {
            texts.text(&number.to_string());
        }
        assert!(texts.known.len() <= 66, "{}", texts.known.len());
        assert!(Arc::ptr_eq(&first, &texts.text("a")));
        assert_eq!(texts.try_get("b", || Err("no")), Err("no"));
        assert_eq!(texts.try_get("a", || Err("no")), Ok(first));
    }
}
