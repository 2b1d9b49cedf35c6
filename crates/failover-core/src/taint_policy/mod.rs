//! ClusterTaintPolicies: which cluster conditions, held for how long, put which taints on a Cluster.
//!
//! One pure function, [`evaluate`]: all policies, one Cluster with what it records, what this process observed before,
//! the Failover gate and the time go in; taints to add and remove, annotations to write, the next moment at which
//! anything can change, a report per policy and things worth an event come out. [`status::of_policy`] folds the reports
//! of all clusters into a policy's status.
//!
//! Guarantees: no taint before its window, none later than the next look says; a blip shorter than a window leaves
//! nothing; what somebody else put on the Cluster is neither changed nor removed; the order in which policies are given
//! plays no part; what runs is stored on the Cluster, so that neither a restart nor a clock that was set before it
//! changes a firing time.

mod answers;
mod companion;
mod conditions;
mod detail;
mod engine;
mod flaps;
mod forecast;
mod form;
mod input;
mod lost_record;
mod notices;
mod outcome;
mod ownership;
mod persist;
mod reading;
mod records;
mod recovering;
mod report;
mod resolve;
mod restless;
mod selectors;
mod stamps;
pub mod status;
mod times;
mod wall;
mod wanted;
mod windows;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use companion::Companion;
pub use conditions::condition_types;
pub use detail::{ConditionDetail, Detail, Role, TaintDetail, TaintState, details};
pub use engine::{AnnotationChange, Evaluation, FailoverGate, Input, TaintChange, evaluate};
pub use flaps::FlapScore;
pub use reading::{PlannedTaint, Reading, condition_holds};
pub use records::{DismissedAt, ManagedTaint, ManagedTaints, RecordError, SeenCondition, TaintId, Window, Windows};
pub use recovering::{Recovering, recovering};
pub use report::{Missing, Notice, Report};
pub(crate) use selectors::{complaint as affinity_complaint, labels_complaint};
pub use wall::CLOCK_STEP;
pub use windows::Memory;
