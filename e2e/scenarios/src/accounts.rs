//! Service accounts as somebody who works with their tokens.

use anyhow::{Context as _, anyhow};
use e2e_harness::{ApiServer, Identity};
use k8s_openapi::ByteString;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};

/// A token of a service account, as its API server gives it out.
pub async fn token(server: &ApiServer, namespace: &str, account: &str) -> anyhow::Result<String> {
    let accounts = Api::<ServiceAccount>::namespaced(server.client(Identity::Admin).await?, namespace);
    let answer = accounts
        .create_token_request(account, &PostParams::default(), &TokenRequest::default())
        .await
        .with_context(|| format!("no token for {account}"))?;
    let token = answer.status.and_then(|status| status.token);
    token.ok_or_else(|| anyhow!("a token request without a token"))
}

/// A kubeconfig with a token and nothing else.
pub fn kubeconfig(server: &ApiServer, token: &str) -> Value {
    let authority = ByteString(server.ca_bundle().as_bytes().to_vec());
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "it",
        "clusters": [{"name": "it", "cluster": {"server": server.endpoint(), "certificate-authority-data": authority}}],
        "users": [{"name": "it", "user": {"token": token}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    })
}
