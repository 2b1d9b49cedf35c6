//! A connection that is ready for gRPC.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use metrics::Counter;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Sleep;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

use super::peer::Peer;

/// Length of the words with which every HTTP/2 connection begins.
const PREFACE_BYTES: usize = 24;

/// With or without TLS.
pub(super) enum Wire<IO> {
    Plain(IO),
    Tls(Box<TlsStream<IO>>),
}

/// A connection. It has a place among others until it is dropped.
pub struct Connection<IO> {
    wire: Wire<IO>,
    peer: Peer,
    silence: Option<Silence>,
    stranger: Option<Patience>,
    ends: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

/// What is still to come before the caller counts as one that speaks.
struct Silence {
    patience: Patience,
    bytes: usize,
}

/// How long something is waited for, and what counts the connections for which that was in vain.
pub(super) struct Patience {
    until: Pin<Box<Sleep>>,
    broken_off: Counter,
}

impl Patience {
    /// From now on.
    pub fn of(time: Duration, broken_off: Counter) -> Self {
        let until = Box::pin(tokio::time::sleep(time));
        Self { until, broken_off }
    }

    fn ends(&mut self, cx: &mut Context<'_>) -> bool {
        let ends = self.until.as_mut().poll(cx).is_ready();
        if ends {
            self.broken_off.increment(1);
        }
        ends
    }
}

impl<IO> Connection<IO> {
    pub(super) fn new(
        wire: Wire<IO>,
        peer: Peer,
        (silence, stranger): (Patience, Patience),
        ends_after: Option<Duration>,
        place: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            wire,
            peer,
            silence: Some(Silence {
                patience: silence,
                bytes: PREFACE_BYTES,
            }),
            stranger: Some(stranger),
            ends: ends_after.map(|after| Box::pin(tokio::time::sleep(after))),
            _place: place,
        }
    }

    fn over(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if let Some(ends) = &mut self.ends
            && ends.as_mut().poll(cx).is_ready()
        {
            (self.ends, self.silence, self.stranger) = (None, None, None);
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if let Some(silence) = &mut self.silence
            && silence.patience.ends(cx)
        {
            (self.silence, self.stranger) = (None, None);
            return Err(io::ErrorKind::TimedOut.into());
        }
        if self.peer.welcome.is_given() {
            self.stranger = None;
        }
        if let Some(stranger) = &mut self.stranger
            && stranger.ends(cx)
        {
            self.stranger = None;
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }
}

impl<IO> Connected for Connection<IO> {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncRead for Connection<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.over(cx)?;
        let before = buffer.filled().len();
        ready!(match &mut this.wire {
            Wire::Plain(io) => Pin::new(io).poll_read(cx, buffer),
            Wire::Tls(io) => Pin::new(io).poll_read(cx, buffer),
        })?;
        if let Some(silence) = &mut this.silence {
            silence.bytes = silence.bytes.saturating_sub(buffer.filled().len() - before);
            if silence.bytes == 0 {
                this.silence = None;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Connection<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.wire {
            Wire::Plain(io) => Pin::new(io).poll_write(cx, bytes),
            Wire::Tls(io) => Pin::new(io).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.wire {
            Wire::Plain(io) => Pin::new(io).poll_flush(cx),
            Wire::Tls(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.wire {
            Wire::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Wire::Tls(io) => Pin::new(io).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.wire {
            Wire::Plain(io) => Pin::new(io).poll_write_vectored(cx, buffers),
            Wire::Tls(io) => Pin::new(io).poll_write_vectored(cx, buffers),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.wire {
            Wire::Plain(io) => io.is_write_vectored(),
            Wire::Tls(io) => io.is_write_vectored(),
        }
    }
}

impl<IO> std::fmt::Debug for Connection<IO> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}
