//! From a cause to an eviction: who is affected and when ([`verdict`]), who stays by a person's word ([`stay`]), how
//! fast evictions may go ([`regime`], [`bucket`]), and the eviction queue as a pure model ([`queue`]).
//!
//! Nothing here reads a clock or an API: state and time go in, a value with its reason comes out.

pub mod bucket;
pub mod cause;
pub mod queue;
pub mod regime;
pub mod stay;
pub mod tolerations;
pub mod verdict;

pub use cause::{Cause, CauseKind};
pub use stay::Stay;
pub use verdict::{
    Affected, FailoverGate, NoExecuteEviction, NotAffected, Switches, Verdict, Why, cause_on_cluster, verdict,
};
