//! `plan`: what would move if clusters failed or were drained, or a policy were in force. Also the preview of `drain`.
//!
//! Rooms: `proposal` (from arguments to a proposal), `gather` (what is asked), `settings` (what is taken for granted), `report`
//! and `views` (the answer as a value), `text` (for people). What would happen is worked out in [`scheduler_filters::plan`].

mod gather;
mod proposal;
mod report;
mod settings;
mod text;
mod views;

pub use gather::{Gathered, gather};
pub use proposal::proposal;
pub use report::{FailoverPlan, report};
pub use settings::Gate;
pub use views::{
    ClusterInPlan, HeldTaintView, MoveInPlan, OthersView, RegimeFrom, RemainingView, StayingView, TaintInPlan,
};
