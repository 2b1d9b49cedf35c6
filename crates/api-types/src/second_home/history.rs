//! `spec.activeEvictionHistory` of a binding, which stock's CRD prunes.
//!
//! The annotation is the JSON list that the field has. It counts while the field is empty.

use super::{Unreadable, parsed};
use crate::names::annotation::ACTIVE_EVICTION_HISTORY;
use crate::work::{Binding, EvictionHistoryItem};

/// The history in the annotation; `None` when it is absent.
///
/// # Errors
/// [`Unreadable`] when it is no such list.
pub fn stored(binding: &Binding) -> Result<Option<Vec<EvictionHistoryItem>>, Unreadable> {
    parsed(&binding.metadata, ACTIVE_EVICTION_HISTORY)
}

/// What is wrong with the annotation.
#[must_use]
pub fn complaint(binding: &Binding) -> Option<Unreadable> {
    stored(binding).err()
}

/// Whether the history of a binding that was read stands in its annotation.
#[must_use]
pub fn is_in_annotation(binding: &Binding) -> bool {
    matches!(stored(binding), Ok(Some(stored)) if stored == binding.spec.active_eviction_history)
}

/// The text of the annotation for this history; `None` when it is empty, and the annotation goes.
#[must_use]
pub fn text(history: &[EvictionHistoryItem]) -> Option<String> {
    if history.is_empty() {
        return None;
    }
    // Plain values always serialise.
    serde_json::to_string(history).ok()
}

pub(crate) fn adopt(binding: &mut Binding) {
    if binding.spec.active_eviction_history.is_empty()
        && let Ok(Some(history)) = stored(binding)
    {
        binding.spec.active_eviction_history = history;
    }
}
