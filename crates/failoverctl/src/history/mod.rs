//! `history`: the FailoverRecords; and those of one binding, for `explain binding`.

mod gather;
mod report;
mod story;

pub use gather::gather;
pub(crate) use gather::of_binding;
pub(crate) use report::moves;
pub use report::{MoveHistory, PlaceView, RecordView};
