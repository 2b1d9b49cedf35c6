//! What a condition of a binding says to people.

use std::fmt;

use api_types::work::Binding;
use api_types::work::condition::EVICTION_PENDING;

/// What a condition says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saying {
    /// Its type.
    pub condition: &'static str,
    /// Its status.
    pub status: &'static str,
    /// Its reason.
    pub reason: &'static str,
    /// What its message says among other things.
    pub words: &'static str,
}

impl Saying {
    /// A copy stays where it is, since it would find no place.
    #[must_use]
    pub fn no_target(words: &'static str) -> Self {
        Self {
            condition: EVICTION_PENDING,
            status: "True",
            reason: "NoTarget",
            words,
        }
    }

    /// Whether it is what a binding says.
    #[must_use]
    pub fn is_of(self, binding: &Binding) -> bool {
        binding.condition(self.condition).is_some_and(|found| {
            found.status == self.status && found.reason == self.reason && found.message.contains(self.words)
        })
    }
}

impl fmt::Display for Saying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            condition,
            status,
            reason,
            words,
        } = self;
        write!(f, "{condition}={status} ({reason}) with {words:?}")
    }
}
