//! `/healthz`, `/readyz` and `/metrics`.
//!
//! Guarantees: `/healthz` answers as long as the process runs (a server that is down does not make it unhealthy, so
//! that an outage of the API server restarts nothing); `/readyz` names what is not ready, one line each.

use std::future::IntoFuture;
use std::net::SocketAddr;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::metrics::Metrics;
use crate::readiness::Readiness;
use crate::tasks::Tasks;

#[derive(Clone)]
struct Admin {
    tasks: Tasks,
    metrics: Metrics,
    readiness: Readiness,
}

/// Binds and serves until the tasks end; returns the address with the port that was found for port 0.
pub(crate) async fn serve(
    address: SocketAddr,
    tasks: &Tasks,
    metrics: Metrics,
    readiness: Readiness,
) -> std::io::Result<SocketAddr> {
    let listener = tokio::net::TcpListener::bind(address).await?;
    let bound = listener.local_addr()?;
    let router = router(Admin {
        tasks: tasks.clone(),
        metrics,
        readiness,
    });
    tasks.spawn_critical("admin", axum::serve(listener, router).into_future());
    Ok(bound)
}

fn router(admin: Admin) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(admin)
}

async fn healthz(State(admin): State<Admin>) -> Response {
    match admin.tasks.failure() {
        None => "ok\n".into_response(),
        Some(failure) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{failure}\n")).into_response(),
    }
}

async fn readyz(State(admin): State<Admin>) -> Response {
    let mut lines = admin.readiness.missing();
    let status = if lines.is_empty() {
        lines.push("ok".to_owned());
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    lines.extend(admin.readiness.notes());
    (status, lines.join("\n") + "\n").into_response()
}

async fn metrics(State(admin): State<Admin>) -> Response {
    (
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")],
        admin.metrics.render(),
    )
        .into_response()
}
