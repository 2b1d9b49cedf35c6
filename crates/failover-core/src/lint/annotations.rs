//! Annotations that stand for fields of ours where a server does not know the fields.

use api_types::second_home::Unreadable;

use super::code::Code;
use super::finding::Finding;

/// The same complaint that the controllers make in an event.
pub(super) fn unreadable(complaint: Option<Unreadable>) -> Option<Finding> {
    let Unreadable { annotation, why } = complaint?;
    Some(Finding::new(
        Code::UnreadableAnnotation,
        format!("metadata.annotations[{annotation}]"),
        why,
        "the annotation counts for nothing, and what the other fields say counts alone",
        "mend it, or take it away",
    ))
}
