//! A process that runs, as its starter holds it.

use std::net::SocketAddr;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use crate::readiness::Readiness;
use crate::tasks::{Failure, Tasks};

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It was asked to, and all is in order.
    Stopped,
    /// It could not go on.
    Failed(Failure),
    /// It was made to end without any order, by [`Running::crash`].
    Crashed,
}

/// A process that runs. Dropping it is a crash.
pub struct Running {
    pub(super) root: Tasks,
    pub(super) overseer: Tasks,
    pub(super) stop: CancellationToken,
    pub(super) ending: watch::Receiver<Option<Ended>>,
    pub(super) metrics: Metrics,
    pub(super) readiness: Readiness,
    pub(super) admin_address: Option<SocketAddr>,
}

impl Running {
    /// Asks for a graceful end and waits for it, [`STOP_LIMIT`](super::STOP_LIMIT) at most.
    pub async fn stop(&self) -> Ended {
        self.stop.cancel();
        self.ended().await
    }

    /// Ends all tasks as they are, as `kill -9` would: nothing is finished, handed back or written.
    pub fn crash(&self) {
        self.overseer.abort();
        self.root.abort();
    }

    /// Waits for the end, whatever its cause.
    pub async fn ended(&self) -> Ended {
        let mut ending = self.ending.clone();
        match ending.wait_for(Option::is_some).await {
            Ok(ended) => ended.clone().unwrap_or(Ended::Crashed),
            Err(_) => {
                self.root.ended().await;
                Ended::Crashed
            }
        }
    }

    /// How it ended, when it has.
    #[must_use]
    pub fn has_ended(&self) -> Option<Ended> {
        self.ending.borrow().clone()
    }

    /// Stops polling every task, as a stopped or suspended machine would, until [`Running::thaw`].
    pub fn freeze(&self) {
        self.root.freeze();
    }

    /// Ends a [`Running::freeze`].
    pub fn thaw(&self) {
        self.root.thaw();
    }

    /// Names of the tasks that it runs now.
    #[must_use]
    pub fn tasks(&self) -> Vec<String> {
        self.root.running_with_subgroups()
    }

    /// The process's metrics.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// What `/readyz` says.
    #[must_use]
    pub fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// Where `/healthz`, `/readyz` and `/metrics` are served, with the port that was found for port 0.
    #[must_use]
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin_address
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.crash();
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running")
            .field("ended", &self.has_ended())
            .finish_non_exhaustive()
    }
}
