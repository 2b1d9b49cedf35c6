//! Where the leader of the eviction queue serves, by its Lease. Pure.

use crate::controllers::{ControllerView, Running};
use crate::failure::{ExitStatus, Failure};

/// `given`, or what the leader wrote on its Lease.
///
/// # Errors
/// Nobody leads the queue, or the leader says no address.
pub fn address(given: Option<&str>, controllers: &[ControllerView], namespace: &str) -> Result<String, Failure> {
    if let Some(given) = given {
        return Ok(given.to_owned());
    }
    let lease = format!("Lease eviction-queue in namespace {namespace}");
    let queue = controllers
        .iter()
        .find(|view| view.name == "evictionQueue" && view.state == Running::Running);
    let Some(queue) = queue else {
        return Err(Failure::new(
            ExitStatus::Unreachable,
            "cannot ask the eviction queue",
            format!("no eviction queue runs: nobody holds a fresh {lease}"),
            "start the eviction queue (controller evictionQueue), or name it with --queue-address HOST:PORT",
        ));
    };
    queue
        .address
        .clone()
        .filter(|address| !address.is_empty())
        .ok_or_else(|| {
            Failure::new(
                ExitStatus::Unreachable,
                "cannot ask the eviction queue",
                format!(
                    "{} holds {lease} but has written no address on it",
                    queue.holder.as_deref().unwrap_or("its leader")
                ),
                "try again in some seconds (it may just have started), or give --queue-address HOST:PORT",
            )
        })
}
