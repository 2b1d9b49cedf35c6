//! `explain cluster`: how a Cluster is, which ClusterTaintPolicies speak of it and what they do to it and when, what
//! keeps them from it, and what leaves it because of that.

mod conclusion;
mod gather;
mod history;
mod leaving;
mod report;
mod reporter;
mod standing;
mod text;
mod would_leave;

pub use gather::{FromQueue, Gathered, gather};
pub use history::Happened;
pub(crate) use history::is_told;
pub use leaving::Leaving;
pub use report::{ClusterCondition, ClusterExplanation, report};
pub use reporter::{Reporter, ReporterState};
pub use standing::StandingTaint;
pub use would_leave::WouldLeave;
