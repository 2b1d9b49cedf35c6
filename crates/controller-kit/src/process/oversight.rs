//! The end of a process: orderly when it is asked for, quick when something failed.
//!
//! Guarantees: an orderly end takes no longer than [`STOP_LIMIT`](super::STOP_LIMIT), whatever controllers and the API
//! server do; after a failure no controller writes any more; no task is left in either case.

use std::time::Duration;

use kube::Client;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{DRAIN_LIMIT, Ended};
use crate::events::EventRecorder;
use crate::tasks::{Failure, Task, Tasks};

/// How long handing back the leases may take.
const RELEASE_LIMIT: Duration = Duration::from_secs(2);
/// How long writing the last events may take.
const FLUSH_LIMIT: Duration = Duration::from_secs(1);

/// Waits for a failure or the wish to stop, and sees to an orderly end.
pub(crate) struct Oversight {
    pub(crate) root: Tasks,
    pub(crate) controllers: Tasks,
    pub(crate) seats: Vec<Task>,
    pub(crate) events: EventRecorder,
    pub(crate) client: Client,
    pub(crate) stop: CancellationToken,
}

impl Oversight {
    pub(crate) async fn run(mut self) -> Ended {
        let failure = tokio::select! {
            biased;
            failure = self.root.failed() => Some(failure),
            () = self.stop.cancelled() => self.drain().await,
        };
        if failure.is_some() {
            // Whatever still writes must not go on; the seats hand back the leases that are not lost.
            self.controllers.abort();
            let _ = timeout(RELEASE_LIMIT, Self::all_ended(&mut self.seats)).await;
        }
        let _ = timeout(FLUSH_LIMIT, self.events.flush(self.client.clone())).await;
        self.root.abort();
        self.root.ended().await;
        match failure {
            Some(failure) => Ended::Failed(failure),
            None => Ended::Stopped,
        }
    }

    /// Lets the controllers finish; returns a failure that came in between.
    async fn drain(&mut self) -> Option<Failure> {
        tracing::info!("stopping");
        self.controllers.shutdown().cancel();
        tokio::select! {
            biased;
            _ = timeout(DRAIN_LIMIT + RELEASE_LIMIT, Self::all_ended(&mut self.seats)) => None,
            failure = self.root.failed() => Some(failure),
        }
    }

    async fn all_ended(seats: &mut [Task]) {
        for seat in seats {
            seat.ended().await;
        }
    }
}
