//! `history`: the FailoverRecords.

mod gather;
mod report;

pub use gather::gather;
pub use report::{MoveHistory, RecordView};
