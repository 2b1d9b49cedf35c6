//! `explain binding`: why a workload moved, why not, and what would change that.

mod conclusion;
mod gather;
mod groups;
mod places;
mod report;
mod tasks;
mod text;
mod verdicts;

pub use gather::{FromQueue, Gathered, gather};
pub use groups::AffinityGroups;
pub use places::{Place, Rank, Score, Search};
pub use report::{ClusterRow, ConditionView, ExplainReport, Role, SchedulerView, report};
pub use tasks::TaskView;
pub use verdicts::VerdictView;
