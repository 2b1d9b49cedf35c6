//! Controller `webhook`: what an API server asks before it stores an object of ours.
//!
//! What is said to an object is decided by the pure [`failover_core::admission`], the same rules as `failoverctl lint`;
//! here is how it is asked: TLS whose certificates change while it runs (`door`), bounded requests (`desk`), reviews
//! (`review`), and what is known of the fleet (`fleet`).
//!
//! Guarantees: nothing depends on it, so that every webhook may be ignored when it does not answer; it writes nothing; an
//! object that it cannot read is let through with a warning; a review that makes no sense gets an answer that says why;
//! before the caches have synced only what needs no other object is judged.

pub mod cli;
mod desk;
mod door;
mod flags;
mod fleet;
mod hooks;
mod review;
mod server;

use controller_kit::{Clock, Controller};

pub use flags::{Bound, Flags};
pub use hooks::{HOOKS, Hook};
pub use review::{Answer, BadReview, Verdict, answer};

/// The controllers of this crate, by the name that `--controllers` takes: `webhook`. It needs no lease: every replica
/// answers.
#[must_use]
pub fn controllers(flags: Flags) -> Vec<Controller> {
    let problems = flags.problems(&Clock::system());
    vec![
        Controller::new("webhook", move |ctx| server::run(ctx, flags))
            .without_leader_election()
            .problems(problems),
    ]
}
