//! The same server over HTTP/1.1 on loopback, for kubectl, separate processes and anything that needs a URL.
//!
//! The link is honoured down to the socket: a stopped server has no listener, so that connecting is refused; when it
//! comes back it listens on the same port.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header;
use hyper::body::Incoming as HyperBody;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::link::Reachability;
use crate::request::Origin;
use crate::sandbox::{Inner, Sandbox, read_request};

/// How long to wait before taking the port again, when somebody else holds it for a moment.
const REBIND_PAUSE: Duration = Duration::from_millis(20);

/// A sandbox that listens on a TCP port. Dropping it closes the port and all connections; the sandbox lives on.
#[derive(Debug)]
pub struct Served {
    address: SocketAddr,
    // Ends with this value.
    _tasks: JoinSet<()>,
}

impl Sandbox {
    /// Listens on an address; with port 0 on a free one, which [`Served::address`] tells.
    ///
    /// # Errors
    /// When the address can't be bound.
    pub async fn serve_http(&self, address: SocketAddr) -> std::io::Result<Served> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let mut tasks = JoinSet::new();
        tasks.spawn(listen(self.inner.clone(), listener, address));
        Ok(Served { address, _tasks: tasks })
    }
}

impl Served {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A kubeconfig for this server without credentials.
    #[must_use]
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig_with("{}")
    }

    /// A kubeconfig for this server with a bearer token.
    #[must_use]
    pub fn kubeconfig_with_token(&self, token: &str) -> String {
        self.kubeconfig_with(&format!("{{token: {token:?}}}"))
    }

    fn kubeconfig_with(&self, user: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: sandbox\n\
             clusters:\n- name: sandbox\n  cluster: {{server: \"{}\"}}\n\
             users:\n- name: sandbox\n  user: {user}\n\
             contexts:\n- name: sandbox\n  context: {{cluster: sandbox, user: sandbox}}\n",
            self.url()
        )
    }
}

/// Accepts connections while the link is not stopped; a stop closes the port and every connection.
async fn listen(inner: Arc<Inner>, listener: TcpListener, address: SocketAddr) {
    let mut listener = Some(listener);
    let mut connections = JoinSet::new();
    loop {
        let moved = inner.moved.notified();
        tokio::pin!(moved);
        moved.as_mut().enable();
        if inner.link.get() == Reachability::Stopped {
            listener = None;
            connections.shutdown().await;
            moved.await;
            continue;
        }
        let open = match &listener {
            Some(open) => open,
            None => match TcpListener::bind(address).await {
                Ok(open) => listener.insert(open),
                Err(why) => {
                    tracing::debug!(%address, %why, "the port is not free yet");
                    tokio::time::sleep(REBIND_PAUSE).await;
                    continue;
                }
            },
        };
        tokio::select! {
            biased;
            () = &mut moved => {}
            accepted = open.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(converse(inner.clone(), stream));
                }
                Err(why) => tracing::debug!(%why, "a connection was lost before it was taken"),
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn converse(inner: Arc<Inner>, stream: TcpStream) {
    let service = service_fn(move |request: http::Request<HyperBody>| {
        let inner = inner.clone();
        async move {
            let client = client_name(&request);
            let incoming = read_request(request, client, Origin::Network).await?;
            inner.serve(incoming).await
        }
    });
    // An answer that is no answer (connection reset) ends the connection here, which is what it is meant to look like.
    if let Err(why) = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await
    {
        tracing::trace!(%why, "connection ended");
    }
}

/// Over HTTP clients are told apart by their product name (`kubectl` of `kubectl/v1.36.3 …`).
fn client_name<B>(request: &http::Request<B>) -> Arc<str> {
    let agent = request
        .headers()
        .get(header::USER_AGENT)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default();
    agent.split(['/', ' ']).next().unwrap_or_default().into()
}
