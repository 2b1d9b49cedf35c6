//! `check`: whether a control plane is such that failover works on it, before and after it is installed.
//!
//! Rooms: `gather` (what is asked for), `facts` (what was seen, and why not), `rules` (the checks, each a function of the
//! facts), `code` (what they are called), `verdict` and `report` (what is said), `schema` and `stock` (reading what servers and
//! Deployments say), `granted` (the rights that this program uses). Nothing is changed: the one thing that is written is
//! written for a trial.

pub mod code;
pub mod facts;
mod gather;
pub mod granted;
mod report;
mod rules;
pub mod stock;
pub mod verdict;

pub use code::Code;
pub use facts::Facts;
pub use gather::gather;
pub use report::{CheckLine, CheckReport, report};
pub use rules::check;
