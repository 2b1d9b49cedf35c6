//! Failover of applications: a copy that is unhealthy for too long on a cluster that works has to leave it.
//!
//! What `spec.failover.application` asks for ([`rules`]), what is stored about a copy's health ([`health`]), since when it
//! is unhealthy, kept on the binding so that a restart changes nothing ([`clock`]), whether it has to leave and when
//! ([`verdict`]), what is wanted in the eviction queue ([`wanted`]), and who is asked for in vain ([`health_rule`]).
//!
//! The failure of a cluster is another matter: a cluster that is not Ready affects nobody here. The feature gate
//! `Failover` does not count: it is over failures of clusters.

pub mod clock;
pub mod health;
pub mod health_rule;
pub mod rules;
pub mod verdict;
pub mod wanted;

pub use clock::{CopyClock, HealthClock, ReadClock, UnreadableClock};
pub use health_rule::{has_rule_of_another, no_health_rule};
pub use verdict::{ApplicationVerdict, NotFailing, verdict, verdict_by};
pub use wanted::{wanted, wanted_by, withdraw_reason};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod testing;
