//! Makes a connection to the queue: over a socket or a network inside the process, with TLS or without.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use controller_kit::tls::tls_error;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::memory::MemoryNetwork;
use crate::problem::{ConnectionProblem, Trouble, of_tls};
use crate::security::Security;

/// First byte of an alert, which is what a server of TLS answers to something else.
const TLS_ALERT: u8 = 0x15;

trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// Where to, and how.
#[derive(Clone)]
pub(crate) struct Destination {
    pub address: String,
    pub network: Option<MemoryNetwork>,
    pub security: Security,
    pub trouble: Trouble,
}

/// The host of `host:port`, without the brackets of IPv6.
pub(crate) fn host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host)
}

impl Destination {
    /// Connects.
    pub async fn dial(self) -> io::Result<Spoken> {
        let wire: Box<dyn Wire> = match &self.network {
            Some(network) => Box::new(network.dial(&self.address)?),
            None => {
                let stream = TcpStream::connect(&self.address).await?;
                // Without it small messages wait for each other.
                let _ = stream.set_nodelay(true);
                Box::new(stream)
            }
        };
        let wire = match &self.security.tls {
            None => wire,
            Some(tls) => {
                let config = tls.current().await.config.clone();
                let name = self.name().map_err(io::Error::other)?;
                match TlsConnector::from(config).connect(name, wire).await {
                    Ok(stream) => Box::new(stream) as Box<dyn Wire>,
                    Err(error) => return Err(io::Error::other(self.failed(&error))),
                }
            }
        };
        self.trouble.is_over();
        Ok(Spoken {
            wire,
            to: self,
            has_heard: false,
        })
    }

    fn name(&self) -> Result<ServerName<'static>, ConnectionProblem> {
        if let Some(name) = &self.security.server_name {
            return Ok(name.clone());
        }
        let host = host(&self.address).to_owned();
        ServerName::try_from(host.clone()).map_err(|_| {
            self.trouble.is(format!(
                "{host:?} is no name that a certificate can have: give one as --queue-server-name"
            ))
        })
    }

    fn failed(&self, error: &io::Error) -> ConnectionProblem {
        let address = &self.address;
        self.trouble.is(match tls_error(error) {
            Some(error) => of_tls(address, error),
            None => format!("no TLS with the eviction queue at {address}: {error}"),
        })
    }
}

/// A connection that remembers what was wrong with it.
pub(crate) struct Spoken {
    wire: Box<dyn Wire>,
    to: Destination,
    has_heard: bool,
}

impl Spoken {
    fn heard(&mut self, result: io::Result<&[u8]>) {
        let security = &self.to.security;
        let is_first = !std::mem::replace(&mut self.has_heard, true);
        match result {
            Ok([TLS_ALERT, ..]) if is_first && security.tls.is_none() => {
                let address = &self.to.address;
                self.to.trouble.is(format!(
                    "the eviction queue at {address} speaks TLS only: give --queue-ca-file"
                ));
            }
            Err(error) if tls_error(&error).is_some() => {
                self.to.failed(&error);
            }
            // Some systems lose the last words of whoever closes a connection.
            Ok([]) | Err(_) if is_first && security.tls.is_some() && !security.shows_certificate => {
                let address = &self.to.address;
                self.to.trouble.is(format!(
                    "the eviction queue at {address} ends the connection without a word; if it wants a client certificate, \
                     give --queue-client-cert-file and --queue-client-key-file"
                ));
            }
            Ok(_) | Err(_) => {}
        }
    }
}

impl AsyncRead for Spoken {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        let result = ready!(Pin::new(&mut this.wire).poll_read(cx, buffer));
        if !this.has_heard || result.is_err() {
            match result {
                Ok(()) => this.heard(Ok(&buffer.filled()[before..])),
                Err(error) => {
                    let told = io::Error::new(error.kind(), error.to_string());
                    this.heard(Err(error));
                    return Poll::Ready(Err(told));
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Spoken {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.wire).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.wire).poll_write_vectored(cx, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.wire.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_address() {
        for (address, expected) in [
            ("q.example:9443", "q.example"),
            ("[::1]:9443", "::1"),
            ("10.0.0.1:1", "10.0.0.1"),
        ] {
            assert_eq!(host(address), expected);
        }
    }
}
