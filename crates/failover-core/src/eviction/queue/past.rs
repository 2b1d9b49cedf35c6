//! What the leases of an entry came to, as far as it counts for the next one. Most entries of a large queue were never
//! leased: they have none of it, and it takes no memory.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use jiff::Timestamp;

use super::entry::{HoldReason, WithdrawReason};
use super::event::NoTargetRestsOn;

/// What the leases of an entry came to.
#[derive(Clone, Debug, Default)]
pub struct Past(Option<Box<Leased>>);

/// The same of an entry that was leased.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Leased {
    /// Ready, but not before this time, for people; the queue counts by elapsed time.
    pub not_before: Option<Timestamp>,
    /// Failures in a row.
    pub failures: u32,
    /// What the last lease came to, as a sentence.
    pub last_outcome: Arc<str>,
    pub(super) cooling_until: Option<Duration>,
    pub(super) unneeded: u32,
    pub(super) had_no_target: bool,
    pub(super) aftermath: Option<Aftermath>,
    /// Taken back while a consumer works on it.
    pub(super) withdrawn: Option<WithdrawReason>,
}

/// What the last lease left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Aftermath {
    NotNeeded {
        binding_version: String,
        cluster_version: String,
        message: Arc<str>,
    },
    NoTarget {
        until: Timestamp,
        message: Arc<str>,
        rests_on: NoTargetRestsOn,
    },
    Wait {
        /// Wait or SecondOwner.
        held_for: HoldReason,
        until: Timestamp,
        message: Arc<str>,
    },
}

impl Past {
    /// It is not taken back any more, if it ever was.
    pub(super) fn not_withdrawn(&mut self) {
        if let Some(leased) = &mut self.0 {
            leased.withdrawn = None;
        }
    }

    /// Whether there is nothing to remember.
    #[cfg(test)]
    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

impl Deref for Past {
    type Target = Leased;

    fn deref(&self) -> &Leased {
        static NEVER: LazyLock<Leased> = LazyLock::new(Leased::default);
        self.0.as_deref().unwrap_or(&NEVER)
    }
}

impl DerefMut for Past {
    fn deref_mut(&mut self) -> &mut Leased {
        self.0.get_or_insert_default()
    }
}

impl PartialEq for Past {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_none() && other.0.is_none() || **self == **other
    }
}
