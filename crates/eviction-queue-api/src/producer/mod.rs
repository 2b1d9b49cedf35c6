//! A producer's side of the protocol: what is published, what the queue asks to be confirmed, and the stream between.
//!
//! A controller that wants entries keeps its own index of what is stored, and judges pairs of binding and cluster. What it
//! wants of each goes into a [`Ledger`]; [`Shared`] holds the index under a lock with a bell, and [`publish`] carries
//! it to the queue and answers what the queue asks.
//!
//! Guarantees: the queue is told the whole set first and then its changes; an entry that it asks about is confirmed or
//! taken back only from versions at least as new as those that the evictor read.

mod confirmations;
mod ledger;
mod publish;
mod published;

pub use confirmations::Confirmation;
pub use ledger::{Ledger, Pair};
pub use publish::{Publisher, publish};
pub use published::{Changed, Delta, PublishedSet, Resend};

use api_types::{BindingKey, ClusterName};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// An index that knows what is wanted of every pair.
pub trait Producer: Send {
    /// What is published.
    fn ledger(&mut self) -> &mut Ledger;

    /// Judges one pair and settles it in the ledger: the queue asks for it.
    fn judge_pair(&mut self, cluster: &ClusterName, binding: &BindingKey);
}

/// An index under its lock, and a bell for those who tell the queue: whoever changed the ledger rings it.
#[derive(Debug)]
pub struct Shared<P> {
    /// The index.
    pub index: Mutex<P>,
    /// The ledger has something untold.
    pub changed: Notify,
}

impl<P> Shared<P> {
    /// Of this index.
    #[must_use]
    pub fn new(index: P) -> Self {
        Self {
            index: Mutex::new(index),
            changed: Notify::new(),
        }
    }
}
