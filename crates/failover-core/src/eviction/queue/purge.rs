//! What becomes of the copy that is left, as the queue has it.

use api_types::policy::PurgeMode;

/// A purge mode, old spellings read as the new ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purge {
    /// It is deleted before the new copy starts.
    Directly,
    /// It is deleted when the new copy is healthy.
    Gracefully,
    /// It is kept until a person acts.
    Never,
}

impl From<&PurgeMode> for Purge {
    fn from(mode: &PurgeMode) -> Self {
        match mode.effective() {
            PurgeMode::Directly => Self::Directly,
            PurgeMode::Never => Self::Never,
            _ => Self::Gracefully,
        }
    }
}

impl From<Purge> for PurgeMode {
    fn from(purge: Purge) -> Self {
        match purge {
            Purge::Directly => Self::Directly,
            Purge::Gracefully => Self::Gracefully,
            Purge::Never => Self::Never,
        }
    }
}
