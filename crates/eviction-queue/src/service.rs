//! The gRPC services: translation only, no decision.

mod inspection;
mod lease;
mod listing;
mod publish;
mod queue;
mod watching;

pub use inspection::Inspection;
pub(crate) use listing::Lists;
pub use queue::Queue;
