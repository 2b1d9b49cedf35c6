//! What calls of the queue go through: the connection, the token of the caller, and why it fails when it fails.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use controller_kit::tls::{Reloading, SecretText};
use http::header::{AUTHORIZATION, HeaderValue};
use http::{Request, Response};
use tonic::body::Body;
use tonic::{Status, transport};
use tower::Service;

use crate::problem::Trouble;

/// A way to one server. Clones share the connection.
#[derive(Clone)]
pub struct Channel {
    inner: transport::Channel,
    token: Option<Reloading<SecretText>>,
    trouble: Trouble,
}

impl Channel {
    pub(crate) fn new(inner: transport::Channel, token: Option<Reloading<SecretText>>, trouble: Trouble) -> Self {
        Self { inner, token, trouble }
    }
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Channel")
    }
}

impl Service<Request<Body>> for Channel {
    type Response = Response<Body>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Status>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Status>> {
        self.inner.poll_ready(cx).map_err(|error| told(error, &self.trouble))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        if let Some(token) = &self.token {
            match authorization(&token.in_force()) {
                Ok(value) => {
                    request.headers_mut().insert(AUTHORIZATION, value);
                }
                Err(status) => return Box::pin(std::future::ready(Err(status))),
            }
        }
        let (answer, trouble) = (self.inner.call(request), self.trouble.clone());
        Box::pin(async move { answer.await.map_err(|error| told(error, &trouble)) })
    }
}

fn authorization(token: &SecretText) -> Result<HeaderValue, Status> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", token.reveal())).map_err(|_| {
        Status::unauthenticated("the token in --queue-token-file has characters that no header can have")
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// The status of a call that no server answered, with the reason if more is known than that.
fn told(error: transport::Error, trouble: &Trouble) -> Status {
    let status = Status::from_error(Box::new(error));
    let Some(problem) = trouble.last() else {
        return status;
    };
    let mut told = Status::unavailable(problem.to_string());
    told.set_source(Arc::new(problem));
    told
}
