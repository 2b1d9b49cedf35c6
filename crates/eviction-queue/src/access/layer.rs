//! The gate as a layer of tower.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use tonic::body::Body;
use tower::{Layer, Service};

use super::bodies::{Downward, Upward, translate};
use super::gate::Gate;

/// Puts every call through the gate. Handlers find the [`Caller`](super::Caller) in the extensions of the request.
#[derive(Clone, Debug)]
pub struct AccessLayer {
    gate: Arc<Gate>,
}

impl AccessLayer {
    /// Of this gate.
    #[must_use]
    pub fn new(gate: Gate) -> Self {
        Self { gate: Arc::new(gate) }
    }
}

impl<S> Layer<S> for AccessLayer {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded {
            gate: self.gate.clone(),
            inner,
        }
    }
}

/// Services behind the gate.
#[derive(Clone, Debug)]
pub struct Guarded<S> {
    gate: Arc<Gate>,
    inner: S,
}

impl<S> Service<Request<Body>> for Guarded<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let clone = self.inner.clone();
        // The one that was ready is called; the clone may not be.
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let gate = self.gate.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            let admitted = match gate.admit(&parts).await {
                Ok(admitted) => admitted,
                Err(status) => return Ok(status.into_http()),
            };
            // Handlers have no use for it, and what they do not have they cannot tell.
            parts.headers.remove(http::header::AUTHORIZATION);
            parts.extensions.insert(admitted.caller);
            let (cut, held) = (admitted.cut, admitted.held);
            let body = match &cut {
                Some(cut) => Body::new(Upward::new(body, cut)),
                None => body,
            };
            let response = inner.call(Request::from_parts(parts, body)).await?;
            let (mut parts, body) = response.into_parts();
            let too_large = gate.too_large();
            translate(&mut parts.headers, &too_large);
            let body = Body::new(Downward::new(body, cut.as_ref(), too_large, held));
            Ok(Response::from_parts(parts, body))
        })
    }
}
