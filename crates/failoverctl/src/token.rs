//! What the queue is shown of whoever asks: the bearer token by which the API server knows them, or, for somebody whom it knows by
//! a certificate, a new one of ServiceAccount `failoverctl`. The queue knows tokens alone: it asks the API server whose they are.

use std::time::Duration;

use controller_kit::durations::format_duration;
use http::header::AUTHORIZATION;
use http::{Request, Response};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Config;
use kube::api::{Api, PostParams};
use kube::client::{Body, ConfigExt};
use secrecy::SecretString;
use tower::{BoxError, Layer, ServiceExt};

use crate::control_plane::ControlPlane;

/// Who works with this program.
pub const ACCOUNT: &str = "failoverctl";
/// How long a new token is good: as long as somebody looks, and not much longer.
const LASTS: Duration = Duration::from_secs(60 * 60);

/// The bearer token of a kubeconfig's user, as the API server gets to see it: written there, or said by its plugin. Nothing for who
/// has none.
pub(crate) async fn of(config: &Config) -> Option<SecretString> {
    let config = config.clone();
    // A plugin is a program that runs for a while.
    let layer = tokio::task::spawn_blocking(move || config.auth_layer()).await.ok()?;
    let shown = tower::service_fn(|request: Request<Body>| async move {
        let mut answer = Response::new(Body::empty());
        if let Some(shown) = request.headers().get(AUTHORIZATION) {
            answer.headers_mut().insert(AUTHORIZATION, shown.clone());
        }
        Ok::<_, BoxError>(answer)
    });
    let answer = layer
        .ok()??
        .layer(shown)
        .oneshot(Request::new(Body::empty()))
        .await
        .ok()?;
    let shown = answer.headers().get(AUTHORIZATION)?.to_str().ok()?;
    shown.strip_prefix("Bearer ").map(SecretString::from)
}

/// A new token of ServiceAccount `failoverctl`, and what is said about it; nothing where there is no such account, or this user
/// may make none.
pub(crate) async fn of_account(control_plane: &ControlPlane) -> Option<(SecretString, String)> {
    let status = request(control_plane, ACCOUNT, LASTS).await.ok()?.status?;
    let token = status.token.filter(|token| !token.is_empty())?;
    let said = format!(
        "the kubeconfig has no token to show the eviction queue: it is asked as ServiceAccount {}/{ACCOUNT}, with a token that is good \
         for {}\n",
        control_plane.system_namespace(),
        format_duration(LASTS)
    );
    Some((SecretString::from(token), said))
}

/// A new token of a ServiceAccount.
pub(crate) async fn request(
    control_plane: &ControlPlane,
    account: &str,
    lasts: Duration,
) -> kube::Result<TokenRequest> {
    let api = Api::<ServiceAccount>::namespaced(control_plane.client(), control_plane.system_namespace());
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(i64::try_from(lasts.as_secs()).unwrap_or(i64::MAX)),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    api.create_subresource("token", account, &PostParams::default(), &request)
        .await
}
