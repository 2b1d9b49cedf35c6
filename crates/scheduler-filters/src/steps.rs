//! The steps of a decision, for those who time them. The decision itself knows no clock.

/// A step that has ended. With ordered groups of clusters each group goes through them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Every cluster was judged.
    Filter,
    /// Those that passed have their scores, and it is known what they can hold.
    Score,
    /// Those that the spread constraint wants are chosen.
    Select,
    /// The replicas are divided.
    AssignReplicas,
}

impl Step {
    /// The name, stock's.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Filter => "Filter",
            Self::Score => "Score",
            Self::Select => "Select",
            Self::AssignReplicas => "AssignReplicas",
        }
    }
}
