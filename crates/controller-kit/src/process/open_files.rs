//! How many files and connections a process may have open.
//!
//! A component keeps a connection for each watch, and those that reach members one or more for each member: with a few
//! hundred members that is more than the 1,024 that many systems give to begin with, for the sake of programs that use
//! select(2). Whoever reaches the limit cannot connect any more, and healthy members would look dead. So it is raised to
//! what the system allows at most, as Go programs do by themselves.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit; says what it is now, `None` for none at all.
pub(super) fn raise_limit() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return limit.current;
    }
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => raised.current,
        Err(error) => {
            tracing::warn!(%error, "the limit of open files stays as it is");
            limit.current
        }
    }
}
