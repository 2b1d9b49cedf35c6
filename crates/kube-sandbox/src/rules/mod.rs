//! The correctness rules of the whole system, checked on what is stored: a look at the API objects of any control
//! plane that says which rule was broken, when and by what. [`Audit`] reads what a sandbox stores and misses nothing;
//! [`Watching`] watches any API server, real ones too.
//!
//! 1. In any window the evictions are at most rate × window + 1.
//! 2. No taint before its window, no eviction before its due time or without a cause on the cluster.
//! 3. A cluster is in spec.clusters or in the tasks, not in both once settled; at most one task for a cluster.
//! 4. The last running copy is never given up without its owner's explicit word.
//! 5. A restart changes nothing but time: two runs are compared by the tests that restart.
//! 6. Everything queued is in the end evicted, abandoned or visibly held. No object says what is queued: the tests that
//!    have a queue ask it, while they run and at their end.
//! 7. Taints and tasks that others wrote are never changed.
//! 8. No write without the version that was read: a sandbox sees it in the requests ([`Audit`]).

mod audit;
mod checker;
mod follow;
mod outdated;
mod reference;
mod settings;
mod versions;
mod watching;

pub use audit::Audit;
pub use checker::{Checker, Violation};
pub use follow::{Seen, follow};
pub use settings::{JudgedBy, Settings};
pub use watching::{Now, Watching};
