//! Scenarios as values.

mod action;

pub use action::{Action, Ending, MemberState, Network, ObjectName};
