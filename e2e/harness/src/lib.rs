//! Real Kubernetes control planes and member clusters on loopback, for tests.
//!
//! [`ControlPlane::start`] runs etcd, an API server and the controllers that any API server needs (namespaces, garbage
//! collection, tokens of service accounts). [`ControlPlane::start_member`] adds a member cluster: an API server of its own in the same
//! etcd, the controllers of the workload kinds, the scheduler, and kwok in the kubelet's place, which decides by a
//! pod's image what becomes of it (`src/stages.yaml`). Our own programs are started with [`ControlPlane::spawn`].
//!
//! What the crate guarantees:
//! - Every process is ended by its id when its owner is dropped, also when a test panics, and also when the test
//!   process itself is killed or ends without dropping anything (a `static`): [`RunFolder`] sees to that.
//! - When a test panics, the end of each log is printed and the folder with all logs and data is kept and named.
//! - Nothing listens but on 127.0.0.1, on ports outside the range that the system hands out by itself, so that a
//!   server can come back on its port after any time.
//! - The API servers check RBAC: each component has a user of its own ([`Identity`]).
//!
//! The programs come from the crate `e2e-control-plane`; a test asks [`available`] first.

mod api_server;
mod audit;
mod availability;
mod control_plane;
mod credentials;
mod error;
mod etcd;
mod helm;
mod kinds;
mod member;
mod ports;
mod process;
mod programs;
mod run_folder;
mod wait;

pub use api_server::ApiServer;
pub use audit::{AuditLog, Mark, Request, renewals_a_minute};
pub use availability::{available, available_prometheus, available_stock, available_with};
pub use control_plane::ControlPlane;
pub use credentials::Identity;
pub use e2e_control_plane::{Binaries, Prometheus, Tool};
pub use error::Error;
pub use helm::Helm;
pub use kinds::serve_kinds;
pub use member::Member;
pub use ports::free as free_port;
pub use process::{Launch, Process};
pub use programs::Programs;
pub use run_folder::RunFolder;
pub use wait::eventually;
