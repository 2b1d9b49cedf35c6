//! `status`: how fast evictions go and why, what is in the queue, who runs, and what is not done.

mod gather;
mod report;
mod text;
mod views;

pub use gather::{FromQueue, Gathered, gather};
pub use report::{StatusReport, by_second_owners, queue_not_done, report};
pub use views::{ClusterView, LaneView, PauseView, ProducerView, QueueView, RegimeView, TaintView, TotalsView};
