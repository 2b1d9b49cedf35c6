//! What every request of ours passes through on its way to the API server.
//!
//! Guarantees: a request that is not a watch ends within its time limit; a controller's write leaves the process only
//! while its lease is fresh; every request is counted by controller, verb, resource and outcome, and what the answers
//! tell about the API server is told.

use std::time::Duration;

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use tokio::time::Instant;
use tower::{BoxError, service_fn};

use crate::answers::{Answers, Asked};
use crate::leader::Leadership;
use crate::metrics::Metrics;

/// A write that was not sent, because the lease of its controller could not be renewed in time.
#[derive(Debug, thiserror::Error)]
#[error("{method} {path} not sent: the lease of {controller} has not been renewed in time")]
pub struct NotLeading {
    method: Method,
    path: String,
    controller: String,
}

/// A request that took too long.
#[derive(Debug, thiserror::Error)]
#[error("{method} {path}: no answer within {}", crate::durations::format_duration(*limit))]
pub struct TimedOut {
    method: Method,
    path: String,
    limit: Duration,
}

/// Ends every request that is not a watch or an upgrade after `limit`, body included.
#[must_use]
pub fn with_time_limit(client: Client, limit: Duration) -> Client {
    let namespace = client.default_namespace().to_owned();
    Client::new(
        service_fn(move |request: Request<Body>| {
            let client = client.clone();
            async move {
                let (method, path) = (request.method().clone(), request.uri().path().to_owned());
                let endless = is_watch(&request) || request.headers().contains_key(http::header::UPGRADE);
                let answer = async {
                    let response = client.send(request).await?;
                    if endless {
                        return Ok(response);
                    }
                    let (parts, body) = response.into_parts();
                    Ok(Response::from_parts(parts, Body::from(body.collect_bytes().await?)))
                };
                match tokio::time::timeout(limit, answer).await {
                    Ok(result) => result.map_err(|error: kube::Error| BoxError::from(error)),
                    Err(_) => Err(BoxError::from(TimedOut { method, path, limit })),
                }
            }
        }),
        namespace,
    )
}

/// The client that a controller gets: counted, and with its writes bound to the lease.
pub(crate) fn for_controller(
    client: Client,
    controller: &'static str,
    leadership: Leadership,
    metrics: Metrics,
    answers: Answers,
) -> Client {
    let namespace = client.default_namespace().to_owned();
    Client::new(
        service_fn(move |request: Request<Body>| {
            let (client, leadership, metrics) = (client.clone(), leadership.clone(), metrics.clone());
            let answers = answers.clone();
            async move {
                let verb = verb(&request);
                let resource = resource(request.uri().path()).to_owned();
                let count = |outcome: &str| {
                    let labels = [
                        ("controller", controller),
                        ("verb", verb),
                        ("resource", &resource),
                        ("code", outcome),
                    ];
                    metrics.counter("failover_api_requests_total", &labels).increment(1);
                };
                if !matches!(verb, "read" | "watch") && !leadership.is_fresh() {
                    count("not_leading");
                    return Err(BoxError::from(NotLeading {
                        method: request.method().clone(),
                        path: request.uri().path().to_owned(),
                        controller: controller.to_owned(),
                    }));
                }
                let (method, uri) = (request.method().clone(), request.uri().clone());
                let asked = Asked {
                    controller,
                    method: &method,
                    path: uri.path(),
                };
                let sent = Instant::now();
                let answer = client.send(request).await;
                if verb != "watch" {
                    answers.took(&metrics, asked, sent.elapsed());
                }
                let response = match answer {
                    Ok(response) => response,
                    Err(error) => {
                        count("unreachable");
                        answers.none(asked);
                        return Err(BoxError::from(error));
                    }
                };
                count(response.status().as_str());
                if matches!(verb, "read" | "watch") {
                    return Ok(response);
                }
                answers.of_write(asked, response.status());
                heard_of_write(&answers, verb, uri.path(), response).await
            }
        }),
        namespace,
    )
}

/// Lets watches be measured by a write that was done, where one of them is to show it.
async fn heard_of_write(
    answers: &Answers,
    verb: &str,
    path: &str,
    response: Response<Body>,
) -> Result<Response<Body>, BoxError> {
    // What is deleted is answered as it was before.
    let Some(kind) = kind(path).filter(|kind| verb != "delete" && answers.echoes.follow(kind)) else {
        return Ok(response);
    };
    if !response.status().is_success() {
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let body = body.collect_bytes().await?;
    if let Some(version) = version_in(&body) {
        answers.echoes.wrote(&kind, &version);
    }
    Ok(Response::from_parts(parts, Body::from(body)))
}

fn version_in(object: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Object {
        metadata: Metadata,
    }
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        resource_version: String,
    }
    let object: Object = serde_json::from_slice(object).ok()?;
    Some(object.metadata.resource_version)
}

fn is_watch<B>(request: &Request<B>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query
        .split('&')
        .any(|pair| matches!(pair, "watch=true" | "watch=1" | "follow=true"))
}

fn verb<B>(request: &Request<B>) -> &'static str {
    match *request.method() {
        Method::GET | Method::HEAD | Method::OPTIONS if is_watch(request) => "watch",
        Method::GET | Method::HEAD | Method::OPTIONS => "read",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "other",
    }
}

