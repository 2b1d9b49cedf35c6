//! What every binary of karmada-failover shares: the shell around its controllers.
//!
//! A controller is a name and an async function of a [`Context`]; a [`Process`] runs a choice of them. The kit gives
//! them time that tests can move ([`Clock`]), tasks that end together ([`Tasks`]), what the API server holds
//! ([`informer`]), a queue of keys that need a look ([`WorkQueue`]), a lease each ([`leader`]), events, metrics,
//! health and logs. Nothing in here is global, so that several processes can live in one test runtime.

pub mod api_client;
pub mod api_errors;
pub mod backoff;
pub mod clock;
pub mod complaints;
pub mod connect;
pub mod context;
pub mod deprecated;
pub mod disturbances;
pub mod durations;
pub mod events;
pub mod gates;
pub mod informer;
pub mod kinds;
pub mod leader;
pub mod members;
pub mod metrics;
pub mod mode;
pub mod process;
pub mod queue;
pub mod random;
pub mod readiness;
pub mod second_owners;
pub mod tasks;
pub mod telemetry;
pub mod tls;

mod admin;
mod answers;
mod commons;
mod echoes;
mod room;
mod troubles;

pub use self::clock::Clock;
pub use self::commons::Commons;
pub use self::context::Context;
pub use self::events::{EventRecorder, EventType};
pub use self::gates::{FeatureGates, Gate, GateValue};
pub use self::informer::{Change, Changes, Identity, Informer, Informers, ObjectKey, Scope, Store};
pub use self::kinds::{RequireError, RequiredKind, require_kinds};
pub use self::leader::{Epoch, Leadership};
pub use self::members::{ConnectMember, MemberError, MemberTarget, OwnMember};
pub use self::metrics::Metrics;
pub use self::mode::{Mode, ModeFlags};
pub use self::process::{Controller, Ended, KitFlags, MemberAccess, Process, Running, main, main_in_member};
pub use self::queue::{Next, WorkQueue};
pub use self::tasks::Tasks;
/// Lists of names that switch controllers and plugins on and off.
pub use name_selection as selection;

/// The version of this build: of an optimised one with the commit, as in `0.1.0+3f2a91c`; `build.rs` says when without.
pub const VERSION: &str = env!("KARMADA_FAILOVER_VERSION");

#[cfg(test)]
mod version_tests;
