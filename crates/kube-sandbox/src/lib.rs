//! An in-memory Kubernetes API server and simulated member clusters.
//!
//! The ground that the other crates' tests, the simulation and the demo stand on. In process it is the tower service
//! behind a [`kube::Client`], without threads, sockets or a clock of its own, so that a test under paused tokio time
//! repeats exactly; over loopback HTTP it also serves kubectl and any other client.
//!
//! What it does is what a real API server does, in the same words, for what controllers need: versions, lists,
//! watches, optimistic concurrency, patches, subresources, finalizers, CRDs with pruning, defaults, validation and
//! CEL rules, discovery and tables. What it leaves out on purpose:
//!
//! * server-side apply creates or merges; it tracks no field owners and therefore never conflicts or removes fields;
//!   `managedFields` are not stored;
//! * no authorization, no admission webhooks, no conversion webhooks;
//! * protobuf bodies are read for the kinds that `kubectl create` makes; answers are always JSON;
//! * unknown fields are refused (`fieldValidation=Strict`) or dropped; there are no warnings in headers;
//! * strategic merge patch knows the merge keys of the built-in kinds that are served.
//! * a CRD is served and `Established` within the request that creates it; nodes get no `not-ready` taint and no empty
//!   `nodeInfo`; decoding errors are worded by serde, not by Go; columns of built-in kinds have no descriptions;
//! * the finer errors of `anyOf`/`oneOf`, quantities in canonical form, and pods' graceful deletion.

mod admission;
mod auth;
mod behaviour;
mod builtin;
mod builtin_types;
mod crd;
mod defaults;
mod discovery;
mod events;
mod faults;
mod fleet;
mod http_server;
mod jsonpath;
mod lifecycle;
mod link;
mod matching;
mod member;
mod meta;
mod openapi;
mod patch;
mod protobuf;
mod read;
mod registry;
mod request;
pub mod rules;
mod sandbox;
mod scale;
mod schema;
mod selectors;
mod service;
mod simulator;
mod state;
mod status;
mod store;
mod strategy;
mod table;
mod watch;
mod workload_status;
mod write;

pub use auth::{Access, Anonymous};
pub use behaviour::{Behaviour, Who};
pub use faults::{Effect, EventEffect, FaultId, Faults, WriteRecord};
pub use fleet::{Fleet, MemberConnector, UnknownEndpoint};
pub use http_server::Served;
pub use link::Reachability;
pub use matching::Match;
pub use member::{Member, MemberOptions};
pub use request::Verb;
pub use sandbox::{Now, Sandbox, SandboxOptions};
pub use service::{BodyError, ConnectionError, SandboxBody};
pub use state::Housekeeping;
pub use status::ApiError;
