//! What operators order: that a workload stays (Drop), or that this is taken back (Undrop).
//!
//! An order holds its entry from the moment on at which it is taken, until the binding says the same and the entry's
//! producer speaks from a binding that says so. After that the annotation is what counts: it outlives the queue.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use super::entry::{Entry, EntryKey, HoldReason};

/// What is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderKind {
    /// The workload stays.
    Drop,
    /// A drop is taken back.
    Undrop,
}

/// What an operator asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderRequest {
    /// What.
    pub kind: OrderKind,
    /// Who asks.
    pub caller: Arc<str>,
    /// Why; may be empty with Undrop.
    pub reason: String,
}

/// An order that was taken and is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorOrder {
    /// Names it within the term of the queue.
    pub id: u64,
    /// What was asked for.
    pub request: OrderRequest,
    /// When it was taken.
    pub at: Timestamp,
    /// metadata.resourceVersion of the binding that says what was ordered; absent: none does yet.
    pub written_in: Option<String>,
}

impl OperatorOrder {
    /// Why the entry is held until the order is over.
    #[must_use]
    pub fn holds_as(&self) -> HoldReason {
        match self.request.kind {
            OrderKind::Drop => HoldReason::Dropped,
            OrderKind::Undrop => HoldReason::Undropped,
        }
    }
}

impl fmt::Display for OperatorOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OrderRequest { kind, caller, reason } = &self.request;
        match kind {
            OrderKind::Drop => write!(
                f,
                "dropped by {caller}: {reason}; the annotation that says so is being written"
            ),
            OrderKind::Undrop => {
                write!(f, "the drop was taken back by {caller}")?;
                if !reason.is_empty() {
                    write!(f, ": {reason}")?;
                }
                f.write_str("; the annotation is being removed")
            }
        }
    }
}

/// What an order comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderPlan {
    /// The entry as it will be.
    pub entry: Arc<Entry>,
    /// Whether that is what it is already.
    pub is_done: bool,
}

/// An order that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderRefused {
    /// No entry has the key.
    #[error("the queue has no entry {0}: see `ListEntries` for those that it has")]
    NotFound(Box<EntryKey>),
    /// What keeps the workload is not a drop.
    #[error(
        "{key} was not dropped: {why}; it goes when a person takes the item for cluster {} out of the annotation {} of the \
         binding",
        key.cluster,
        api_types::names::annotation::STAY
    )]
    KeptByPerson {
        /// The entry.
        key: Box<EntryKey>,
        /// What keeps it.
        why: String,
    },
}
