//! A network inside the process: servers and clients of one test, or of one demo, without sockets.
//!
//! Addresses are any texts. A cut, and the end of a listener, break every connection of an address as a crashed
//! machine would: both ends see an error at once.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::transport::server::Connected;

const BUFFER_BYTES: usize = 64 * 1024;

/// A network. Clones are the same one.
#[derive(Clone, Default)]
pub struct MemoryNetwork {
    ports: Arc<Mutex<BTreeMap<String, Port>>>,
}

struct Port {
    accept: mpsc::UnboundedSender<io::Result<MemoryStream>>,
    closed: CancellationToken,
    cut: CancellationToken,
}

impl std::fmt::Debug for MemoryNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MemoryNetwork")
            .field(&self.ports.lock().keys().collect::<Vec<_>>())
            .finish()
    }
}

/// Connections that arrive at an address. Dropping it closes the address and breaks its connections.
#[derive(Debug)]
pub struct MemoryListener {
    incoming: mpsc::UnboundedReceiver<io::Result<MemoryStream>>,
    closed: CancellationToken,
}

impl Drop for MemoryListener {
    fn drop(&mut self) {
        self.closed.cancel();
    }
}

impl futures::Stream for MemoryListener {
    type Item = io::Result<MemoryStream>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.incoming.poll_recv(cx)
    }
}

impl MemoryNetwork {
    /// Takes an address, from whoever had it.
    #[must_use]
    pub fn listen(&self, address: &str) -> MemoryListener {
        let (accept, incoming) = mpsc::unbounded_channel();
        let closed = CancellationToken::new();
        let port = Port {
            accept,
            closed: closed.clone(),
            cut: closed.child_token(),
        };
        if let Some(before) = self.ports.lock().insert(address.to_owned(), port) {
            before.closed.cancel();
        }
        MemoryListener { incoming, closed }
    }

    /// Breaks every connection to an address; new ones are accepted.
    pub fn cut(&self, address: &str) {
        if let Some(port) = self.ports.lock().get_mut(address) {
            std::mem::replace(&mut port.cut, port.closed.child_token()).cancel();
        }
    }

    /// Connects to an address.
    ///
    /// # Errors
    /// Connection refused when nobody listens there.
    pub fn dial(&self, address: &str) -> io::Result<MemoryStream> {
        let refused = || io::Error::new(io::ErrorKind::ConnectionRefused, format!("nobody listens at {address}"));
        let ports = self.ports.lock();
        let port = ports
            .get(address)
            .filter(|port| !port.closed.is_cancelled())
            .ok_or_else(refused)?;
        let (near, far) = duplex(BUFFER_BYTES);
        port.accept
            .send(Ok(MemoryStream::new(far, port.cut.clone())))
            .map_err(|_| refused())?;
        Ok(MemoryStream::new(near, port.cut.clone()))
    }
}

/// One end of a connection.
pub struct MemoryStream {
    inner: DuplexStream,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl std::fmt::Debug for MemoryStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MemoryStream")
    }
}

impl MemoryStream {
    fn new(inner: DuplexStream, cut: CancellationToken) -> Self {
        Self {
            inner,
            cut: Box::pin(cut.cancelled_owned()),
        }
    }

    fn broken(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.cut.poll_unpin(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::ConnectionReset.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl Connected for MemoryStream {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for MemoryStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        // A cancelled future must not be polled again after it was ready: the error ends the connection.
        self.broken(cx)?;
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl AsyncWrite for MemoryStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.broken(cx)?;
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test(start_paused = true)]
    async fn bytes_pass_until_the_connection_is_cut() {
        let network = MemoryNetwork::default();
        assert_eq!(network.dial("a").unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        let mut listener = network.listen("a");
        let mut client = network.dial("a").unwrap();
        let mut server = listener.next().await.unwrap().unwrap();
        client.write_all(b"hi").await.unwrap();
        let mut two = [0; 2];
        server.read_exact(&mut two).await.unwrap();
        assert_eq!(&two, b"hi");

        network.cut("a");
        assert_eq!(
            client.read_exact(&mut two).await.unwrap_err().kind(),
            io::ErrorKind::ConnectionReset
        );
        assert_eq!(
            server.write_all(b"x").await.unwrap_err().kind(),
            io::ErrorKind::ConnectionReset
        );
        assert!(network.dial("a").is_ok(), "the address is still served");

        let mut client = network.dial("a").unwrap();
        drop(listener);
        assert_eq!(
            client.read_exact(&mut two).await.unwrap_err().kind(),
            io::ErrorKind::ConnectionReset
        );
        assert!(network.dial("a").is_err());
    }
}
