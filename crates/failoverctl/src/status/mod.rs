//! `status`: how fast evictions go and why, what is in the queue, who runs, and what is not done.

mod gather;
mod report;
mod text;

pub use gather::{FromQueue, Gathered, gather};
pub use report::{
    ClusterView, LaneView, PauseView, ProducerView, QueueView, RegimeView, StatusReport, TaintView, TotalsView,
    queue_not_done, report,
};
