//! Karmada's API objects and ours as Rust types: the only definition of them in the workspace.
//!
//! Groups, versions, kinds, names and JSON spellings are Karmada's, so that kubectl, existing manifests and stock
//! clients work unchanged; what we add says so in its docs. The CRDs in `charts/control-plane/kinds` and
//! `charts/karmada-crds/kinds` are generated from these types ([`crds`]). Nothing here does I/O.
//!
//! Enumerations are *open*: a value that this version does not know is kept as written ([`open_enum`]) instead of
//! making a whole list of objects unreadable. What the API server accepts is narrower: the CRD lists the values.

pub mod cluster;
pub mod conditions;
pub mod config;
mod crds;
pub mod failover;
pub mod names;
mod open_enum;
pub mod openapi;
pub mod our_fields;
pub mod placement;
pub mod policy;
mod schema;
pub mod second_home;
pub mod taint_policy;
mod two_kinds;
pub mod work;

pub use crds::crds;
pub use names::{BindingKey, ClusterName};
