//! An in-memory Kubernetes API server and simulated member clusters.
//!
//! The ground that the other crates' tests, the simulation and the demo stand on. In process it is the tower service
//! behind a [`kube::Client`], without threads, sockets or a clock of its own, so that a test under paused tokio time
//! repeats exactly; over loopback HTTP it also serves kubectl and any other client.
//!
//! What it does is what a real API server does, in the same words, for what controllers need: versions, lists,
//! watches, optimistic concurrency, patches, subresources, finalizers, CRDs with pruning, defaults, validation and
//! CEL rules, discovery and tables. The package `e2e-conformance` compares it with a real server, operation by
//! operation; what it leaves out on purpose is listed there and in `docs/sandbox.md`. In short: no field owners, no
//! authorization, no webhooks, no protobuf in answers, no warnings in headers, and nothing that takes time by itself.

mod admission;
mod auth;
mod behaviour;
mod builtin;
mod builtin_types;
mod conditional;
mod crd;
mod defaults;
mod discovery;
mod events;
mod faults;
mod fleet;
mod http_server;
mod journal;
mod jsonpath;
mod lifecycle;
mod link;
mod matching;
mod media;
mod member;
mod meta;
mod meter;
mod openapi;
mod patch;
mod pod_objects;
mod protobuf;
mod rbac;
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

pub use auth::{Access, Anonymous, Authorization};
pub use behaviour::{Behaviour, Who};
pub use conditional::WrittenOn;
pub use faults::{Effect, EventEffect, FaultId, Faults, WriteRecord};
pub use fleet::{Fleet, MemberConnector, UnknownEndpoint};
pub use http_server::Served;
pub use journal::{Entry, Journal};
pub use link::Reachability;
pub use matching::Match;
pub use member::{Member, MemberOptions};
pub use request::Verb;
pub use sandbox::{Now, Sandbox, SandboxOptions};
pub use service::{BodyError, ConnectionError, SandboxBody};
pub use state::Housekeeping;
pub use status::ApiError;
