//! The two halves of a call, for as long as it lasts: they can be cut, and they give back what the call took.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::FutureExt;
use http::HeaderMap;
use http_body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::body::Body;
use tonic::{Code, Status};

/// Ends a call from outside. Clones end the same call.
#[derive(Clone, Debug, Default)]
pub(super) struct Cut {
    token: CancellationToken,
    status: Arc<Mutex<Option<Status>>>,
}

impl Cut {
    /// Ends the call with this status; the first one counts.
    pub fn with(&self, status: Status) {
        self.status.lock().get_or_insert(status);
        self.token.cancel();
    }

    fn wait(&self) -> Waiting {
        Waiting {
            cut: self.clone(),
            ended: Box::pin(self.token.clone().cancelled_owned()),
        }
    }
}

struct Waiting {
    cut: Cut,
    ended: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Waiting {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Status> {
        ready!(self.ended.poll_unpin(cx));
        let status = self.cut.status.lock().clone();
        Poll::Ready(status.unwrap_or_else(|| Status::cancelled("the call was ended")))
    }
}

/// What the caller sends: nothing more once the call is cut.
pub(super) struct Upward {
    inner: Body,
    waiting: Option<Waiting>,
}

impl Upward {
    pub fn new(inner: Body, cut: &Cut) -> Self {
        let waiting = Some(cut.wait());
        Self { inner, waiting }
    }
}

impl HttpBody for Upward {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        if let Some(waiting) = &mut this.waiting
            && let Poll::Ready(status) = waiting.poll(cx)
        {
            this.waiting = None;
            this.inner = Body::empty();
            return Poll::Ready(Some(Err(status)));
        }
        Pin::new(&mut this.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }
}

/// What the caller gets. It holds what the call took, and it is the last thing of a call that goes.
pub(super) struct Downward<H> {
    inner: Body,
    waiting: Option<Waiting>,
    is_over: bool,
    on_too_large: TooLarge,
    _held: H,
}

/// Counts messages that were too large.
pub(super) type TooLarge = metrics::Counter;

impl<H> Downward<H> {
    pub fn new(inner: Body, cut: Option<&Cut>, on_too_large: TooLarge, held: H) -> Self {
        Self {
            inner,
            waiting: cut.map(Cut::wait),
            is_over: false,
            on_too_large,
            _held: held,
        }
    }
}

impl<H: Send + Unpin + 'static> HttpBody for Downward<H> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        if this.is_over {
            return Poll::Ready(None);
        }
        if let Some(waiting) = &mut this.waiting
            && let Poll::Ready(status) = waiting.poll(cx)
        {
            this.is_over = true;
            this.inner = Body::empty();
            let mut trailers = HeaderMap::new();
            // Only a message that no header can hold is refused, and ours are percent-encoded.
            let _ = status.add_header(&mut trailers);
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
        let frame = ready!(Pin::new(&mut this.inner).poll_frame(cx));
        Poll::Ready(frame.map(|frame| {
            frame.map(|mut frame| {
                if let Some(trailers) = frame.trailers_mut() {
                    translate(trailers, &this.on_too_large);
                }
                frame
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// tonic says of a message that is too large that it is out of range; it is a resource that is exhausted. Services that
/// read a stream say so themselves; here all are counted.
pub(super) fn translate(headers: &mut HeaderMap, on_too_large: &TooLarge) {
    if headers
        .get(Status::GRPC_STATUS)
        .is_none_or(|code| code != "11" && code != "8")
    {
        return;
    }
    let Some(status) = Status::from_header_map(headers) else {
        return;
    };
    let sizes = status
        .message()
        .strip_prefix("Error, decoded message length too large: ");
    if let (Code::OutOfRange, Some(sizes)) = (status.code(), sizes) {
        on_too_large.increment(1);
        let told = format!("the message is too large, nothing of it was taken: {sizes}; send it in several");
        let _ = Status::new(Code::ResourceExhausted, told).add_header(headers);
    } else if status.code() == Code::ResourceExhausted && status.message().contains("message is too large") {
        on_too_large.increment(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(status: &Status) -> HeaderMap {
        let mut headers = HeaderMap::new();
        status.add_header(&mut headers).unwrap();
        headers
    }

    #[test]
    fn only_a_message_that_is_too_large_is_told_anew() {
        let told = |status: Status| {
            let mut headers = headers(&status);
            translate(&mut headers, &metrics::Counter::noop());
            Status::from_header_map(&headers).unwrap()
        };
        let large = told(Status::out_of_range(
            "Error, decoded message length too large: found 9 bytes, the limit is: 4 bytes",
        ));
        assert_eq!(large.code(), Code::ResourceExhausted);
        assert_eq!(
            large.message(),
            "the message is too large, nothing of it was taken: found 9 bytes, the limit is: 4 bytes; send it in several"
        );
        assert_eq!(
            told(Status::out_of_range("watch from the start")).code(),
            Code::OutOfRange
        );
        assert_eq!(told(Status::ok("")).code(), Code::Ok);
    }

    async fn frames(
        mut body: impl HttpBody<Data = Bytes, Error = Status> + Unpin,
    ) -> Vec<Result<Frame<Bytes>, Status>> {
        let mut frames = Vec::new();
        while let Some(frame) = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            frames.push(frame);
        }
        frames
    }

    #[tokio::test]
    async fn a_cut_ends_both_halves_with_its_status() {
        let cut = Cut::default();
        let up = Upward::new(Body::new(Endless), &cut);
        let down = Downward::new(Body::new(Endless), Some(&cut), metrics::Counter::noop(), ());
        cut.with(Status::unauthenticated("over"));
        cut.with(Status::ok("late"));
        let up = frames(up).await;
        assert_eq!(up.len(), 1);
        assert_eq!(up[0].as_ref().unwrap_err().message(), "over");
        let down = frames(down).await;
        assert_eq!(down.len(), 1);
        let trailers = down[0].as_ref().unwrap().trailers_ref().unwrap();
        let status = Status::from_header_map(trailers).unwrap();
        assert_eq!((status.code(), status.message()), (Code::Unauthenticated, "over"));
    }

    struct Endless;

    impl HttpBody for Endless {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            Poll::Pending
        }
    }
}
