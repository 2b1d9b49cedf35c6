//! The way between clients and one server: up, or broken in one of the ways that clusters break.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// How a server can be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reachability {
    /// As it should be.
    #[default]
    Up,
    /// Connections are refused; open ones are reset.
    Stopped,
    /// Connections are taken, nothing is answered; requests are served when the link comes back, if anybody waits.
    Hanging,
    /// Every answer, and every watch event, comes this much later.
    Slow(Duration),
    /// Every request is answered with this HTTP code and nothing is done; open watches end.
    Failing(u16),
    /// Health checks fail with 500, everything else works.
    Unready,
    /// Every request is answered 200 with a body that is no JSON; open watches end.
    Garbage,
}

/// The state of the link, shared by all clients and watches.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    state: Arc<Mutex<Reachability>>,
    moved: Arc<Notify>,
}

impl Link {
    pub(crate) fn new(moved: Arc<Notify>) -> Self {
        Self {
            state: Arc::new(Mutex::new(Reachability::Up)),
            moved,
        }
    }

    pub(crate) fn get(&self) -> Reachability {
        *self.state.lock()
    }

    pub(crate) fn set(&self, to: Reachability) {
        *self.state.lock() = to;
        self.moved.notify_waiters();
    }

    /// Waits while the link hangs, and tells what it is afterwards.
    pub(crate) async fn settled(&self) -> Reachability {
        loop {
            let moved = self.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            match self.get() {
                Reachability::Hanging => moved.await,
                other => return other,
            }
        }
    }
}
