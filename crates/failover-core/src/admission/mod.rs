//! What an admission webhook says to an object that somebody writes.
//!
//! One piece of code for one rule: everything here is what [`lint`] finds, and the rule's code stands in each message.
//! Guarantees: an object is refused only for what can never work, whoever reads it (the controllers say the same of it
//! when it comes in by another way); what an object had before the change is no reason to refuse the change; whatever
//! else is found is a warning, and what is merely worth knowing is not said.

mod words;
mod zones;

#[cfg(test)]
mod tests;

pub use words::{MAX_WARNING, MAX_WARNINGS, refusal, warnings};
pub use zones::{ZoneChange, zone_change};

use crate::lint::{Code, Finding, Known, Severity, Subject, lint};

/// What is said to an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Why it is refused; nothing when it is not.
    pub refused: Vec<Finding>,
    /// What is told all the same.
    pub warned: Vec<Finding>,
}

/// Whether an object with such a finding is refused.
#[must_use]
pub fn is_refused(code: Code) -> bool {
    matches!(
        code,
        Code::TwoForms
            | Code::Invalid
            | Code::SelectorElsewhere
            | Code::UnreadableSelector
            | Code::UnreadablePath
            | Code::BadLabel
            | Code::TwinGroups
            | Code::ContradictingSpread
            | Code::UnreadableAnnotation
            | Code::PauseInVain
    )
}

/// Judges an object that takes the place of `before`, if there was one.
#[must_use]
pub fn decide(object: &Subject, before: Option<&Subject>, known: &Known<'_>) -> Decision {
    let stood = before.map(|before| findings(before, known)).unwrap_or_default();
    let is_new = |finding: &Finding| {
        !stood
            .iter()
            .any(|old| old.code == finding.code && old.what == finding.what)
    };
    let (refused, rest): (Vec<Finding>, Vec<Finding>) = findings(object, known)
        .into_iter()
        .partition(|finding| is_refused(finding.code) && is_new(finding));
    let is_told = |finding: &Finding| finding.severity() != Severity::Note;
    Decision {
        refused,
        warned: rest.into_iter().filter(is_told).collect(),
    }
}

fn findings(object: &Subject, known: &Known<'_>) -> Vec<Finding> {
    let found = lint(std::slice::from_ref(object), known);
    found.into_iter().map(|(_, finding)| finding).collect()
}
