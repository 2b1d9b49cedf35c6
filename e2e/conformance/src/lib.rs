//! The parts of the comparison of `kube-sandbox` with a real API server that need no server: what an operation is,
//! what in an answer must differ between any two servers, and what the remaining differences mean.
//!
//! The table itself, with one file for each topic, and the servers are in `tests/conformance`.
//!
//! Guarantees:
//! - Two answers are compared field by field; all that is left out of the comparison is in [`Normal`].
//! - A difference that no operation lists fails the test, and so does a listed difference that is no longer there.
//! - What is listed is what `docs/sandbox.md` says: [`page`] writes it.

mod difference;
mod normal;
mod operation;
mod page;
mod scenario;
mod verdict;

pub use difference::{Difference, differences};
pub use normal::Normal;
pub use operation::{
    Call, Known, KubeCall, Operation, Save, apply, compact, delete, delete_with, get, http, json_patch, kube, kubectl,
    meanwhile, merge, post, put, strategic,
};
pub use page::page;
pub use scenario::Scenario;
pub use verdict::{Finding, judge};
