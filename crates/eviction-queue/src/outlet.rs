//! Where the messages of one stream go: a bounded way down to whoever reads it.
//!
//! Guarantee: whoever does not read costs no more memory than the bound. It is cut off, with a status that says so, and
//! what it had in hand goes the way of every stream that ends.

use std::pin::Pin;
use std::sync::Arc;

use futures::Stream;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::streams::Slot;

/// Messages down a stream.
pub type Down<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// The near end of a way down. Clones are the same.
#[derive(Debug)]
pub struct Outlet<T> {
    sender: mpsc::Sender<Result<T, Status>>,
    cut: Arc<Cut>,
}

impl<T> Clone for Outlet<T> {
    fn clone(&self) -> Self {
        Self {
            sender: self.sender.clone(),
            cut: self.cut.clone(),
        }
    }
}

#[derive(Debug, Default)]
struct Cut {
    token: CancellationToken,
    status: Mutex<Option<Status>>,
}

/// The reader lets more messages lie than there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoesNotRead;

impl<T: Send + 'static> Outlet<T> {
    /// A way down with room for so many messages that are not read yet. The slot is given back when the far end is
    /// gone.
    #[must_use]
    pub fn new(room: usize, slot: Slot) -> (Self, Down<T>) {
        let (sender, receiver) = mpsc::channel(room);
        let cut = Arc::new(Cut::default());
        let far = Far {
            receiver,
            cut: cut.clone(),
            over: false,
            _slot: slot,
        };
        (Self { sender, cut }, Box::pin(futures::stream::unfold(far, Far::next)))
    }

    /// Sends a message.
    ///
    /// # Errors
    /// [`DoesNotRead`] when there is no room. A reader that is gone is no error: its stream is about to be reported as
    /// ended.
    pub fn send(&self, message: T) -> Result<(), DoesNotRead> {
        match self.sender.try_send(Ok(message)) {
            Ok(()) | Err(TrySendError::Closed(_)) => Ok(()),
            Err(TrySendError::Full(_)) => Err(DoesNotRead),
        }
    }

    /// Ends the stream with this status, after what was sent before; at once if there is no room for it.
    pub fn finish(&self, status: Status) {
        if let Err(TrySendError::Full(Err(status))) = self.sender.try_send(Err(status)) {
            self.cut_off(status);
        }
    }

    /// Ends the stream with this status now; what was not read is forgotten.
    pub fn cut_off(&self, status: Status) {
        *self.cut.status.lock() = Some(status);
        self.cut.token.cancel();
    }
}

struct Far<T> {
    receiver: mpsc::Receiver<Result<T, Status>>,
    cut: Arc<Cut>,
    over: bool,
    _slot: Slot,
}

impl<T> Far<T> {
    async fn next(mut self) -> Option<(Result<T, Status>, Self)> {
        if self.over {
            return None;
        }
        let item = tokio::select! {
            biased;
            () = self.cut.token.cancelled() => self.cut.status.lock().take().map(Err),
            item = self.receiver.recv() => item,
        };
        self.over = item.as_ref().is_none_or(Result::is_err);
        item.map(|item| (item, self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;
    use tonic::Code;

    use crate::streams::{StreamKind, Streams};

    fn outlet(room: usize) -> (Outlet<u32>, Down<u32>, Streams) {
        let streams = Streams::default();
        let slot = streams.slot(StreamKind::Publish, "somebody".into()).unwrap();
        let (outlet, down) = Outlet::new(room, slot);
        (outlet, down, streams)
    }

    #[tokio::test]
    async fn what_was_sent_comes_before_the_end() {
        let (outlet, mut down, streams) = outlet(8);
        outlet.send(1).unwrap();
        outlet.finish(Status::aborted("over"));
        assert_eq!(down.next().await.unwrap().unwrap(), 1);
        assert_eq!(down.next().await.unwrap().unwrap_err().code(), Code::Aborted);
        assert_eq!(
            streams.open(StreamKind::Publish),
            1,
            "the stream is there until its end is read"
        );
        assert!(down.next().await.is_none());
        drop(down);
        assert_eq!(streams.open(StreamKind::Publish), 0);
    }

    #[tokio::test]
    async fn who_does_not_read_is_cut_off_at_the_bound() {
        let (outlet, mut down, _streams) = outlet(2);
        assert_eq!([outlet.send(1), outlet.send(2)], [Ok(()), Ok(())]);
        assert_eq!(outlet.send(3), Err(DoesNotRead));
        outlet.finish(Status::resource_exhausted("does not read"));
        let first = down.next().await.unwrap().unwrap_err();
        assert_eq!(first.code(), Code::ResourceExhausted, "and not what was left lying");
        assert!(down.next().await.is_none());
    }

    #[tokio::test]
    async fn a_reader_that_is_gone_is_no_error() {
        let (outlet, down, _streams) = outlet(1);
        drop(down);
        assert_eq!([outlet.send(1), outlet.send(2)], [Ok(()), Ok(())]);
    }
}
