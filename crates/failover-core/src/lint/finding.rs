//! A finding.

use serde::Serialize;

use super::code::{Code, Severity};

/// Something that is wrong, or worth knowing, about a field of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is called.
    pub code: Code,
    /// The field, such as `spec.taintsToAdd[0].effect`; empty: the object as a whole.
    pub field: String,
    /// What is wrong.
    pub what: String,
    /// Why that is so, or what follows from it.
    pub why: String,
    /// What to do.
    pub fix: String,
}

impl Finding {
    /// A finding.
    pub fn new(
        code: Code,
        field: impl Into<String>,
        what: impl Into<String>,
        why: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            code,
            field: field.into(),
            what: what.into(),
            why: why.into(),
            fix: fix.into(),
        }
    }

    /// How bad it is.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}
