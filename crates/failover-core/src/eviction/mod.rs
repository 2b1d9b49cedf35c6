//! From a cause to an eviction: who is affected and when ([`verdict`]), what a switch keeps from
//! moving ([`switched_off`]), who stays by a person's word ([`stay`]), what the taint manager wants in the queue
//! ([`desired_entry`]), what of a policy's words its bindings are to carry ([`carried`]), how fast evictions may go
//! ([`regime`], [`bucket`]), the eviction queue as a pure model ([`queue`]), whether what it releases still has to move
//! ([`recheck`]), and what of its state goes along ([`preservation`]).
//!
//! Nothing here reads a clock or an API: state and time go in, a value with its reason comes out.

pub mod bucket;
pub mod carried;
pub mod cause;
pub mod desired_entry;
pub mod pause;
pub mod preservation;
pub mod queue;
pub mod recheck;
pub mod regime;
pub mod stay;
pub mod stay_edit;
pub mod switched_off;
pub mod tolerations;
pub mod verdict;

pub use cause::{Cause, CauseKind};
pub use stay::Stay;
pub use switched_off::{Switch, SwitchedOff, switched_off};
pub use verdict::{
    Affected, DeletedClusters, FailoverGate, NoExecuteEviction, NotAffected, Switches, Verdict, Why, cause_on_cluster,
    same_for_evictions, shows_a_cause, verdict,
};
