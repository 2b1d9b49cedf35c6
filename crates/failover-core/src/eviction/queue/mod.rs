//! The eviction queue as a pure model: `(state, event, moment) → state and effects`.
//!
//! Guarantees, all of them properties of [`Queue::apply`]:
//! - Level: the set of a producer's entries follows what it publishes; an entry leaves when its producer takes it back,
//!   when it was evicted, or when its producer stays away too long. What an evictor found not needed is held until the
//!   producer confirms it from a state at least as new, so that the published set and the queue cannot drift apart.
//! - Rate: a lease is granted only for a whole token ([`super::bucket`]) under the regime ([`super::regime`]).
//! - Order: round-robin over lanes; in a lane by priority, except that what is ready longer than the starvation limit
//!   goes before all younger ones; then due time, then key ([`line`]). The same state gives the same order.
//! - Fencing: a lease ends after its duration plus a margin, however the consumer fares, and is revoked when its cause
//!   no longer stands.
//!
//! The model knows no sockets and no clock: the shell (`eviction-queue`) feeds it events and carries out its effects.

mod changes;
mod entries;
mod entry;
mod event;
mod identity;
mod inspect;
mod kinds;
mod lane;
mod lease;
mod line;
mod listing;
mod model;
mod operator;
mod order;
mod outcome;
mod past;
mod producer;
mod purge;
mod rates;
mod settings;
mod timeline;
mod view;

pub use changes::{Change, ChangesAfter, Removed, TooFarBack};
pub use entry::{
    BindingVersions, Entry, EntryKey, HoldReason, ProducerHold, Published, State, TemplateRef, WithdrawReason,
};
pub use event::{
    CompleteResult, Completion, Effect, Event, GrantedLease, Leading, Moment, NoTargetRestsOn, OutcomeKind, StreamId,
    Wake,
};
pub use identity::{ObjectVersion, Uid};
pub use inspect::{LaneView, PauseHeld, Place, ProducerView, StatusView, Totals};
pub use lease::LeaseId;
pub use listing::LaneEntries;
pub use model::Queue;
pub use operator::{OperatorOrder, OrderKind, OrderPlan, OrderRefused, OrderRequest};
pub use outcome::{ClusterStats, LeaseEnd, RecentOutcome};
pub use past::{Leased, Past};
pub use producer::{EpochCheck, ProducerEpoch};
pub use purge::Purge;
pub use rates::{RateProblem, RateSettings};
pub use settings::{BackOff, QueueSettings};
pub use view::{ClusterView, PauseScopeView, PauseView};

#[cfg(test)]
mod tests;
