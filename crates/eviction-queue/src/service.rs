//! The gRPC services: translation only, no decision.

mod admin;
mod bounds;
mod callers;
mod inspection;
mod lease;
mod listing;
mod publish;
mod queue;
mod refusal;
mod watching;

pub use admin::Admin;
pub use inspection::Inspection;
pub(crate) use listing::Lists;
pub use queue::Queue;
pub(crate) use refusal::REFUSED;
pub(crate) use refusal::count as count_refusal;