/// The plural resource name in an API path; `other` for paths that have none.
fn resource(path: &str) -> &str {
    let mut parts = path.trim_matches('/').split('/');
    let skipped = match parts.next() {
        Some("api") => 1,
        Some("apis") => 2,
        _ => return "other",
    };
    let mut rest = parts.skip(skipped);
    match (rest.next(), rest.next(), rest.next()) {
        (Some("namespaces"), Some(_), Some(resource)) if !matches!(resource, "status" | "finalize") => resource,
        (Some(resource), ..) => resource,
        _ => "other",
    }
}

/// The kind that a path is about, as informers write it: `clusters.cluster.karmada.io`.
fn kind(path: &str) -> Option<String> {
    let plural = resource(path);
    let mut parts = path.trim_matches('/').split('/');
    match (parts.next(), parts.next()) {
        (Some("api"), Some(_)) => Some(plural.to_owned()),
        (Some("apis"), Some(group)) => Some(format!("{plural}.{group}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::disturbances::Disturbances;
    use crate::echoes::Echoes;
    use rstest::rstest;

    #[rstest]
    #[case("/api/v1/pods", "pods")]
    #[case("/api/v1/namespaces", "namespaces")]
    #[case("/api/v1/namespaces/a", "namespaces")]
    #[case("/api/v1/namespaces/a/status", "namespaces")]
    #[case("/api/v1/namespaces/a/pods/b", "pods")]
    #[case(
        "/apis/work.karmada.io/v1alpha2/namespaces/a/resourcebindings/b/status",
        "resourcebindings"
    )]
    #[case("/apis/cluster.karmada.io/v1alpha1/clusters/m", "clusters")]
    #[case("/apis", "other")]
    #[case("/version", "other")]
    fn resources(#[case] path: &str, #[case] expected: &str) {
        assert_eq!(resource(path), expected);
    }

    #[rstest]
    #[case("/api/v1/namespaces/a/pods/b", Some("pods"))]
    #[case(
        "/apis/cluster.karmada.io/v1alpha1/clusters/m/status",
        Some("clusters.cluster.karmada.io")
    )]
    #[case("/version", None)]
    fn kinds(#[case] path: &str, #[case] expected: Option<&str>) {
        assert_eq!(kind(path).as_deref(), expected);
    }

    #[test]
    fn the_version_of_what_was_written() {
        let object = br#"{"kind": "Pod", "spec": {}, "metadata": {"name": "a", "resourceVersion": "17"}}"#;
        assert_eq!(version_in(object).as_deref(), Some("17"));
        for other in ["{\"kind\": \"Status\", \"metadata\": {}}", "<html>", ""] {
            assert_eq!(version_in(other.as_bytes()), None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_server_ends_the_request_but_not_a_watch() {
        let silent = Client::new(
            service_fn(|_: Request<Body>| async {
                std::future::pending::<()>().await;
                Ok::<_, BoxError>(Response::new(Body::empty()))
            }),
            "default",
        );
        let client = with_time_limit(silent, Duration::from_secs(30));
        let get = |uri: &str| Request::get(uri).body(Vec::new()).unwrap();
        let error = client.request_text(get("/api/v1/pods")).await.unwrap_err();
        assert_eq!(
            crate::api_errors::one_line(&error),
            "no answer from the API server: GET /api/v1/pods: no answer within 30s"
        );
        // A watch gets as long to answer; what it then sends is not limited here.
        assert!(client.request_text(get("/api/v1/pods?watch=true")).await.is_err());
    }

    // kube-rs/kube#485, Azure/kars#74: whatever the controller does, its writes end with its lease.
    #[tokio::test(start_paused = true)]
    async fn writes_leave_only_while_the_lease_is_fresh() {
        let server = Client::new(
            service_fn(|_: Request<Body>| async { Ok::<_, BoxError>(Response::new(Body::from(b"{}".to_vec()))) }),
            "default",
        );
        let (start, deadline) = (tokio::time::Instant::now(), Duration::from_secs(10));
        let leadership = Leadership::won(crate::leader::Epoch::default(), start, deadline);
        let metrics = Metrics::new();
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let disturbances = Disturbances::new(clock, &metrics);
        let client = for_controller(
            server,
            "evictor",
            leadership.clone(),
            metrics.clone(),
            Answers::new(disturbances, Echoes::default(), &metrics),
        );
        let send = |method: Method| {
            let path = "/apis/work.karmada.io/v1alpha2/namespaces/a/resourcebindings/b";
            let request = Request::builder().method(method).uri(path).body(Vec::new()).unwrap();
            client.request_text(request)
        };
        tokio::time::sleep(Duration::from_millis(9_999)).await;
        assert!(send(Method::PUT).await.is_ok());
        tokio::time::sleep(Duration::from_millis(1)).await;
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let error = send(method).await.unwrap_err();
            assert!(
                crate::api_errors::one_line(&error).contains("the lease of evictor has not been renewed"),
                "{error}"
            );
        }
        assert!(send(Method::GET).await.is_ok(), "reading harms nobody");
        leadership.renewed(tokio::time::Instant::now());
        assert!(send(Method::PUT).await.is_ok());
        let count = |verb: &str, code: &str| {
            let labels = [
                ("controller", "evictor"),
                ("verb", verb),
                ("resource", "resourcebindings"),
                ("code", code),
            ];
            metrics.value("failover_api_requests_total", &labels)
        };
        assert_eq!(
            (count("update", "200"), count("update", "not_leading")),
            (Some(2.0), Some(1.0))
        );
    }
}
