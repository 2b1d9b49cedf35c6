//! Tasks that can be stopped from being polled, all at once, as a stopped process or a suspended machine is.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

#[derive(Default)]
pub(super) struct Freezer {
    frozen: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
}

impl Freezer {
    pub(super) fn freeze(&self) {
        self.frozen.store(true, Ordering::SeqCst);
    }

    pub(super) fn thaw(&self) {
        self.frozen.store(false, Ordering::SeqCst);
        for waker in std::mem::take(&mut *self.waiting.lock()) {
            waker.wake();
        }
    }
}

pub(super) struct Frozen<F> {
    pub(super) task: Pin<Box<F>>,
    pub(super) freezer: Arc<Freezer>,
}

impl<F: Future> Future for Frozen<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.freezer.frozen.load(Ordering::SeqCst) {
            self.freezer.waiting.lock().push(cx.waker().clone());
            // Looked at again under the lock's order, or a thaw in between would leave this task asleep.
            if self.freezer.frozen.load(Ordering::SeqCst) {
                return Poll::Pending;
            }
        }
        self.task.as_mut().poll(cx)
    }
}
